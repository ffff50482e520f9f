// edge: what lies in the output folder or comes from /proc and is read back: plans, records of
// jobs, tasks and uploads, journals, lines. The first byte chooses which.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agentbox/job_plan.h"
#include "agentbox/job_record.h"
#include "agentbox/journal.h"
#include "agentbox/process_stat.h"
#include "agentbox/task_record.h"
#include "agentbox/upload_record.h"

using namespace agentbox::mcp;

namespace {

void check(bool good) {
  if (!good) {
    std::abort();
  }
}

// What is taken comes out as it was.
void try_plan(std::string_view bytes) {
  const auto plan = decode_plan(bytes);
  check(!plan.ok() || encode_plan(*plan) == bytes);
}

void try_record(std::string_view text) {
  const auto record = decode_job_record(text);
  if (record.ok()) {
    const auto again = decode_job_record(encode_job_record(*record));
    check(again.ok() && encode_job_record(*again) == encode_job_record(*record));
  }
}

void try_upload(std::string_view text) {
  const auto record = decode_upload_record(text);
  if (record.ok()) {
    const auto again = decode_upload_record(encode_upload_record(*record));
    check(again.ok() && encode_upload_record(*again) == encode_upload_record(*record));
  }
}

void try_task(std::string_view text) {
  const auto record = decode_task_record(text);
  if (record.ok()) {
    const auto again = decode_task_record(encode_task_record(*record));
    check(again.ok() && encode_task_record(*again) == encode_task_record(*record));
  }
}

void try_task_end(std::string_view text) {
  const auto end = decode_task_end(text);
  if (end.ok() && !end->cancelled) {
    const auto again = decode_task_end(encode_task_end(end->ended_ms, end->is_error));
    check(again.ok() && again->ended_ms == end->ended_ms && again->is_error == end->is_error);
  }
  const auto result = decode_task_result(text);
  check(!result.ok() || decode_task_result(agentbox::dump_json(*result)).ok());
}

void try_journal(std::string_view text) {
  const auto journal = decode_journal(text);
  if (journal.ok()) {
    const auto again = decode_journal(encode_journal(*journal));
    check(again.ok() && encode_journal(*again) == encode_journal(*journal));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0]) {
    case 'p':
      try_plan(rest);
      break;
    case 'r':
      try_record(rest);
      break;
    case 'u':
      try_upload(rest);
      break;
    case 't':
      try_task(rest);
      break;
    case 'e':
      try_task_end(rest);
      break;
    case 'j':
      try_journal(rest);
      break;
    default:
      static_cast<void>(parse_process_stat(rest));
  }
  return 0;
}

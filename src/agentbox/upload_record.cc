// pure: see upload_record.h.
#include "agentbox/upload_record.h"

#include "agentbox/argument_values.h"
#include "agentbox/box_path.h"
#include "agentbox/job_id.h"
#include "agentbox/record_fields.h"

namespace agentbox::mcp {
namespace {

constexpr std::int32_t kMostMode = 07777;
// Components of a path.
constexpr std::uint32_t kMostFolders = kMaxPathBytes / 2;

template <typename A, typename Record>
void fields(A& a, Record& r) {
  a("id", r.id);
  a("path", r.path);
  a("temporary", r.temporary);
  a("device", r.device);
  a("inode", r.inode);
  a("total_size", r.total_size);
  a("sha256", r.sha256);
  a("mode", r.mode);
  a("if_sha256", r.if_sha256);
  a("if_absent", r.if_absent);
  a("made_folders", r.made_folders);
  a("started_ms", r.started_ms);
  a("complete", r.complete);
}

bool is_sum_or_nothing(std::string_view text) { return text.empty() || is_sha256_hex(text); }

}  // namespace

std::string encode_upload_record(const UploadRecord& record) {
  FieldWriter writer;
  fields(writer, record);
  return dump_json(writer.json) + "\n";
}

Result<UploadRecord> decode_upload_record(std::string_view text) {
  if (text.size() > kMaxUploadRecordBytes) {
    return Error{Code::kLimit, "an upload's record is too long"};
  }
  AB_TRY(json, parse_json(text, {.depth = 2, .values = 32, .keys = 32}));
  UploadRecord record;
  FieldReader reader{json};
  fields(reader, record);
  const bool sane = reader.good && is_job_id(record.id) && is_temporary_name(record.temporary) &&
                    record.temporary.find('/') == std::string::npos &&
                    record.total_size <= kMaxUploadBytes && is_sum_or_nothing(record.sha256) &&
                    is_sum_or_nothing(record.if_sha256) && record.mode <= kMostMode &&
                    record.made_folders <= kMostFolders;
  if (!sane) {
    return Error{Code::kInvalid, "not an upload's record"};
  }
  return record;
}

}  // namespace agentbox::mcp

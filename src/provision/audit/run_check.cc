// edge: see run_check.h.
#include "provision/audit/run_check.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/process.h"

namespace agentbox::provision::audit {
namespace {

/// It reads a few files; a disk may be slow.
constexpr std::chrono::seconds kCheckTime{30};
/// A thousand keys with their labels.
constexpr std::size_t kMaxAnswerBytes = 4U << 20U;
constexpr std::size_t kMaxWords = 300;

// All that comes out of FD until its end.
Status read_all(int fd, std::string& out) {
  const auto deadline = std::chrono::steady_clock::now() + kCheckTime;
  std::array<char, 16384> chunk{};
  for (;;) {
    if (!wait_readable(fd, deadline)) {
      return Error{Code::kTimeout, "no answer in time"};
    }
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return got == 0 ? Status{} : Status{errno_error("read")};
    }
    out.append(chunk.data(), static_cast<std::size_t>(got));
    if (out.size() > kMaxAnswerBytes) {
      return Error{Code::kLimit, "more than " + std::to_string(kMaxAnswerBytes) + " bytes"};
    }
  }
}

// As one line; whoever shows it escapes it.
std::string words_of(std::string text) {
  text.resize(std::min(text.size(), kMaxWords));
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

Result<Policy> ask_policy(const std::string& program, const std::string& config) {
  AB_TRY(output, make_pipe());
  SpawnPlan plan;
  plan.exe = program;
  plan.argv = {"agentbox-sshd", "--check", config, "--output", "json"};
  // Its errors come in the same pipe: they are told where it fails.
  plan.descriptors = {{1, output.second.get()}, {2, output.second.get()}};
  pass_sanitizer_options(plan);
  AB_TRY(child, spawn(plan));
  output.second.reset();
  std::string text;
  const Status read = read_all(output.first.get(), text);
  if (!read.ok()) {
    ::kill(child.pid, SIGKILL);
  }
  AB_TRY(end, wait_for(child));
  AB_CHECK(Status(read));
  if (!end.exited || end.value != 0) {
    return Error{Code::kInvalid, "agentbox-sshd --check: " + words_of(text)};
  }
  return read_policy(text);
}

}  // namespace agentbox::provision::audit

// edge: see process_output.h.
#include "agentbox/process_output.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "agentbox/ansi.h"
#include "agentbox/capture.h"
#include "agentbox/job_log.h"
#include "agentbox/visible.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using TimePoint = steady_clock::time_point;

// Output that pauses for so long has settled: an answer that was asked for is complete.
constexpr milliseconds kSettleTime{150};
// Between two looks at output that does not end the wait.
constexpr milliseconds kLookInterval{20};
// Looked through for a pattern in one step.
constexpr std::size_t kScanBytes = 256 * 1024;
// A match may begin this far before what is new.
constexpr std::uint64_t kScanOverlap = 4096;

LogPart read_part(const Processes& processes, const JobRecord& record, std::uint64_t at,
                  std::size_t limit) {
  const auto folder = processes.folder().open(record.id);
  auto part = folder.ok() ? read_log(folder->get(), at, limit) : Result<LogPart>(LogPart{.at = at});
  return part.ok() ? std::move(*part) : LogPart{.bytes = {}, .at = at};
}

class OutputWait {
 public:
  OutputWait(const Processes& processes, const JobRecord& record, const OutputRequest& request,
             CallContext& context)
      : processes_(processes),
        record_(record),
        request_(request),
        context_(context),
        scanned_(request.from),
        deadline_(steady_clock::now() + request.wait) {}

  Outcome<OutputPiece> run();

 private:
  // True where there is nothing to wait for any more.
  [[nodiscard]] bool look();
  [[nodiscard]] bool find_pattern();
  [[nodiscard]] bool has_settled(std::uint64_t end);
  [[nodiscard]] OutputPiece piece() const;
  void wait();

  const Processes& processes_;
  JobRecord record_;
  const OutputRequest& request_;
  CallContext& context_;
  std::optional<ProcessWatch> watch_;
  std::uint64_t scanned_;
  std::uint64_t end_ = 0;       // of the log, when last looked at
  std::uint64_t settling_ = 0;  // the same when the settling began
  TimePoint settled_at_ = TimePoint::max();
  TimePoint deadline_;
  bool matched_ = false;
};

bool OutputWait::find_pattern() {
  for (;;) {
    const LogPart part = read_part(processes_, record_, scanned_, kScanBytes);
    matched_ = request_.pattern->found_in(part.bytes);
    const std::uint64_t behind = part.at + part.bytes.size();
    if (matched_ || part.bytes.size() < kScanBytes) {
      return matched_;
    }
    scanned_ = behind - kScanOverlap;
  }
}

bool OutputWait::has_settled(std::uint64_t end) {
  if (end > std::max(settling_, request_.from)) {
    settling_ = end;
    settled_at_ = steady_clock::now() + kSettleTime;
  }
  return steady_clock::now() >= settled_at_;
}

bool OutputWait::look() {
  // In this order: what is over prints no more, so the end read after it is the last one.
  record_ = processes_.refresh(record_);
  end_ = log_end(processes_, record_);
  if (request_.pattern && find_pattern()) {
    return true;
  }
  if (record_.status != JobStatus::kRunning) {
    return true;
  }
  if (request_.pattern) {
    return false;
  }
  switch (request_.wait_for) {
    case WaitFor::kOutput:
      return end_ > request_.from;
    case WaitFor::kSettled:
      return has_settled(end_);
    case WaitFor::kExit:
      break;
  }
  return false;
}

void OutputWait::wait() {
  if (!watch_) {
    watch_ = processes_.watch(record_);
  }
  const bool only_exit = request_.wait_for == WaitFor::kExit && !request_.pattern;
  const JobNews news = watch_->wait(only_exit ? std::numeric_limits<std::uint64_t>::max() : end_,
                                    std::min(deadline_, settled_at_), context_.cancel_fd());
  if (news == JobNews::kOver) {
    watch_.reset();
  } else if (news == JobNews::kRecord) {
    // A flood of output is not looked at for each of its pieces.
    (void)wait_readable(context_.cancel_fd(),
                        std::min(deadline_, steady_clock::now() + kLookInterval));
  }
}

OutputPiece OutputWait::piece() const {
  LogPart part = read_part(processes_, record_, request_.from, request_.max_bytes);
  OutputPiece piece{.record = record_, .bytes = std::move(part.bytes), .at = part.at};
  const bool more = record_.status == JobStatus::kRunning || part.at + piece.bytes.size() < end_;
  const std::size_t partial = more ? incomplete_suffix(piece.bytes) : 0;
  if (partial < piece.bytes.size()) {
    piece.bytes.resize(piece.bytes.size() - partial);
  }
  piece.next = piece.at + piece.bytes.size();
  piece.dropped = piece.at - std::min(piece.at, request_.from);
  piece.matched = matched_;
  piece.eof = record_.status != JobStatus::kRunning && piece.next >= end_;
  return piece;
}

Outcome<OutputPiece> OutputWait::run() {
  while (!look() && steady_clock::now() < deadline_) {
    if (context_.cancelled()) {
      return ToolError{.code = "CANCELLED", .message = "the call was cancelled"};
    }
    wait();
  }
  return piece();
}

}  // namespace

Outcome<OutputPiece> read_output(const Processes& processes, const JobRecord& record,
                                 const OutputRequest& request, CallContext& context) {
  return OutputWait(processes, record, request, context).run();
}

std::uint64_t log_end(const Processes& processes, const JobRecord& record) {
  return read_part(processes, record, 0, 0).end;
}

std::uint64_t find_last_lines(const Processes& processes, const JobRecord& record,
                              std::size_t lines, std::size_t limit) {
  const std::uint64_t end = log_end(processes, record);
  const LogPart part =
      read_part(processes, record, end - std::min<std::uint64_t>(end, limit), limit);
  std::string_view text = part.bytes;
  if (text.ends_with('\n')) {
    text.remove_suffix(1);
  }
  std::size_t at = text.size();
  for (std::size_t seen = 0; seen < lines; ++seen) {
    const std::size_t newline = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    if (newline == std::string_view::npos) {
      return part.at;
    }
    at = newline;
  }
  return part.at + at + 1;
}

Outcome<std::optional<Pattern>> compile_pattern(const std::string& text) {
  if (text.empty()) {
    return std::optional<Pattern>();
  }
  auto pattern = Pattern::compile(text, {.multi_line = true});
  if (!pattern.ok()) {
    return ToolError{.code = "BAD_PATTERN",
                     .message = "not an expression: " + pattern.error().what,
                     .hint = "RE2 syntax: no look-around and no back-references"};
  }
  return std::optional<Pattern>(std::move(*pattern));
}

ShownOutput show_output(std::string_view bytes, bool strip) {
  const std::string plain = strip ? strip_ansi(bytes) : std::string(bytes);
  const Visible visible = make_visible(plain);
  ShownOutput shown{.text = visible.text, .changed = visible.changed};
  shown.is_base64 = !is_utf8(plain);
  shown.content = shown.is_base64 ? base64_encode(plain) : plain;
  return shown;
}

}  // namespace agentbox::mcp

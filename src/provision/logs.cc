// edge: see logs.h.
#include "provision/logs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/handle.h"
#include "base/text.h"

namespace agentbox::provision {
namespace {

/// Read from the end of each log: enough for the most lines that can be asked for.
constexpr off_t kTailBytes = 8 << 20;
/// One line on a terminal.
constexpr std::size_t kMaxLineBytes = 4096;

// The end of the regular file at PATH. What it holds may have been written by anybody: the last
// part of the way is not followed through a link, and nothing is shown raw.
Result<std::string> tail_of(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) {
    return errno_error(path);
  }
  if (!S_ISREG(info.st_mode)) {
    return Error{Code::kInvalid, path + ": not a regular file"};
  }
  if (info.st_size > kTailBytes) {
    ::lseek(fd.get(), info.st_size - kTailBytes, SEEK_SET);
  }
  return read_fd_capped(fd.get(), static_cast<std::size_t>(kTailBytes) * 2);
}

std::vector<std::string> lines_of(std::string_view text, std::uint64_t most) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < most) {
    if (text.back() == '\n') {
      text.remove_suffix(1);
    }
    const auto before = text.rfind('\n');
    const auto start = before == std::string_view::npos ? 0 : before + 1;
    lines.push_back(escape_text(text.substr(start), kMaxLineBytes));
    text = text.substr(0, start);
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

}  // namespace

std::vector<LogTail> tails_here(const BoxPaths& paths) {
  std::vector<LogTail> logs = {{"door", paths.door_log, {}, {}},
                               {"box", paths.box_log, {}, {}},
                               {"audit", paths.audit_log_real, {}, {}}};
  for (LogTail& log : logs) {
    auto text = tail_of(log.where);
    if (text.ok()) {
      log.text = std::move(text).value();
    } else if (text.error().code != Code::kNotFound) {
      log.problem = text.error().what;
    }
  }
  return logs;
}

Report logs_report(const std::string& name, const std::vector<LogTail>& logs, std::uint64_t lines) {
  Report report;
  report.json["name"] = name;
  for (const LogTail& log : logs) {
    const auto shown = lines_of(log.text, lines);
    report.json[log.title] = shown;
    report.text.append("--- ").append(log.title).append(" (").append(log.where).append(")\n");
    report.text += log.problem.empty() ? "" : log.problem + "\n";
    for (const std::string& line : shown) {
      report.text += line + "\n";
    }
  }
  return report;
}

}  // namespace agentbox::provision

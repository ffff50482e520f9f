// pure: see process_status.h.
#include "base/process_status.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"

namespace agentbox {
namespace {

// What follows `NAME:` and blanks on a line of TEXT.
std::string_view status_field(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.starts_with(name) && line.substr(name.size()).starts_with(":")) {
      line.remove_prefix(name.size() + 1);
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
      return line;
    }
    at = end + 1;
  }
  return {};
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(" \t"); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(" \t", end);
  }
  return words;
}

// The digits of a set of capabilities; nothing where they are none.
std::string capabilities(std::string_view text) {
  const bool hex =
      text.size() <= 16 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return hex ? std::string(text) : std::string();
}

}  // namespace

Result<ProcessStatus> parse_process_status(std::string_view text) {
  const auto uids = words_of(status_field(text, "Uid"));
  const auto gids = words_of(status_field(text, "Gid"));
  const auto pids = words_of(status_field(text, "NSpid"));
  const auto pid = parse_decimal(status_field(text, "Pid"));
  const auto filter = parse_decimal(status_field(text, "Seccomp"));
  if (uids.size() != 4 || gids.size() != 4 || !pid.ok()) {
    return Error{Code::kInvalid, "no status of a process"};
  }
  ProcessStatus status;
  status.pid = static_cast<std::int64_t>(*pid);
  const std::string_view state = status_field(text, "State");
  status.ended = state.starts_with('Z') || state.starts_with('X');
  for (const auto& [words, out] : {std::pair(&uids, &status.uid), std::pair(&gids, &status.gid)}) {
    const auto number = parse_decimal((*words)[1]);
    if (!number.ok()) {
      return Error{Code::kInvalid, "no status of a process"};
    }
    *out = *number;
  }
  status.effective = capabilities(status_field(text, "CapEff"));
  status.bounding = capabilities(status_field(text, "CapBnd"));
  status.no_new_privileges = status_field(text, "NoNewPrivs") == "1";
  status.filter = filter.ok() ? *filter : 0;
  status.pid_depth = std::max<std::size_t>(pids.size(), 1);
  return status;
}

bool has_capability(std::string_view effective) {
  return effective.empty() || effective.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace agentbox

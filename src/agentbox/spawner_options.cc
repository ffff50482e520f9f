// pure: see spawner_options.h.
#include "agentbox/spawner_options.h"

#include <map>
#include <string_view>

#include "base/text.h"

namespace agentbox::mcp {

Result<SpawnerOptions> parse_spawner_options(std::span<char* const> arguments) {
  SpawnerOptions options;
  const std::map<std::string_view, std::string*> known = {{"--link", &options.link},
                                                          {"--workspace", &options.workspace},
                                                          {"--home", &options.home},
                                                          {"--tmp", &options.tmp},
                                                          {"--out", &options.out}};
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const auto option = known.find(arguments[i]);
    if (option == known.end()) {
      return Error{Code::kInvalid, "unknown option " + escape_text(arguments[i], 80) +
                                       "; see agent-box spawner --help"};
    }
    if (i + 1 == arguments.size() || !std::string_view(arguments[i + 1]).starts_with('/')) {
      return Error{Code::kInvalid, std::string(option->first) + " needs an absolute path"};
    }
    *option->second = arguments[i + 1];
  }
  if (options.link.empty()) {
    return Error{Code::kInvalid,
                 "--link is needed: the door's socket; see agent-box spawner --help"};
  }
  return options;
}

Result<std::vector<std::string>> session_environment(const SpawnerOptions& options,
                                                     const record::Start& start) {
  std::vector<std::string> environment = {
      "AGENTBOX_WORKSPACE=" + options.workspace,
      "AGENTBOX_HOME=" + options.home,
      "AGENTBOX_TMP=" + options.tmp,
      "AGENTBOX_OUT=" + options.out,
      "AGENTBOX_SESSION=" + start.session,
      "AGENTBOX_ROLE=" + start.role,
      "AGENTBOX_PROFILE=" + start.profile,
      "AGENTBOX_RECORDS_FD=" + std::to_string(kRecordsFd),
      "AGENTBOX_JOBS_FD=" + std::to_string(kJobsFd),
      "AGENTBOX_GENERATION=" + std::to_string(start.generation),
      "AGENTBOX_ISOLATION=" + start.isolation,
  };
  for (const std::string& escaped : start.environment) {
    AB_TRY(entry, unescape_text(escaped));
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0 || entry.find('\0') != std::string::npos) {
      return Error{Code::kInvalid, "a variable has no name"};
    }
    if (entry.starts_with("AGENTBOX_") || entry.starts_with("MCP_WORKSPACE=")) {
      return Error{Code::kDenied,
                   "the variable " + entry.substr(0, equals) + " has a name of ours"};
    }
    environment.push_back(std::move(entry));
  }
  return environment;
}

}  // namespace agentbox::mcp

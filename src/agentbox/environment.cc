// pure: see environment.h.
#include "agentbox/environment.h"

#include <algorithm>

#include "agentbox/box_path.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::string_view kOwnPrefix = "AGENTBOX_";

void set_variable(std::vector<std::string>& environment, std::string_view name,
                  std::string_view value) {
  const std::string stem = std::string(name) + "=";
  const auto found =
      std::find_if(environment.begin(), environment.end(),
                   [&](const std::string& entry) { return entry.starts_with(stem); });
  if (found == environment.end()) {
    environment.push_back(stem + std::string(value));
  } else {
    *found = stem + std::string(value);
  }
}

ToolError refused(std::string message) {
  return {.code = "INVALID_ARGUMENT",
          .message = std::move(message),
          .hint = "Choose another name in env"};
}

}  // namespace

std::vector<std::string> command_environment(const Settings& settings) {
  std::vector<std::string> environment;
  const std::pair<std::string_view, std::string_view> standard[] = {
      {"PATH", kPath},
      {"HOME", settings.home.empty() ? std::string_view(settings.workspace) : settings.home},
      {"USER", "agent"},
      {"LOGNAME", "agent"},
      {"SHELL", "/bin/sh"},
      {"LANG", "C.UTF-8"},
      {"TMPDIR", settings.tmp.empty() ? "/tmp" : std::string_view(settings.tmp)},
      {"TERM", "dumb"},
      {"NO_COLOR", "1"},
      {"PAGER", "cat"},
      {"GIT_PAGER", "cat"},
  };
  for (const auto& [name, value] : standard) {
    set_variable(environment, name, value);
  }
  for (const auto& [name, value] : settings.environment) {
    set_variable(environment, name, value);
  }
  return environment;
}

Outcome<std::vector<std::string>> with_variables(
    std::vector<std::string> base, const std::vector<std::pair<std::string, std::string>>& extra) {
  for (const auto& [name, value] : extra) {
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
      return refused("env: " + quote_name(name) + " is no name of a variable");
    }
    if (name.starts_with(kOwnPrefix)) {
      return refused("env: names that start with " + std::string(kOwnPrefix) +
                     " are not given to commands");
    }
    if (value.find('\0') != std::string::npos) {
      return refused("env: the value of " + quote_name(name) + " holds a NUL byte");
    }
    set_variable(base, name, value);
  }
  return base;
}

std::string find_variable(const std::vector<std::string>& environment, std::string_view name) {
  const std::string stem = std::string(name) + "=";
  for (const std::string& entry : environment) {
    if (entry.starts_with(stem)) {
      return entry.substr(stem.size());
    }
  }
  return {};
}

}  // namespace agentbox::mcp

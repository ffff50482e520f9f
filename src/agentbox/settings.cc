// pure: see settings.h.
#include "agentbox/settings.h"

#include <array>
#include <limits>

#include "base/defence.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

Result<Role> read_role(std::string_view name) {
  if (const auto role = find_role(name)) {
    return *role;
  }
  return Error{Code::kInvalid, "AGENTBOX_ROLE must be reader, agent, admin or operator, not " +
                                   escape_text(name, 64)};
}

Result<Profile> read_profile(std::string_view name) {
  if (const auto profile = find_profile(name)) {
    return *profile;
  }
  return Error{Code::kInvalid,
               "AGENTBOX_PROFILE must be core, standard or full, not " + escape_text(name, 64)};
}

Result<std::uint64_t> read_decimal(std::string_view name, std::string_view value,
                                   std::uint64_t most) {
  auto number = parse_decimal(value);
  if (!number.ok() || number.value() > most) {
    return Error{Code::kInvalid, std::string(name) + " must be a decimal number of at most " +
                                     std::to_string(most) + ", not " + escape_text(value, 64)};
  }
  return number;
}

// The three names of the workspace, strongest last.
constexpr std::array<std::string_view, 3> kWorkspaceNames{"AGENTBOX_ROOT", "MCP_WORKSPACE",
                                                          "AGENTBOX_WORKSPACE"};

class SettingsReader {
 public:
  Status take(std::string_view name, std::string_view value) {
    for (std::size_t i = 0; i < kWorkspaceNames.size(); ++i) {
      if (name == kWorkspaceNames[i]) {
        workspaces_[i] = value;
        return {};
      }
    }
    if (!name.starts_with("AGENTBOX_") || !defended("built-environment")) {
      settings_.environment.emplace_back(name, value);
    }
    if (!name.starts_with("AGENTBOX_")) {
      return {};
    }
    return take_own(name.substr(std::string_view("AGENTBOX_").size()), value);
  }

  Settings finish() {
    for (const std::string_view workspace : workspaces_) {
      if (!workspace.empty()) {
        settings_.workspace = workspace;
      }
    }
    return std::move(settings_);
  }

 private:
  Status take_own(std::string_view name, std::string_view value) {
    if (name == "HOME") {
      settings_.home = value;
    } else if (name == "TMP") {
      settings_.tmp = value;
    } else if (name == "OUT") {
      settings_.out = value;
    } else if (name == "SESSION") {
      settings_.session = value;
    } else if (name == "ROLE") {
      AB_TRY(role, read_role(value));
      settings_.role = role;
    } else if (name == "PROFILE") {
      AB_TRY(profile, read_profile(value));
      settings_.profile = profile;
    } else if (name == "GENERATION") {
      AB_TRY(number,
             read_decimal("AGENTBOX_GENERATION", value, std::numeric_limits<std::uint64_t>::max()));
      settings_.generation = number;
    } else if (name == "ISOLATION") {
      settings_.isolation = value;
    } else if (name == "RECORDS_FD") {
      AB_TRY(number, read_decimal("AGENTBOX_RECORDS_FD", value, 1023));
      settings_.records_fd = static_cast<int>(number);
    } else if (name == "JOB") {
      settings_.job = value;
    } else if (name == "JOBS_FD") {
      AB_TRY(number, read_decimal("AGENTBOX_JOBS_FD", value, 1023));
      settings_.jobs_fd = static_cast<int>(number);
    }
    return {};
  }

  Settings settings_;
  std::array<std::string_view, kWorkspaceNames.size()> workspaces_;
};

}  // namespace

std::vector<std::string> settings_environment(const Settings& settings) {
  std::vector<std::string> entries = {
      "AGENTBOX_WORKSPACE=" + settings.workspace,
      "AGENTBOX_HOME=" + settings.home,
      "AGENTBOX_TMP=" + settings.tmp,
      "AGENTBOX_OUT=" + settings.out,
      "AGENTBOX_SESSION=" + settings.session,
      "AGENTBOX_ROLE=" + std::string(role_name(settings.role)),
      "AGENTBOX_PROFILE=" + std::string(profile_name(settings.profile)),
      "AGENTBOX_PROFILE=" + std::string(profile_name(settings.profile)),
      "AGENTBOX_GENERATION=" + std::to_string(settings.generation),
      "AGENTBOX_ISOLATION=" + settings.isolation,
  };
  for (const auto& [name, value] : settings.environment) {
    entries.push_back(name + "=" + value);
  }
  return entries;
}

Result<Settings> read_settings(std::span<const std::string_view> environment) {
  SettingsReader reader;
  for (const std::string_view entry : environment) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos && equals > 0) {
      AB_CHECK(reader.take(entry.substr(0, equals), entry.substr(equals + 1)));
    }
  }
  return reader.finish();
}

}  // namespace agentbox::mcp

// pure: see protocol.h.
#include "agentbox/protocol.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace agentbox::mcp {
namespace {

constexpr std::array kFeatures{
    VersionFeatures{.name = "2024-11-05",
                    .batches = false,
                    .annotations = false,
                    .audio = false,
                    .structured_output = false,
                    .resource_links = false,
                    .progress_message = false,
                    .server_description = false,
                    .core_tasks = false,
                    .modern = false},
    VersionFeatures{.name = "2025-03-26",
                    .batches = true,
                    .annotations = true,
                    .audio = true,
                    .structured_output = false,
                    .resource_links = false,
                    .progress_message = true,
                    .server_description = false,
                    .core_tasks = false,
                    .modern = false},
    VersionFeatures{.name = "2025-06-18",
                    .batches = false,
                    .annotations = true,
                    .audio = true,
                    .structured_output = true,
                    .resource_links = true,
                    .progress_message = true,
                    .server_description = false,
                    .core_tasks = false,
                    .modern = false},
    VersionFeatures{.name = "2025-11-25",
                    .batches = false,
                    .annotations = true,
                    .audio = true,
                    .structured_output = true,
                    .resource_links = true,
                    .progress_message = true,
                    .server_description = true,
                    .core_tasks = true,
                    .modern = false},
    VersionFeatures{.name = "2026-07-28",
                    .batches = false,
                    .annotations = true,
                    .audio = true,
                    .structured_output = true,
                    .resource_links = true,
                    .progress_message = true,
                    .server_description = true,
                    .core_tasks = false,
                    .modern = true},
};

constexpr std::array kNewestFirst{Version::k2026_07_28, Version::k2025_11_25, Version::k2025_06_18,
                                  Version::k2025_03_26, Version::k2024_11_05};

constexpr std::array<std::string_view, 8> kLogLevels{"debug", "info",     "notice", "warning",
                                                     "error", "critical", "alert",  "emergency"};

std::optional<Version> find_version(std::string_view name, bool modern) {
  for (const Version version : kNewestFirst) {
    if (features(version).name == name && features(version).modern == modern) {
      return version;
    }
  }
  return std::nullopt;
}

}  // namespace

const VersionFeatures& features(Version version) {
  return kFeatures.at(static_cast<std::size_t>(version));
}

std::span<const Version> all_versions() { return kNewestFirst; }

Version negotiate(std::string_view requested) {
  return find_version(requested, false).value_or(Version::k2025_11_25);
}

std::optional<Version> find_modern(std::string_view name) { return find_version(name, true); }

std::optional<LogLevel> find_log_level(std::string_view name) {
  const auto* const at = std::find(kLogLevels.begin(), kLogLevels.end(), name);
  if (at == kLogLevels.end()) {
    return std::nullopt;
  }
  return static_cast<LogLevel>(at - kLogLevels.begin());
}

std::string_view log_level_name(LogLevel level) {
  return kLogLevels.at(static_cast<std::size_t>(level));
}

}  // namespace agentbox::mcp

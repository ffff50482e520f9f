// pure: the revisions of the protocol as data: their names, what each allows, how one is chosen.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace agentbox::mcp {

/// In the order they were published.
enum class Version { k2024_11_05, k2025_03_26, k2025_06_18, k2025_11_25, k2026_07_28 };

/// What a revision has; a field or method that it lacks is not emitted or is refused.
struct VersionFeatures {
  std::string_view name;
  bool batches;             ///< arrays of messages
  bool annotations;         ///< hints on tools
  bool audio;               ///< audio content
  bool structured_output;   ///< outputSchema, structuredContent, and titles beside names
  bool resource_links;      ///< content that names a resource
  bool progress_message;    ///< `message` in progress notifications
  bool server_description;  ///< `description` in serverInfo
  bool core_tasks;          ///< tasks as a part of the protocol, not as an extension
  bool modern;              ///< no handshake: each request says its version; resultType, caching
};

[[nodiscard]] const VersionFeatures& features(Version version);
/// Newest first.
[[nodiscard]] std::span<const Version> all_versions();

/// The handshake's answer: REQUESTED where it is a revision with a handshake, else the newest such.
[[nodiscard]] Version negotiate(std::string_view requested);
/// A revision without handshake by its name.
[[nodiscard]] std::optional<Version> find_modern(std::string_view name);

/// Levels of log messages, least severe first.
enum class LogLevel { kDebug, kInfo, kNotice, kWarning, kError, kCritical, kAlert, kEmergency };
[[nodiscard]] std::optional<LogLevel> find_log_level(std::string_view name);
[[nodiscard]] std::string_view log_level_name(LogLevel level);

namespace meta {
inline constexpr std::string_view kProtocolVersion = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kClientCapabilities =
    "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view kLogLevel = "io.modelcontextprotocol/logLevel";
inline constexpr std::string_view kSubscriptionId = "io.modelcontextprotocol/subscriptionId";
inline constexpr std::string_view kServerInfo = "io.modelcontextprotocol/serverInfo";
inline constexpr std::string_view kRelatedTask = "io.modelcontextprotocol/related-task";
inline constexpr std::string_view kTasksExtension = "io.modelcontextprotocol/tasks";
inline constexpr std::string_view kError = "agentbox/error";
}  // namespace meta

}  // namespace agentbox::mcp

// pure: the names of resources: what a URI asks for, and the URI of a file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agentbox::mcp {

/// The longest path there is, each byte of it percent-encoded.
inline constexpr std::size_t kMaxUriBytes = 12UL << 10;

inline constexpr std::string_view kStatusUri = "agentbox://status";
inline constexpr std::string_view kMetadataUri = "agentbox://metadata";
inline constexpr std::string_view kAuditUri = "agentbox://audit";
/// What other boxes offer by these names is found here too.
inline constexpr std::string_view kCiContextUri = "containarium://ci-context";
inline constexpr std::string_view kCiPromptUri = "containarium://ci-prompt";

inline constexpr std::string_view kFileTemplate = "file:///{+path}";
inline constexpr std::string_view kProcessTemplate = "agentbox://process/{id}";
inline constexpr std::string_view kOutputTemplate = "agentbox://process/{id}/output";

namespace rpc {
/// In the revisions with a handshake.
inline constexpr int kResourceNotFound = -32002;
}  // namespace rpc

enum class ResourceKind {
  kFile,     ///< a file or folder
  kProcess,  ///< the state of a process
  kOutput,   ///< what it printed
  kStatus,
  kMetadata,
  kAudit,
  kCiContext,
  kCiPrompt,
};

struct ResourceUri {
  ResourceKind kind = ResourceKind::kFile;
  std::string path = {};     ///< of a file: absolute, in bytes, without "." and ".."
  std::string process = {};  ///< its id or name
};

/// Code::kInvalid where TEXT is no URI that we would write, Code::kNotFound where it is one of a
/// resource that does not exist, whatever the box holds. One resource has one spelling but for
/// needless percent-encoding.
[[nodiscard]] Result<ResourceUri> parse_resource_uri(std::string_view text);

/// Whether one can be told of changes.
[[nodiscard]] bool is_subscribable(ResourceKind kind);

/// The URI of the file PATH, an absolute path in bytes.
[[nodiscard]] std::string file_uri(std::string_view path);
[[nodiscard]] std::string process_uri(std::string_view id);
[[nodiscard]] std::string output_uri(std::string_view id);

/// TEXT with every % followed by two hex digits taken for the byte they mean; Code::kInvalid for
/// any other %, for control characters and for encoded slashes and NULs, which no name can hold.
[[nodiscard]] Result<std::string> decode_percent(std::string_view text);
/// PATH with those bytes encoded that a URI's path cannot hold as they are.
[[nodiscard]] std::string encode_percent(std::string_view path);

}  // namespace agentbox::mcp

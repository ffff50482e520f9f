// edge: the tools of a box that the operator's own commands use, as functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "provision/mcp_client.h"

namespace agentbox::provision {

/// A tool's structured result; Code::kProtocol with its words where the tool says it failed.
/// SECONDS is how long it may take.
[[nodiscard]] Result<Json> use_tool(McpClient& session, const std::string& tool,
                                    const Json& arguments, std::chrono::seconds time);

/// One page of a file.
struct FilePage {
  std::string bytes;
  std::uint64_t size = 0;  ///< of the whole file
  std::string etag;        ///< which file it was, in which state
};
/// The page that begins at OFFSET; an error where the file is not the one of ETAG (empty: any).
[[nodiscard]] Result<FilePage> read_page(McpClient& session, const std::string& path,
                                         std::uint64_t offset, const std::string& etag);

/// SHA-256 of the file of ETAG as it lies in the box now, in hex; read there from its start.
[[nodiscard]] Result<std::string> remote_sha256(McpClient& session, const std::string& path,
                                                const std::string& etag);

/// Bytes of one piece of an upload, all but the last.
inline constexpr std::size_t kPieceBytes = 3U << 20U;
/// Begins an upload to PATH; SIZE and MODE are 0 where they are not known. Its id.
[[nodiscard]] Result<std::string> begin_upload(McpClient& session, const std::string& path,
                                               std::uint64_t size, unsigned mode);
/// What the whole file has; told with its last piece.
struct WholeFile {
  std::uint64_t size = 0;
  std::string sum;
};
/// Stores BYTES at OFFSET; again, where that was done before. With WHOLE this is the last piece:
/// the box hashes what it has and puts it in its place.
[[nodiscard]] Status send_piece(McpClient& session, const std::string& id, std::uint64_t offset,
                                std::string_view bytes, const std::optional<WholeFile>& whole);
[[nodiscard]] Status abort_upload(McpClient& session, const std::string& id);

/// Runs PROGRAM with exactly these arguments and no shell; its standard output. An exit code that
/// is not 0 is Code::kProtocol with its words.
[[nodiscard]] Result<std::string> run_program(McpClient& session, const std::string& program,
                                              const std::vector<std::string>& arguments);

[[nodiscard]] Status remove_file(McpClient& session, const std::string& path);

}  // namespace agentbox::provision

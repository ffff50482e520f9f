// edge: the tools of a box that the operator's own commands use, as functions.
#pragma once

#include <cstdint>
#include <string>
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
  std::string modified;    ///< its time, as text
};
/// Most bytes of one page.
inline constexpr std::uint64_t kPageBytes = 512U << 10U;
[[nodiscard]] Result<FilePage> read_page(McpClient& session, const std::string& path,
                                         std::uint64_t offset);

/// SHA-256 of the file as it lies in the box now, in hex. Read there from its start: by read_file
/// where that hashes files of this SIZE, else by sha256sum. Empty where the box has neither.
[[nodiscard]] Result<std::string> remote_sha256(McpClient& session, const std::string& path,
                                                std::uint64_t size);

/// Runs PROGRAM with exactly these arguments and no shell; its standard output. An exit code that
/// is not 0 is Code::kProtocol with its words.
[[nodiscard]] Result<std::string> run_program(McpClient& session, const std::string& program,
                                              const std::vector<std::string>& arguments);

/// Moves a file onto another name of the same folder, whatever file is there; a folder is refused.
/// By the tool move_file where the box has it, else by mv.
[[nodiscard]] Status move_file(McpClient& session, const std::string& from, const std::string& to);
[[nodiscard]] Status remove_file(McpClient& session, const std::string& path);

}  // namespace agentbox::provision

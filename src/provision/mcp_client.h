// edge: a small MCP client over one SSH channel: initialize, then tools one after another.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/ssh_client.h"
#include "provision/contact.h"

namespace agentbox::provision {

class McpClient {
 public:
  /// Logs in over LINE with PRIVATE_KEY, opens a session and shakes hands.
  [[nodiscard]] static Result<McpClient> open(DoorLine line, const SecretText& private_key,
                                              Deadline deadline);

  /// The `result` of tools/call. A JSON-RPC error is Code::kProtocol with the server's words.
  [[nodiscard]] Result<Json> call_tool(const std::string& tool, const Json& arguments,
                                       Deadline deadline);

  /// Whether the server offers TOOL; asked once for all tools.
  [[nodiscard]] Result<bool> has_tool(const std::string& tool, Deadline deadline);

  /// Ends the session in good order; its exit code where one came.
  [[nodiscard]] Result<std::optional<int>> close(Deadline deadline);

  /// What the server said of itself in the handshake.
  [[nodiscard]] const Json& server() const { return server_; }

 private:
  McpClient(std::unique_ptr<DoorLine> line, SshChannel channel)
      : line_(std::move(line)), channel_(std::move(channel)) {}
  [[nodiscard]] Result<Json> request(const std::string& method, const Json& params,
                                     Deadline deadline);

  std::unique_ptr<DoorLine> line_;  ///< outlives the channel, which borrows it
  SshChannel channel_;
  Json server_;
  Json tools_;  ///< the result of tools/list, once it was asked for
  std::uint64_t next_id_ = 1;
};

}  // namespace agentbox::provision

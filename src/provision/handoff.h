// pure: how a client connects to a box: the ssh command, and the same for each client's own file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "provision/command.h"

namespace agentbox::provision {

/// Where a box answers and what it is pinned to. Every value has passed its grammar (BoxName,
/// check_path, a port that is not 0).
struct SshFacts {
  std::string name;
  std::string host;
  std::uint16_t port = 0;
  std::string identity_file;  ///< empty: unknown, and left to the client
  std::string known_hosts_file;
};

/// The name under which known_hosts holds the host key, whatever address the box has.
[[nodiscard]] std::string host_alias(const std::string& name);
/// The one line of known_hosts. HOST_KEY is `ssh-ed25519 BASE64`.
[[nodiscard]] std::string known_hosts_text(const std::string& name, const std::string& host_key);

/// The command that opens an MCP session on its standard input and output.
[[nodiscard]] std::vector<std::string> ssh_command(const SshFacts& facts);

/// `{NAME: {"command": "ssh", "args": [...]}}`.
[[nodiscard]] OrderedJson mcp_servers(const SshFacts& facts);

/// What the client of FORMAT wants to be given; ends in a newline. Not for Format::kJson, whose
/// text is the whole report.
[[nodiscard]] std::string render_handoff(const SshFacts& facts, Format format);

}  // namespace agentbox::provision

// pure: how a client connects to a box: the ssh command, and the same for each client's own file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "provision/command.h"
#include "provision/gateway.h"

namespace agentbox::provision {

/// Where a box answers and what it is pinned to. Every value has passed its grammar (BoxName,
/// check_path, a port that is not 0).
struct SshFacts {
  std::string name;
  std::string host;
  std::uint16_t port = 0;
  std::string identity_file;  ///< empty: unknown, and left to the client
  std::string known_hosts_file;
  Gateway gateway = {};
  std::string gateway_known_hosts_file = {};  ///< the gateway's own pin, where there is one
};

/// Who logs in, and where: at the box's door, or at a gateway that stands for it.
[[nodiscard]] std::string login_user(const SshFacts& facts);
[[nodiscard]] std::string login_host(const SshFacts& facts);
[[nodiscard]] std::uint16_t login_port(const SshFacts& facts);
/// The known_hosts that pins whom the client talks to.
[[nodiscard]] const std::string& login_known_hosts(const SshFacts& facts);

/// The name under which known_hosts holds the host key, whatever address the box has.
[[nodiscard]] std::string host_alias(const std::string& name);
/// The one line of known_hosts. HOST_KEY is `ssh-ed25519 BASE64`.
[[nodiscard]] std::string known_hosts_text(const std::string& name, const std::string& host_key);

/// The command that opens an MCP session on its standard input and output.
[[nodiscard]] std::vector<std::string> ssh_command(const SshFacts& facts);

/// The ProxyCommand of that where the gateway is a jump host: its standard input and output become
/// a connection to the box's door, with the same key and a pin of its own.
[[nodiscard]] std::vector<std::string> jump_command(const SshFacts& facts);

/// What whoever has the private key does with the command, where it is not known here.
[[nodiscard]] std::string_view identity_hint(const SshFacts& facts);

/// `{NAME: {"command": "ssh", "args": [...]}}`.
[[nodiscard]] OrderedJson mcp_servers(const SshFacts& facts);

/// What the client of FORMAT wants to be given; ends in a newline. Not for Format::kJson, whose
/// text is the whole report.
[[nodiscard]] std::string render_handoff(const SshFacts& facts, Format format);

}  // namespace agentbox::provision

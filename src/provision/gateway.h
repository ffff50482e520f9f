// pure: the gateway through which clients reach a box in a cluster: what it is, and who it is
// pinned as.
//
// A jump host forwards one TCP connection to the box's door and sees no call: the box's own host
// key is pinned end to end. sshpiper ends the client's SSH connection and opens another one to the
// box: it sees every call, and is every box behind it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace agentbox::provision {

enum class GatewayKind : std::uint8_t { kNone, kJump, kSshpiper };

struct Gateway {
  GatewayKind kind = GatewayKind::kNone;
  std::string user;         ///< who logs in at a jump host
  std::string host;         ///< where clients reach it: a name, or an address without brackets
  std::uint16_t port = 22;  ///< of the same
  std::string ns;           ///< sshpiper: the namespace of the Pipe and of its Secret
  std::string host_key;     ///< `TYPE BASE64`: the only host key it may show
  bool operator==(const Gateway&) const = default;
};

/// `jump:[USER@]HOST[:PORT]`, USER being `agent` where it is left out; or `sshpiper:NAMESPACE` with
/// ADDRESS `HOST[:PORT]`. An IPv6 address stands in brackets where a port follows. The host key is
/// left empty.
[[nodiscard]] Result<Gateway> parse_gateway(std::string_view text, std::string_view address);
/// What parse_gateway() reads as GATEWAY, in one form; empty for kNone.
[[nodiscard]] std::string gateway_text(const Gateway& gateway);
/// The ADDRESS that belongs to it; empty for all but sshpiper.
[[nodiscard]] std::string gateway_address(const Gateway& gateway);

/// The host key of GATEWAY as `TYPE BASE64`, out of TEXT: a public key, the text of a .pub file, or
/// lines of known_hosts, of which those that name it count. The first of ed25519, ECDSA, RSA that
/// is there; two of one type are an Error, as is none.
[[nodiscard]] Result<std::string> gateway_host_key(const Gateway& gateway, std::string_view text);

/// The value of HostKeyAlgorithms with which a host shows HOST_KEY (`TYPE BASE64`) and no other.
[[nodiscard]] std::string host_key_algorithms(std::string_view host_key);

/// The name under which a known_hosts of ours holds the gateway's host key.
[[nodiscard]] std::string gateway_alias(const std::string& box);
/// The text of the pin that lies beside a box's own: the gateway and its one host key.
[[nodiscard]] std::string gateway_known_hosts(const std::string& box, const Gateway& gateway);

/// HOST:PORT as ssh wants it: an IPv6 address in brackets.
[[nodiscard]] std::string host_and_port(const std::string& host, std::uint16_t port);

/// The line of a jump host's authorized_keys for KEY (`TYPE BASE64`, LABEL its comment): it opens a
/// connection to the door of TARGET, HOST:PORT, and nothing else. No line keeps it from leaving
/// sockets in the file system of the jump host; jump_host_config() is for that.
[[nodiscard]] std::string jump_key_line(const std::string& target, const std::string& key,
                                        const std::string& label);
/// What the sshd_config of a jump host needs for GATEWAY's user besides.
[[nodiscard]] std::string jump_host_config(const Gateway& gateway);

/// What everybody must know of a gateway of this kind; empty: nothing.
[[nodiscard]] std::vector<std::string> gateway_warnings(const Gateway& gateway);

}  // namespace agentbox::provision

// pure: see gateway.h.
#include "provision/gateway.h"

#include <algorithm>
#include <array>

#include "base/ip.h"
#include "base/public_key.h"
#include "base/text.h"

namespace agentbox::provision {
namespace {

constexpr std::string_view kJump = "jump:";
constexpr std::string_view kSshpiper = "sshpiper:";
constexpr const char* kDefaultUser = "agent";
constexpr std::size_t kMaxKeyTextBytes = 1U << 20U;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

Error bad(std::string_view what, std::string_view value) {
  return Error{Code::kInvalid, std::string(what) + ": '" + escape_text(value, 100) + "'"};
}

bool is_ipv6(const std::string& text) {
  const auto bytes = ip_bytes(text);
  return bytes && bytes->size() == 16;
}

// A name or an IPv4 address: nothing that a shell, ssh or a URL gives a meaning to.
bool is_name(std::string_view text) {
  constexpr std::size_t kMaxHostBytes = 253;
  return !text.empty() && text.size() <= kMaxHostBytes && is_letter_or_digit(text.front()) &&
         is_letter_or_digit(text.back()) && text.find("..") == std::string_view::npos &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '.' || c == '-'; });
}

// As Debian's useradd takes them.
bool is_user(std::string_view text) {
  constexpr std::size_t kMaxUserBytes = 32;
  const auto begins = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  return !text.empty() && text.size() <= kMaxUserBytes && begins(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return begins(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

bool is_namespace(std::string_view text) {
  constexpr std::size_t kMaxLabelBytes = 63;
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= kMaxLabelBytes && plain(text.front()) &&
         plain(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return plain(c) || c == '-'; });
}

Status read_address(std::string_view text, Gateway& gateway) {
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos || (end + 1 < text.size() && text[end + 1] != ':')) {
      return bad("not HOST[:PORT]", text);
    }
    host = text.substr(1, end - 1);
    port = end + 1 < text.size() ? text.substr(end + 2) : std::string_view();
    if (!is_ipv6(std::string(host)) || text.ends_with(':')) {
      return bad("not an IPv6 address with its port", text);
    }
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    host = text.substr(0, text.find(':'));
    port = text.substr(text.find(':') + 1);
    if (port.empty()) {
      return bad("not HOST[:PORT]", text);
    }
  }
  if (!is_name(host) && !is_ipv6(std::string(host))) {
    return bad("not the name or address of a host", host);
  }
  gateway.host = std::string(host);
  gateway.port = 22;
  if (!port.empty()) {
    const auto number = parse_decimal(port);
    if (!number.ok() || *number == 0 || *number > UINT16_MAX) {
      return bad("not a port", port);
    }
    gateway.port = static_cast<std::uint16_t>(*number);
  }
  return {};
}

// Words of a line that are apart by spaces or tabs.
std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string_view> words;
  for (auto from = line.find_first_not_of(kBlanks); from != std::string_view::npos;) {
    const auto end = std::min(line.find_first_of(kBlanks, from), line.size());
    words.push_back(line.substr(from, end - from));
    from = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

// Whether HOSTS, the first word of a line of known_hosts, names the gateway; patterns do not.
bool names(std::string_view hosts, const Gateway& gateway) {
  const std::string with_port = "[" + gateway.host + "]:" + std::to_string(gateway.port);
  while (!hosts.empty()) {
    const auto end = std::min(hosts.find(','), hosts.size());
    const std::string_view one = hosts.substr(0, end);
    if (one == with_port || (gateway.port == 22 && one == gateway.host)) {
      return true;
    }
    hosts.remove_prefix(std::min(end + 1, hosts.size()));
  }
  return false;
}

// The first is preferred.
constexpr std::array<std::string_view, 5> kHostKeyTypes = {
    "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa"};

bool is_type(std::string_view word) {
  return std::find(kHostKeyTypes.begin(), kHostKeyTypes.end(), word) != kHostKeyTypes.end();
}

// The public keys in TEXT that can be the gateway's.
Result<std::vector<PublicKey>> candidates(const Gateway& gateway, std::string_view text) {
  std::vector<PublicKey> keys;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty() || words.front().starts_with('#')) {
      continue;
    }
    const bool bare = is_type(words.front());
    const std::size_t type = bare ? 0 : 1;
    if (!bare && !names(words.front(), gateway)) {
      if (words.front().find("-----BEGIN") != std::string_view::npos) {
        return Error{Code::kInvalid, "a private key was given where a host's public key belongs"};
      }
      continue;
    }
    if (words.size() < type + 2) {
      return Error{Code::kInvalid, "a line of it is cut short"};
    }
    AB_TRY(key, PublicKey::parse(std::string(words[type]) + " " + std::string(words[type + 1])));
    const bool known = std::any_of(keys.begin(), keys.end(), [&](const PublicKey& other) {
      return other.blob() == key.blob();
    });
    if (!known) {
      keys.push_back(std::move(key));
    }
  }
  return keys;
}

}  // namespace

Result<Gateway> parse_gateway(std::string_view text, std::string_view address) {
  Gateway gateway;
  if (text.starts_with(kJump)) {
    gateway.kind = GatewayKind::kJump;
    std::string_view rest = text.substr(kJump.size());
    const auto at = rest.find('@');
    gateway.user = at == std::string_view::npos ? kDefaultUser : std::string(rest.substr(0, at));
    if (!is_user(gateway.user)) {
      return bad("not the name of a user", gateway.user);
    }
    if (!address.empty()) {
      return Error{Code::kInvalid, "--gateway-address goes with sshpiper: jump:HOST has its own"};
    }
    AB_CHECK(read_address(at == std::string_view::npos ? rest : rest.substr(at + 1), gateway));
    return gateway;
  }
  if (text.starts_with(kSshpiper)) {
    gateway.kind = GatewayKind::kSshpiper;
    gateway.ns = std::string(text.substr(kSshpiper.size()));
    if (!is_namespace(gateway.ns)) {
      return bad("not the name of a namespace", gateway.ns);
    }
    if (address.empty()) {
      return Error{Code::kInvalid,
                   "sshpiper wants --gateway-address HOST[:PORT]: where clients reach it"};
    }
    AB_CHECK(read_address(address, gateway));
    return gateway;
  }
  return bad("a gateway is jump:[USER@]HOST[:PORT] or sshpiper:NAMESPACE", text);
}

std::string host_and_port(const std::string& host, std::uint16_t port) {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string gateway_text(const Gateway& gateway) {
  switch (gateway.kind) {
    case GatewayKind::kNone:
      return {};
    case GatewayKind::kJump:
      return std::string(kJump) + gateway.user + "@" + host_and_port(gateway.host, gateway.port);
    case GatewayKind::kSshpiper:
      return std::string(kSshpiper) + gateway.ns;
  }
  return {};
}

std::string gateway_address(const Gateway& gateway) {
  return gateway.kind == GatewayKind::kSshpiper ? host_and_port(gateway.host, gateway.port) : "";
}

Result<std::string> gateway_host_key(const Gateway& gateway, std::string_view text) {
  if (text.size() > kMaxKeyTextBytes) {
    return Error{Code::kLimit, "the gateway's host key is in a text of more than 1 MiB"};
  }
  AB_TRY(keys, candidates(gateway, text));
  for (const std::string_view type : kHostKeyTypes) {
    const auto of_type = [&](const PublicKey& key) { return key.type() == type; };
    if (std::count_if(keys.begin(), keys.end(), of_type) > 1) {
      return Error{Code::kInvalid,
                   "there are two " + std::string(type) + " keys: one must be left"};
    }
    const auto found = std::find_if(keys.begin(), keys.end(), of_type);
    if (found != keys.end()) {
      return found->text();
    }
  }
  return Error{Code::kInvalid, "no host key of " + host_and_port(gateway.host, gateway.port) +
                                   " is in it (hashed names and patterns do not count)"};
}

std::string host_key_algorithms(std::string_view host_key) {
  const std::string_view type = host_key.substr(0, host_key.find(' '));
  return type == "ssh-rsa" ? "rsa-sha2-512,rsa-sha2-256" : std::string(type);
}

std::string gateway_alias(const std::string& box) { return "agentbox-gateway-of-" + box; }

std::string gateway_known_hosts(const std::string& box, const Gateway& gateway) {
  std::string about = gateway_text(gateway);
  if (gateway.kind == GatewayKind::kSshpiper) {
    about += " " + gateway_address(gateway);
  }
  return "# " + about + "\n" + gateway_alias(box) + " " + gateway.host_key + "\n";
}

std::string jump_key_line(const std::string& target, const std::string& key,
                          const std::string& label) {
  // restrict also takes away the terminal, the agent, X11 and ~/.ssh/rc. port-forwarding gives back
  // both directions: permitlisten leaves of the other one a port that only root can open.
  return "restrict,port-forwarding,permitopen=\"" + target +
         "\",permitlisten=\"localhost:1\",command=\"/bin/false\" " + key +
         (label.empty() ? "" : " " + label);
}

std::string jump_host_config(const Gateway& gateway) {
  return "Match User " + gateway.user +
         "\n"
         "  AuthenticationMethods publickey\n"
         "  AllowTcpForwarding local\n"
         "  AllowStreamLocalForwarding no\n"
         "  PermitTunnel no\n"
         "  MaxSessions 0\n";
}

std::vector<std::string> gateway_warnings(const Gateway& gateway) {
  if (gateway.kind != GatewayKind::kSshpiper) {
    return {};
  }
  return {
      "the gateway is every box behind it: it reads each call and answer, and can make calls of "
      "its own",
      "each login asks the cluster's API for a Secret: while that is down nobody new gets in"};
}

}  // namespace agentbox::provision

// pure: a peer's address as a value, and the patterns it is held against.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace agentbox::sshd {

/// An IPv4 or IPv6 address; IPv4 and its mapped IPv6 form are the same value.
class Address {
 public:
  /// Numeric forms only: no name is ever looked up.
  [[nodiscard]] static Result<Address> parse(std::string_view text);
  [[nodiscard]] static Result<Address> from_socket(const sockaddr_storage& storage);

  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool is_loopback() const;
  [[nodiscard]] bool is_v4() const;
  /// Whether the first BITS bits agree (counted within the family: 0 to 32, or 0 to 128).
  [[nodiscard]] bool shares_prefix(const Address& network, unsigned bits) const;
  auto operator<=>(const Address&) const = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

/// `HOST:PORT` or `[ADDRESS]:PORT`; what HOST means is the caller's business.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
[[nodiscard]] Result<HostPort> parse_host_port(std::string_view text);

/// One connection's other end.
struct Peer {
  Address address;
  std::uint16_t port = 0;

  /// `192.0.2.1:4242` or `[2001:db8::1]:4242`.
  [[nodiscard]] std::string text() const;
};

/// The value of a key's `from=`: comma-separated addresses, address/bits, or `*` and `?` patterns
/// over the address's text, each with `!` for not (sshd(8)). Names never match: none is looked up.
class FromList {
 public:
  [[nodiscard]] static Result<FromList> parse(std::string_view text);
  /// True where a pattern matches and no `!` pattern does.
  [[nodiscard]] bool allows(const Address& address) const;

 private:
  struct Pattern {
    bool negated = false;
    bool is_network = false;
    Address network;
    unsigned bits = 0;
    std::string glob;
  };
  std::vector<Pattern> patterns_;
};

}  // namespace agentbox::sshd

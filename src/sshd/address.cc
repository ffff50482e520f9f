// pure: see address.h.
#include "sshd/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/ip.h"
#include "base/text.h"

namespace agentbox::sshd {
namespace {

constexpr std::array<std::uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::size_t kMaxPatterns = 64;  // a list longer than this belongs into a network policy

// `*` any run, `?` any one character.
bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  std::size_t p = 0;
  std::size_t t = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace

Result<Address> Address::parse(std::string_view text) {
  const auto bytes = ip_bytes(text);
  if (!bytes) {
    return Error{Code::kInvalid, "not a numeric address: " + escape_text(text, 64)};
  }
  Address address;
  if (bytes->size() == 4) {
    std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), address.bytes_.begin());
  }
  std::copy(bytes->begin(), bytes->end(), address.bytes_.end() - std::ssize(*bytes));
  return address;
}

Result<Address> Address::from_socket(const sockaddr_storage& storage) {
  Address address;
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &storage, sizeof v4);
    std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), address.bytes_.begin());
    std::memcpy(address.bytes_.data() + kMappedPrefix.size(), &v4.sin_addr, sizeof v4.sin_addr);
    return address;
  }
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &storage, sizeof v6);
    std::memcpy(address.bytes_.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
    return address;
  }
  return Error{Code::kInvalid, "not an internet address"};
}

bool Address::is_v4() const {
  return std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), bytes_.begin());
}

std::string Address::text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  const bool v4 = is_v4();
  ::inet_ntop(v4 ? AF_INET : AF_INET6, bytes_.data() + (v4 ? kMappedPrefix.size() : 0),
              buffer.data(), buffer.size());
  return buffer.data();
}

bool Address::is_loopback() const {
  static const Address kV6 = parse("::1").value();
  return is_v4() ? bytes_[12] == 127 : *this == kV6;
}

bool Address::shares_prefix(const Address& network, unsigned bits) const {
  if (is_v4() != network.is_v4() || bits > (is_v4() ? 32U : 128U)) {
    return false;
  }
  unsigned left = bits;
  for (std::size_t i = is_v4() ? kMappedPrefix.size() : 0; left > 0; ++i) {
    const unsigned now = std::min(left, 8U);
    const auto mask = static_cast<std::uint8_t>(0xffU << (8U - now));
    if ((bytes_[i] & mask) != (network.bytes_[i] & mask)) {
      return false;
    }
    left -= now;
  }
  return true;
}

Result<HostPort> parse_host_port(std::string_view text) {
  const auto colon = text.rfind(':');
  std::string_view host = text.substr(0, colon);
  const auto port = parse_decimal(colon == std::string_view::npos ? "" : text.substr(colon + 1));
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) {
    host = host.substr(1, host.size() - 2);
  }
  const bool bare_v6 = !bracketed && host.find(':') != std::string_view::npos;
  if (host.empty() || bare_v6 || !port.ok() || *port == 0 || *port > 65535) {
    return Error{Code::kInvalid, "not HOST:PORT: " + escape_text(text, 100)};
  }
  return HostPort{std::string(host), static_cast<std::uint16_t>(*port)};
}

std::string Peer::text() const {
  const std::string host = address.text();
  return (address.is_v4() ? host : '[' + host + ']') + ':' + std::to_string(port);
}

Result<FromList> FromList::parse(std::string_view text) {
  FromList list;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    Pattern pattern;
    pattern.negated = item.starts_with('!');
    item.remove_prefix(pattern.negated ? 1 : 0);
    const auto slash = item.find('/');
    const auto address = Address::parse(item.substr(0, slash));
    if (slash != std::string_view::npos) {
      const auto bits = parse_decimal(item.substr(slash + 1));
      if (!address.ok() || !bits.ok() || *bits > (address->is_v4() ? 32U : 128U)) {
        return Error{Code::kInvalid, "not a network: " + escape_text(item, 64)};
      }
      pattern.is_network = true;
      pattern.bits = static_cast<unsigned>(*bits);
    } else if (address.ok()) {
      pattern.is_network = true;
      pattern.bits = address->is_v4() ? 32 : 128;
    }
    if (pattern.is_network) {
      pattern.network = *address;
    } else if (item.empty()) {
      return Error{Code::kInvalid, "an empty address pattern"};
    } else {
      pattern.glob = item;
    }
    list.patterns_.push_back(std::move(pattern));
    if (list.patterns_.size() > kMaxPatterns) {
      return Error{Code::kLimit, "more than " + std::to_string(kMaxPatterns) + " address patterns"};
    }
  }
  if (list.patterns_.empty()) {
    return Error{Code::kInvalid, "from= names no address"};
  }
  return list;
}

bool FromList::allows(const Address& address) const {
  bool allowed = false;
  for (const Pattern& pattern : patterns_) {
    const bool matches = pattern.is_network ? address.shares_prefix(pattern.network, pattern.bits)
                                            : glob_matches(pattern.glob, address.text());
    if (matches && pattern.negated) {
      return false;
    }
    allowed = allowed || matches;
  }
  return allowed;
}

}  // namespace agentbox::sshd

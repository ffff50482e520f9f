// pure: see socket_table.h.
#include "agentbox/socket_table.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>

#include "base/text.h"

namespace agentbox::mcp {
namespace {

// The fields of a line, as far as they count.
enum Field : std::size_t { kLocal = 1, kRemote = 2, kState = 3, kUid = 7, kInode = 9, kFields };

// The kernel's numbers of states.
constexpr std::uint32_t kListening = 0x0a;
constexpr std::uint32_t kUnconnected = 0x07;

constexpr std::size_t kWordDigits = 8;
constexpr std::size_t kMaxWords = 4;  // of an address of IPv6

std::optional<std::uint32_t> parse_hex(std::string_view digits) {
  std::uint32_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [at, fault] = std::from_chars(digits.data(), end, number, 16);
  return fault == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

struct Endpoint {
  std::string address;
  std::uint16_t port = 0;
};

// "0100007F:1F90": 32-bit words as they lie in memory, each written as this machine's number.
std::optional<Endpoint> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon != kWordDigits && colon != kWordDigits * kMaxWords) {
    return std::nullopt;
  }
  const auto port = parse_hex(text.substr(colon + 1));
  if (!port || *port > UINT16_MAX) {
    return std::nullopt;
  }
  std::array<std::uint32_t, kMaxWords> words{};
  for (std::size_t i = 0; i * kWordDigits < colon; ++i) {
    const auto word = parse_hex(text.substr(i * kWordDigits, kWordDigits));
    if (!word) {
      return std::nullopt;
    }
    words[i] = *word;
  }
  std::array<char, INET6_ADDRSTRLEN> shown{};
  const int family = colon == kWordDigits ? AF_INET : AF_INET6;
  if (::inet_ntop(family, words.data(), shown.data(), shown.size()) == nullptr) {
    return std::nullopt;
  }
  return Endpoint{.address = shown.data(), .port = static_cast<std::uint16_t>(*port)};
}

// The first fields of LINE; fewer than kFields where it is too short.
std::vector<std::string_view> split_fields(std::string_view line) {
  std::vector<std::string_view> fields;
  while (fields.size() < kFields) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) {
      break;
    }
    const std::size_t end = std::min(line.find(' '), line.size());
    fields.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return fields;
}

}  // namespace

std::optional<OpenPort> parse_socket_line(std::string_view line, Transport transport) {
  const auto fields = split_fields(line);
  if (fields.size() < kFields) {
    return std::nullopt;
  }
  const auto local = parse_endpoint(fields[kLocal]);
  const auto remote = parse_endpoint(fields[kRemote]);
  const auto state = parse_hex(fields[kState]);
  const auto uid = parse_decimal(fields[kUid]);
  const auto inode = parse_decimal(fields[kInode]);
  if (!local || !remote || !state || !uid.ok() || *uid > UINT32_MAX || !inode.ok()) {
    return std::nullopt;
  }
  const bool open = transport == Transport::kTcp ? *state == kListening
                                                 : *state == kUnconnected && remote->port == 0;
  if (!open || local->port == 0) {
    return std::nullopt;
  }
  return OpenPort{.address = local->address,
                  .port = local->port,
                  .uid = static_cast<std::uint32_t>(*uid),
                  .inode = *inode};
}

std::vector<OpenPort> parse_socket_table(std::string_view table, Transport transport,
                                         std::size_t limit) {
  std::vector<OpenPort> ports;
  while (!table.empty() && ports.size() < limit) {
    const std::size_t end = std::min(table.find('\n'), table.size());
    if (auto port = parse_socket_line(table.substr(0, end), transport)) {
      ports.push_back(std::move(*port));
    }
    table.remove_prefix(std::min(end + 1, table.size()));
  }
  return ports;
}

std::optional<std::uint64_t> parse_socket_link(std::string_view target) {
  constexpr std::string_view kBegin = "socket:[";
  if (!target.starts_with(kBegin) || !target.ends_with(']')) {
    return std::nullopt;
  }
  target.remove_prefix(kBegin.size());
  target.remove_suffix(1);
  const auto inode = parse_decimal(target);
  return inode.ok() ? std::optional(*inode) : std::nullopt;
}

}  // namespace agentbox::mcp

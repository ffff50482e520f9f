// pure: the kernel's tables of sockets, /proc/net/{tcp,tcp6,udp,udp6}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentbox::mcp {

/// A socket that takes what comes: a listening one of TCP, or one of UDP that is bound and talks
/// to nobody in particular.
struct OpenPort {
  std::string address;  ///< "127.0.0.1", "::"
  std::uint16_t port = 0;
  std::uint32_t uid = 0;    ///< of who made it
  std::uint64_t inode = 0;  ///< what its descriptors are called after
};

enum class Transport : std::uint8_t { kTcp, kUdp };

/// Of one LINE of a table; nothing for the headline, other sockets, and what the kernel cannot have
/// written.
[[nodiscard]] std::optional<OpenPort> parse_socket_line(std::string_view line, Transport transport);

/// Of all lines of TABLE, in their order, at most LIMIT.
[[nodiscard]] std::vector<OpenPort> parse_socket_table(std::string_view table, Transport transport,
                                                       std::size_t limit);

/// The inode in "socket:[123]", as a link in /proc/PID/fd reads.
[[nodiscard]] std::optional<std::uint64_t> parse_socket_link(std::string_view target);

}  // namespace agentbox::mcp

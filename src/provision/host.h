// edge: what this machine offers a local box: a free port, bubblewrap, folders to show.
#pragma once

#include <cstdint>
#include <vector>

#include "provision/account.h"
#include "provision/answer.h"
#include "provision/box_side.h"

namespace agentbox::provision {

/// Ports for boxes: below the range from which outgoing connections take theirs (32768 up), so that
/// a suspended box finds its port free again, and above most services.
inline constexpr std::uint16_t kFirstPort = 20'000;
inline constexpr std::uint16_t kLastPort = 32'000;

/// True where nobody listens on PORT of 127.0.0.1.
[[nodiscard]] bool port_is_free(std::uint16_t port);

/// A port of 127.0.0.1 that nobody has, and none of TAKEN.
[[nodiscard]] Answer<std::uint16_t> choose_port(const std::vector<std::uint16_t>& taken);

/// bubblewrap and what the box side may see of this machine. Refuses where there is no bubblewrap.
[[nodiscard]] Answer<HostFacts> find_host_facts();

/// Tries the namespaces as the box's user. Refuses with what to do where they cannot be had.
[[nodiscard]] Done try_isolation(const HostFacts& host, const Accounts& accounts);

}  // namespace agentbox::provision

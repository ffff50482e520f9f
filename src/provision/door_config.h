// pure: the door's configuration for a local box, as YAML.
#pragma once

#include <cstdint>
#include <string>

#include "base/profile.h"
#include "provision/paths.h"

namespace agentbox::provision {

/// A local box is reached from this machine alone.
inline constexpr const char* kLocalAddress = "127.0.0.1";

[[nodiscard]] std::string render_door_config(const BoxPaths& paths, std::uint16_t port,
                                             unsigned box_uid, Profile profile);

}  // namespace agentbox::provision

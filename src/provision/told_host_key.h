// pure: what a door's log says of its host key, to whoever has nothing else to know it from.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/public_key.h"
#include "base/result.h"

namespace agentbox::provision {

/// A pod that waits writes some 500 bytes a second, for its probes, and tells its host key every
/// thousand lines: this much of any part of its log has it.
inline constexpr std::size_t kMaxToldBytes = 2U << 20U;

/// The host key that the door told in LOG (the audit and the log of a pod's container, mixed; the
/// last line may be cut) before it was given any keys; nothing: it has not said it yet. Refused
/// (Code::kDenied) where the lines that say it do not agree, are not as the door writes them, or
/// tell of keys: then somebody else has written there, or has given the box keys.
[[nodiscard]] Result<std::optional<PublicKey>> host_key_told(std::string_view log);

}  // namespace agentbox::provision

// pure: what the door must not forget over a restart, as the text of its file; the audit head's is
// in base/audit_chain.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agentbox::sshd {

[[nodiscard]] std::string render_generation(std::uint64_t generation);
[[nodiscard]] Result<std::uint64_t> parse_generation(std::string_view text);

}  // namespace agentbox::sshd

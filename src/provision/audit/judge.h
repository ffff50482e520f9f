// pure: which of the known weaknesses a box has.
#pragma once

#include <vector>

#include "provision/audit/facts.h"
#include "provision/audit/rules.h"

namespace agentbox::provision::audit {

/// A key that has lived longer is old.
inline constexpr std::uint64_t kOldKeyDays = 365;
inline constexpr std::uint64_t kLeastRsaBits = 3072;

/// What is weak in FACTS, errors first, in the rules' order. A sound box has nothing.
[[nodiscard]] std::vector<Finding> judge(const BoxFacts& facts);

/// Length in bits of an RSA key's modulus; 0 for other keys.
[[nodiscard]] std::uint64_t rsa_bits(std::string_view blob);

/// Whether a variable of this name is likely to hold a secret.
[[nodiscard]] bool looks_secret(std::string_view name);

}  // namespace agentbox::provision::audit

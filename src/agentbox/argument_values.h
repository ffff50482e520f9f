// pure: JSON values read as what an argument wants, harmless other spellings included.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace agentbox::mcp {

/// 7, 7.0, "7" and "7.0"; nothing where it is no whole number of 64 bits.
[[nodiscard]] std::optional<std::int64_t> read_integer(const Json& value);
/// 1.5 and "1.5"; always finite.
[[nodiscard]] std::optional<double> read_number(const Json& value);
/// true, "true", "True", 1, "1", and the same of false.
[[nodiscard]] std::optional<bool> read_flag(const Json& value);
/// A string, or a number or boolean as the text it was written as: PORT=8080 is meant well.
[[nodiscard]] std::optional<std::string> read_scalar(const Json& value);
/// VALUE itself, or what it holds where it is a string of JSON text that begins with FIRST; that
/// is kept in HOLDER.
[[nodiscard]] const Json& open_nested(const Json& value, char first, Json& holder);

[[nodiscard]] bool is_octal_mode(std::string_view text);
[[nodiscard]] bool is_sha256_hex(std::string_view text);

}  // namespace agentbox::mcp

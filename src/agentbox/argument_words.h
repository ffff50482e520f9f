// pure: the words in which a wrong argument is refused.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "agentbox/arguments.h"
#include "base/json.h"
#include "base/result.h"

namespace agentbox::mcp {

/// Long names and values in an error help nobody.
inline constexpr std::size_t kMaxShownNameBytes = 64;

/// NAME in quotes, as printable ASCII, cut.
[[nodiscard]] std::string in_quotes(std::string_view name);
[[nodiscard]] std::string show_number(double number);
/// What ARGUMENT takes: "an integer from 1 to 100".
[[nodiscard]] std::string describe(const Argument& argument);
/// What VALUE is: "a string". Values themselves may be secrets and are not quoted.
[[nodiscard]] std::string_view kind_of(const Json& value);

/// `"limit" must be an integer from 1 to 100, not a string`.
[[nodiscard]] Error wrong_argument(const Argument& argument, std::string_view got);
/// Names the closest valid argument, where there is a close one, and all of them.
[[nodiscard]] Error unknown_argument(std::span<const Argument> arguments, std::string_view name);

}  // namespace agentbox::mcp

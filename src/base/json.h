// pure: the one door to the JSON library: capped parsing, and dumping that cannot throw.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agentbox {

/// What comes in; look-ups are logarithmic whatever a sender does.
using Json = nlohmann::json;
/// What goes out; keys keep the order they were set in. Never parsed into (its look-ups are
/// linear).
using OrderedJson = nlohmann::ordered_json;

/// Bounds of one JSON text, counted by a linear scan before the parser sees it: the library parses
/// any depth and then overflows the stack on copying or dumping, and its DOM takes up to 34 bytes
/// a byte of input.
struct JsonLimits {
  std::size_t depth = 128;
  std::size_t values = 200'000;
  std::size_t keys = 50'000;
};

/// Parses one JSON text (RFC 8259; UTF-8 only). Code::kLimit where a bound is passed, else
/// Code::kInvalid with where it stops being JSON. Duplicate keys: the last one wins.
[[nodiscard]] Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

/// Compact text on one line. Invalid UTF-8 becomes U+FFFD: callers that must not lose bytes encode
/// them before they get here. INDENT >= 0 spreads it over lines.
[[nodiscard]] std::string dump_json(const Json& value, int indent = -1);
[[nodiscard]] std::string dump_json(const OrderedJson& value, int indent = -1);

/// The member NAME of OBJECT, or null where OBJECT is no object or lacks it.
[[nodiscard]] const Json* find_member(const Json& object, std::string_view name);
/// The member as string, or null where it is missing or something else.
[[nodiscard]] const std::string* find_string(const Json& object, std::string_view name);

}  // namespace agentbox

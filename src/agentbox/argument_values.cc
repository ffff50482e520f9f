// pure: see argument_values.h.
#include "agentbox/argument_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

namespace agentbox::mcp {
namespace {

// The nested texts of lists and maps are small; their own bounds are checked afterwards.
constexpr JsonLimits kNestedLimits{.depth = 4, .values = 50'000, .keys = 10'000};

std::optional<double> parse_number(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || stop != end || text.empty() || !std::isfinite(number)) {
    return std::nullopt;
  }
  return number;
}

std::optional<std::int64_t> to_integer(double number) {
  // 2^63 is the first double that does not fit.
  if (std::trunc(number) != number || number < -0x1p63 || number >= 0x1p63) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(number);
}

}  // namespace

std::optional<std::int64_t> read_integer(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(INT64_MAX)) {
      return std::nullopt;
    }
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) {
    return value.get<std::int64_t>();
  }
  if (value.is_number_float()) {
    return to_integer(value.get<double>());
  }
  if (const auto* text = value.get_ptr<const std::string*>()) {
    std::int64_t number = 0;
    const char* const end = text->data() + text->size();
    const auto [stop, problem] = std::from_chars(text->data(), end, number);
    if (problem == std::errc() && stop == end && !text->empty()) {
      return number;
    }
    const auto fraction = parse_number(*text);
    return fraction ? to_integer(*fraction) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> read_number(const Json& value) {
  if (value.is_number()) {
    return value.get<double>();
  }
  const auto* text = value.get_ptr<const std::string*>();
  return text == nullptr ? std::nullopt : parse_number(*text);
}

std::optional<bool> read_flag(const Json& value) {
  if (value.is_boolean()) {
    return value.get<bool>();
  }
  const std::string text = value.is_string() ? value.get<std::string>() : dump_json(value);
  if (text == "true" || text == "True" || text == "1") {
    return true;
  }
  if (text == "false" || text == "False" || text == "0") {
    return false;
  }
  return std::nullopt;
}

std::optional<std::string> read_scalar(const Json& value) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (value.is_number() || value.is_boolean()) {
    return dump_json(value);
  }
  return std::nullopt;
}

const Json& open_nested(const Json& value, char first, Json& holder) {
  const auto* text = value.get_ptr<const std::string*>();
  if (text == nullptr || !text->starts_with(first)) {
    return value;
  }
  auto parsed = parse_json(*text, kNestedLimits);
  if (!parsed.ok()) {
    return value;
  }
  holder = std::move(parsed).value();
  return holder;
}

bool is_octal_mode(std::string_view text) {
  if (text.size() == 5 && text.front() == '0') {
    text.remove_prefix(1);
  }
  return (text.size() == 3 || text.size() == 4) &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '7'; });
}

bool is_sha256_hex(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace agentbox::mcp

// pure: one declaration of a record's fields serves both directions, to JSON and back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "base/json.h"

namespace agentbox::mcp {

/// Longest text of a field: a path of the box.
inline constexpr std::size_t kMaxFieldBytes = 4096;
/// Keeps sums of what a hostile record says away from overflow.
inline constexpr std::int64_t kMostNumber = std::int64_t{1} << 60;

struct FieldWriter {
  OrderedJson json = OrderedJson::object();

  template <typename T>
  void operator()(const char* name, const T& value) {
    json[name] = value;
  }
};

/// GOOD stays true while every field was there, of its type and within its bounds. A signed number
/// may be -1, for none.
struct FieldReader {
  const Json& json;
  bool good = true;

  void operator()(const char* name, std::string& value) {
    const std::string* text = find_string(json, name);
    good = good && text != nullptr && text->size() <= kMaxFieldBytes;
    value = good ? *text : std::string();
  }
  void operator()(const char* name, bool& value) {
    const Json* flag = find_member(json, name);
    good = good && flag != nullptr && flag->is_boolean();
    value = good && flag->get<bool>();
  }
  template <typename T>
  requires(std::is_integral_v<T>) void operator()(const char* name, T& value) {
    const Json* number = find_member(json, name);
    good = good && number != nullptr && number->is_number_integer();
    const std::int64_t read = good ? number->get<std::int64_t>() : 0;
    const auto most = static_cast<std::int64_t>(
        std::min<std::uint64_t>(std::numeric_limits<T>::max(), kMostNumber));
    good = good && read <= most && read >= (std::is_signed_v<T> ? -1 : 0);
    value = good ? static_cast<T>(read) : T{};
  }
};

}  // namespace agentbox::mcp

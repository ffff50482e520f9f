// pure: see arguments.h.
#include "agentbox/arguments.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "base/text.h"

namespace agentbox::mcp {
namespace {

// Names that other tool sets use for the same thing; accepted, never published.
struct Alias {
  std::string_view other;
  std::string_view name;
  double scale = 1;  // numbers: the value in our unit is this times theirs
};
constexpr std::array kAliases{
    Alias{"file_path", "path"},        Alias{"filepath", "path"},
    Alias{"directory", "path"},        Alias{"cmd", "command"},
    Alias{"workdir", "cwd"},           Alias{"exec_dir", "cwd"},
    Alias{"working_directory", "cwd"}, Alias{"old_text", "old_string"},
    Alias{"oldText", "old_string"},    Alias{"new_text", "new_string"},
    Alias{"newText", "new_string"},    Alias{"timeout_ms", "timeout_seconds", 0.001},
};

// Long names in an error help nobody.
constexpr std::size_t kMaxShownNameBytes = 64;
// The nested texts of lists and maps are small; their own bounds are checked afterwards.
constexpr JsonLimits kNestedLimits{.depth = 4, .values = 50'000, .keys = 10'000};

using Text = std::string;

Text in_quotes(std::string_view name) {
  return "\"" + escape_text(name, kMaxShownNameBytes) + "\"";
}

const Argument* find_argument(std::span<const Argument> arguments, std::string_view name) {
  const auto at = std::find_if(arguments.begin(), arguments.end(),
                               [&](const Argument& one) { return one.name == name; });
  return at == arguments.end() ? nullptr : &*at;
}

Text show_number(double number) {
  const bool whole = std::trunc(number) == number && std::abs(number) < 1e15;
  return dump_json(whole ? Json(static_cast<std::int64_t>(number)) : Json(number));
}

Text describe_range(const Argument& argument) {
  if (argument.minimum && argument.maximum) {
    return " from " + show_number(*argument.minimum) + " to " + show_number(*argument.maximum);
  }
  if (argument.minimum) {
    return " of at least " + show_number(*argument.minimum);
  }
  if (argument.maximum) {
    return " of at most " + show_number(*argument.maximum);
  }
  return {};
}

Text describe_choices(const Argument& argument) {
  Text text = "one of";
  for (const std::string_view choice : argument.choices) {
    text += (choice == argument.choices.front() ? " " : ", ") + in_quotes(choice);
  }
  return text;
}

Text describe(const Argument& argument) {
  switch (argument.type) {
    case ArgumentType::kString:
      if (!argument.choices.empty()) {
        return describe_choices(argument);
      }
      if (argument.shape == Shape::kOctalMode) {
        return "octal permission bits such as \"0644\"";
      }
      if (argument.shape == Shape::kSha256) {
        return "a SHA-256 as 64 lower-case hex digits";
      }
      return "a string";
    case ArgumentType::kInteger:
      return "an integer" + describe_range(argument);
    case ArgumentType::kNumber:
      return "a number" + describe_range(argument);
    case ArgumentType::kBoolean:
      return "true or false";
    case ArgumentType::kStringList:
      return "an array of strings";
    case ArgumentType::kStringMap:
      return "an object of strings";
  }
  std::abort();
}

Error expected(const Argument& argument, std::string_view got) {
  return Error{Code::kInvalid,
               in_quotes(argument.name) + " must be " + describe(argument) + ", not " + Text(got)};
}

std::string_view kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a boolean";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return "a number";
    case Json::value_t::binary:
    case Json::value_t::discarded:
      break;
  }
  return "something else";
}

bool is_octal_mode(std::string_view text) {
  if (text.size() == 5 && text.front() == '0') {
    text.remove_prefix(1);
  }
  return (text.size() == 3 || text.size() == 4) &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '7'; });
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

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
  const Text text = value.is_string() ? value.get<std::string>() : dump_json(value);
  if (text == "true" || text == "True" || text == "1") {
    return true;
  }
  if (text == "false" || text == "False" || text == "0") {
    return false;
  }
  return std::nullopt;
}

// A string, or a number or boolean as the text it was written as: PORT=8080 is meant well.
std::optional<Text> read_scalar(const Json& value) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (value.is_number() || value.is_boolean()) {
    return dump_json(value);
  }
  return std::nullopt;
}

// VALUE itself, or what it holds where it is a string of JSON text of the wanted kind.
const Json& nested(const Json& value, char first, Json& holder) {
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

std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= left.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t replaced = diagonal + (left[i - 1] == right[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

Error unknown_argument(std::span<const Argument> arguments, std::string_view name) {
  Text what = "unknown argument " + in_quotes(name);
  if (arguments.empty()) {
    return Error{Code::kInvalid, what + ". This tool takes no arguments"};
  }
  const std::string_view shown = name.substr(0, kMaxShownNameBytes);
  const auto closest = std::min_element(
      arguments.begin(), arguments.end(), [&](const Argument& left, const Argument& right) {
        return edit_distance(shown, left.name) < edit_distance(shown, right.name);
      });
  const std::size_t longer = std::max(shown.size(), closest->name.size());
  if (edit_distance(shown, closest->name) * 2 <= longer) {
    what += "; did you mean " + in_quotes(closest->name) + "?";
  } else {
    what += ".";
  }
  what += " Valid arguments:";
  for (const Argument& argument : arguments) {
    what += (&argument == &arguments.front() ? " " : ", ") + Text(argument.name);
  }
  return Error{Code::kInvalid, what};
}

Status check_string(const Argument& argument, const Text& value) {
  if (argument.min_length && value.size() < *argument.min_length) {
    return Error{Code::kInvalid, in_quotes(argument.name) +
                                     (*argument.min_length == 1
                                          ? Text(" must not be empty")
                                          : " must have at least " +
                                                std::to_string(*argument.min_length) + " bytes")};
  }
  if (argument.max_length && value.size() > *argument.max_length) {
    return Error{Code::kInvalid, in_quotes(argument.name) + " has " + std::to_string(value.size()) +
                                     " bytes; at most " + std::to_string(*argument.max_length) +
                                     " are allowed"};
  }
  const bool chosen =
      argument.choices.empty() ||
      std::find(argument.choices.begin(), argument.choices.end(), value) != argument.choices.end();
  const bool shaped =
      argument.shape == Shape::kAny ||
      (argument.shape == Shape::kOctalMode ? is_octal_mode(value) : is_sha256(value));
  if (!chosen || !shaped) {
    return expected(argument,
                    value.size() <= kMaxShownNameBytes ? in_quotes(value) : "another text");
  }
  return {};
}

Status check_range(const Argument& argument, double value) {
  if ((argument.minimum && value < *argument.minimum) ||
      (argument.maximum && value > *argument.maximum)) {
    return expected(argument, show_number(value));
  }
  return {};
}

OrderedJson bound(const Argument& argument, double value) {
  if (argument.type == ArgumentType::kInteger) {
    return static_cast<std::int64_t>(value);
  }
  return std::trunc(value) == value ? OrderedJson(static_cast<std::int64_t>(value))
                                    : OrderedJson(value);
}

void add_type(OrderedJson& schema, ArgumentType type) {
  switch (type) {
    case ArgumentType::kString:
      schema["type"] = "string";
      return;
    case ArgumentType::kInteger:
      schema["type"] = "integer";
      return;
    case ArgumentType::kNumber:
      schema["type"] = "number";
      return;
    case ArgumentType::kBoolean:
      schema["type"] = "boolean";
      return;
    case ArgumentType::kStringList:
      schema["type"] = "array";
      schema["items"] = OrderedJson{{"type", "string"}};
      return;
    case ArgumentType::kStringMap:
      schema["type"] = "object";
      schema["additionalProperties"] = OrderedJson{{"type", "string"}};
      return;
  }
}

void add_fallback(OrderedJson& schema, const Argument& argument) {
  if (const auto* text = std::get_if<std::string_view>(&argument.fallback)) {
    schema["default"] = *text;
  } else if (const auto* integer = std::get_if<std::int64_t>(&argument.fallback)) {
    schema["default"] = *integer;
  } else if (const auto* number = std::get_if<double>(&argument.fallback)) {
    schema["default"] = bound(argument, *number);
  } else if (const auto* flag = std::get_if<bool>(&argument.fallback)) {
    schema["default"] = *flag;
  }
}

OrderedJson argument_schema(const Argument& argument) {
  OrderedJson schema;
  add_type(schema, argument.type);
  if (!argument.description.empty()) {
    schema["description"] = argument.description;
  }
  if (!argument.choices.empty()) {
    schema["enum"] = argument.choices;
  }
  if (argument.min_length) {
    schema["minLength"] = *argument.min_length;
  }
  if (argument.max_length) {
    schema["maxLength"] = *argument.max_length;
  }
  add_fallback(schema, argument);
  if (argument.minimum) {
    schema["minimum"] = bound(argument, *argument.minimum);
  }
  if (argument.maximum) {
    schema["maximum"] = bound(argument, *argument.maximum);
  }
  if (argument.max_items) {
    schema["maxItems"] = *argument.max_items;
  }
  if (argument.shape == Shape::kOctalMode) {
    schema["pattern"] = "^0?[0-7]{3,4}$";
  } else if (argument.shape == Shape::kSha256) {
    schema["pattern"] = "^[0-9a-f]{64}$";
  }
  return schema;
}

}  // namespace

// Reads one call; a class so that it alone may fill Arguments.
class ArgumentReader {
 public:
  explicit ArgumentReader(std::span<const Argument> arguments) : arguments_(arguments) {
    for (const Argument& argument : arguments) {
      values_.entries_.push_back(
          {.name = std::string(argument.name), .given = false, .value = fallback(argument)});
    }
  }

  Status read(std::string_view name, const Json& value) {
    double scale = 1;
    const Argument* argument = find_argument(arguments_, name);
    if (argument == nullptr) {
      const auto* const alias =
          std::find_if(kAliases.begin(), kAliases.end(), [&](const Alias& one) {
            return one.other == name && find_argument(arguments_, one.name) != nullptr;
          });
      if (alias == kAliases.end()) {
        return unknown_argument(arguments_, name);
      }
      argument = find_argument(arguments_, alias->name);
      scale = alias->scale;
    }
    if (value.is_null() && !argument->required) {
      return {};
    }
    auto& entry = values_.entries_[static_cast<std::size_t>(argument - arguments_.data())];
    if (entry.given) {
      return Error{Code::kInvalid, in_quotes(argument->name) + " is given twice, once as " +
                                       in_quotes(name) + "; keep " + in_quotes(argument->name)};
    }
    AB_TRY(read_value, convert(*argument, value, scale));
    entry.value = std::move(read_value);
    entry.given = true;
    return {};
  }

  Result<Arguments> finish() {
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (arguments_[i].required && !values_.entries_[i].given) {
        return Error{Code::kInvalid, in_quotes(arguments_[i].name) + " is missing: " +
                                         describe(arguments_[i]) + " is required"};
      }
    }
    return std::move(values_);
  }

 private:
  using Value = Arguments::Value;

  static Value fallback(const Argument& argument) {
    switch (argument.type) {
      case ArgumentType::kString: {
        const auto* text = std::get_if<std::string_view>(&argument.fallback);
        return text == nullptr ? std::string() : std::string(*text);
      }
      case ArgumentType::kInteger: {
        const auto* number = std::get_if<std::int64_t>(&argument.fallback);
        return number == nullptr ? std::int64_t{0} : *number;
      }
      case ArgumentType::kNumber: {
        const auto* number = std::get_if<double>(&argument.fallback);
        return number == nullptr ? 0.0 : *number;
      }
      case ArgumentType::kBoolean: {
        const auto* flag = std::get_if<bool>(&argument.fallback);
        return flag != nullptr && *flag;
      }
      case ArgumentType::kStringList:
        return std::vector<std::string>();
      case ArgumentType::kStringMap:
        return Arguments::Map();
    }
    std::abort();
  }

  static Result<Value> convert(const Argument& argument, const Json& value, double scale) {
    switch (argument.type) {
      case ArgumentType::kString: {
        const auto* text = value.get_ptr<const std::string*>();
        if (text == nullptr) {
          return expected(argument, kind_of(value));
        }
        AB_CHECK(check_string(argument, *text));
        return Value(*text);
      }
      case ArgumentType::kInteger: {
        const auto number = read_integer(value);
        if (!number) {
          return expected(argument, value.is_number() ? dump_json(value) : kind_of(value));
        }
        AB_CHECK(check_range(argument, static_cast<double>(*number)));
        return Value(*number);
      }
      case ArgumentType::kNumber: {
        const auto number = read_number(value);
        if (!number) {
          return expected(argument, kind_of(value));
        }
        AB_CHECK(check_range(argument, *number * scale));
        return Value(*number * scale);
      }
      case ArgumentType::kBoolean: {
        const auto flag = read_flag(value);
        if (!flag) {
          return expected(argument, kind_of(value));
        }
        return Value(*flag);
      }
      case ArgumentType::kStringList:
        return convert_list(argument, value);
      case ArgumentType::kStringMap:
        return convert_map(argument, value);
    }
    std::abort();
  }

  static Result<Value> convert_list(const Argument& argument, const Json& value) {
    Json holder;
    const Json& list = nested(value, '[', holder);
    if (!list.is_array()) {
      return expected(argument, kind_of(value));
    }
    if (argument.max_items && list.size() > *argument.max_items) {
      return Error{Code::kInvalid, in_quotes(argument.name) + " has " +
                                       std::to_string(list.size()) + " items; at most " +
                                       std::to_string(*argument.max_items) + " are allowed"};
    }
    std::vector<std::string> items;
    items.reserve(list.size());
    for (const Json& item : list) {
      auto text = read_scalar(item);
      if (!text) {
        return expected(argument, Text("an array holding ") + Text(kind_of(item)));
      }
      items.push_back(*std::move(text));
    }
    return Value(std::move(items));
  }

  static Result<Value> convert_map(const Argument& argument, const Json& value) {
    Json holder;
    const Json& map = nested(value, '{', holder);
    if (!map.is_object()) {
      return expected(argument, kind_of(value));
    }
    Arguments::Map entries;
    entries.reserve(map.size());
    for (const auto& [key, item] : map.items()) {
      auto text = read_scalar(item);
      if (!text) {
        return expected(argument, Text("an object holding ") + Text(kind_of(item)));
      }
      entries.emplace_back(key, *std::move(text));
    }
    return Value(std::move(entries));
  }

  std::span<const Argument> arguments_;
  Arguments values_;
};

OrderedJson input_schema(std::span<const Argument> arguments) {
  OrderedJson properties = OrderedJson::object();
  OrderedJson required = OrderedJson::array();
  for (const Argument& argument : arguments) {
    properties[std::string(argument.name)] = argument_schema(argument);
    if (argument.required) {
      required.push_back(argument.name);
    }
  }
  OrderedJson schema;
  schema["type"] = "object";
  schema["properties"] = std::move(properties);
  if (!required.empty()) {
    schema["required"] = std::move(required);
  }
  schema["additionalProperties"] = false;
  return schema;
}

Result<Arguments> read_arguments(std::span<const Argument> arguments, const Json& given) {
  ArgumentReader reader(arguments);
  for (const auto& [name, value] : given.items()) {
    AB_CHECK(reader.read(name, value));
  }
  return reader.finish();
}

const Arguments::Entry& Arguments::entry(std::string_view name) const {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& one) { return one.name == name; });
  if (at == entries_.end()) {
    std::abort();
  }
  return *at;
}

bool Arguments::has(std::string_view name) const { return entry(name).given; }

const std::string& Arguments::text(std::string_view name) const {
  return std::get<std::string>(entry(name).value);
}

std::int64_t Arguments::integer(std::string_view name) const {
  return std::get<std::int64_t>(entry(name).value);
}

double Arguments::number(std::string_view name) const {
  return std::get<double>(entry(name).value);
}

bool Arguments::flag(std::string_view name) const { return std::get<bool>(entry(name).value); }

const std::vector<std::string>& Arguments::list(std::string_view name) const {
  return std::get<std::vector<std::string>>(entry(name).value);
}

const Arguments::Map& Arguments::map(std::string_view name) const {
  return std::get<Map>(entry(name).value);
}

}  // namespace agentbox::mcp

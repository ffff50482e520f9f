// pure: see arguments.h.
#include "agentbox/arguments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "agentbox/argument_values.h"
#include "agentbox/argument_words.h"
#include "agentbox/job_id.h"

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

const Argument* find_argument(std::span<const Argument> arguments, std::string_view name) {
  const auto at = std::find_if(arguments.begin(), arguments.end(),
                               [&](const Argument& one) { return one.name == name; });
  return at == arguments.end() ? nullptr : &*at;
}

bool fits_shape(Shape shape, std::string_view value) {
  switch (shape) {
    case Shape::kAny:
      return true;
    case Shape::kOctalMode:
      return is_octal_mode(value);
    case Shape::kSha256:
      return is_sha256_hex(value);
    case Shape::kName:
      return is_job_name(value);
  }
  return false;
}

Status check_string(const Argument& argument, const std::string& value) {
  if (argument.min_length && value.size() < *argument.min_length) {
    return Error{Code::kInvalid, in_quotes(argument.name) +
                                     (*argument.min_length == 1
                                          ? std::string(" must not be empty")
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
  const bool shaped = fits_shape(argument.shape, value);
  if (!chosen || !shaped) {
    return wrong_argument(argument,
                          value.size() <= kMaxShownNameBytes ? in_quotes(value) : "another text");
  }
  return {};
}

Status check_range(const Argument& argument, double value) {
  if ((argument.minimum && value < *argument.minimum) ||
      (argument.maximum && value > *argument.maximum)) {
    return wrong_argument(argument, show_number(value));
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

void add_type(OrderedJson& schema, const Argument& argument) {
  switch (argument.type) {
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
    case ArgumentType::kObjectList:
      schema["type"] = "array";
      schema["items"] = input_schema(argument.fields);
      return;
    case ArgumentType::kObject:
      schema = input_schema(argument.fields);
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
  add_type(schema, argument);
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
  if (argument.min_items) {
    schema["minItems"] = *argument.min_items;
  }
  if (argument.max_items) {
    schema["maxItems"] = *argument.max_items;
  }
  if (argument.shape == Shape::kOctalMode) {
    schema["pattern"] = "^0?[0-7]{3,4}$";
  } else if (argument.shape == Shape::kSha256) {
    schema["pattern"] = "^[0-9a-f]{64}$";
  } else if (argument.shape == Shape::kName) {
    schema["pattern"] = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";
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
      case ArgumentType::kObjectList:
      case ArgumentType::kObject:
        return std::vector<Arguments>();
    }
    std::abort();
  }

  static Result<Value> convert(const Argument& argument, const Json& value, double scale) {
    switch (argument.type) {
      case ArgumentType::kString: {
        const auto* text = value.get_ptr<const std::string*>();
        if (text == nullptr) {
          return wrong_argument(argument, kind_of(value));
        }
        AB_CHECK(check_string(argument, *text));
        return Value(*text);
      }
      case ArgumentType::kInteger: {
        const auto number = read_integer(value);
        if (!number) {
          return wrong_argument(argument, value.is_number() ? dump_json(value) : kind_of(value));
        }
        AB_CHECK(check_range(argument, static_cast<double>(*number)));
        return Value(*number);
      }
      case ArgumentType::kNumber: {
        const auto number = read_number(value);
        if (!number) {
          return wrong_argument(argument, kind_of(value));
        }
        AB_CHECK(check_range(argument, *number * scale));
        return Value(*number * scale);
      }
      case ArgumentType::kBoolean: {
        const auto flag = read_flag(value);
        if (!flag) {
          return wrong_argument(argument, kind_of(value));
        }
        return Value(*flag);
      }
      case ArgumentType::kStringList:
        return convert_list(argument, value);
      case ArgumentType::kStringMap:
        return convert_map(argument, value);
      case ArgumentType::kObjectList:
        return convert_objects(argument, value);
      case ArgumentType::kObject:
        return convert_object(argument, value);
    }
    std::abort();
  }

  static Status check_items(const Argument& argument, const Json& value, const Json& list) {
    if (!list.is_array()) {
      return wrong_argument(argument, kind_of(value));
    }
    if (argument.max_items && list.size() > *argument.max_items) {
      return Error{Code::kInvalid, in_quotes(argument.name) + " has " +
                                       std::to_string(list.size()) + " items; at most " +
                                       std::to_string(*argument.max_items) + " are allowed"};
    }
    if (argument.min_items && list.size() < *argument.min_items) {
      return Error{Code::kInvalid, in_quotes(argument.name) + " has " +
                                       std::to_string(list.size()) + " items; at least " +
                                       std::to_string(*argument.min_items) + " are needed"};
    }
    return {};
  }

  static Result<Value> convert_objects(const Argument& argument, const Json& value) {
    Json holder;
    const Json& list = open_nested(value, '[', holder);
    AB_CHECK(check_items(argument, value, list));
    std::vector<Arguments> items;
    items.reserve(list.size());
    for (const Json& item : list) {
      if (!item.is_object()) {
        return wrong_argument(argument,
                              std::string("an array holding ") + std::string(kind_of(item)));
      }
      auto read = read_arguments(argument.fields, item);
      if (!read.ok()) {
        return std::move(read).error().in(in_quotes(argument.name) + ", item " +
                                          std::to_string(items.size() + 1));
      }
      items.push_back(std::move(read).value());
    }
    return Value(std::move(items));
  }

  static Result<Value> convert_list(const Argument& argument, const Json& value) {
    Json holder;
    const Json& list = open_nested(value, '[', holder);
    AB_CHECK(check_items(argument, value, list));
    std::vector<std::string> items;
    items.reserve(list.size());
    for (const Json& item : list) {
      auto text = read_scalar(item);
      if (!text) {
        return wrong_argument(argument,
                              std::string("an array holding ") + std::string(kind_of(item)));
      }
      items.push_back(*std::move(text));
    }
    return Value(std::move(items));
  }

  static Result<Value> convert_map(const Argument& argument, const Json& value) {
    Json holder;
    const Json& map = open_nested(value, '{', holder);
    if (!map.is_object()) {
      return wrong_argument(argument, kind_of(value));
    }
    Arguments::Map entries;
    entries.reserve(map.size());
    for (const auto& [key, item] : map.items()) {
      auto text = read_scalar(item);
      if (!text) {
        return wrong_argument(argument,
                              std::string("an object holding ") + std::string(kind_of(item)));
      }
      entries.emplace_back(key, *std::move(text));
    }
    return Value(std::move(entries));
  }

  static Result<Value> convert_object(const Argument& argument, const Json& value) {
    Json holder;
    const Json& object = open_nested(value, '{', holder);
    const auto flag = read_flag(value);
    if (flag && !*flag) {
      return Value(std::vector<Arguments>());
    }
    if (!flag && !object.is_object()) {
      return wrong_argument(argument, kind_of(value));
    }
    auto fields = read_arguments(argument.fields, flag ? Json::object() : object);
    if (!fields.ok()) {
      return std::move(fields).error().in(in_quotes(argument.name));
    }
    return Value(std::vector<Arguments>{std::move(*fields)});
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

const std::vector<Arguments>& Arguments::objects(std::string_view name) const {
  return std::get<std::vector<Arguments>>(entry(name).value);
}

const Arguments* Arguments::object(std::string_view name) const {
  const auto& objects = std::get<std::vector<Arguments>>(entry(name).value);
  return objects.empty() ? nullptr : &objects.front();
}

}  // namespace agentbox::mcp

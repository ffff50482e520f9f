// pure: see argument_words.h.
#include "agentbox/argument_words.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include "base/text.h"

namespace agentbox::mcp {
namespace {

using Text = std::string;

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

}  // namespace

std::string in_quotes(std::string_view name) {
  return "\"" + escape_text(name, kMaxShownNameBytes) + "\"";
}

std::string show_number(double number) {
  const bool whole = std::trunc(number) == number && std::abs(number) < 1e15;
  return dump_json(whole ? Json(static_cast<std::int64_t>(number)) : Json(number));
}

std::string describe(const Argument& argument) {
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
      if (argument.shape == Shape::kName) {
        return "up to 64 letters, digits, dots, dashes and underscores, the first a letter or "
               "digit, and nothing that looks like a process_id";
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
    case ArgumentType::kObjectList:
      return "an array of objects";
    case ArgumentType::kObject: {
      std::string text = "an object of";
      for (const Argument& field : argument.fields) {
        text += " " + in_quotes(field.name);
      }
      return text;
    }
  }
  std::abort();
}

Error wrong_argument(const Argument& argument, std::string_view got) {
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

}  // namespace agentbox::mcp

// pure: see json.h.
#include "base/json.h"

#include "base/defence.h"

namespace agentbox {
namespace {

// Counts what the parser would build. It need not judge the syntax: on a malformed text the
// parser stops at the same place at the latest, so the counts are upper bounds of its work.
Status check_limits(std::string_view text, const JsonLimits& limits) {
  std::size_t depth = 0;
  std::size_t values = 1;
  std::size_t keys = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
        for (++i; i < text.size() && text[i] != '"'; ++i) {
          i += text[i] == '\\' ? 1U : 0U;
        }
        break;
      case '[':
      case '{':
        ++values;
        if (++depth > limits.depth) {
          return Error{Code::kLimit, "nested deeper than " + std::to_string(limits.depth)};
        }
        break;
      case ']':
      case '}':
        depth -= depth > 0 ? 1U : 0U;
        break;
      case ',':
        ++values;
        break;
      case ':':
        ++keys;
        break;
      default:
        break;
    }
    if (values > limits.values || keys > limits.keys) {
      return Error{Code::kLimit, "more than " + std::to_string(limits.values) + " values or " +
                                     std::to_string(limits.keys) + " keys"};
    }
  }
  return {};
}

template <typename Value>
std::string dump_any(const Value& value, int indent) {
  return value.dump(indent, ' ', false, Value::error_handler_t::replace);
}

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  AB_CHECK(defended("json-limits") ? check_limits(text, limits) : Status{});
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::parse_error& problem) {
    // Not the library's words: they quote the text, which may be a secret.
    return Error{Code::kInvalid, "not valid JSON at byte " + std::to_string(problem.byte)};
  } catch (const std::exception&) {
    return Error{Code::kInvalid, "not valid JSON"};
  }
}

std::string dump_json(const Json& value, int indent) { return dump_any(value, indent); }

std::string dump_json(const OrderedJson& value, int indent) { return dump_any(value, indent); }

const Json* find_member(const Json& object, std::string_view name) {
  if (!object.is_object()) {
    return nullptr;
  }
  const auto at = object.find(name);
  return at == object.end() ? nullptr : &*at;
}

const std::string* find_string(const Json& object, std::string_view name) {
  const Json* member = find_member(object, name);
  return member == nullptr ? nullptr : member->get_ptr<const std::string*>();
}

}  // namespace agentbox

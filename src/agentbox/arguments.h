// pure: one table of descriptors per tool gives both the published JSON Schema and the typed
// reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace agentbox::mcp {

enum class ArgumentType {
  kString,
  kInteger,
  kNumber,
  kBoolean,
  kStringList,  // array of strings
  kStringMap,   // object whose values are strings; read in the order of the names
  kObjectList,  // array of objects, each with the arguments of `fields`
  kObject,      // object of the scalars that `fields` declares; true stands for one of defaults
};

// The few string shapes tools need; matched by hand, published as `pattern`.
enum class Shape {
  kAny,
  kOctalMode,  // ^0?[0-7]{3,4}$
  kSha256,     // ^[0-9a-f]{64}$
  kName,       // ^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$
};

// One argument of one tool. Every string_view points to a literal.
struct Argument {
  std::string_view name;
  ArgumentType type = ArgumentType::kString;
  std::string_view description = {};
  bool required = false;
  // Published as `default` and returned by the getters when the caller gave nothing.
  std::variant<std::monostate, std::string_view, std::int64_t, double, bool> fallback = {};
  std::optional<double> minimum = {};  // numbers
  std::optional<double> maximum = {};  // numbers
  // Strings. The reader counts bytes; the schema's maxLength counts characters, so a caller who
  // keeps to the schema can still be refused for multi-byte text, and the error says so.
  std::optional<std::size_t> min_length = {};
  std::optional<std::size_t> max_length = {};
  std::optional<std::size_t> min_items = {};   // lists
  std::optional<std::size_t> max_items = {};   // lists
  std::vector<std::string_view> choices = {};  // strings: published as `enum`
  Shape shape = Shape::kAny;                   // strings
  std::vector<Argument> fields = {};           // objects and lists of them
};

// The values of one call after checking: every getter names a declared argument of that type, or
// the program aborts (a programmer's error, never the caller's).
class Arguments {
 public:
  using Map = std::vector<std::pair<std::string, std::string>>;

  // Whether the caller gave it. A null for an optional argument counts as not given.
  [[nodiscard]] bool has(std::string_view name) const;
  // The given value, else the fallback, else an empty value ("", 0, 0.0, false, {}).
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] const std::vector<std::string>& list(std::string_view name) const;
  [[nodiscard]] const Map& map(std::string_view name) const;
  [[nodiscard]] const std::vector<Arguments>& objects(std::string_view name) const;
  // Null where it is not given.
  [[nodiscard]] const Arguments* object(std::string_view name) const;

 private:
  friend class ArgumentReader;
  using Value = std::variant<std::string, std::int64_t, double, bool, std::vector<std::string>, Map,
                             std::vector<Arguments>>;
  struct Entry {
    std::string name;
    bool given = false;
    Value value;
  };
  [[nodiscard]] const Entry& entry(std::string_view name) const;

  std::vector<Entry> entries_;
};

// The `inputSchema` of a tool: an object root, additionalProperties false, JSON Schema 2020-12.
[[nodiscard]] OrderedJson input_schema(std::span<const Argument> arguments);

// Reads what the caller sent as `arguments`. Accepts well-known other names (file_path for path,
// cmd for command, timeout_ms for timeout_seconds, ...) and harmless other spellings ("7" and 7.0
// for 7, "true" for true, a list or map as JSON text). The error's text names the argument, what
// was expected, and for an unknown argument the closest valid name.
[[nodiscard]] Result<Arguments> read_arguments(std::span<const Argument> arguments,
                                               const Json& given);

}  // namespace agentbox::mcp

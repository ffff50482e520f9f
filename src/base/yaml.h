// pure: the one door to the YAML library: a strict reader over a mapping.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace agentbox {

/// A configuration longer than this is a mistake, and the parser's cost has no other bound.
inline constexpr std::size_t kMaxYamlBytes = 1U << 20U;

/// One mapping of a YAML document. Each accessor takes a key and writes to OUT where the key is
/// present; the first problem is kept, and finish() returns it: a wrong type, a value out of
/// range, a key given twice, or a key that no accessor asked for, each with its line.
class YamlMap {
 public:
  /// Parses TEXT, whose root must be a mapping (or empty: then every key keeps its default).
  [[nodiscard]] static Result<YamlMap> parse(std::string_view text);

  YamlMap(YamlMap&&) noexcept;
  YamlMap& operator=(YamlMap&&) noexcept;
  YamlMap(const YamlMap&) = delete;
  YamlMap& operator=(const YamlMap&) = delete;
  ~YamlMap();

  [[nodiscard]] bool has(const std::string& key) const;
  void text(const std::string& key, std::string& out);
  void texts(const std::string& key, std::vector<std::string>& out);
  void number(const std::string& key, std::uint64_t& out, std::uint64_t least, std::uint64_t most);
  void boolean(const std::string& key, bool& out);
  /// OUT must be one of CHOICES.
  void choice(const std::string& key, std::string& out, const std::vector<std::string>& choices);
  /// The mapping under KEY, empty where it is missing. Its problems are reported by its own
  /// finish().
  [[nodiscard]] YamlMap map(const std::string& key);

  /// The first problem, or success where every key was asked for and fitted.
  [[nodiscard]] Status finish() const;

 private:
  struct State;
  explicit YamlMap(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A whole YAML document as JSON, for files whose shape is somebody else's. Plain scalars mean what
/// Kubernetes' tools take them for (YAML 1.1: `yes` is a boolean, `12` a number, `~` nothing); an
/// empty document is null. Refused: more than one document, a key given twice, a merge key (`<<`),
/// and what passes LIMITS once aliases are followed (Code::kLimit).
[[nodiscard]] Result<Json> yaml_to_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace agentbox

// pure: see yaml.h.
#include "base/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>

#include "base/text.h"

namespace agentbox {

struct YamlMap::State {
  YAML::Node node;
  std::set<std::string> asked;
  std::optional<Error> problem;

  void fail(const YAML::Mark& mark, const std::string& what) {
    if (!problem) {
      const std::string line = mark.is_null() ? "" : "line " + std::to_string(mark.line + 1) + ": ";
      problem = Error{Code::kInvalid, line + what};
    }
  }

  // The scalar under KEY, or nothing where the key is missing or holds something else.
  std::optional<std::string> scalar(const std::string& key) {
    asked.insert(key);
    const YAML::Node value =
        node.IsMap() ? YAML::Node(node[key]) : YAML::Node(YAML::NodeType::Undefined);
    if (!value.IsDefined()) {
      return std::nullopt;
    }
    if (!value.IsScalar()) {
      fail(value.Mark(), key + " must be one value");
      return std::nullopt;
    }
    return value.Scalar();
  }
};

namespace {

// Hears a document and keeps nothing of it.
class Ignore final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// Not LoadAll(): on a text such as "," the library finds empty documents without end.
bool has_second_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Ignore ignore;
  return parser.HandleNextDocument(ignore) && parser.HandleNextDocument(ignore);
}

// The one document of TEXT. The library's exceptions are the caller's to catch.
Result<YAML::Node> load(std::string_view text) {
  if (text.size() > kMaxYamlBytes) {
    return Error{Code::kLimit, "longer than " + std::to_string(kMaxYamlBytes) + " bytes"};
  }
  const std::string copy(text);
  if (has_second_document(copy)) {
    return Error{Code::kInvalid, "more than one YAML document, or none at all"};
  }
  return YAML::Load(copy);
}

template <std::size_t N>
bool is_one_of(const std::string& text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// What a scalar without quotes means in YAML 1.1, as Kubernetes' tools read it.
Json plain_value(const std::string& text) {
  constexpr std::array<std::string_view, 5> kNulls = {"", "~", "null", "Null", "NULL"};
  constexpr std::array<std::string_view, 11> kTrue = {"true", "True", "TRUE", "yes", "Yes", "YES",
                                                      "on",   "On",   "ON",   "y",   "Y"};
  constexpr std::array<std::string_view, 11> kFalse = {"false", "False", "FALSE", "no", "No", "NO",
                                                       "off",   "Off",   "OFF",   "n",  "N"};
  if (is_one_of(text, kNulls)) {
    return nullptr;
  }
  if (is_one_of(text, kTrue) || is_one_of(text, kFalse)) {
    return is_one_of(text, kTrue);
  }
  // strtod also knows words such as inf; a number of YAML begins with a digit, a sign or a dot.
  if (text.find_first_not_of("0123456789+-._eExXoObBaAcCdDfF") != std::string::npos ||
      std::string_view("0123456789+-.").find(text.front()) == std::string_view::npos) {
    return text;
  }
  std::string digits = text;
  std::erase(digits, '_');
  char* end = nullptr;
  errno = 0;
  const std::int64_t whole = std::strtoll(digits.c_str(), &end, 0);
  if (*end == '\0' && end != digits.c_str() && errno == 0) {
    return whole;
  }
  const double real = std::strtod(digits.c_str(), &end);
  return *end == '\0' && end != digits.c_str() && std::isfinite(real) ? Json(real) : Json(text);
}

// Turns nodes into JSON and counts as it goes: aliases make a short text mean a long one, and an
// alias inside its own anchor makes it mean an endless one.
class ToJson {
 public:
  explicit ToJson(const JsonLimits& limits) : limits_(limits) {}

  Result<Json> value(const YAML::Node& node, std::size_t depth) {
    if (++values_ > limits_.values || depth > limits_.depth) {
      return Error{Code::kLimit, "nested too deep, or too many values"};
    }
    if (node.IsScalar()) {
      return node.Tag() == "?" ? plain_value(node.Scalar()) : Json(node.Scalar());
    }
    if (node.IsSequence()) {
      return list(node, depth);
    }
    return node.IsMap() ? object(node, depth) : Json(nullptr);
  }

 private:
  Result<Json> list(const YAML::Node& node, std::size_t depth) {
    Json items = Json::array();
    for (const auto& entry : node) {
      AB_TRY(item, value(entry, depth + 1));
      items.push_back(std::move(item));
    }
    return items;
  }

  Result<Json> object(const YAML::Node& node, std::size_t depth) {
    Json members = Json::object();
    for (const auto& entry : node) {
      const std::string line = "line " + std::to_string(entry.first.Mark().line + 1) + ": ";
      if (!entry.first.IsScalar() || entry.first.Scalar() == "<<") {
        return Error{Code::kInvalid, line + "a key must be one plain word"};
      }
      if (++keys_ > limits_.keys) {
        return Error{Code::kLimit, "too many keys"};
      }
      const std::string& key = entry.first.Scalar();
      AB_TRY(member, value(entry.second, depth + 1));
      if (!members.emplace(key, std::move(member)).second) {
        return Error{Code::kInvalid, line + escape_text(key, 64) + " is given twice"};
      }
    }
    return members;
  }

  const JsonLimits& limits_;
  std::size_t values_ = 0;
  std::size_t keys_ = 0;
};

// Where and what, without the library's name.
Error unreadable(const std::exception& problem) {
  std::string_view words = problem.what();
  constexpr std::string_view kLibrary = "yaml-cpp: error at ";
  words.remove_prefix(words.starts_with(kLibrary) ? kLibrary.size() : 0);
  return Error{Code::kInvalid, "not valid YAML: " + escape_text(words, 300)};
}

}  // namespace

Result<Json> yaml_to_json(std::string_view text, const JsonLimits& limits) {
  if (!is_utf8(text)) {
    return Error{Code::kInvalid, "not UTF-8"};
  }
  try {
    AB_TRY(node, load(text));
    return ToJson(limits).value(node, 1);
  } catch (const std::exception& problem) {
    return unreadable(problem);
  }
}

YamlMap::YamlMap(std::unique_ptr<State> state) : state_(std::move(state)) {}
YamlMap::YamlMap(YamlMap&&) noexcept = default;
YamlMap& YamlMap::operator=(YamlMap&&) noexcept = default;
YamlMap::~YamlMap() = default;

Result<YamlMap> YamlMap::parse(std::string_view text) {
  auto state = std::make_unique<State>();
  try {
    AB_TRY(node, load(text));
    state->node = node;
    if (!state->node.IsMap() && !state->node.IsNull()) {
      return Error{Code::kInvalid, "the document must be a mapping"};
    }
  } catch (const std::exception& problem) {
    return unreadable(problem);
  }
  return YamlMap(std::move(state));
}

bool YamlMap::has(const std::string& key) const {
  return state_->node.IsMap() && YAML::Node(state_->node[key]).IsDefined();
}

void YamlMap::text(const std::string& key, std::string& out) {
  if (auto value = state_->scalar(key)) {
    out = std::move(*value);
  }
}

void YamlMap::texts(const std::string& key, std::vector<std::string>& out) {
  state_->asked.insert(key);
  if (!has(key)) {
    return;
  }
  const YAML::Node value = state_->node[key];
  if (!value.IsSequence()) {  // first: the items of a mapping are pairs, which throw when asked
    state_->fail(value.Mark(), key + " must be a list");
    return;
  }
  std::vector<std::string> items;
  for (const auto& item : value) {
    if (!item.IsScalar()) {
      state_->fail(item.Mark(), key + " must be a list of texts");
      return;
    }
    items.push_back(item.Scalar());
  }
  out = std::move(items);
}

void YamlMap::number(const std::string& key, std::uint64_t& out, std::uint64_t least,
                     std::uint64_t most) {
  const auto value = state_->scalar(key);
  if (!value) {
    return;
  }
  const auto number = parse_decimal(*value);
  if (!number.ok() || *number < least || *number > most) {
    state_->fail(state_->node[key].Mark(), key + " must be a whole number from " +
                                               std::to_string(least) + " to " +
                                               std::to_string(most));
    return;
  }
  out = *number;
}

void YamlMap::boolean(const std::string& key, bool& out) {
  std::string text = out ? "true" : "false";
  choice(key, text, {"true", "false"});
  out = text == "true";
}

void YamlMap::choice(const std::string& key, std::string& out,
                     const std::vector<std::string>& choices) {
  const auto value = state_->scalar(key);
  if (!value) {
    return;
  }
  if (std::find(choices.begin(), choices.end(), *value) == choices.end()) {
    std::string list;
    for (const std::string& item : choices) {
      list += (list.empty() ? "" : ", ") + item;
    }
    state_->fail(state_->node[key].Mark(), key + " must be one of " + list);
    return;
  }
  out = *value;
}

YamlMap YamlMap::map(const std::string& key) {
  auto inner = std::make_unique<State>();
  state_->asked.insert(key);
  if (has(key)) {
    inner->node = state_->node[key];
    if (!inner->node.IsMap() && !inner->node.IsNull()) {
      inner->fail(inner->node.Mark(), key + " must be a mapping");
      inner->node = YAML::Node();
    }
  }
  return YamlMap(std::move(inner));
}

Status YamlMap::finish() const {
  if (state_->problem) {
    return *state_->problem;
  }
  if (!state_->node.IsMap()) {
    return {};
  }
  std::set<std::string> seen;
  for (const auto& entry : state_->node) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (!state_->asked.contains(key)) {
      state_->fail(entry.first.Mark(), "unknown key " + escape_text(key, 64));
    } else if (!seen.insert(key).second) {
      state_->fail(entry.first.Mark(), key + " is given twice");
    }
  }
  return state_->problem ? Status(*state_->problem) : Status{};
}

}  // namespace agentbox

// pure: see yaml.h.
#include "base/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
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

}  // namespace

YamlMap::YamlMap(std::unique_ptr<State> state) : state_(std::move(state)) {}
YamlMap::YamlMap(YamlMap&&) noexcept = default;
YamlMap& YamlMap::operator=(YamlMap&&) noexcept = default;
YamlMap::~YamlMap() = default;

Result<YamlMap> YamlMap::parse(std::string_view text) {
  if (text.size() > kMaxYamlBytes) {
    return Error{Code::kLimit, "longer than " + std::to_string(kMaxYamlBytes) + " bytes"};
  }
  auto state = std::make_unique<State>();
  try {
    const std::string copy(text);
    if (has_second_document(copy)) {
      return Error{Code::kInvalid, "more than one YAML document, or none at all"};
    }
    state->node = YAML::Load(copy);
    if (!state->node.IsMap() && !state->node.IsNull()) {
      return Error{Code::kInvalid, "the document must be a mapping"};
    }
  } catch (const std::exception& problem) {
    return Error{Code::kInvalid, escape_text(problem.what(), 300)};
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

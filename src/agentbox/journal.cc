// pure: see journal.h.
#include "agentbox/journal.h"

#include <algorithm>
#include <array>

#include "agentbox/box_path.h"
#include "base/json.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::array kKinds{StepKind::kRename, StepKind::kReplace, StepKind::kInPlace,
                            StepKind::kMode};
constexpr std::uint32_t kMostMode = 07777;

bool is_name(std::string_view text) {
  return !text.empty() && text != "." && text != ".." &&
         text.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

bool is_folder(std::string_view text) {
  if (text == ".") {
    return true;
  }
  for (;;) {
    const std::size_t slash = text.find('/');
    if (!is_name(text.substr(0, slash))) {
      return false;
    }
    if (slash == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(slash + 1);
  }
}

// Names are bytes, and a text of JSON is not.
OrderedJson bytes_out(std::string_view bytes) { return base64_encode(bytes); }

OrderedJson place_out(const Place& place) {
  return OrderedJson::array({bytes_out(place.folder), bytes_out(place.name)});
}

OrderedJson places_out(const std::vector<Place>& places) {
  OrderedJson list = OrderedJson::array();
  for (const Place& place : places) {
    list.push_back(place_out(place));
  }
  return list;
}

class Reader {
 public:
  [[nodiscard]] bool good() const { return good_; }

  std::string bytes(const Json* value) {
    const auto* text = value == nullptr ? nullptr : value->get_ptr<const std::string*>();
    auto decoded = text == nullptr ? Result<std::string>(Error{}) : base64_decode(*text);
    return take(decoded.ok(), decoded.ok() ? std::move(*decoded) : std::string());
  }
  Place place(const Json* value) {
    if (value == nullptr || !value->is_array() || value->size() != 2) {
      return take(false, Place{});
    }
    Place place{.folder = bytes(&value->at(0)), .name = bytes(&value->at(1))};
    good_ = good_ && is_folder(place.folder) && is_name(place.name);
    return place;
  }
  std::vector<Place> places(const Json* value, bool temporary) {
    std::vector<Place> places;
    if (value == nullptr || !value->is_array()) {
      return take(false, std::move(places));
    }
    for (const Json& one : *value) {
      places.push_back(place(&one));
      good_ = good_ && (!temporary || is_temporary_name(places.back().name));
    }
    return places;
  }
  std::uint64_t number(const Json* value, std::uint64_t most = UINT64_MAX) {
    const bool right = value != nullptr && value->is_number_unsigned();
    const std::uint64_t read = right ? value->get<std::uint64_t>() : 0;
    return take(right && read <= most, read);
  }
  JournalStep step(const Json& value) {
    JournalStep step;
    step.kind = kKinds[number(find_member(value, "kind"), kKinds.size() - 1) % kKinds.size()];
    step.at = place(find_member(value, "at"));
    if (step.kind == StepKind::kRename || step.kind == StepKind::kReplace) {
      step.from = place(find_member(value, "from"));
    }
    step.kept = bytes(find_member(value, "kept"));
    step.new_inode = number(find_member(value, "new_inode"));
    step.old_inode = number(find_member(value, "old_inode"));
    step.old_mode = static_cast<std::uint32_t>(number(find_member(value, "old_mode"), kMostMode));
    const bool keeps = step.kind == StepKind::kReplace || step.kind == StepKind::kInPlace;
    good_ = good_ && (keeps ? is_name(step.kept) : step.kept.empty()) &&
            (step.kind != StepKind::kReplace || is_temporary_name(step.kept));
    return step;
  }

 private:
  template <typename T>
  T take(bool good, T value) {
    good_ = good_ && good;
    return value;
  }
  bool good_ = true;
};

OrderedJson step_out(const JournalStep& step) {
  OrderedJson json;
  json["kind"] = static_cast<unsigned>(step.kind);
  json["at"] = place_out(step.at);
  if (step.kind == StepKind::kRename || step.kind == StepKind::kReplace) {
    json["from"] = place_out(step.from);
  }
  json["kept"] = bytes_out(step.kept);
  json["new_inode"] = step.new_inode;
  json["old_inode"] = step.old_inode;
  json["old_mode"] = step.old_mode;
  return json;
}

}  // namespace

std::string encode_journal(const Journal& journal) {
  OrderedJson json;
  json["root_device"] = journal.root_device;
  json["root_inode"] = journal.root_inode;
  json["made"] = places_out(journal.made);
  json["staged"] = places_out(journal.staged);
  json["stashed"] = places_out(journal.stashed);
  json["steps"] = OrderedJson::array();
  for (const JournalStep& step : journal.steps) {
    json["steps"].push_back(step_out(step));
  }
  return dump_json(json) + "\n";
}

Result<Journal> decode_journal(std::string_view text) {
  if (text.size() > kMaxJournalBytes) {
    return Error{Code::kLimit, "a journal is too long"};
  }
  AB_TRY(json, parse_json(text, {.depth = 5, .values = 200'000, .keys = 50'000}));
  Journal journal;
  Reader reader;
  journal.root_device = reader.number(find_member(json, "root_device"));
  journal.root_inode = reader.number(find_member(json, "root_inode"));
  journal.made = reader.places(find_member(json, "made"), false);
  journal.staged = reader.places(find_member(json, "staged"), true);
  journal.stashed = reader.places(find_member(json, "stashed"), true);
  const Json* steps = find_member(json, "steps");
  if (!reader.good() || steps == nullptr || !steps->is_array()) {
    return Error{Code::kInvalid, "not a journal"};
  }
  for (const Json& step : *steps) {
    journal.steps.push_back(reader.step(step));
  }
  return reader.good() ? Result<Journal>(std::move(journal))
                       : Result<Journal>(Error{Code::kInvalid, "not a journal"});
}

}  // namespace agentbox::mcp

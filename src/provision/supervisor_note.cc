// pure: see supervisor_note.h.
#include "provision/supervisor_note.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace agentbox::provision {
namespace {

OrderedJson child_json(const ChildNote& child) {
  OrderedJson json;
  json["pid"] = child.pid;
  json["restarts"] = child.restarts;
  json["last_end"] = child.last_end;
  return json;
}

std::uint64_t number_or_zero(const Json& object, std::string_view name) {
  const Json* value = find_member(object, name);
  return value != nullptr && value->is_number_unsigned() ? value->get<std::uint64_t>() : 0;
}

pid_t pid_or_zero(const Json& object) {
  constexpr std::uint64_t kMostPid = 1U << 22U;  // the kernel's own limit
  const std::uint64_t pid = number_or_zero(object, "pid");
  return pid > kMostPid ? 0 : static_cast<pid_t>(pid);
}

ChildNote parse_child(const Json& object, std::string_view name) {
  const Json* json = find_member(object, name);
  if (json == nullptr) {
    return {};
  }
  const std::string* end = find_string(*json, "last_end");
  return ChildNote{pid_or_zero(*json), number_or_zero(*json, "restarts"),
                   end == nullptr ? std::string() : escape_text(*end, 200)};
}

}  // namespace

std::string render_note(const SupervisorNote& note) {
  OrderedJson json;
  json["pid"] = note.pid;
  json["start_ticks"] = note.start_ticks;
  json["door"] = child_json(note.door);
  json["box"] = child_json(note.box);
  return dump_json(json) + "\n";
}

Result<SupervisorNote> parse_note(std::string_view text) {
  AB_TRY(json, parse_json(text.substr(0, kMaxNoteBytes)));
  SupervisorNote note;
  note.pid = pid_or_zero(json);
  note.start_ticks = number_or_zero(json, "start_ticks");
  if (note.pid <= 1 || note.start_ticks == 0) {
    return Error{Code::kInvalid, "the supervisor's note names no process"};
  }
  note.door = parse_child(json, "door");
  note.box = parse_child(json, "box");
  return note;
}

Result<std::uint64_t> start_ticks_of(std::string_view stat) {
  const auto name_end = stat.rfind(") ");
  if (name_end == std::string_view::npos) {
    return Error{Code::kInvalid, "not a process's stat"};
  }
  stat.remove_prefix(name_end + 2);
  constexpr int kFieldsBefore = 19;  // fields 3 to 21
  for (int i = 0; i < kFieldsBefore; ++i) {
    const auto space = stat.find(' ');
    if (space == std::string_view::npos) {
      return Error{Code::kInvalid, "not a process's stat"};
    }
    stat.remove_prefix(space + 1);
  }
  return parse_decimal(stat.substr(0, std::min(stat.find(' '), stat.size())));
}

}  // namespace agentbox::provision

// pure: see timeline.h.
#include "provision/timeline.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/utc.h"

namespace agentbox::provision {
namespace {

constexpr std::size_t kMaxWordBytes = 80;
constexpr std::size_t kBarColumns = 32;
constexpr std::size_t kFingerprintShown = 15;  // SHA256: and eight characters

std::string words_in(const AuditLine& line, std::string_view name) {
  const std::string* text = find_string(line.json, name);
  return text == nullptr ? std::string() : printable_text(*text, kMaxWordBytes);
}

std::uint64_t number_in(const AuditLine& line, std::string_view name) {
  const Json* value = find_member(line.json, name);
  return value != nullptr && value->is_number_unsigned() ? value->get<std::uint64_t>() : 0;
}

std::string counted(std::uint64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string padded(std::string text, std::size_t width) {
  text.append(std::max(width, text.size()) - text.size(), ' ');
  return text;
}

// `2026-11-30 06:31:00`: to the second, for people.
std::string short_time(const std::string& time) {
  std::string text = time.substr(0, 19);
  std::replace(text.begin(), text.end(), 'T', ' ');
  return text;
}

std::string bar(const Timeline& timeline, const TimelineSession& session) {
  const auto column = [&](const std::string& time) {
    const double at = position(timeline, time) * static_cast<double>(kBarColumns);
    return std::min(static_cast<std::size_t>(at), kBarColumns - 1);
  };
  const std::size_t begin = column(session.start);
  const std::size_t end = column(session.end.empty() ? timeline.to : session.end);
  std::string text(kBarColumns, '.');
  for (std::size_t i = begin; i <= std::max(begin, end); ++i) {
    text[i] = '#';
  }
  if (session.end.empty()) {
    text[std::max(begin, end)] = '>';
  }
  return text;
}

std::string session_row(const Timeline& timeline, const TimelineSession& session) {
  const std::string lasted =
      duration_words(session.start, session.end.empty() ? timeline.to : session.end);
  std::string row = short_time(session.start) + "  " + bar(timeline, session) + "  " +
                    padded(lasted, 9) + " " + padded(counted(session.calls, "call", "calls"), 10);
  if (session.failed_calls > 0) {
    row += " (" + std::to_string(session.failed_calls) + " failed)";
  }
  return row + " " + key_words(timeline, session) + "  " + session.how + "\n";
}

std::string mark_row(const TimelineMark& mark) {
  const std::string until = mark.from == mark.to ? std::string() : " until " + short_time(mark.to);
  return short_time(mark.from) + "  " + mark_words(mark) + until + "\n";
}

}  // namespace

TimelineSession* TimelineMaker::open_session(const std::string& id) {
  const auto at = open_.find(id);
  return at == open_.end() ? nullptr
                           : &timeline_.sessions.at(at->second - timeline_.sessions_left_out);
}

void TimelineMaker::take(const AuditLine& line) {
  const bool starts = line.event == "listen" && find_member(line.json, "before_seq") != nullptr;
  const bool refused = line.event == "auth" && words_in(line, "result") == "refused";
  const std::uint64_t summed = line.event == "limit" ? number_in(line, "auth") : 0;
  if (line.event == "session_start") {
    start_session(line);
  } else if (line.event == "session_end") {
    end_session(line);
  } else if (line.event == "tool_call") {
    if (TimelineSession* session = open_session(words_in(line, "session")); session != nullptr) {
      ++session->calls;
      session->failed_calls += words_in(line, "outcome") == "ok" ? 0U : 1U;
    }
  } else if (starts) {
    end_all(line);
    mark(TimelineMark::Kind::kStart, line, 1);
  } else if (refused || summed > 0) {
    mark(TimelineMark::Kind::kRefused, line, refused ? 1 : summed);
  } else {
    return;
  }
  timeline_.from = timeline_.from.empty() ? line.time : timeline_.from;
  timeline_.to = std::max(timeline_.to, line.time);
}

void TimelineMaker::start_session(const AuditLine& line) {
  between_ = false;
  TimelineSession session;
  session.id = words_in(line, "session");
  session.key = words_in(line, "key");
  session.peer = words_in(line, "peer");
  session.start = line.time;
  session.how = "goes on";
  open_[session.id] = timeline_.sessions_left_out + timeline_.sessions.size();
  timeline_.sessions.push_back(std::move(session));
  if (timeline_.sessions.size() > kMaxTimelineEntries) {
    const std::uint64_t oldest = timeline_.sessions_left_out++;
    if (const auto at = open_.find(timeline_.sessions.front().id);
        at != open_.end() && at->second == oldest) {
      open_.erase(at);
    }
    timeline_.sessions.pop_front();
  }
}

void TimelineMaker::end_session(const AuditLine& line) {
  TimelineSession* session = open_session(words_in(line, "session"));
  if (session == nullptr) {
    return;  // its start is not here
  }
  session->end = line.time;
  const std::string how = words_in(line, "how");
  const Json* status = find_member(line.json, "status");
  session->how = how == "lost" ? "lost: the box side ended"
                               : how + (status != nullptr && status->is_number_integer()
                                            ? " " + dump_json(*status)
                                            : std::string());
  session->calls = std::max(session->calls, number_in(line, "calls"));
  open_.erase(session->id);
}

// A door that starts has no session: those that were open ended with the one before.
void TimelineMaker::end_all(const AuditLine& line) {
  for (const auto& [id, number] : open_) {
    TimelineSession& session = timeline_.sessions.at(number - timeline_.sessions_left_out);
    session.end = line.time;
    session.how = "ended with the door";
  }
  open_.clear();
}

void TimelineMaker::mark(TimelineMark::Kind kind, const AuditLine& line, std::uint64_t count) {
  const bool refused = kind == TimelineMark::Kind::kRefused;
  timeline_.refused += refused ? count : 0;
  if (refused && between_) {
    timeline_.marks.back().to = line.time;
    timeline_.marks.back().count += count;
    return;
  }
  between_ = refused;
  timeline_.marks.push_back({kind, line.time, line.time, count, words_in(line, "reason")});
  if (timeline_.marks.size() > kMaxTimelineEntries) {
    timeline_.marks.pop_front();
  }
}

std::string duration_words(const std::string& from, const std::string& to) {
  const auto begin = parse_time(from);
  const auto end = parse_time(to);
  if (!begin.ok() || !end.ok() || *end < *begin) {
    return {};
  }
  const auto milliseconds = static_cast<std::uint64_t>(*end - *begin);
  constexpr std::uint64_t kMinute = 60;
  constexpr std::uint64_t kHour = 3600;
  constexpr std::uint64_t kDay = 86400;
  const std::uint64_t seconds = milliseconds / 1000;
  const auto two = [](std::uint64_t large, const char* name, std::uint64_t small,
                      const char* small_name) {
    return std::to_string(large) + " " + name + " " + std::to_string(small) + " " + small_name;
  };
  if (seconds < kMinute) {
    return std::to_string(seconds) + "." + std::to_string(milliseconds % 1000 / 100) + " s";
  }
  if (seconds < kHour) {
    return two(seconds / kMinute, "m", seconds % kMinute, "s");
  }
  return seconds < kDay ? two(seconds / kHour, "h", seconds % kHour / kMinute, "m")
                        : two(seconds / kDay, "d", seconds % kDay / kHour, "h");
}

std::string key_words(const Timeline& timeline, const TimelineSession& session) {
  const std::string shown = session.key.substr(0, kFingerprintShown);
  const auto label = timeline.labels.find(session.key);
  return label == timeline.labels.end() || label->second.empty()
             ? shown
             : printable_text(label->second, kMaxWordBytes) + " (" + shown + ")";
}

std::string mark_words(const TimelineMark& mark) {
  if (mark.kind == TimelineMark::Kind::kStart) {
    return "the door started";
  }
  return counted(mark.count, "refused login", "refused logins") +
         (mark.why.empty() ? std::string() : ": " + mark.why);
}

double position(const Timeline& timeline, const std::string& time) {
  const auto from = parse_time(timeline.from);
  const auto to = parse_time(timeline.to);
  const auto at = parse_time(time);
  if (!from.ok() || !to.ok() || !at.ok() || *to <= *from) {
    return 0;
  }
  return std::clamp(static_cast<double>(*at - *from) / static_cast<double>(*to - *from), 0.0, 1.0);
}

std::string timeline_text(const Timeline& timeline) {
  if (timeline.sessions.empty() && timeline.marks.empty()) {
    return "no session and no refused login\n";
  }
  std::string text =
      "from " + short_time(timeline.from) + " to " + short_time(timeline.to) + " (UTC), " +
      counted(timeline.sessions.size() + timeline.sessions_left_out, "session", "sessions") + ", " +
      counted(timeline.refused, "refused login", "refused logins") + "\n";
  if (timeline.sessions_left_out > 0) {
    text += "the oldest " + std::to_string(timeline.sessions_left_out) + " sessions are left out\n";
  }
  auto mark = timeline.marks.begin();
  for (const TimelineSession& session : timeline.sessions) {
    for (; mark != timeline.marks.end() && mark->from <= session.start; ++mark) {
      text += mark_row(*mark);
    }
    text += session_row(timeline, session);
  }
  for (; mark != timeline.marks.end(); ++mark) {
    text += mark_row(*mark);
  }
  return text;
}

OrderedJson timeline_json(const Timeline& timeline) {
  OrderedJson json;
  json["from"] = timeline.from.empty() ? OrderedJson(nullptr) : OrderedJson(timeline.from);
  json["to"] = timeline.to.empty() ? OrderedJson(nullptr) : OrderedJson(timeline.to);
  json["sessions"] = OrderedJson::array();
  for (const TimelineSession& session : timeline.sessions) {
    OrderedJson one;
    one["session"] = session.id;
    one["key"] = session.key;
    const auto label = timeline.labels.find(session.key);
    one["label"] =
        label == timeline.labels.end() ? OrderedJson(nullptr) : OrderedJson(label->second);
    one["peer"] = session.peer;
    one["start"] = session.start;
    one["end"] = session.end.empty() ? OrderedJson(nullptr) : OrderedJson(session.end);
    one["calls"] = session.calls;
    one["failed_calls"] = session.failed_calls;
    one["how"] = session.how;
    json["sessions"].push_back(std::move(one));
  }
  json["sessions_left_out"] = timeline.sessions_left_out;
  json["refused_logins"] = timeline.refused;
  json["marks"] = OrderedJson::array();
  for (const TimelineMark& mark : timeline.marks) {
    OrderedJson one;
    one["kind"] = mark.kind == TimelineMark::Kind::kStart ? "door_start" : "refused_logins";
    one["from"] = mark.from;
    one["to"] = mark.to;
    one["count"] = mark.count;
    one["reason"] = mark.why;
    json["marks"].push_back(std::move(one));
  }
  return json;
}

}  // namespace agentbox::provision

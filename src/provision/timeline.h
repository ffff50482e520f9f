// pure: the sessions that an audit log tells of, in the order of their starts, and what was refused
// between them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "provision/audit_line.h"

namespace agentbox::provision {

/// Older sessions and marks than the newest so many are left out, and counted.
inline constexpr std::size_t kMaxTimelineEntries = 2000;

struct TimelineSession {
  std::string id;
  std::string key;  ///< fingerprint
  std::string peer;
  std::string start;  ///< times as the lines have them
  std::string end;    ///< empty: it goes on, or the log does not tell
  std::uint64_t calls = 0;
  std::uint64_t failed_calls = 0;  ///< whose outcome was not ok
  std::string how;                 ///< how it ended, in words
};

/// What happened beside the sessions.
struct TimelineMark {
  enum class Kind : std::uint8_t { kRefused, kStart } kind = Kind::kRefused;
  std::string from;
  std::string to;
  std::uint64_t count = 0;
  std::string why;  ///< the first reason
};

struct Timeline {
  std::deque<TimelineSession> sessions;
  std::deque<TimelineMark> marks;
  std::string from;  ///< of the first event that is drawn; empty where there is none
  std::string to;
  std::uint64_t sessions_left_out = 0;
  std::uint64_t refused = 0;                  ///< logins, over all marks
  std::map<std::string, std::string> labels;  ///< of keys, by fingerprint; for who reads it
};

class TimelineMaker {
 public:
  void take(const AuditLine& line);
  [[nodiscard]] Timeline finish() && { return std::move(timeline_); }

 private:
  [[nodiscard]] TimelineSession* open_session(const std::string& id);
  void start_session(const AuditLine& line);
  void end_session(const AuditLine& line);
  void end_all(const AuditLine& line);
  void mark(TimelineMark::Kind kind, const AuditLine& line, std::uint64_t count);

  Timeline timeline_;
  std::map<std::string, std::uint64_t> open_;  ///< numbers of open sessions, by id
  bool between_ = false;                       ///< nothing but refusals since the newest mark
};

/// `1.2 s`, `3 m 5 s`, `2 h 10 m`, `4 d 2 h`. Times are as lines have them; empty for what they do
/// not tell.
[[nodiscard]] std::string duration_words(const std::string& from, const std::string& to);
/// SESSION's key by its label, or by the beginning of its fingerprint.
[[nodiscard]] std::string key_words(const Timeline& timeline, const TimelineSession& session);
/// What was refused or started, in words.
[[nodiscard]] std::string mark_words(const TimelineMark& mark);
/// Where TIME lies between the timeline's two ends: 0 to 1.
[[nodiscard]] double position(const Timeline& timeline, const std::string& time);

/// Rows for people, and for programs.
[[nodiscard]] std::string timeline_text(const Timeline& timeline);
[[nodiscard]] OrderedJson timeline_json(const Timeline& timeline);

}  // namespace agentbox::provision

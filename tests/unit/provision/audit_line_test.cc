// edge: the audit log as the operator reads it; the names of events are read in the door's source.
#include "provision/audit_line.h"

#include <set>

#include "base/handle.h"
#include "base/text.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision;

namespace {

std::string text_of(std::uint64_t sequence, const std::string& event,
                    const std::string& rest = {}) {
  return R"({"stream":"audit","time":"2026-11-30T06:31:00.123Z","seq":)" +
         std::to_string(sequence) + R"(,"event":")" + event + "\"" + rest + "}";
}

AuditLine line_of(std::uint64_t sequence, const std::string& event, const std::string& rest = {}) {
  return parse_audit_line(text_of(sequence, event, rest)).value();
}

}  // namespace

TEST_CASE("a line has time, number, event, and key and session where they are told") {
  const AuditLine line = line_of(7, "session_start", R"(,"key":"SHA256:k","session":"s1")");
  CHECK(line.sequence == 7);
  CHECK(line.event == "session_start");
  CHECK(line.key == "SHA256:k");
  CHECK(line.session == "s1");
  for (const char* bad : {"", "{}", "[]", "nonsense", R"({"time":"now","seq":1,"event":"x"})",
                          R"({"time":"2026-11-30T06:31:00.123Z","seq":-1,"event":"x"})",
                          R"({"time":"2026-11-30T06:31:00.123Z","seq":1,"event":""})",
                          R"({"time":"2026-11-30T06:31:00.123Z","seq":1,"event":5})"}) {
    CHECK_FALSE(parse_audit_line(bad).ok());
  }
  CHECK_FALSE(parse_audit_line(std::string(kMaxAuditLineBytes + 1, ' ')).ok());
}

TEST_CASE("since is a moment or an age, and compares as lines' times do") {
  const std::int64_t now = 1'709'209'845'006;  // 2024-02-29T12:30:45.006Z
  CHECK(parse_since("10m", now).value() == "2024-02-29T12:20:45.006Z");
  CHECK(parse_since("1d", now).value() == "2024-02-28T12:30:45.006Z");
  CHECK(parse_since("90s", now).value() == "2024-02-29T12:29:15.006Z");
  CHECK(parse_since("100000d", now).value() == "1970-01-01T00:00:00.000Z");
  CHECK(parse_since("2026-11-30", now).value() == "2026-11-30");
  CHECK(parse_since("2026-11-30T06:31Z", now).value() == "2026-11-30T06:31");
  for (const char* bad :
       {"", "yesterday", "-5m", "5", "m", "2026", "2026-11-3", "1000000h",
        "2026-11-30T06:31:00+01:00", "2026/11/30", "2026-13-30", "2026-02-31", "2026-00-10",
        "2026-11-30T25:61", "2026-11-30T24:00", "2026-11-30T10:60"}) {
    CHECK_FALSE(parse_since(bad, now).ok());
  }
  const AuditLine line = line_of(1, "auth", R"(,"key":"SHA256:k")");
  CHECK(matches({"2026-11-30", "", ""}, line));
  CHECK(matches({"2026-11-30T06:31", "auth", "SHA256:k"}, line));
  CHECK_FALSE(matches({"2026-11-30T06:31:01", "", ""}, line));
  CHECK_FALSE(matches({"", "limit", ""}, line));
  CHECK_FALSE(matches({"", "", "SHA256:x"}, line));
}

TEST_CASE("the events that can be asked for are those that a door writes") {
  const auto source = agentbox::read_file_capped(AGENTBOX_SOURCE_DIR "/src/sshd/audit_events.cc",
                                                 std::size_t{1} << 20U);
  REQUIRE(source.ok());
  std::set<std::string> written;
  for (const std::string maker :
       {"AuditEvent(\"", "of_connection(\"", "of_session(\"", "limit_event(\""}) {
    for (auto at = source->find(maker); at != std::string::npos; at = source->find(maker, at)) {
      at += maker.size();
      if (const std::string name = source->substr(at, source->find('"', at) - at); !name.empty()) {
        written.insert(name);
      }
    }
  }
  CHECK(written == std::set<std::string>(kAuditEvents.begin(), kAuditEvents.end()));
}

TEST_CASE("a line for people has no control character in it") {
  const std::string text =
      describe(line_of(1, "auth", R"(,"user":"a\u001b[31m","n":3,"empty":"")"));
  CHECK(text == "2026-11-30T06:31:00.123Z auth n=3 user=a\\x1b[31m");
}

TEST_CASE("a line for people shows what the door has escaped as it stands") {
  const std::string text = describe(line_of(1, "tool_call", R"(,"path":"a\\\\b\\xe4")"));
  CHECK(text.ends_with(R"( path=a\\b\xe4)"));
}

TEST_CASE("a line for people has no field that a client made up, and not the chain") {
  const std::string hash(64, 'a');
  const std::string text =
      describe(line_of(1, "auth", R"(,"user":"a\" result=accepted","chain":")" + hash + "\""));
  CHECK(text.ends_with(R"( auth user="a\" result=accepted")"));
}

TEST_CASE("sessions are open between their start and end, and none is when a door starts") {
  OpenSessions open;
  open.take(line_of(1, "session_start", R"(,"key":"SHA256:a","session":"1")"));
  open.take(line_of(2, "session_start", R"(,"key":"SHA256:a","session":"2")"));
  open.take(line_of(3, "session_start", R"(,"key":"SHA256:b","session":"3")"));
  open.take(line_of(4, "session_end", R"(,"key":"SHA256:a","session":"1")"));
  CHECK(open.count({"SHA256:a"}) == 1);
  CHECK(open.count({"SHA256:a", "SHA256:b"}) == 2);
  open.take(line_of(5, "listen"));  // only the listener was started again
  CHECK(open.count({"SHA256:b"}) == 1);
  open.take(line_of(6, "listen", R"(,"before_seq":5,"before_sha256":"x")"));
  CHECK(open.count({"SHA256:a", "SHA256:b"}) == 0);
}

TEST_CASE("the generation in force is the last that was not refused") {
  OpenSessions open;
  CHECK(open.generation() == 0);
  open.take(line_of(1, "keys_loaded", R"(,"generation":4)"));
  open.take(line_of(2, "keys_loaded", R"(,"keys":0,"refused":"older")"));
  CHECK(open.generation() == 4);
}

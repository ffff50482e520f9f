// pure: the sessions of an audit log over time, as rows and as a picture.
#include "provision/timeline.h"

#include "base/text.h"
#include "provision/timeline_svg.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision;

namespace {

AuditLine line_at(const std::string& minute, const std::string& event, const std::string& rest) {
  static std::uint64_t sequence = 0;
  return parse_audit_line(R"({"stream":"audit","time":"2026-11-30T)" + minute +
                          R"(:00.000Z","seq":)" + std::to_string(++sequence) + R"(,"event":")" +
                          event + "\"" + rest + "}")
      .value();
}

Timeline sample(const std::string& key = "SHA256:abcdefghijklmnop") {
  TimelineMaker maker;
  const std::string of_one = R"(,"session":"one","key":")" + key + R"(","peer":"127.0.0.1:5")";
  const std::string of_two = R"(,"session":"two","key":"SHA256:other","peer":"127.0.0.1:6")";
  maker.take(line_at("06:00", "listen", R"(,"before_seq":0,"before_sha256":"0")"));
  maker.take(line_at("06:01", "auth", R"(,"result":"refused","reason":"no such key")"));
  maker.take(line_at("06:02", "auth", R"(,"result":"refused","reason":"no such key")"));
  maker.take(line_at("06:03", "auth", R"(,"result":"accepted")"));
  maker.take(line_at("06:03", "session_start", of_one));
  maker.take(line_at("06:04", "tool_call", of_one + R"(,"outcome":"ok")"));
  maker.take(line_at("06:05", "tool_call", of_one + R"(,"outcome":"error")"));
  maker.take(line_at("06:06", "limit", R"(,"auth":7,"connect":3,"reason":"past the rate")"));
  maker.take(line_at("06:33", "session_end", of_one + R"(,"how":"exited","status":0,"calls":2)"));
  maker.take(line_at("06:40", "session_start", of_two));
  return std::move(maker).finish();
}

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("sessions have start, end, calls and how they ended; refusals stand between them") {
  const Timeline timeline = sample();
  REQUIRE(timeline.sessions.size() == 2);
  const TimelineSession& one = timeline.sessions[0];
  CHECK(one.start == "2026-11-30T06:03:00.000Z");
  CHECK(one.end == "2026-11-30T06:33:00.000Z");
  CHECK(one.calls == 2);
  CHECK(one.failed_calls == 1);
  CHECK(one.how == "exited 0");
  CHECK(timeline.sessions[1].end.empty());
  CHECK(timeline.refused == 9);
  REQUIRE(timeline.marks.size() == 3);
  CHECK(timeline.marks[1].count == 2);
  CHECK(timeline.marks[1].to == "2026-11-30T06:02:00.000Z");
  CHECK(timeline.marks[2].count == 7);
}

TEST_CASE("a door that starts ends the sessions that were open") {
  TimelineMaker maker;
  maker.take(line_at("06:00", "session_start", R"(,"session":"one","key":"k")"));
  maker.take(line_at("07:00", "listen", R"(,"before_seq":1,"before_sha256":"x")"));
  const Timeline timeline = std::move(maker).finish();
  CHECK(timeline.sessions[0].how == "ended with the door");
  CHECK(timeline.sessions[0].end == "2026-11-30T07:00:00.000Z");
}

TEST_CASE("rows name the key by its label, and the whole log in its order") {
  Timeline timeline = sample();
  timeline.labels["SHA256:abcdefghijklmnop"] = "anna";
  const std::string text = timeline_text(timeline);
  CHECK(text.find("2 sessions, 9 refused logins") != std::string::npos);
  CHECK(text.find("anna (SHA256:abcdefgh)") != std::string::npos);
  CHECK(text.find("30 m 0 s") != std::string::npos);
  CHECK(text.find("2 calls    (1 failed)") != std::string::npos);
  const auto refused = text.find("2 refused logins: no such key");
  CHECK(refused < text.find("exited 0"));
  CHECK(text.find("7 refused logins") > text.find("exited 0"));
  CHECK(text.find("goes on") != std::string::npos);
  CHECK(timeline_text({}) == "no session and no refused login\n");
  CHECK(timeline_json(timeline)["sessions"][0]["label"] == "anna");
  CHECK(timeline_json(timeline)["sessions"][1]["end"].is_null());
}

TEST_CASE("a log of many sessions keeps the newest, and counts what it leaves out") {
  TimelineMaker maker;
  for (std::size_t i = 0; i < kMaxTimelineEntries + 5; ++i) {
    maker.take(line_at("06:00", "session_start",
                       R"(,"session":")" + std::to_string(i) + R"(","key":"k")"));
    maker.take(line_at("06:00", "auth", R"(,"result":"refused")"));
  }
  maker.take(line_at("06:01", "session_end", R"(,"session":"2","how":"lost")"));  // was left out
  maker.take(line_at("06:01", "session_end", R"(,"session":"5","how":"lost")"));
  const Timeline timeline = std::move(maker).finish();
  CHECK(timeline.sessions.size() == kMaxTimelineEntries);
  CHECK(timeline.marks.size() == kMaxTimelineEntries);
  CHECK(timeline.sessions_left_out == 5);
  CHECK(timeline.sessions.front().how == "lost: the box side ended");
  CHECK(timeline.refused == kMaxTimelineEntries + 5);
}

TEST_CASE("a duration is said in its two largest units") {
  const std::string from = "2026-11-30T06:00:00.000Z";
  CHECK(duration_words(from, "2026-11-30T06:00:01.250Z") == "1.2 s");
  CHECK(duration_words(from, "2026-11-30T06:03:05.000Z") == "3 m 5 s");
  CHECK(duration_words(from, "2026-11-30T08:10:00.000Z") == "2 h 10 m");
  CHECK(duration_words(from, "2026-12-04T08:00:00.000Z") == "4 d 2 h");
  CHECK(duration_words(from, "2026-11-29T06:00:00.000Z").empty());
  CHECK(duration_words("9999-99-99T99:99:99.999Z", from).empty());
}

TEST_CASE("the picture has a bar for each session, and nothing in it is styled in place") {
  const std::string svg = render_timeline_svg(sample());
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count_of(svg, "class=\"tl-failed\"") == 1);  // a session with a failed call
  CHECK(count_of(svg, "class=\"tl-open\"") == 1);
  CHECK(count_of(svg, "class=\"tl-refused\"") == 2);
  CHECK(count_of(svg, "class=\"tl-start\"") == 1);
  CHECK(svg.find("style=") == std::string::npos);
  CHECK(svg.find("<style") == std::string::npos);
  CHECK(render_timeline_svg_file(sample()).find(timeline_style()) != std::string::npos);
}

TEST_CASE("what a log holds cannot leave its place in a picture or a page") {
  const std::string hostile = R"(</text><script>alert(1)</script>' onload=\"x\u001b\u202e)";
  Timeline timeline = sample(hostile);
  timeline.labels[timeline.sessions[0].key] = "<img src=x onerror=y>";
  for (const std::string& text : {render_timeline_svg(timeline), render_timeline_svg_file(timeline),
                                  render_timeline_page(timeline, hostile, {hostile}, {hostile})}) {
    CHECK(text.find("<script") == std::string::npos);
    CHECK(text.find("<img") == std::string::npos);
    CHECK(text.find("\x1b") == std::string::npos);
    CHECK(text.find("\xe2\x80") == std::string::npos);
  }
  CHECK(markup_text("<a b='c\" & \n") == "&lt;a b=&#39;c&quot; &amp; \\n");
}

TEST_CASE("a page lets nothing be loaded and no script run, and its style is the one it names") {
  const std::string page = render_timeline_page(sample(), "a log", {"line 4 is missing"}, {"head"});
  const auto begin = page.find("<style>") + 7;
  const std::string style = page.substr(begin, page.find("</style>") - begin);
  CHECK(page.find("default-src 'none'; style-src 'sha256-" + base64_encode(sha256(style)) + "'") !=
        std::string::npos);
  CHECK(page.find("prefers-color-scheme:dark") != std::string::npos);
  CHECK(page.find("line 4 is missing") != std::string::npos);
  for (const char* bad : {"http://", "https://", "url(", "@import", "<link", " style="}) {
    CAPTURE(bad);
    CHECK(page.find(bad, page.find("<body")) == (std::string(bad) == "http://"
                                                     ? page.find("http://www.w3.org/2000/svg")
                                                     : std::string::npos));
  }
}

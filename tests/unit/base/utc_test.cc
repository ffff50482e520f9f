// pure: tests of base/utc.
#include "base/utc.h"

#include "support/catch.h"

using namespace agentbox;

TEST_CASE("times are RFC 3339 in UTC with milliseconds") {
  CHECK(format_time(0) == "1970-01-01T00:00:00.000Z");
  CHECK(format_time(1'709'209'845'006) == "2024-02-29T12:30:45.006Z");
}

TEST_CASE("the fraction has as many digits as are asked for") {
  const timespec time{.tv_sec = 1'709'209'845, .tv_nsec = 6'007'008};
  CHECK(format_time(time, 0) == "2024-02-29T12:30:45Z");
  CHECK(format_time(time, 3) == "2024-02-29T12:30:45.006Z");
  CHECK(format_time(time, 9) == "2024-02-29T12:30:45.006007008Z");
  CHECK(format_time({.tv_sec = INT64_MAX, .tv_nsec = 0}, 9) == "unknown");
}

TEST_CASE("a time that was written is read back, and nothing else is") {
  for (const std::int64_t moment : {INT64_C(0), INT64_C(1'709'209'845'006), INT64_C(-1)}) {
    CHECK(parse_time(format_time(moment)).value() == moment);
  }
  for (const char* bad :
       {"", "1970-01-01", "1970-01-01T00:00:00.000", "1970-13-01T00:00:00.000Z",
        "1970-02-29T00:00:00.000Z", "1970-01-01T24:00:00.000Z", "1970-01-01T00:60:00.000Z",
        "1970-01-01T00:00:60.000Z", "1970-01-01 00:00:00.000Z", "1970-01-01T00:00:00.000Zx",
        "x970-01-01T00:00:00.000Z"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_time(bad).ok());
  }
}

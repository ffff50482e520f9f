// pure: tests of base/utc.
#include "base/utc.h"

#include "support/catch.h"

using namespace agentbox;

TEST_CASE("times are RFC 3339 in UTC with milliseconds") {
  CHECK(format_time(0) == "1970-01-01T00:00:00.000Z");
  CHECK(format_time(1'709'209'845'006) == "2024-02-29T12:30:45.006Z");
}

// pure: the supervisor's note.
#include "provision/supervisor_note.h"

#include <string>

#include "support/catch.h"

using namespace agentbox::provision;

TEST_CASE("a note read back is what was written") {
  const SupervisorNote note{1234, 567890, {1235, 2, "signal 9"}, {0, 3, "exit code 1"}};
  const auto parsed = parse_note(render_note(note));
  REQUIRE(parsed.ok());
  CHECK(parsed->pid == 1234);
  CHECK(parsed->start_ticks == 567890);
  CHECK(parsed->door.pid == 1235);
  CHECK(parsed->door.restarts == 2);
  CHECK(parsed->box.pid == 0);
  CHECK(parsed->box.last_end == "exit code 1");
}

TEST_CASE("a note that names no process names nobody to signal") {
  for (const std::string text :
       {"", "{}", R"({"pid":0,"start_ticks":5})", R"({"pid":1,"start_ticks":5})",
        R"({"pid":-5,"start_ticks":5})", R"({"pid":99999999,"start_ticks":5})",
        R"({"pid":"7","start_ticks":5})", R"({"pid":7})"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_note(text).ok());
  }
}

TEST_CASE("a process's start is found behind whatever it calls itself") {
  CHECK(start_ticks_of("7 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21").value() ==
        4242);
  CHECK(start_ticks_of("7 (a) b) (c 1 2) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20")
            .value() == 4242);
  CHECK_FALSE(start_ticks_of("7 (a) S 1 2 3").ok());
  CHECK_FALSE(start_ticks_of("").ok());
}

// pure: tests of base/version, and of what a build leaves out.
#include "base/version.h"

#include <vector>

#include "base/defence.h"
#include "support/catch.h"

using namespace agentbox;

TEST_CASE("each library has a line, and one that was compiled with another version says so") {
  const std::vector<LibraryVersion> libraries = {{"one", "1.2", "1.2"}, {"two", "3.4", "3.5"}};
  CHECK(version_text("agent-x", "0.9", libraries) ==
        "agent-x 0.9\none 1.2\ntwo 3.5 (compiled with 3.4)\n");
  CHECK(version_text("agent-x", "0.9", {}) == "agent-x 0.9\n");
}

TEST_CASE("the C library that runs has a version") {
  CHECK(c_library().name == "glibc");
  CHECK(c_library().running.find('.') != std::string::npos);
}

TEST_CASE("this build leaves no defence out") {
  CHECK(kLeftOut.empty());
  STATIC_REQUIRE(defended("wall"));
}

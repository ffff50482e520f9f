#include "agentbox/os_error.h"

#include <cerrno>

#include "support/catch.h"

using agentbox::mcp::spawn_failed;

TEST_CASE("a box without a shell is said to be one, and other missing programs are not") {
  const auto shell = spawn_failed("sh", ENOENT);
  CHECK(shell.code == "SPAWN_FAILED");
  CHECK(shell.message ==
        "there is no shell in this box: sh could not be started: No such file or directory");
  CHECK(shell.hint.find("args") != std::string::npos);
  CHECK(shell.hint.find("use shell") == std::string::npos);
  CHECK(spawn_failed("cargo", ENOENT).message ==
        "cargo could not be started: No such file or directory");
  CHECK(spawn_failed("sh", EAGAIN).message.starts_with("sh could not be started"));
}

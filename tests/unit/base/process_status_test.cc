// pure: tests of base/process_status.
#include "base/process_status.h"

#include "support/catch.h"

using namespace agentbox;

TEST_CASE("what a process says of itself in proc") {
  const auto process = parse_process_status(
      "Name:\tagentbox-net\nPid:\t12\nUid:\t990\t991\t990\t990\nGid:\t5\t6\t5\t5\nNSpid:\t12\t3\n"
      "CapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\nNoNewPrivs:\t1\nSeccomp:\t2\n");
  REQUIRE(process.ok());
  CHECK(process->pid == 12);
  CHECK(process->uid == 991);
  CHECK(process->gid == 6);
  CHECK(process->pid_depth == 2);
  CHECK_FALSE(process->ended);
  CHECK(process->filter == 2);
  CHECK(process->no_new_privileges);
  CHECK_FALSE(parse_process_status("Pid:\t1\n").ok());
  CHECK_FALSE(parse_process_status("").ok());
}

TEST_CASE("capabilities that are not told count as all of them") {
  CHECK_FALSE(has_capability("0000000000000000"));
  CHECK(has_capability("0000000000000400"));
  CHECK(has_capability(""));
  const auto odd =
      parse_process_status("Pid:\t1\nUid:\t1\t1\t1\t1\nGid:\t1\t1\t1\t1\nCapEff:\t<none>\n");
  REQUIRE(odd.ok());
  CHECK(odd->effective.empty());
}

TEST_CASE("a process that waits to be reaped is told apart") {
  const auto ended =
      parse_process_status("State:\tZ (zombie)\nPid:\t1\nUid:\t1\t1\t1\t1\nGid:\t1\t1\t1\t1\n");
  REQUIRE(ended.ok());
  CHECK(ended->ended);
}

// edge: tests of base/process.
#include "base/process.h"

#include <unistd.h>

#include "support/catch.h"

using namespace agentbox;

namespace {

struct Outcome {
  std::string output;
  ExitStatus end;
};

Outcome run(SpawnPlan plan) {
  auto pipe = make_pipe().value();
  plan.descriptors.push_back({1, pipe.second.get()});
  auto child = spawn(plan);
  REQUIRE(child.ok());
  pipe.second.reset();
  Outcome outcome;
  outcome.output = read_fd_capped(pipe.first.get(), 100'000).value();
  outcome.end = wait_for(child.value()).value();
  return outcome;
}

SpawnPlan shell(const std::string& script) {
  SpawnPlan plan;
  plan.exe = "/bin/sh";
  plan.argv = {"sh", "-c", script};
  return plan;
}

}  // namespace

TEST_CASE("a child gets exactly the plan's environment, folder and descriptors") {
  SpawnPlan plan = shell("echo $ONLY; pwd; ls /proc/$$/fd");
  plan.environment = {"ONLY=this", "PATH=/usr/bin:/bin"};
  plan.working_folder = "/usr";
  auto stray = make_pipe().value();
  const int leaked =
      ::dup(stray.first.get());  // not close-on-exec: the plan must still keep it out
  const Outcome outcome = run(plan);
  ::close(leaked);
  CHECK(outcome.output.starts_with("this\n/usr\n0\n1\n2\n"));
  CHECK(outcome.output.find("\n" + std::to_string(leaked) + "\n") == std::string::npos);
}

TEST_CASE("exit codes and signals are told apart") {
  const Outcome exited = run(shell("exit 7"));
  CHECK(exited.end.exited);
  CHECK(exited.end.value == 7);
  const Outcome killed = run(shell("kill -9 $$"));
  CHECK_FALSE(killed.end.exited);
  CHECK(killed.end.value == 9);
}

TEST_CASE("a program that does not exist is an error of the start, not an exit code") {
  SpawnPlan plan;
  plan.exe = "/no/such/program";
  plan.argv = {"x"};
  const auto child = spawn(plan);
  REQUIRE_FALSE(child.ok());
  CHECK(child.error().code == Code::kNotFound);
  CHECK(child.error().what.find("/no/such/program") != std::string::npos);
}

TEST_CASE("descriptors may swap places") {
  auto one = make_pipe().value();
  auto two = make_pipe().value();
  SpawnPlan plan = shell("echo one >&4; echo two >&3");
  plan.descriptors = {{3, one.second.get()}, {4, two.second.get()}};
  static_cast<void>(run(plan));
  one.second.reset();
  two.second.reset();
  CHECK(read_fd_capped(one.first.get(), 100).value() == "two\n");
  CHECK(read_fd_capped(two.first.get(), 100).value() == "one\n");
}

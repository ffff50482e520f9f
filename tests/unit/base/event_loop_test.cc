// edge: tests of base/event_loop.
#include "base/event_loop.h"

#include <unistd.h>

#include "support/catch.h"

using namespace agentbox;

namespace {
const auto kAtOnce = std::chrono::steady_clock::time_point::min();
}

TEST_CASE("a handler runs while its descriptor is readable and not after it is forgotten") {
  auto loop = EventLoop::make().value();
  auto pipe = make_pipe().value();
  int runs = 0;
  REQUIRE(loop.watch(pipe.first.get(), [&] { ++runs; }).ok());
  REQUIRE(loop.turn(kAtOnce).ok());
  CHECK(runs == 0);
  REQUIRE(write_all(pipe.second.get(), "x").ok());
  REQUIRE(loop.turn(kAtOnce).ok());
  CHECK(runs == 1);
  loop.forget(pipe.first.get());
  REQUIRE(loop.turn(kAtOnce).ok());
  CHECK(runs == 1);
}

TEST_CASE("a paused descriptor is not reported, hung up or not, until it is resumed") {
  auto loop = EventLoop::make().value();
  auto pipe = make_pipe().value();
  int runs = 0;
  REQUIRE(loop.watch(pipe.first.get(), [&] { ++runs; }).ok());
  loop.pause(pipe.first.get());
  REQUIRE(write_all(pipe.second.get(), "x").ok());
  REQUIRE(loop.turn(kAtOnce).ok());
  CHECK(runs == 0);
  loop.resume(pipe.first.get());
  REQUIRE(loop.turn(kAtOnce).ok());
  CHECK(runs == 1);
}

TEST_CASE("a handler may forget itself and others of the same turn") {
  auto loop = EventLoop::make().value();
  auto one = make_pipe().value();
  auto two = make_pipe().value();
  int runs = 0;
  const auto forget_both = [&] {
    ++runs;
    loop.forget(one.first.get());
    loop.forget(two.first.get());
  };
  REQUIRE(loop.watch(one.first.get(), forget_both).ok());
  REQUIRE(loop.watch(two.first.get(), forget_both).ok());
  REQUIRE(write_all(one.second.get(), "x").ok());
  REQUIRE(write_all(two.second.get(), "x").ok());
  REQUIRE(loop.turn(kAtOnce).ok());
  CHECK(runs == 1);
}

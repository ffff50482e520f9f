// edge: the threads that run calls.
#include "agentbox/call_pool.h"

#include <dirent.h>

#include <thread>

#include "server_fixture.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::mcp::test;

namespace {

std::size_t count_threads() {
  const CHandle<DIR, ::closedir> folder(::opendir("/proc/self/task"));
  REQUIRE(folder);
  std::size_t count = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    count += entry->d_name[0] == '.' ? 0U : 1U;
  }
  return count;
}

StartCall start(CallKey key, std::size_t tool) {
  auto arguments = read_arguments(test_tools().at(tool).arguments, Json::object());
  REQUIRE(arguments.ok());
  return StartCall{
      .key = key, .tool = &test_tools().at(tool), .arguments = std::move(arguments).value()};
}

constexpr std::size_t kWait = 0;
constexpr std::size_t kMeasure = 3;

// Waits until COUNT calls have ended.
std::vector<CallEnd> take_ends(CallPool& pool, std::size_t count) {
  std::vector<CallEnd> ends;
  while (ends.size() < count) {
    REQUIRE(wait_readable(pool.fd(), std::chrono::steady_clock::now() + kPatience));
    for (CallEvent& event : pool.take_events()) {
      if (auto* end = std::get_if<CallEnd>(&event)) {
        ends.push_back(std::move(*end));
      }
    }
  }
  return ends;
}

}  // namespace

TEST_CASE("there is no thread before the first call, and one serves calls in turn") {
  Box box;
  auto pool = CallPool::create(box);
  REQUIRE(pool.ok());
  std::thread([] {}).join();  // a sanitizer starts a thread of its own with the first one
  const std::size_t before = count_threads();
  for (CallKey key = 1; key <= 20; ++key) {
    (*pool)->add(start(key, kMeasure));
    (*pool)->dispatch();
    CHECK(take_ends(**pool, 1).at(0).key == key);
    CHECK(count_threads() == before + 1);
  }
  CHECK((*pool)->size() == 0);
}

TEST_CASE("a call cancelled before it began ends without having run") {
  Box box;
  auto pool = CallPool::create(box);
  REQUIRE(pool.ok());
  (*pool)->add(start(1, kWait));
  (*pool)->cancel(1);
  (*pool)->dispatch();
  CHECK(take_ends(**pool, 1).at(0).key == 1);
  CHECK(box.cancelled == 0);
  CHECK((*pool)->size() == 0);
}

TEST_CASE("a running call sees that it was cancelled") {
  Box box;
  auto pool = CallPool::create(box);
  REQUIRE(pool.ok());
  (*pool)->add(start(1, kWait));
  (*pool)->dispatch();
  (*pool)->cancel(1);
  (*pool)->cancel(1);
  (*pool)->cancel(99);
  static_cast<void>(take_ends(**pool, 1));
  CHECK(box.cancelled == 1);
}

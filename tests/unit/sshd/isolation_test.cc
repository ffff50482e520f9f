// edge: tests of sshd/isolation and sshd/isolation_file.
#include "sshd/isolation.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/handle.h"
#include "base/text.h"
#include "sshd/isolation_file.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::sshd;

namespace {

ProcessReading network_child() {
  ProcessReading reading;
  reading.role = "network";
  reading.status.pid = 12;
  reading.status.uid = 990;
  reading.status.effective = "0000000000000000";
  reading.status.no_new_privileges = true;
  reading.status.filter = 2;
  reading.descriptors = {"2 /secret/door.log", "5 monitor", "7 connection"};
  return reading;
}

}  // namespace

TEST_CASE("two network children that are locked alike tell the same") {
  ProcessReading other = network_child();
  other.status.pid = 13;
  other.descriptors = {"2 /secret/door.log", "8 connection", "9 monitor"};
  CHECK(tells_the_same(network_child(), other));
  other.descriptors.push_back("10 socket:[1]");
  CHECK_FALSE(tells_the_same(network_child(), other));
  ProcessReading open = network_child();
  open.status.filter = 0;
  CHECK_FALSE(tells_the_same(network_child(), open));
  ProcessReading monitor = network_child();
  monitor.role = "monitor";
  ProcessReading next = monitor;
  next.status.pid = 99;
  CHECK_FALSE(tells_the_same(monitor, next));
}

TEST_CASE("the line for the box names no path and no pid") {
  const std::string line = summary_of({network_child()});
  CHECK(line ==
        "network: uid 990, no capabilities, no new privileges, system call filter, holds its "
        "connection and the line to the monitor, and 0 other");
  CHECK(is_printable_ascii(summary_of(std::vector<ProcessReading>(200, network_child()))));
  CHECK(summary_of(std::vector<ProcessReading>(200, network_child())).size() <= kMaxSummaryBytes);
}

TEST_CASE("the file has each process once and changes only when something does") {
  std::string folder = "/tmp/agentbox-isolation-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/isolation.json";
  IsolationFile file(folder);
  file.saw("monitor", ::getpid());
  file.saw("listener", 2'000'000'000);  // no such process
  file.keep();
  struct stat first {};
  REQUIRE(::stat(path.c_str(), &first) == 0);
  CHECK((first.st_mode & 0777U) == 0600U);
  const auto text = read_file_capped(path, 65536);
  REQUIRE(text.ok());
  const auto json = parse_json(*text);
  REQUIRE(json.ok());
  REQUIRE(json->at("processes").size() == 1);
  CHECK(json->at("processes").at(0).at("pid") == ::getpid());
  CHECK(json->at("processes").at(0).at("uid") == ::geteuid());
  file.saw("monitor", ::getpid());
  file.keep();
  struct stat second {};
  REQUIRE(::stat(path.c_str(), &second) == 0);
  CHECK(first.st_ino == second.st_ino);
  ::unlink(path.c_str());
  ::rmdir(folder.c_str());
}

TEST_CASE("a process tells what it holds by what it is for") {
  auto pair = make_pipe();
  REQUIRE(pair.ok());
  const auto held = own_descriptors({pair->first.get()}, pair->second.get());
  const auto has = [&](const std::string& line) {
    return std::find(held.begin(), held.end(), line) != held.end();
  };
  CHECK(has(std::to_string(pair->first.get()) + " connection"));
  CHECK(has(std::to_string(pair->second.get()) + " monitor"));
  std::vector<UniqueFd> many;
  for (int i = 0; i < 80; ++i) {
    many.emplace_back(::dup(pair->first.get()));
  }
  const auto all = own_descriptors({}, -1);
  CHECK(all.size() == 64);
  CHECK(all.back() == "and more");
}

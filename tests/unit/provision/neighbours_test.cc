// pure: tests of provision/neighbours: what a box says of its network, and what follows.
#include "provision/neighbours.h"

#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision;

TEST_CASE("neighbours: what a box says of its tries has one form, and all else is refused") {
  const auto reached = parse_reached("open 127.0.0.1 2222\nsilent fd00:ec2::254 80\n");
  REQUIRE(reached.ok());
  REQUIRE(reached->size() == 2);
  CHECK((*reached)[1].outcome == "silent");
  CHECK((*reached)[1].address == "fd00:ec2::254");
  CHECK((*reached)[1].port == 80);
  CHECK(parse_reached("")->empty());
  for (const char* text : {"\n", "closed 127.0.0.1 80\n", "open localhost 80\n",
                           "open 127.0.0.1 0\n", "open 127.0.0.1 65536\n", "open 127.0.0.1\n",
                           "open 127.0.0.1 80 x\n", "open  127.0.0.1 80\n", "\x1b[2J"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_reached(text).ok());
  }
}

TEST_CASE("neighbours: the first address of a cluster's services is told from its DNS") {
  CHECK(parse_nameservers("nameserver 10.96.0.10\nsearch x\nnameserver x\nnameserver fd00::a\n") ==
        std::vector<std::string>{"10.96.0.10", "fd00::a"});
  CHECK(first_service_address("10.96.0.10") == "10.96.0.1");
  CHECK(first_service_address("fd00:10:96::a") == "fd00:10:96::1");
  CHECK(first_service_address("cluster.local").empty());
}

TEST_CASE("neighbours: an open address fails its check, and a barred door makes all worthless") {
  const std::vector<Neighbour> neighbours = {
      {CheckId::kApiHidden, "the API", "10.96.0.1", 443, false},
      {CheckId::kMetadataHidden, "metadata", "169.254.169.254", 80, false},
      {CheckId::kKubeletHidden, "the kubelet", "10.0.0.7", 10250, true}};
  const std::vector<Reached> reached = {
      {"open", "10.96.0.1", 443}, {"refused", "169.254.169.254", 80}, {"open", "10.0.0.7", 10250}};
  const Reached control{"open", "127.0.0.1", 2222};
  const auto done = judge_network(neighbours, reached, control);
  REQUIRE(done.size() == 4);
  CHECK(done[0].outcome == CheckOutcome::kFailed);
  CHECK(done[0].detail == "the API 10.96.0.1 port 443: open");
  CHECK(done[1].outcome == CheckOutcome::kPassed);
  CHECK(done[2].outcome == CheckOutcome::kPassed);
  CHECK(done[2].detail.find("its egress allows it") != std::string::npos);
  CHECK(done[3].outcome == CheckOutcome::kSkipped);
  for (const CheckDone& one : judge_network(neighbours, reached, {"refused", "127.0.0.1", 2222})) {
    CHECK(one.outcome == CheckOutcome::kFailed);
  }
  // What the box keeps silent about is not taken for unreachable.
  CHECK(judge_network(neighbours, {}, control)[1].outcome == CheckOutcome::kFailed);
}

// pure: tests of sshd/cli.
#include "sshd/cli.h"

#include <vector>

#include "support/catch.h"

using namespace agentbox::sshd;

namespace {

Command parse(std::vector<std::string> words) {
  words.insert(words.begin(), "agentbox-sshd");
  std::vector<char*> pointers;
  pointers.reserve(words.size());
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  return parse_command_line(pointers);
}

}  // namespace

TEST_CASE("each way to call the program becomes its own command") {
  CHECK(std::get<RunDoor>(parse({"--config", "/c.yaml"})).config == "/c.yaml");
  CHECK(std::get<CheckPolicy>(parse({"--check", "/c.yaml", "--output", "json"})).json);
  CHECK(std::holds_alternative<RunListener>(parse({"--listener"})));
  CHECK(std::get<RunListener>(parse({"--listener", "--host-key", "/k"})).host_key == "/k");
  CHECK_FALSE(std::get<RunDoor>(parse({"--config", "/c.yaml"})).own_host_key);
  CHECK(std::get<RunDoor>(parse({"--config", "/c", "--generate-host-key"})).own_host_key);
  CHECK(std::get<CheckPolicy>(parse({"--check", "/c", "--generate-host-key"})).own_host_key);
  CHECK(std::holds_alternative<SayVersion>(parse({"--version"})));
  CHECK(std::get<Say>(parse({"--help"})).text.find("SIGTERM") != std::string::npos);
}

TEST_CASE("wrong usage exits 2 and says how to go on") {
  for (const auto& words : {std::vector<std::string>{},
                            {"--no-such"},
                            {"--config"},
                            {"--config", "a", "--check", "b"},
                            {"--check", "a", "--output", "xml"}}) {
    const auto command = parse(words);
    REQUIRE(std::holds_alternative<Say>(command));
    CHECK(std::get<Say>(command).code == 2);
    CHECK(std::get<Say>(command).text.find("--help") != std::string::npos);
  }
}

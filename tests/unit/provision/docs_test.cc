// pure: completions and the manual page.
#include <algorithm>

#include "provision/checks.h"
#include "provision/completion.h"
#include "provision/manual.h"
#include "support/catch.h"

using namespace agentbox::provision;

namespace {

const CommandShape& command_of(const ProgramShape& shape, const std::string& name) {
  for (const CommandShape& command : shape.commands) {
    if (command.name == name) {
      return command;
    }
  }
  FAIL("no command " << name);
  return shape.commands.front();
}

std::string with_hyphens_of_troff(std::string text) {
  for (auto at = text.find('-'); at != std::string::npos; at = text.find('-', at + 2)) {
    text.insert(at, "\\");
  }
  return text;
}

}  // namespace

TEST_CASE("the shape is the command line's own table, without what is hidden") {
  const ProgramShape shape = command_line_shape("1.2.3");
  for (const CommandShape& command : shape.commands) {
    CHECK(command.name != "supervise");
    CHECK(command.name != "manual");
  }
  const CommandShape& handoff = command_of(shape, "handoff");
  REQUIRE(handoff.positionals.size() == 1);
  CHECK(handoff.positionals[0].names.front() == "NAME");
  bool found = false;
  for (const OptionShape& option : handoff.options) {
    if (option.names.front() == "--format") {
      found = true;
      CHECK(option.choices.size() == 8);
      CHECK(option.choices.front() == "claude");
      CHECK(option.choices.back() == "ssh-config");
    }
  }
  CHECK(found);
  const CommandShape& pull = command_of(shape, "pull");
  REQUIRE(pull.positionals.size() == 3);
  CHECK(pull.positionals[2].value == "FILE");
}

TEST_CASE("completions and manual name every command and every option") {
  const ProgramShape shape = command_line_shape("1.2.3");
  const std::string manual = render_manual(shape);
  std::vector<std::string> scripts;
  for (const Shell shell : {Shell::kBash, Shell::kZsh, Shell::kFish}) {
    scripts.push_back(render_completion(shape, shell));
  }
  for (const CommandShape& command : shape.commands) {
    CAPTURE(command.name);
    CHECK(manual.find(".SS " + with_hyphens_of_troff(command.name) + "\n") != std::string::npos);
    for (const std::string& script : scripts) {
      CHECK(script.find(command.name) != std::string::npos);
    }
    for (const OptionShape& option : command.options) {
      for (const std::string& script : scripts) {
        const std::string name = option.names.back();
        CAPTURE(name);
        CHECK(script.find(name.substr(name.find_first_not_of('-'))) != std::string::npos);
      }
    }
  }
  CHECK(manual.find("agentbox 1.2.3") != std::string::npos);
}

TEST_CASE("every check has a title and says what to do, and each suite has its own") {
  for (const CheckFacts& facts : all_checks()) {
    CHECK_FALSE(facts.title.empty());
    CHECK_FALSE(facts.next.empty());
    CHECK(&facts_of(facts.id) == &facts);
  }
  const auto doctor = checks_of(Suite::kDoctor);
  CHECK(std::find(doctor.begin(), doctor.end(), CheckId::kWall) != doctor.end());
  CHECK(std::find(doctor.begin(), doctor.end(), CheckId::kKeys) != doctor.end());
  CHECK(std::find(doctor.begin(), doctor.end(), CheckId::kDelete) == doctor.end());
}

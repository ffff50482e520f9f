// pure: reading the environment.
#include "agentbox/settings.h"

#include <array>

#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::mcp;

namespace {

Result<Settings> settings_of(std::vector<std::string_view> environment) {
  return read_settings(environment);
}

}  // namespace

TEST_CASE("without variables the defaults hold") {
  const auto settings = settings_of({});
  REQUIRE(settings.ok());
  CHECK(settings.value().workspace == "/workspace");
  CHECK(settings.value().role == Role::kAgent);
  CHECK_FALSE(settings.value().records_fd);
}

TEST_CASE("the workspace's own name wins over the two it may also have") {
  CHECK(settings_of({"AGENTBOX_ROOT=/r", "MCP_WORKSPACE=/m", "AGENTBOX_WORKSPACE=/w"})
            .value()
            .workspace == "/w");
  CHECK(settings_of({"MCP_WORKSPACE=/m", "AGENTBOX_ROOT=/r"}).value().workspace == "/m");
  CHECK(settings_of({"AGENTBOX_ROOT=/r", "MCP_WORKSPACE="}).value().workspace == "/r");
}

TEST_CASE("nothing of ours goes on to commands and all else does, in order") {
  const auto settings =
      settings_of({"B=2", "AGENTBOX_SESSION=s1", "AGENTBOX_SECRET=x", "MCP_WORKSPACE=/m", "A=1=1"});
  REQUIRE(settings.ok());
  const std::vector<std::pair<std::string, std::string>> expected{{"B", "2"}, {"A", "1=1"}};
  CHECK(settings.value().environment == expected);
  CHECK(settings.value().session == "s1");
}

TEST_CASE("roles are known or refused") {
  CHECK(settings_of({"AGENTBOX_ROLE=reader"}).value().role == Role::kReader);
  CHECK(settings_of({"AGENTBOX_ROLE=operator"}).value().role == Role::kOperator);
  CHECK_FALSE(settings_of({"AGENTBOX_ROLE=root"}).ok());
  CHECK_FALSE(settings_of({"AGENTBOX_ROLE="}).ok());
}

TEST_CASE("profiles are known or refused") {
  CHECK(settings_of({}).value().profile == Profile::kStandard);
  CHECK(settings_of({"AGENTBOX_PROFILE=core"}).value().profile == Profile::kCore);
  CHECK(settings_of({"AGENTBOX_PROFILE=full"}).value().profile == Profile::kFull);
  CHECK_FALSE(settings_of({"AGENTBOX_PROFILE=all"}).ok());
  CHECK_FALSE(settings_of({"AGENTBOX_PROFILE="}).ok());
}

TEST_CASE("numbers are read whole or refused") {
  CHECK(settings_of({"AGENTBOX_RECORDS_FD=3"}).value().records_fd == 3);
  CHECK(settings_of({"AGENTBOX_GENERATION=18446744073709551615"}).value().generation ==
        18446744073709551615ULL);
  for (const char* const entry : {"AGENTBOX_RECORDS_FD=-1", "AGENTBOX_RECORDS_FD=3x",
                                  "AGENTBOX_RECORDS_FD=4096", "AGENTBOX_GENERATION= 1"}) {
    CHECK_FALSE(settings_of({entry}).ok());
  }
}

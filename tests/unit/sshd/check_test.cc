// pure: tests of sshd/check.
#include "sshd/check.h"

#include "support/catch.h"

using namespace agentbox::sshd;

TEST_CASE("the report of a default configuration names no weakening") {
  const std::string text = render_policy_text(describe_policy(Config{}, {false, "0.10.6"}));
  CHECK(text.find("weakening   none\n") != std::string::npos);
  CHECK(text.find("subsystem sftp and any other: refused") != std::string::npos);
  CHECK(text.find("exec, any command: the tool server") != std::string::npos);
}

TEST_CASE("each weakening is named") {
  Config config;
  config.keys_trust = KeysTrust::kAny;
  config.pass_env = {"DEMO_TOKEN"};
  const std::string text =
      render_policy_text(describe_policy(config, {true, "0.10.5/openssl/zlib"}));
  CHECK(text.find("weakening   keys_trust: any") != std::string::npos);
  CHECK(text.find("weakening   pass_env: DEMO_TOKEN") != std::string::npos);
  CHECK(text.find("weakening   sanitizer build") != std::string::npos);
  CHECK(text.find("weakening   libssh 0.10.5/openssl/zlib") != std::string::npos);
  CHECK(text.find("weakening   none") == std::string::npos);
}

TEST_CASE("every limit of the configuration is in the report") {
  const auto json =
      agentbox::dump_json(render_policy_json(describe_policy(Config{}, {false, "0.10.6"})));
  for (const char* name :
       {"connections", "unauthenticated", "own_unauthenticated", "channels_per_connection",
        "login_points", "login_grace_seconds", "idle_seconds", "keepalive_seconds",
        "keepalive_misses", "drain_seconds"}) {
    CHECK(json.find('"' + std::string(name) + '"') != std::string::npos);
  }
}

TEST_CASE("versions of the library are compared by number") {
  for (const char* old : {"0.10.5", "0.9.8", "0.10", "", "x"}) {
    CHECK(library_is_too_old(old));
  }
  for (const char* good : {"0.10.6", "0.10.6/openssl/zlib", "0.11.0", "1.0.0", "0.10.10"}) {
    CHECK_FALSE(library_is_too_old(good));
  }
}

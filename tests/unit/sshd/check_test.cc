// pure: tests of sshd/check.
#include "sshd/check.h"

#include "support/catch.h"
#include "tests/unit/sshd/keys.h"

using namespace agentbox::sshd;

TEST_CASE("the report of a default configuration names no weakening") {
  const std::string text =
      render_policy_text(describe_policy(Config{}, {false, "0.10.6", "0.10.6-0+deb12u3"}));
  CHECK(text.find("weakening   none\n") != std::string::npos);
  CHECK(text.find("subsystem sftp and any other: refused") != std::string::npos);
  CHECK(text.find("exec, any command: the tool server") != std::string::npos);
}

TEST_CASE("each weakening is named") {
  Config config;
  config.keys_trust = KeysTrust::kAny;
  config.pass_env = {"DEMO_TOKEN"};
  const std::string text =
      render_policy_text(describe_policy(config, {true, "0.10.5/openssl/zlib", ""}));
  CHECK(text.find("weakening   keys_trust: any") != std::string::npos);
  CHECK(text.find("weakening   pass_env: DEMO_TOKEN") != std::string::npos);
  CHECK(text.find("weakening   sanitizer build") != std::string::npos);
  CHECK(text.find("weakening   libssh 0.10.5/openssl/zlib") != std::string::npos);
  CHECK(text.find("weakening   none") == std::string::npos);
}

TEST_CASE("every limit of the configuration is in the report") {
  const auto json = agentbox::dump_json(
      render_policy_json(describe_policy(Config{}, {false, "0.10.6", "0.10.6-0+deb12u3"})));
  for (const char* name :
       {"connections", "unauthenticated", "own_unauthenticated", "channels_per_connection",
        "login_points", "login_grace_seconds", "idle_seconds", "keepalive_seconds",
        "keepalive_misses", "drain_seconds"}) {
    CHECK(json.find('"' + std::string(name) + '"') != std::string::npos);
  }
}

TEST_CASE("a known hole that nobody mended or acknowledged is a weakening") {
  Config config;
  const BuildFacts facts{false, "0.10.6/openssl", "0.10.6-0+deb12u2"};
  CHECK(render_policy_text(describe_policy(config, facts))
            .find("weakening   libssh CVE-2026-59847") != std::string::npos);
  config.libssh_backports_acknowledged = "0.10.6-0+deb12u2";
  CHECK(render_policy_text(describe_policy(config, facts)).find("weakening   none") !=
        std::string::npos);
}

TEST_CASE("what a program judges is there as values") {
  Config config;
  config.limits.login_points = 500;
  SeenKeys seen;
  seen.problems = {{3, "no key"}};
  seen.keys.generation = 7;
  const auto json = agentbox::dump_json(effective_json(config, {false, "0.10.6", ""}, seen));
  CHECK(json.find(R"("login_points":{"value":500,"default":20})") != std::string::npos);
  CHECK(json.find(R"("key_problems":[{"line":3,"what":"no key"}])") != std::string::npos);
  CHECK(json.find(R"("generation":7)") != std::string::npos);
}

TEST_CASE("certificates are refused while no CA is trusted, and the report says whose are taken") {
  Config config;
  SeenKeys seen;
  const auto told = [&] { return render_policy_text(describe_certificates(config, seen)); };
  CHECK(told() == "login  certificates: refused: user_ca names no CA\n");
  seen.certificates_refused = "box_name: not there";
  CHECK(told() == "login  certificates: refused: box_name: not there\n");
  seen.certificates_refused.clear();
  seen.keys.authorities = {agentbox::PublicKey::parse(key_line('c')).value()};
  seen.keys.box_name = "demo";
  CHECK(told().starts_with("login  certificates of CA " + key_fingerprint('c') +
                           ": users' alone, for principal demo"));
  CHECK(told().find("a certificate that expires: ends its sessions") != std::string::npos);
  config.certificate_expiry = CertificateExpiry::kKeepSessions;
  CHECK(told().find("a certificate that expires: begins no new session") != std::string::npos);
}

TEST_CASE("the keys of a box are told with what limits them") {
  SeenKeys seen;
  const auto key = agentbox::PublicKey::parse(
      "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f");
  REQUIRE(key.ok());
  KeyEntry entry{.key = *key,
                 .label = "anna",
                 .role = agentbox::Role::kAgent,
                 .profile = {},
                 .from = {},
                 .expires = 0,
                 .line = 1};
  seen.keys.entries = {entry};
  seen.host_key_error = "gone";
  const std::string text = render_policy_text(describe_keys(seen));
  CHECK(text.find("ssh-ed25519 anna; role agent; until 1970-01-01") != std::string::npos);
  CHECK(text.find("host key: cannot be used: gone") != std::string::npos);
}

TEST_CASE("check: a post-quantum key exchange is named, and so is its absence") {
  const auto gets = [](const std::string& post_quantum) {
    std::string all;
    for (const PolicyLine& line :
         describe_policy(Config{}, {.library = "0.12.0", .post_quantum = post_quantum})) {
      all += line.what.find("key exchange") == std::string::npos ? "" : line.gets + "\n";
    }
    return all;
  };
  CHECK(gets("a,b") == "a,b,curve25519-sha256,curve25519-sha256@libssh.org\na,b\n");
  CHECK(gets("").starts_with("curve25519-sha256,"));
  CHECK(gets("").find("none") != std::string::npos);
}

// edge: tests of sshd/config.
#include "sshd/config.h"

#include "base/handle.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::sshd;

TEST_CASE("the sample configuration loads and says what the defaults are") {
  const auto text =
      read_file_capped(AGENTBOX_SOURCE_DIR "/config/agentbox-sshd.yaml", kMaxConfigBytes);
  REQUIRE(text.ok());
  const auto sample = parse_config(text.value());
  REQUIRE(sample.ok());
  const Config standard;
  CHECK(sample->listen_address == standard.listen_address);
  CHECK(sample->port == standard.port);
  CHECK(sample->host_key == standard.host_key);
  CHECK(sample->keys_dir == standard.keys_dir);
  CHECK(sample->keys_trust == standard.keys_trust);
  CHECK(sample->certificate_expiry == standard.certificate_expiry);
  CHECK(sample->state_dir == standard.state_dir);
  CHECK(sample->link_socket == standard.link_socket);
  CHECK(sample->box_uid == standard.box_uid);
  CHECK(sample->audit_sink == standard.audit_sink);
  CHECK(sample->log_format == standard.log_format);
  CHECK(sample->profile == standard.profile);
  CHECK(sample->pass_env == standard.pass_env);
  CHECK(sample->limits.connections == standard.limits.connections);
  CHECK(sample->limits.unauthenticated == standard.limits.unauthenticated);
  CHECK(sample->limits.own_unauthenticated == standard.limits.own_unauthenticated);
  CHECK(sample->limits.channels_per_connection == standard.limits.channels_per_connection);
  CHECK(sample->limits.login_points == standard.limits.login_points);
  CHECK(sample->limits.login_grace == standard.limits.login_grace);
  CHECK(sample->limits.idle == standard.limits.idle);
  CHECK(sample->limits.keepalive == standard.limits.keepalive);
  CHECK(sample->limits.keepalive_misses == standard.limits.keepalive_misses);
  CHECK(sample->limits.drain == standard.limits.drain);
}

TEST_CASE("errors name the section, the line and the key") {
  CHECK(parse_config("limits: {connections: 0}").error().what ==
        "limits: line 1: connections must be a whole number from 1 to 16384");
  CHECK(parse_config("port: 22").error().what == "line 1: unknown key port");
  CHECK(parse_config("listen: {port: 70000}").error().what.find("listen: line 1: port") == 0);
  CHECK_FALSE(parse_config("listen: {address: localhost}").ok());
  CHECK_FALSE(parse_config("host_key: relative/path").ok());
  CHECK_FALSE(parse_config("state_dir: state").ok());
  CHECK_FALSE(parse_config("audit: {sink: relative}").ok());
  CHECK_FALSE(parse_config("keys_trust: sometimes").ok());
  CHECK_FALSE(parse_config("profile: all").ok());
  CHECK(parse_config("profile: core")->profile == Profile::kCore);
  CHECK_FALSE(parse_config("certificate_expiry: never").ok());
  CHECK(parse_config("certificate_expiry: keep_sessions")->certificate_expiry ==
        CertificateExpiry::kKeepSessions);
}

TEST_CASE(
    "no variable of the door's own, and none that a loader or shell obeys, can be passed on") {
  CHECK(may_pass_env("DEMO_GH_TOKEN"));
  CHECK(may_pass_env("_x9"));
  for (const char* bad :
       {"", "AGENTBOX_ROLE", "LD_PRELOAD", "BASH_ENV", "ENV", "1X", "A-B", "A=B", "A B"}) {
    CHECK_FALSE(may_pass_env(bad));
  }
  CHECK_FALSE(parse_config("pass_env: [LD_PRELOAD]").ok());
  CHECK(parse_config("pass_env: [DEMO_GH_TOKEN]").ok());
}

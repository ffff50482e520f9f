// pure: tests of sshd/policy.
#include "sshd/policy.h"

#include "support/catch.h"
#include "tests/unit/sshd/keys.h"

using namespace agentbox;
using namespace agentbox::sshd;

namespace {

KeySet keys_of(const std::string& text) {
  KeySet keys;
  keys.entries = parse_authorized_keys(text).entries;
  return keys;
}

std::string_view reason(const KeySet& keys, std::string_view user, const std::string& fingerprint,
                        const char* address = "192.0.2.1", std::int64_t now = 1000) {
  return decide_auth({user, fingerprint, Address::parse(address).value(), now}, keys).reason;
}

}  // namespace

TEST_CASE("each way to be refused has its own reason") {
  KeySet keys = keys_of(key_line('a') + "\nfrom=\"10.0.0.0/8\" " + key_line('b') +
                        "\nexpiry-time=\"19700102\" " + key_line('c') + "\n" + key_line('d'));
  keys.revoked.fingerprints = {key_fingerprint('d')};
  CHECK(reason(keys, "agent", key_fingerprint('a')) == "authorised");
  CHECK(reason(keys, "root", key_fingerprint('a')) == "the login name is not agent");
  CHECK(reason(keys, "agent", "") == "key type not accepted");
  CHECK(reason(keys, "agent", key_fingerprint('z')) == "key not authorised");
  CHECK(reason(keys, "agent", key_fingerprint('b')) == "address not allowed for this key");
  CHECK(reason(keys, "agent", key_fingerprint('b'), "10.9.9.9") == "authorised");
  CHECK(reason(keys, "agent", key_fingerprint('c'), "192.0.2.1", 86'399) == "authorised");
  CHECK(reason(keys, "agent", key_fingerprint('c'), "192.0.2.1", 86'400) == "key expired");
  CHECK(reason(keys, "agent", key_fingerprint('d')) == "key revoked");
}

TEST_CASE(
    "a key is in force while it is listed, not revoked and not expired, wherever it is used") {
  KeySet keys = keys_of(key_line('a') + "\nfrom=\"10.0.0.0/8\" " + key_line('b') +
                        "\nexpiry-time=\"19700102\" " + key_line('c') + "\n" + key_line('d'));
  keys.revoked.fingerprints = {key_fingerprint('d')};
  CHECK(is_in_force(Credential{key_fingerprint('a'), {}, 0, {}, 0}, 0, keys));
  CHECK(is_in_force(Credential{key_fingerprint('b'), {}, 0, {}, 0}, 0, keys));
  CHECK(is_in_force(Credential{key_fingerprint('c'), {}, 0, {}, 0}, 86'399, keys));
  CHECK_FALSE(is_in_force(Credential{key_fingerprint('c'), {}, 0, {}, 0}, 86'400, keys));
  CHECK_FALSE(is_in_force(Credential{key_fingerprint('d'), {}, 0, {}, 0}, 0, keys));
  CHECK_FALSE(is_in_force(Credential{key_fingerprint('z'), {}, 0, {}, 0}, 0, keys));
}

TEST_CASE("an empty set of keys lets nobody in") {
  CHECK_FALSE(
      decide_auth({"agent", key_fingerprint('a'), Address::parse("::1").value(), 0}, KeySet{})
          .granted);
}

TEST_CASE("shell, exec and subsystem mcp start the one session; everything else is refused") {
  CHECK(decide_request(RequestKind::kShell, "", false).starts_session);
  CHECK(decide_request(RequestKind::kExec, "rm -rf /", false).starts_session);
  CHECK(decide_request(RequestKind::kSubsystem, "mcp", false).starts_session);
  for (const char* name : {"sftp", "netconf", "", "mcp ", "MCP"}) {
    CHECK_FALSE(decide_request(RequestKind::kSubsystem, name, false).starts_session);
  }
  for (const RequestKind kind :
       {RequestKind::kPty, RequestKind::kEnv, RequestKind::kSignal, RequestKind::kOther}) {
    CHECK_FALSE(decide_request(kind, "", false).starts_session);
  }
}

TEST_CASE("a channel has one session") {
  for (const RequestKind kind : {RequestKind::kShell, RequestKind::kExec}) {
    CHECK_FALSE(decide_request(kind, "", true).starts_session);
  }
  CHECK_FALSE(decide_request(RequestKind::kSubsystem, "mcp", true).starts_session);
}

TEST_CASE("a session's plan holds the key's role and the door's variables, and escapes them") {
  const KeySet keys = keys_of("agentbox-role=\"reader\" " + key_line('a'));
  const record::Start start = plan_session("id", keys.entries[0].key.fingerprint(),
                                           keys.entries[0].role, Profile::kCore, 9, {"TOKEN=a\nb"});
  CHECK(start.session == "id");
  CHECK(start.role == "reader");
  CHECK(start.profile == "core");
  CHECK(start.key == key_fingerprint('a'));
  CHECK(start.generation == 9);
  CHECK(start.environment == std::vector<std::string>{"TOKEN=a\\nb"});
  CHECK(record::encode(start).ok());
}

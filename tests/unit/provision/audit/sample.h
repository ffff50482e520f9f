// pure: a sound box as facts; tests weaken it.
#pragma once

#include "provision/audit/facts.h"

namespace agentbox::provision::audit {

inline ProcessFact sound_process(const std::string& role, std::int64_t pid) {
  ProcessFact process;
  process.role = role;
  process.pid = pid;
  process.uid = 990;
  process.gid = 990;
  process.effective = "0000000000000000";
  process.bounding = "000001ffffffffff";
  process.inspectable = false;
  if (role == "network") {
    process.no_new_privileges = true;
    process.filter = 2;
    process.descriptors = {"0 /dev/null", "2 /var/lib/agentbox/door.log", "5 monitor",
                           "7 connection"};
  }
  return process;
}

inline BoxFacts sound_box() {
  BoxFacts facts;
  facts.name = "demo";
  facts.state = "running";
  facts.separate_users = true;
  facts.running = true;
  facts.now = 1'796'000'000;
  facts.config = "/state/boxes/demo/local/door/etc/agentbox-sshd.yaml";
  facts.keys_file = "/state/boxes/demo/local/door/keys/..data/authorized_keys";
  Policy policy;
  policy.address = "127.0.0.1";
  policy.port = 20000;
  policy.keys_trust = "strict";
  policy.limits = {{"connections", 512, 512, "at once"},
                   {"own_unauthenticated", 0, 4, "at once"},
                   {"login_grace_seconds", 10, 10, "seconds"}};
  policy.logins = {{"methods password, none", "refused"}};
  policy.requests = {{"shell", "the tool server"},
                     {"pty-req", "refused: a terminal would break the protocol's lines"}};
  policy.algorithms = {{"ciphers", "chacha20-poly1305@openssh.com,aes256-ctr"},
                       {"macs", "hmac-sha2-256-etm@openssh.com"},
                       {"post-quantum key exchange", "none: this SSH library has none"},
                       {"compression", "none"}};
  policy.library = {"0.10.6/openssl", "0.10.6-0+deb12u3", "", false, "0.10.6", false, {}};
  policy.host_fingerprint = "SHA256:host";
  policy.generation = 3;
  facts.policy = policy;
  facts.pinned = "SHA256:host";
  KeyFact key;
  key.listed = {"SHA256:anna", "ssh-ed25519 AAAA", "anna", "agent", false, {}};
  key.type = "ssh-ed25519";
  key.age_days = 4;
  facts.keys = {key};
  facts.places = {{"/state/boxes/demo/local/door/hostkey", "the host key", true, 990, 0600, 990,
                   077, false, 0600, "", ""},
                  {"/state/boxes/demo/local/programs/agent-box", "a program", true, 0, 0711, 0, 066,
                   true, 0711, "", ""}};
  facts.isolation = Isolation{
      "2026-11-30T10:00:00.000Z",
      {sound_process("monitor", 10), sound_process("listener", 11), sound_process("network", 12)}};
  facts.seen = {sound_process("monitor", 10), sound_process("listener", 11)};
  facts.namespaces = {{"pid", false}, {"mnt", false}};
  facts.live = true;
  facts.trials = {{"pty-req", "refused", true, true}};
  facts.wall = "6 places, and processes";
  facts.audit_lines = 12;
  return facts;
}

}  // namespace agentbox::provision::audit

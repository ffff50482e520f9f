// pure: values that several tests of this room start from.
#pragma once

#include <string>

#include "base/public_key.h"
#include "provision/box.h"
#include "provision/handoff.h"

namespace agentbox::provision::sample {

inline constexpr const char* kKey =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJYAdzmL1eAhCTSvsA7kBY9vs1DV/CZr7pDkUi26VST9";
inline constexpr const char* kOtherKey =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGNTLyjrnaweUhZgllSy+loDdE55mzIjCPV5W546FzEP";

inline NamedKey key(const std::string& line) { return named(PublicKey::parse(line).value()); }

inline BoxRecord record() {
  BoxRecord made = new_record(BoxName::parse("demo").value());
  made.phase = Phase::kRunning;
  made.keys = {key(std::string(kKey) + " anna@desk")};
  made.identity_file = "/state/boxes/demo/id_ed25519";
  made.host_key = kOtherKey;
  made.generation = 7;
  made.port = 20123;
  return made;
}

inline SshFacts facts() {
  return SshFacts{"demo", "127.0.0.1", 20123, "/state/boxes/demo/id_ed25519",
                  "/state/boxes/demo/known_hosts"};
}

}  // namespace agentbox::provision::sample

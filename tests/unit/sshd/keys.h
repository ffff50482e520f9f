// pure: public keys for tests, made of nothing.
#pragma once

#include <string>

#include "base/public_key.h"
#include "base/text.h"

namespace agentbox::sshd {

/// A well-formed ed25519 key line whose 32 bytes are all FILL; nobody has its private half.
inline std::string key_line(char fill) {
  std::string blob("\0\0\0\x0bssh-ed25519\0\0\0\x20", 19);
  blob.append(32, fill);
  return "ssh-ed25519 " + base64_encode(blob);
}

inline std::string key_fingerprint(char fill) {
  return PublicKey::parse(key_line(fill)).value().fingerprint();
}

}  // namespace agentbox::sshd

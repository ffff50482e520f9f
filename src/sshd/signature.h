// pure: whether a key made a signature. Shares the door to libcrypto with the host key's reader.
#pragma once

#include <string_view>

#include "base/public_key.h"

namespace agentbox::sshd {

/// True where SIGNATURE (a name and its bytes, as RFC 4253 section 6.6, RFC 5656 section 3.1.2,
/// RFC 8332 and RFC 8709 have it) was made over DATA by the private half of KEY. Ed25519, ECDSA
/// with the digest of its curve, RSA with SHA-256 or SHA-512; RSA with SHA-1 is never good.
[[nodiscard]] bool is_signed_by(const PublicKey& key, std::string_view data,
                                std::string_view signature);

}  // namespace agentbox::sshd

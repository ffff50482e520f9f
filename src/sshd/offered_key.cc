// pure: see offered_key.h.
#include "sshd/offered_key.h"

#include <utility>

namespace agentbox::sshd {

OfferedKey read_offered_key(std::string_view blob) {
  OfferedKey offered;
  if (is_certificate(blob)) {
    auto certificate = parse_certificate(blob);
    if (!certificate.ok()) {
      offered.problem = certificate.error().what;
      return offered;
    }
    offered.algorithm = certificate->type;
    offered.credential = credential_of(*certificate);
    offered.certificate = std::move(certificate).value();
    return offered;
  }
  if (const auto key = PublicKey::from_blob(blob); key.ok()) {
    offered.algorithm = key->type();
    offered.credential.key = key->fingerprint();
  }
  return offered;
}

}  // namespace agentbox::sshd

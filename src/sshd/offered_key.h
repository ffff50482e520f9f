// pure: what a client offers to log in with, as the policy and the audit want it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sshd/certificate.h"
#include "sshd/policy.h"

namespace agentbox::sshd {

struct OfferedKey {
  std::string algorithm;  ///< empty where it is none that could count
  std::string problem;    ///< why a certificate is none, else empty
  std::optional<Certificate> certificate;
  Credential credential;  ///< its key is empty where there is none
};

/// Reads the blob as it comes on the wire. A certificate is told from a key first, and stays one
/// even where it does not parse: the library compares one with a plain key differently from version
/// to version, and we never do.
[[nodiscard]] OfferedKey read_offered_key(std::string_view blob);

}  // namespace agentbox::sshd

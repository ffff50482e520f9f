// edge: a CA of the operator's, and the certificates that it signs.
#pragma once

#include <string>
#include <vector>

#include "provision/answer.h"
#include "provision/command.h"
#include "provision/report.h"
#include "provision/state.h"

namespace agentbox::provision {

/// Makes the CA's key where there is none yet; one that is there is never replaced.
[[nodiscard]] Answer<Report> init_ca(const Store& store, const CaInit& command);

/// Signs with ssh-keygen: no library here writes certificates, and OpenSSH's own is what everybody
/// else reads. The certificate lies beside its public key, where ssh looks for it by itself. It
/// names the box as principal, whether or not the box exists yet: no cluster is asked.
[[nodiscard]] Answer<Report> sign_certificate(const Store& store, const CaSign& command);

/// The public keys of CAs in CA: of a private key, or of a file of public keys; empty: the CA in
/// the state folder.
[[nodiscard]] Answer<std::vector<NamedKey>> authorities_of(const std::string& ca);

}  // namespace agentbox::provision

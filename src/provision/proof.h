// edge: proving over SSH that a box lets its keys in, on its pinned host key.
#pragma once

#include <chrono>
#include <string>

#include "base/ssh_client.h"
#include "provision/answer.h"
#include "provision/box.h"
#include "provision/mcp_client.h"
#include "provision/supervisor.h"

namespace agentbox::provision {

/// One connection and its key exchange, and a session's first answers: milliseconds on this
/// machine.
inline constexpr std::chrono::seconds kProofStep{5};
/// A box that has not answered by then does not work.
inline constexpr std::chrono::seconds kStartTime{30};

/// Where RECORD's box answers, and the only host key it may show.
[[nodiscard]] Result<SshClient::Target> target_of(const BoxRecord& record);

/// A session with the private key that RECORD names. Refused where it is unknown.
[[nodiscard]] Answer<McpClient> open_session(const BoxRecord& record, Deadline deadline);

/// What was proven, in words.
struct Proof {
  bool login = false;  ///< false: the private key is not ours, so only offers were made
  std::string words;
};

/// Each of KEYS is offered without a signature and must be refused; Code::kDenied where one is not.
[[nodiscard]] Status prove_refused(const BoxRecord& record, const std::vector<NamedKey>& keys);

/// Each key is offered without a signature and must be answered PK_OK, each former and revoked one
/// must be refused; where the private key is known also a login and an answer of the tool
/// system_info, with RECORD's generation of keys or a later one. Code::kDenied where one of these
/// does not hold.
[[nodiscard]] Result<Proof> prove_once(const BoxRecord& record);

/// prove_once() until it succeeds, for kStartTime, or until the box's SUPERVISOR has ended.
[[nodiscard]] Answer<Proof> prove(const BoxRecord& record, const BoxPaths& paths,
                                  const UniqueFd& supervisor);

}  // namespace agentbox::provision

// edge: proving over SSH that a box lets its keys in, on its pinned host key.
#pragma once

#include <chrono>
#include <string>

#include "provision/answer.h"
#include "provision/box.h"
#include "provision/contact.h"
#include "provision/mcp_client.h"
#include "provision/supervisor.h"

namespace agentbox::provision {

/// A box that has not answered by then does not work.
inline constexpr std::chrono::seconds kStartTime{30};

/// A session with the private key that the box's record names. Refused where it is unknown.
[[nodiscard]] Answer<McpClient> open_session(const Contact& box, Deadline deadline);

/// What was proven, in words.
struct Proof {
  bool login = false;  ///< false: the private key is not ours, so only offers were made
  std::string words;
};

/// Each of KEYS is offered without a signature and must be refused; Code::kDenied where one is not.
[[nodiscard]] Status prove_refused(const Contact& box, const std::vector<NamedKey>& keys);

/// Each key is offered without a signature and must be answered PK_OK, each former and revoked one
/// must be refused; where the private key is known also a login and an answer of the tool
/// system_info, with the record's generation of keys or a later one. Code::kDenied where one of
/// these does not hold.
[[nodiscard]] Result<Proof> prove_once(const Contact& box);

/// prove_once() until it succeeds, for kStartTime, or until the SUPERVISOR of the box, which is on
/// this machine, has ended.
[[nodiscard]] Answer<Proof> prove(const BoxRecord& record, const BoxPaths& paths,
                                  const UniqueFd& supervisor);

}  // namespace agentbox::provision

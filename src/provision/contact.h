// edge: how the operator's own commands reach a box, wherever it is.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/ssh_client.h"
#include "provision/box.h"

namespace agentbox::provision {

/// One connection and its key exchange, and a session's first answers: milliseconds on this
/// machine.
inline constexpr std::chrono::seconds kProofStep{5};

/// Who logs in at a box.
inline constexpr const char* kLoginUser = "agent";

/// A connection with a box's door, or with a gateway that stands for it, which has shown the pinned
/// host key; nobody is logged in yet.
struct DoorLine {
  std::shared_ptr<void> carrier;  ///< what carries its bytes, where that is more than a socket
  SshClient client;               ///< ends before its carrier
  std::string user = kLoginUser;  ///< who logs in there
};

/// Connects anew each time it is called. Code::kDenied where the host key is another one;
/// kUnavailable and kTimeout where the box cannot be reached.
using Dial = std::function<Result<DoorLine>(Deadline)>;

/// A box, and the way to it from here.
struct Contact {
  BoxRecord record;  ///< what is known of it now: keys, generation, host key, private key's place
  Dial dial;
  std::chrono::seconds step = kProofStep;  ///< for one connection, or one quick answer
  /// A box that was just started may take so long until it answers from here, though it runs.
  std::chrono::seconds settling{0};
  /// The dial ends at a gateway that stands for the box: it answers whatever the box does.
  bool at_gateway = false;
};

/// Where the box of RECORD answers on this machine, and the only host key it may show.
[[nodiscard]] Result<SshClient::Target> target_of(const BoxRecord& record);

/// The way to the box of RECORD, which is on this machine.
[[nodiscard]] Contact contact_here(const BoxRecord& record);

}  // namespace agentbox::provision

// edge: what ssh_client.cc and ssh_attempt.cc share of the library's objects; nobody else includes
// it.
#pragma once

#include <libssh/libssh.h>

#include <functional>
#include <string>

#include "base/ssh_client.h"

namespace agentbox {

using SessionHandle = CHandle<ssh_session_struct, ssh_free>;
using ChannelHandle = CHandle<ssh_channel_struct, ssh_channel_free>;

struct SshClient::State {
  SessionHandle session;
};

/// What the library says went wrong while DOING.
[[nodiscard]] Error ssh_session_error(ssh_session session, std::string_view doing);

/// Repeats STEP, which answers SSH_AGAIN while it has to wait, until it answers something else.
[[nodiscard]] Result<int> drive_ssh(ssh_session session, Deadline deadline,
                                    const std::function<int()>& step);

}  // namespace agentbox

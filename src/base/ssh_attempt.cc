// edge: SshClient::attempt(). See ssh_client.h.
#include <libssh/libssh.h>

#include "base/ssh_client_state.h"

namespace agentbox {
namespace {

// Nothing of these is ever reached: a granted attempt is closed at once.
constexpr const char* kNowhere = "127.0.0.1";
constexpr int kDiscardPort = 9;

bool is_login(Attempt what) {
  return what == Attempt::kNone || what == Attempt::kPassword ||
         what == Attempt::kKeyboardInteractive;
}

int try_login(ssh_session session, Attempt what) {
  switch (what) {
    case Attempt::kPassword:
      return ssh_userauth_password(session, nullptr, "agentbox");
    case Attempt::kKeyboardInteractive:
      return ssh_userauth_kbdint(session, nullptr, nullptr);
    default:
      return ssh_userauth_none(session, nullptr);
  }
}

// A request on a session channel.
int ask_on(ssh_channel channel, Attempt what) {
  switch (what) {
    case Attempt::kTerminal:
      return ssh_channel_request_pty(channel);
    case Attempt::kVariable:
      return ssh_channel_request_env(channel, "LANG", "C");
    case Attempt::kSftp:
      return ssh_channel_request_subsystem(channel, "sftp");
    case Attempt::kX11:
      return ssh_channel_request_x11(channel, 0, nullptr, nullptr, 0);
    default:
      return SSH_ERROR;
  }
}

// A channel of another type, or the session that a request goes on.
int open_as(ssh_channel channel, Attempt what) {
  switch (what) {
    case Attempt::kDirectTcp:
      return ssh_channel_open_forward(channel, kNowhere, kDiscardPort, kNowhere, 0);
    case Attempt::kDirectUnix:
      return ssh_channel_open_forward_unix(channel, "/nonexistent", kNowhere, 0);
    case Attempt::kAgentChannel:
      return ssh_channel_open_auth_agent(channel);
    case Attempt::kX11Channel:
      return ssh_channel_open_x11(channel, kNowhere, 0);
    default:
      return ssh_channel_open_session(channel);
  }
}

bool asks_on_session(Attempt what) { return what >= Attempt::kTerminal && what <= Attempt::kX11; }

// RC is what the library made of the answer; with the connection gone there was none.
Result<bool> answer(ssh_session session, int rc) {
  constexpr int kClosed = SSH_CLOSED | SSH_CLOSED_ERROR;
  if (rc != SSH_OK && (ssh_get_status(session) & kClosed) != 0) {
    return ssh_session_error(session, "the connection ended");
  }
  return rc == SSH_OK;
}

}  // namespace

Result<bool> SshClient::attempt(Attempt what, Deadline deadline) {
  ssh_session session = state_->session.get();
  if (is_login(what)) {
    AB_TRY(rc, drive_ssh(session, deadline, [&] {
             const int got = try_login(session, what);
             return got == SSH_AUTH_AGAIN ? SSH_AGAIN : got;
           }));
    // SSH_AUTH_INFO: the server asks questions, so that it would take answers.
    const bool granted = rc == SSH_AUTH_SUCCESS || rc == SSH_AUTH_PARTIAL || rc == SSH_AUTH_INFO;
    return answer(session, granted ? SSH_OK : SSH_ERROR);
  }
  if (what == Attempt::kRemoteForward) {
    int port = 0;
    AB_TRY(rc, drive_ssh(session, deadline,
                         [&] { return ssh_channel_listen_forward(session, kNowhere, 0, &port); }));
    return answer(session, rc);
  }
  const ChannelHandle channel(ssh_channel_new(session));
  if (!channel) {
    return Error{Code::kSystem, "out of memory"};
  }
  AB_TRY(opened, drive_ssh(session, deadline, [&] { return open_as(channel.get(), what); }));
  if (!asks_on_session(what) || opened != SSH_OK) {
    if (asks_on_session(what)) {
      return ssh_session_error(session, "open a channel");
    }
    return answer(session, opened);
  }
  AB_TRY(asked, drive_ssh(session, deadline, [&] { return ask_on(channel.get(), what); }));
  return answer(session, asked);
}

}  // namespace agentbox

// edge: a small SSH client: one pinned host key, one public key or private key, one channel.
//
// Nothing of the machine's own SSH set-up takes part: no configuration file, no agent, no
// known_hosts but the key given here, no name but the user given here. Every call has a deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/handle.h"
#include "base/public_key.h"
#include "base/result.h"
#include "base/ssh_key.h"

struct ssh_channel_struct;

namespace agentbox {

using Deadline = std::chrono::steady_clock::time_point;

/// What the client keeps of a channel's stderr: the end of a session's own words fits easily.
inline constexpr std::size_t kMaxSshErrorTextBytes = 64U << 10U;
/// One line of the other side; the tool server sends at most 8 MiB.
inline constexpr std::size_t kMaxSshLineBytes = 16U << 20U;

/// One session channel, over which lines go both ways. It borrows its SshClient.
class SshChannel {
 public:
  struct State;
  explicit SshChannel(std::unique_ptr<State> state);
  SshChannel(SshChannel&&) noexcept;
  SshChannel& operator=(SshChannel&&) noexcept;
  SshChannel(const SshChannel&) = delete;
  SshChannel& operator=(const SshChannel&) = delete;
  ~SshChannel();

  /// Sends TEXT and a newline.
  [[nodiscard]] Status write_line(std::string_view text, Deadline deadline);
  /// The next line without its newline. Code::kUnavailable where the other side has ended, with its
  /// last words on stderr.
  [[nodiscard]] Result<std::string> read_line(Deadline deadline);
  /// Says that nothing more comes, and waits for the other side's end: its exit code, or nothing.
  [[nodiscard]] Result<std::optional<int>> finish(Deadline deadline);

 private:
  std::unique_ptr<State> state_;
};

/// What an SSH server may grant besides a session; see SshClient::attempt(). Not auth-agent-req:
/// the library asks for it without wanting an answer.
enum class Attempt : std::uint8_t {
  kNone,  ///< logins: to be tried before one
  kPassword,
  kKeyboardInteractive,
  kTerminal,  ///< on a session channel of its own
  kVariable,
  kSftp,
  kX11,
  kDirectTcp,  ///< a channel of this type
  kDirectUnix,
  kAgentChannel,
  kX11Channel,
  kRemoteForward,  ///< a global request
};

class SshClient {
 public:
  struct State;
  struct Target {
    std::string host;  ///< address or name
    std::uint16_t port = 0;
    /// The only host key that is accepted; its type is the only one that is offered.
    PublicKey host_key;
  };

  /// Connects and exchanges keys. Code::kDenied where the host key is another one.
  [[nodiscard]] static Result<SshClient> connect(const Target& target, Deadline deadline);

  /// The same over SOCKET, a connection to it that somebody else has made.
  [[nodiscard]] static Result<SshClient> connect_over(UniqueFd socket, const PublicKey& host_key,
                                                      Deadline deadline);

  SshClient(SshClient&&) noexcept;
  SshClient& operator=(SshClient&&) noexcept;
  SshClient(const SshClient&) = delete;
  SshClient& operator=(const SshClient&) = delete;
  ~SshClient();

  /// Offers KEY without a signature: true where the server would take it (PK_OK).
  [[nodiscard]] Result<bool> offer(const std::string& user, const PublicKey& key,
                                   Deadline deadline);
  /// Logs in. Code::kDenied where the server refuses the key.
  [[nodiscard]] Status login(const std::string& user, const SecretText& private_key,
                             Deadline deadline);
  /// Opens a session channel and starts what the server gives for a shell.
  [[nodiscard]] Result<SshChannel> open_shell(Deadline deadline);
  /// The same with a command.
  [[nodiscard]] Result<SshChannel> open_exec(const std::string& command, Deadline deadline);
  /// Asks for WHAT and gives it back at once: true where the server granted it. An Error where it
  /// gave no answer: Code::kUnavailable where it ended the connection.
  [[nodiscard]] Result<bool> attempt(Attempt what, Deadline deadline);

 private:
  friend Result<PublicKey> fetch_host_key(const std::string& host, std::uint16_t port,
                                          Deadline deadline);
  [[nodiscard]] Result<SshChannel> open_session(
      const std::function<int(ssh_channel_struct*)>& start, Deadline deadline);
  [[nodiscard]] static Result<SshClient> connect_on(UniqueFd socket, const Target& target,
                                                    Deadline deadline);
  explicit SshClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Banner and key exchange with whoever answers, then goodbye: the ed25519 host key shown. For
/// health probes only: who trusts this key for a login has no pin.
[[nodiscard]] Result<PublicKey> fetch_host_key(const std::string& host, std::uint16_t port,
                                               Deadline deadline);

}  // namespace agentbox

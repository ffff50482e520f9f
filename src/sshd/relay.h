// edge: one SSH channel and the session behind it: bytes both ways, never more than either side
// takes.
#pragma once

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/handle.h"
#include "base/record.h"

namespace agentbox::sshd {

/// More unread bytes than this on one channel, and the client ignores our window: the library does
/// not enforce it. An honest one stays below 2 MiB.
inline constexpr std::size_t kMaxUnreadBytes = 4U << 20U;
/// What one pass moves of one channel before the next has its turn.
inline constexpr std::size_t kPassBytes = 256U << 10U;

/// A channel's life: opened, given a session, relayed, told how the session ended, closed.
class Relay {
 public:
  Relay(ssh_session session, ssh_channel channel, std::uint32_t number)
      : session_(session), channel_(channel), number_(number) {}
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] ssh_channel channel() const { return channel_; }

  /// The client asked for a session and was promised one.
  void want_session() { wanted_ = true; }
  [[nodiscard]] bool has_session() const { return wanted_; }
  void attach(UniqueFd stdio, UniqueFd log);
  /// The session ended so; what it wrote before still goes out.
  void over(record::End how, int status);
  /// How it ended is known; what it wrote may still be on its way.
  [[nodiscard]] bool is_over() const { return outcome_.has_value(); }
  /// The session could not be had: REASON goes to the client's standard error.
  void deny(std::string_view reason);

  // The library's callbacks.
  [[nodiscard]] std::uint32_t on_data(std::string_view data, bool is_stderr);
  void on_eof() { client_eof_ = true; }
  void on_close();

  /// Moves what can be moved. False where the client broke the window's rule.
  [[nodiscard]] bool pump();
  /// Both sides have closed; the channel can be freed.
  [[nodiscard]] bool finished() const { return closed_here_ && closed_there_; }

  /// What to poll for: the descriptors are -1 where nothing is awaited.
  struct Interest {
    int stdio = -1;
    bool write = false;
    bool read = false;
    int log = -1;
  };
  [[nodiscard]] Interest interest() const;

 private:
  [[nodiscard]] bool client_can_take() const;
  void take_unread();
  void feed_session();
  void feed_client();
  void feed_log();
  void finish();
  [[nodiscard]] bool send(std::string& pending, bool as_stderr);
  void drop_session();

  ssh_session session_;
  ssh_channel channel_;
  std::uint32_t number_;
  UniqueFd stdio_;
  UniqueFd log_;
  std::string to_session_;         // taken from the library, not yet by the session
  std::size_t to_session_at_ = 0;  // how much of it the session has taken
  std::string to_client_;          // taken from the session, not yet by the library
  std::string to_client_error_;
  std::size_t unread_ = 0;  // what the library holds back for us
  struct Outcome {
    record::End how = record::End::kExited;
    int status = 0;
  };
  std::optional<Outcome> outcome_;
  bool wanted_ = false;
  bool client_eof_ = false;
  bool session_eof_ = false;
  bool shut_ = false;  // the session has been told of the client's EOF
  bool outcome_sent_ = false;
  bool closed_here_ = false;
  bool closed_there_ = false;
};

}  // namespace agentbox::sshd

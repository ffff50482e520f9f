// edge: the door's code for one connection in a thread of this process, with a client and a monitor
// that are played.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/handle.h"
#include "base/record.h"
#include "sshd/config.h"
#include "sshd/listener.h"
#include "support/ssh_wire.h"

namespace agentbox::test {

/// Starts a connection whose one authorised key is own_key(). The client's bytes are put into
/// wire() and go out with settle() or finish(). What must hold whatever a client sends is held
/// here: no session without a login, no login without a signature of this exchange's own, an end
/// that is told. A breach calls abort().
class NetworkChild {
 public:
  enum class Answer : std::uint8_t { kGive, kDeny, kNothing };
  /// The box's side of a session that the monitor gave.
  struct Session {
    std::uint32_t channel = 0;
    UniqueFd stdio;  ///< both do not block
    UniqueFd log;
  };

  NetworkChild();
  NetworkChild(const NetworkChild&) = delete;
  NetworkChild& operator=(const NetworkChild&) = delete;
  ~NetworkChild();

  [[nodiscard]] static const SigningKey& own_key();
  [[nodiscard]] SshWire& wire() { return wire_; }

  /// What the monitor does when a session is wanted.
  void answer_with(Answer answer) { answer_ = answer; }
  [[nodiscard]] std::vector<Session>& sessions() { return sessions_; }
  [[nodiscard]] const std::vector<record::Record>& records() const { return records_; }
  void tell(const record::Record& record);
  void leave_as_monitor() { monitor_.reset(); }

  /// A publickey request that has a good signature of SIGNER's for USER; SESSION_ID as the
  /// signature has it.
  void log_in(const SigningKey& signer, std::string_view user, std::string_view session_id);

  /// Moves bytes both ways until HOLDS, or until the server has taken everything and says no more:
  /// true, false.
  bool settle(const std::function<bool()>& holds = [] { return false; });
  /// False once the server has ended the connection.
  [[nodiscard]] bool is_open() const { return open_; }
  /// The client's input ends here; how the network child ended then.
  sshd::ChildExit finish();

 private:
  void turn(int milliseconds);
  void send_some();
  void receive_some();
  void read_records();
  void take(record::Record record);
  void give_session(std::uint32_t channel);
  [[nodiscard]] bool all_taken() const;
  [[nodiscard]] bool waits() const;

  SshWire wire_;
  std::string pending_;
  UniqueFd client_;
  UniqueFd monitor_;
  std::vector<Session> sessions_;
  std::vector<record::Record> records_;
  Answer answer_ = Answer::kGive;
  bool open_ = true;
  bool may_log_in_ = false;
  bool logged_in_ = false;
  bool closing_told_ = false;
  std::uint64_t moved_ = 0;
  std::atomic<bool> started_ = false;
  std::atomic<bool> ended_ = false;
  UniqueFd state_;  // the thread's line in /proc, before started_ its own
  sshd::ChildExit exit_ = sshd::ChildExit::kSetupFailed;
  std::thread thread_;
};

}  // namespace agentbox::test

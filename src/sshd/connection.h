// edge: one client's connection from its first byte to its last, in a process of its own.
#pragma once

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/handle.h"
#include "base/record_io.h"
#include "sshd/config.h"
#include "sshd/listener.h"
#include "sshd/policy.h"
#include "sshd/relay.h"
#include "sshd/ssh.h"

namespace agentbox::sshd {

/// Serves one connection. Everything it decides is asked of policy.h; everything it wants (a
/// session, an audit line) is asked of the monitor by record.
class Connection {
 public:
  struct Parts {
    SshSession session;
    UniqueFd socket;   ///< a second descriptor of the session's, for a goodbye that arrives
    UniqueFd monitor;  ///< SOCK_SEQPACKET to the monitor, blocking
    KeySet keys;       ///< as read before the lockdown: no file can be opened after it
    Peer peer;
    Limits limits;
  };
  explicit Connection(Parts parts);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// Runs until the connection ends.
  ChildExit run();

 private:
  using Clock = std::chrono::steady_clock;

  // A channel with what the library's callbacks need; it outlives the library's use of it.
  struct Slot {
    Connection* connection = nullptr;
    std::unique_ptr<Relay> relay;
    ssh_channel_callbacks_struct callbacks = {};
  };

  [[nodiscard]] bool start();
  void wait();
  [[nodiscard]] Clock::time_point next_deadline() const;
  void pass();
  void drive_library();
  void pump_relays();
  void read_monitor();
  void handle(Received received);
  void check_deadlines();
  void check_unanswered(std::uint64_t callbacks_before);
  void check_keepalive(Clock::time_point now);
  [[nodiscard]] bool has_only_last_words() const;
  /// Notes why; the loop then stops. Safe inside a callback.
  void end(std::string_view reason);
  void disconnect();
  void linger();
  void tell(const record::Record& record);
  void add_points(std::uint64_t points);
  [[nodiscard]] Relay* find(std::uint32_t number);

  // What a client asks, from the library's callbacks.
  int on_public_key(std::string_view user, ssh_key key, char state);
  int on_service(std::string_view service);
  int on_other_auth(std::string_view user, std::string_view method);
  ssh_channel on_open();
  int on_request(Relay& relay, RequestKind kind, std::string_view words);

  void install_server_callbacks();
  void install_channel_callbacks(Slot& slot);

  Parts parts_;
  SshEvent event_;
  ssh_server_callbacks_struct server_callbacks_ = {};
  std::list<Slot> slots_;
  ssh_counter_struct socket_counter_ = {};
  ssh_counter_struct packet_counter_ = {};
  std::uint32_t next_channel_ = 1;
  std::uint64_t callbacks_ = 0;  // any callback: something may have changed since it was looked at
  std::uint64_t answers_ = 0;    // callbacks that answer a packet before login
  std::uint64_t packets_seen_ = 0;
  std::uint64_t points_ = 0;
  std::uint64_t bytes_seen_ = 0;
  std::uint64_t misses_ = 0;
  bool authenticated_ = false;
  bool ended_ = false;
  bool monitor_gone_ = false;
  bool busy_ = false;  // the pass limit was reached: do not sleep
  std::string end_reason_ = "closed by the client";
  std::optional<std::string> hang_up_;  // the monitor's reason; only last words are waited for
  Clock::time_point hang_up_by_ = Clock::time_point::max();
  Clock::time_point grace_end_;
  Clock::time_point idle_since_;
  Clock::time_point last_heard_;
  Clock::time_point unanswered_since_ = Clock::time_point::max();
};

}  // namespace agentbox::sshd

// edge: the door's first process: keeps the port, the keys in force, the link to the box and the
// audit; makes every session; parses nothing a client sent.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/event_loop.h"
#include "base/handle.h"
#include "base/process.h"
#include "base/record_io.h"
#include "sshd/audit_events.h"
#include "sshd/audit_sink.h"
#include "sshd/audit_summary.h"
#include "sshd/config.h"
#include "sshd/isolation_file.h"
#include "sshd/key_store.h"
#include "sshd/policy.h"
#include "sshd/state_folder.h"

namespace agentbox::sshd {

/// Requests and refused logins one connection may have audited before it is cut off.
inline constexpr std::uint64_t kMaxAuditLinesPerConnection = 2000;
/// Sessions one connection may start in its life; a taken-over network child can spawn no more.
inline constexpr std::uint64_t kMaxSessionsPerConnection = 10'000;

class Monitor {
 public:
  /// CONFIG_TEXT is what CONFIG was read from: the listener reads the same text, not the file
  /// again. CONFIG_PATH is read again on SIGHUP.
  [[nodiscard]] static Result<Monitor> make(std::string config_path, Config config,
                                            std::string config_text);

  /// Runs until SIGTERM; the process's exit code.
  int run();

 private:
  using Clock = std::chrono::steady_clock;

  struct Client {
    ConnectionFacts facts;
    Address address;
    UniqueFd records;
    pid_t pid = -1;
    std::uint64_t listener_run = 0;  ///< which incarnation of the listener forked it
    bool logged_in = false;
    /// What its network child says it logged in with, and M holds against the key files again and
    /// again. A network child that was taken over can say what it likes: any listed key, any
    /// certificate that a trusted CA could have made, without an end. It gains no more by the
    /// second than by the first, and only the sessions of this one connection.
    Credential credential;
    std::set<std::string> sessions;
    std::uint64_t audit_lines = 0;
    std::uint64_t sessions_started = 0;
    Clock::time_point since;
    std::optional<Clock::time_point> kill_at;  ///< told to end; killed if it has not by then
    std::optional<record::Closing> closing;
    std::optional<std::vector<std::string>> held;  ///< what it said it held; the first word counts
  };
  struct Session {
    SessionFacts facts;
    std::uint32_t channel = 0;
    UniqueFd records;
    std::uint64_t calls = 0;
    std::uint64_t unanswered = 0;  ///< calls whose audit line waits for the sink
    std::optional<Clock::time_point>
        kill_at;  ///< its connection is gone; killed if it has not ended
    Clock::time_point since;
  };
  struct Wish {
    std::uint64_t connection = 0;
    std::uint32_t channel = 0;
    Clock::time_point until;
  };

  struct Untold {
    record::Record message;
    UniqueFd fd;
  };

  Monitor(std::string config_path, Config config, std::string config_text, EventLoop loop,
          GenerationFile generation, AuditSink audit)
      : config_path_(std::move(config_path)),
        config_(std::move(config)),
        config_text_(std::move(config_text)),
        loop_(std::move(loop)),
        generation_(std::move(generation)),
        audit_(std::move(audit)),
        isolation_(config_.state_dir),
        head_before_(audit_.head()) {}

  // Start and stop.
  Status start();
  Status open_port();
  Status open_link();
  Status watch_signals();
  Status start_listener();
  void read_signals();
  void reap();
  void listener_ended(ExitStatus how);
  void begin_stop();
  void reload_config();
  [[nodiscard]] bool stopped();
  void tick();

  // Keys.
  Status load_keys_first();
  void refresh_keys();
  void refresh_keys_if_changed();
  [[nodiscard]] bool is_older(const LoadedKeys& loaded) const;
  void refuse_keys(const std::string& reason);
  void put_in_force(LoadedKeys loaded);
  /// The event with the keys' generation and the host key, which must be known.
  void tell_keys();
  void evict_unauthorised();
  void end_jobs_of_lost_keys();

  // The listener and its children.
  /// False where it has nothing more to say now.
  bool read_listener();
  void admit(const record::Accepted& accepted);
  Status take_client(const record::Accepted& accepted);
  void tell_listener(const record::Record& message, UniqueFd fd = {});
  void tell_listener_rest();
  void forget_listener();
  void read_client(std::uint64_t id);
  void handle_client(Client& client, const record::Record& message);
  /// Once both its pid and its own word are there.
  void note_isolation(const Client& client);
  void auth_tried(Client& client, const record::AuthTried& tried);
  void client_gone(std::uint64_t id);
  void hang_up(Client& client, const std::string& reason);
  void kill_client(const Client& client);

  // Sessions.
  void want_session(Client& client, std::uint32_t channel);
  void grant_session(Client& client, std::uint32_t channel);
  Status start_session(Client& client, std::uint32_t channel, const AuthVerdict& verdict);
  void deny_session(Client& client, std::uint32_t channel, const std::string& reason);
  void read_session(const std::string& id);
  bool read_one_call(Session& session);
  void answer_calls(Session& session);
  void end_abandoned_sessions();
  void session_ended(const std::string& id, record::End how, int status);
  /// Whether CLIENT may begin a session.
  [[nodiscard]] AuthVerdict judge(const Client& client) const;
  /// Whether what it has may go on; the same but for expired certificates, if so configured.
  [[nodiscard]] AuthVerdict judge_open(const Client& client) const;
  /// The time that an open session's certificate is held against.
  [[nodiscard]] std::int64_t time_for_open(const Credential& credential) const;

  // The link to the box.
  void accept_link();
  void read_link();
  void link_lost();

  void audit(const AuditEvent& event) { audit_.write(event); }
  /// Says on the log where the audit stands, unless it has been said.
  void tell_head();
  /// For what CLIENT did before its login: past a rate it is summed up.
  void audit_stranger(const Client& client, std::string_view kind, const AuditEvent& event);
  /// A bound was reached by somebody who is not logged in; past a rate it is summed up.
  void audit_stranger_limit(const std::string& peer, const std::string& reason);
  [[nodiscard]] bool may_write_stranger(std::string_view kind);
  void audit_summary();
  void resume_sessions();

  std::string config_path_;
  Config config_;
  std::string config_text_;
  EventLoop loop_;
  GenerationFile generation_;
  AuditSink audit_;
  IsolationFile isolation_;
  std::optional<AuditHead> head_before_;  ///< told by the first `listen` event
  std::uint64_t told_head_ = 0;           ///< the newest line whose chain the log has
  AuditSummary strangers_;
  KeySet keys_;
  std::string keys_signature_;
  std::uint64_t keys_told_ = 0;  ///< the audit line that told the keys last
  std::size_t bad_key_lines_ = 0;
  std::string certificates_refused_;
  std::vector<std::string> passed_environment_;
  std::string host_key_;
  std::string address_;
  UniqueFd port_;
  UniqueFd link_listener_;
  UniqueFd link_;
  bool link_ready_ = false;
  /// What had a session since the box's side dialled: what its key started there may still run.
  std::set<Credential> credentials_in_box_;
  UniqueFd signals_;
  UniqueFd control_;
  std::deque<Untold> untold_;  ///< what the listener has not taken yet
  std::optional<Child> listener_;
  std::uint64_t listener_run_ = 0;
  Clock::time_point restart_listener_at_ = Clock::time_point::max();
  std::chrono::milliseconds restart_pause_{0};
  std::map<std::uint64_t, Client> clients_;
  std::map<std::string, Session> sessions_;
  std::deque<Wish> wishes_;  ///< sessions that wait for the box's side
  std::uint64_t next_connection_ = 1;
  bool sessions_waiting_ = false;  ///< the sink was blocked: records and answers wait
  bool failed_ = false;            ///< the first listener could not start
  std::optional<Clock::time_point> stop_at_;
  std::optional<Clock::time_point> last_stop_at_;
};

}  // namespace agentbox::sshd

// pure: the protocol of one channel as a state machine: lines and finished calls in, actions out.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agentbox/jsonrpc.h"
#include "agentbox/method.h"
#include "agentbox/protocol.h"
#include "agentbox/replies.h"
#include "agentbox/settings.h"
#include "agentbox/subscriptions.h"
#include "agentbox/task_wishes.h"
#include "agentbox/tool.h"
#include "base/record.h"

namespace agentbox::mcp {

using TimePoint = std::chrono::steady_clock::time_point;

/// Names one started call for as long as the process lives; unlike an id it is never used twice.
using CallKey = std::uint64_t;

/// Write this line (its end is added by the writer).
struct SendLine {
  std::string line;
  bool droppable = false;     ///< progress and log messages: may be left out when output is stuck
  std::string reply_to = {};  ///< of a call's reply outside a batch: the id as JSON text
};
/// Take the reply to this id back if not a byte of it was sent: its call is cancelled.
struct WithdrawReply {
  std::string id_json;
};
/// Tell the door of a finished call, before any line that follows in the same list.
struct SendRecord {
  record::ToolCalled record;
};
/// Run the tool or the method; answer with on_call_done().
struct StartCall {
  CallKey key = 0;
  const Tool* tool = nullptr;  ///< with its arguments
  Arguments arguments = {};
  const Method* method = nullptr;  ///< or this with its parameters; both: this runs the tool
  Json params = {};
  CallHistory history = {};  ///< where the method wants it
  Role role = Role::kAgent;
  bool wants_progress = false;
  Version version = Version::k2025_11_25;  ///< the form of the result
};
/// Stop the call, also when it has not begun; on_call_done() is still expected.
struct CancelCall {
  CallKey key = 0;
};
using Action =
    std::variant<SendLine, SendRecord, StartCall, CancelCall, WithdrawReply, StartWatch, StopWatch>;
using Actions = std::vector<Action>;

class Session {
 public:
  /// TOOLS and METHODS outlive the session.
  Session(std::span<const Tool> tools, std::span<const Method> methods, Role role)
      : tools_(tools), methods_(methods), role_(role) {}

  [[nodiscard]] Actions on_line(const Line& line, TimePoint now);
  [[nodiscard]] Actions on_progress(CallKey key, double value, std::string_view message,
                                    TimePoint now);
  /// When heartbeats() has something to say next; nothing while no call wants progress.
  [[nodiscard]] std::optional<TimePoint> next_heartbeat() const;
  /// Progress of the calls that said nothing for kProgressHeartbeat. It grows by less than any
  /// count of bytes does, so that the next real one is larger.
  [[nodiscard]] Actions heartbeats(TimePoint now);
  /// RESULT is what the call's result was rendered to for the version it started with.
  [[nodiscard]] Actions on_call_done(CallKey key, const RenderedResult& result,
                                     const CallFacts& facts, TimePoint now);

  /// What became of a StartWatch.
  [[nodiscard]] Actions on_watch_started(WatchKey key);
  [[nodiscard]] Actions on_watch_failed(WatchKey key);
  void on_watch_changed(WatchKey key, TimePoint now) { subscriptions_.changed(key, now); }
  /// When updates() has something to say next.
  [[nodiscard]] std::optional<TimePoint> next_update() const { return subscriptions_.next_due(); }
  /// Notices of what changed. While the client takes nothing do not ask: changes of one resource
  /// become one notice meanwhile, so that they need no more memory.
  [[nodiscard]] Actions updates(TimePoint now);

  /// From now on new calls are answered SHUTTING_DOWN.
  void refuse_calls() { refusing_ = true; }
  /// Ends every subscription, as its server may.
  [[nodiscard]] Actions end_listens();
  /// Answers every call that still runs with SHUTTING_DOWN and cancels it.
  [[nodiscard]] Actions abandon_calls(TimePoint now);
  /// Cancels every call without a reply: nobody reads any more.
  [[nodiscard]] Actions cancel_calls();

  /// Calls started and not yet done, cancelled ones included.
  [[nodiscard]] std::size_t calls() const { return calls_.size(); }
  [[nodiscard]] std::size_t listens() const { return listens_.size(); }
  /// Calls that will still be answered.
  [[nodiscard]] std::size_t calls_to_answer() const { return by_id_.size() + openings_.size(); }
  /// Whether any valid message has come yet.
  [[nodiscard]] bool greeted() const { return greeted_; }

 private:
  struct Progress {
    std::string token_json;
    std::optional<double> value;  ///< of the last one sent
    TimePoint sent;               ///< when that was, or the call's start
  };
  struct Call {
    const Tool* tool = nullptr;  ///< one of the two, or both: a tool as a task
    const Method* method = nullptr;
    Version version = Version::k2025_11_25;
    RequestId id;
    std::optional<std::uint64_t> batch;
    std::optional<Progress> progress;
    std::optional<LogLevel> log_level;  ///< modern: asked for by the request itself
    TimePoint started;
    record::ToolCalled record;
    bool answered = false;  ///< cancelled, or answered before its end
  };
  struct Batch {
    std::size_t open = 0;  ///< elements still to be answered
    std::string replies;   ///< joined by commas
  };
  /// A subscription of the revisions without a handshake.
  struct Listen {
    std::vector<std::string> uris;  ///< asked for, those refused left out
    bool acknowledged = false;
  };
  /// A resources/subscribe that waits for its watch.
  struct Opening {
    std::optional<std::uint64_t> batch;
    Version version = Version::k2025_11_25;
    std::string uri;
  };
  /// What one request is answered with: a whole reply line, or nothing yet.
  struct Context {
    Version version = Version::k2025_11_25;
    std::optional<LogLevel> log_level;
    std::optional<std::uint64_t> batch;
    TimePoint now;
  };

  void on_message(const Message& message, const Context& context, Actions& out);
  void on_batch(const Json& batch, TimePoint now, Actions& out);
  void on_request(const Request& request, Context context, Actions& out);
  void on_notification(const Notification& notification, Actions& out);

  void initialize(const Request& request, const Context& context, Actions& out);
  /// True where the request's envelope is in order; else it has been refused.
  [[nodiscard]] bool open_envelope(const Request& request, const Json& envelope, Context& context,
                                   Actions& out);
  void dispatch(const Request& request, const Context& context, Actions& out);
  void list_tools(const Request& request, const Context& context, Actions& out);
  [[nodiscard]] bool has_resources() const;
  void listen(const Request& request, const Context& context, Actions& out);
  void subscribe(const Request& request, const Context& context, Actions& out);
  void unsubscribe(const Request& request, const Context& context, Actions& out);
  static void follow(Subscriptions::Orders orders, Actions& out);
  /// Answers what waits for watches and need not wait any longer.
  void settle(Actions& out);
  void acknowledge(const RequestId& id, Listen& listen, Actions& out) const;
  void answer_opening(const RequestId& id, const Opening& opening, bool well, Actions& out);
  /// Ends what the session of a handshake subscribed to.
  void forget_subscriptions(Actions& out);
  /// True where ID was a subscription, or one that waits to be.
  [[nodiscard]] bool cancel_subscription(const RequestId& id, Actions& out);
  void set_level(const Request& request, const Context& context, Actions& out);
  void call_tool(const Request& request, const Context& context, Actions& out);
  void start_call(const Request& request, const Tool& tool, const Json& given,
                  const Context& context, Actions& out);
  /// What runs a call of TOOL as a task; nothing where it is to be a plain call.
  [[nodiscard]] const Method* task_method(const Tool& tool, TaskWish wish,
                                          const Context& context) const;
  void start_method(const Request& request, const Method& method, const Context& context,
                    Actions& out);
  /// Starts CALL, or ends it at once where it is refused or has FAILURE.
  void begin(const Request& request, Call call, StartCall start, std::optional<ToolError> failure,
             Actions& out);
  [[nodiscard]] static Call call_of(const Request& request, const Context& context,
                                    std::string_view name, const Json& given);
  /// The failure that a call meets before it could start, if any.
  [[nodiscard]] std::optional<ToolError> refusal(const Call& call) const;

  void reply(const std::optional<std::uint64_t>& batch, std::string_view id_json, std::string line,
             Actions& out);
  void reply_error(const Context& context, std::string_view id_json, int code,
                   std::string_view message, Actions& out, const OrderedJson& data = {});
  void close_batch_item(std::uint64_t batch, Actions& out);
  void tell_door(record::ToolCalled record, TimePoint now, Actions& out);
  void log_call(const Call& call, const RenderedResult& result, Actions& out) const;

  std::span<const Tool> tools_;
  std::span<const Method> methods_;
  Role role_;
  bool greeted_ = false;
  bool refusing_ = false;
  std::optional<Version> version_;           // of the handshake, once there was one
  LogLevel log_level_ = LogLevel::kWarning;  // of the handshake's era
  std::map<CallKey, Call> calls_;
  std::map<RequestId, CallKey> by_id_;   // calls still to be answered
  std::map<RequestId, Listen> listens_;  // open until cancelled
  std::map<RequestId, Opening> openings_;
  Subscriptions subscriptions_;
  std::map<std::uint64_t, Batch> batches_;
  CallHistory history_;
  CallKey last_key_ = 0;
  std::uint64_t last_batch_ = 0;
};

}  // namespace agentbox::mcp

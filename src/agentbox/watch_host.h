// edge: the program that holds the watches of the box: one for all sessions, so that a cursor works
// after a reconnect. Started by the first watch, it ends with the last.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agentbox/event_ring.h"
#include "agentbox/hosted.h"
#include "agentbox/tree_watch.h"
#include "agentbox/watch_words.h"

namespace agentbox::mcp {

/// Watches of the box; each has a queue of the kernel's.
inline constexpr std::size_t kMaxWatches = 16;
/// A watch that nobody asked for anything in this time ends.
inline constexpr std::chrono::minutes kWatchIdleTime{10};
/// Calls that wait for changes at once: those of a few sessions.
inline constexpr std::size_t kMaxWatchCallers = 128;
/// The live name of the host, and the word that makes agent-box one.
inline constexpr const char* kWatchHostName = ".watch";
inline constexpr const char* kWatchHostWord = "watch-host";

class WatchHost {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Options {
    std::chrono::milliseconds idle = kWatchIdleTime;
    /// Without watches and callers it ends after this.
    std::chrono::milliseconds linger{5000};
    std::size_t ring_events = kMaxRingEvents;
    std::size_t max_folders = kMaxWatchedFolders;
  };

  /// HOSTED is borrowed.
  WatchHost(const Hosted& hosted, Options options) : hosted_(hosted), options_(options) {}

  /// Returns when no watch is left.
  void run();

 private:
  struct Watch {
    WatchRequest asked;               // what began it
    std::string prefix;               // of its paths, from the workspace's root
    std::unique_ptr<TreeWatch> tree;  // null once it has failed
    std::optional<ToolError> failed;
    EventRing ring;
    TimePoint used{};
    std::size_t waiting = 0;  // callers
  };
  struct Caller {
    HostedLine line;
    TimePoint deadline{};    // to ask, then to be answered
    std::string watch = {};  // that it waits for; empty: it has not asked yet
    WatchRequest request = {};
    std::uint64_t after = 0;
    bool over = false;
  };

  void turn();
  [[nodiscard]] TimePoint next_deadline() const;
  void accept();
  void hear(Caller& caller);
  void serve(Caller& caller);
  void begin(Caller& caller);
  void go_on(Caller& caller);
  [[nodiscard]] Outcome<std::string> open(const WatchRequest& request);
  [[nodiscard]] std::optional<ToolError> refuse(const Watch& watch, const WatchRequest& request,
                                                std::uint64_t seq) const;
  void update(Watch& watch, bool all);
  [[nodiscard]] bool answer_waiting();
  void answer(Caller& caller, const std::string& id, Watch& watch, bool is_late);
  void finish(Caller& caller, const WatchReply& reply);
  void expire();
  [[nodiscard]] ToolError too_many() const;

  const Hosted& hosted_;
  Options options_;
  std::map<std::string, Watch> watches_;
  std::list<Caller> callers_;
  TimePoint now_{};
  TimePoint empty_since_{};
};

/// `agent-box watch-host`. Returns the exit code.
[[nodiscard]] int run_watch_host();

}  // namespace agentbox::mcp

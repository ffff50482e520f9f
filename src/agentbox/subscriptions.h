// pure: who is to be told of changes of which resource, and when.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace agentbox::mcp {

/// Resources a session is told of changes of: each is looked at several times a second.
inline constexpr std::size_t kMaxSubscriptions = 64;
/// What changes all the time is told of this often; a reader of notices needs no more.
inline constexpr std::chrono::milliseconds kUpdateInterval{300};

/// Names one watch for as long as the process lives; never used twice.
using WatchKey = std::uint64_t;

/// Begin to watch; answered by started() or failed() once the state is known that changes are
/// measured against.
struct StartWatch {
  WatchKey key = 0;
  std::string uri;  ///< kResourceList, or that of a resource
};
struct StopWatch {
  WatchKey key = 0;
};

/// Stands for the list of resources where a URI is asked for.
inline constexpr const char* kResourceList = "";

class Subscriptions {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// What its owner has to do about the watches.
  struct Orders {
    std::vector<StartWatch> start;
    std::vector<StopWatch> stop;
  };
  /// Who is told: a subscription by its id as JSON text, or a whole session by an empty one.
  using Subscriber = std::string;
  struct Update {
    Subscriber subscriber;
    std::string uri;
  };

  /// Subscriptions to resources that could still be added.
  [[nodiscard]] std::size_t room() const;
  [[nodiscard]] bool has(const Subscriber& who, const std::string& uri) const;
  void add(const Subscriber& who, const std::string& uri, Orders& orders);
  void remove(const Subscriber& who, const std::string& uri, Orders& orders);
  void remove_all(const Subscriber& who, Orders& orders);

  /// Whether changes of all that WHO asked for would be noticed by now.
  [[nodiscard]] bool is_ready(const Subscriber& who) const;
  /// What WHO is told of, in order.
  [[nodiscard]] std::vector<std::string> uris_of(const Subscriber& who) const;

  void started(WatchKey key);
  /// Nobody can be told of this one.
  void failed(WatchKey key);
  void changed(WatchKey key, TimePoint now);

  /// When take_due() has something next.
  [[nodiscard]] std::optional<TimePoint> next_due() const;
  /// One for each subscriber of what changed. A change that comes soon after another waits, so that
  /// each resource is told of at most once in kUpdateInterval, and the last change always is.
  [[nodiscard]] std::vector<Update> take_due(TimePoint now);

 private:
  struct Watch {
    std::string uri;
    bool starting = true;
    std::set<Subscriber> subscribers;
    std::optional<TimePoint> due;  // there is something to tell, from then on
  };
  using Watches = std::map<WatchKey, Watch>;

  void drop_unused(Watches::iterator at, Orders& orders);

  Watches watches_;
  std::map<std::string, WatchKey> by_uri_;
  std::size_t count_ = 0;  // of pairs of subscriber and resource, lists left out
  WatchKey last_key_ = 0;
};

}  // namespace agentbox::mcp

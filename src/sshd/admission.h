// pure: the ledger of connections: who is let in to try, and who goes when it is full.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "sshd/config.h"

namespace agentbox::sshd {

/// Where a connection comes from. Code of the agent's shares the pod's network with the door: its
/// connections must not be able to take the operator's place.
enum class Origin : std::uint8_t { kElsewhere, kThisMachine };

/// Counts connections by state and origin. Numbers of connections grow with age.
class Admission {
 public:
  explicit Admission(const Limits& limits) : limits_(limits) {}

  struct Verdict {
    bool admitted = false;
    /// The oldest connection that has not logged in makes room for the newcomer: an attacker who
    /// fills the slots displaces himself, not the next honest client.
    std::optional<std::uint64_t> displaced;
  };
  /// One place more than `connections` is given out: whoever logs in there must hold a key of role
  /// operator, which the monitor sees to.
  [[nodiscard]] Verdict admit(Origin origin) const;

  void opened(std::uint64_t connection, Origin origin);
  void logged_in(std::uint64_t connection);
  void closed(std::uint64_t connection) { open_.erase(connection); }
  [[nodiscard]] std::size_t total() const { return open_.size(); }

 private:
  struct Connection {
    Origin origin = Origin::kElsewhere;
    bool logged_in = false;
  };
  struct Count {
    std::size_t all = 0;
    std::size_t waiting = 0;
    std::optional<std::uint64_t> oldest_waiting;
  };
  /// Of every origin, or of one.
  [[nodiscard]] Count count(std::optional<Origin> origin) const;

  Limits limits_;
  std::map<std::uint64_t, Connection> open_;
};

}  // namespace agentbox::sshd

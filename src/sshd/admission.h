// pure: the ledger of connections: who is let in to try, and who goes when it is full.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "sshd/config.h"

namespace agentbox::sshd {

/// Counts connections by their state; time is passed in.
class Admission {
 public:
  explicit Admission(const Limits& limits) : limits_(limits) {}

  struct Verdict {
    bool admitted = false;
    /// The oldest connection that has not logged in makes room for the newcomer: an attacker who
    /// fills the slots displaces himself, not the next honest client.
    std::optional<std::uint64_t> displaced;
  };
  [[nodiscard]] Verdict admit() const;

  void opened(std::uint64_t connection, std::chrono::steady_clock::time_point now);
  void logged_in(std::uint64_t connection);
  void closed(std::uint64_t connection);
  [[nodiscard]] std::size_t total() const {
    return unauthenticated_.size() + authenticated_.size();
  }

 private:
  Limits limits_;
  // Numbers grow with age, so the first of each map is its oldest.
  std::map<std::uint64_t, std::chrono::steady_clock::time_point> unauthenticated_;
  std::map<std::uint64_t, std::chrono::steady_clock::time_point> authenticated_;
};

}  // namespace agentbox::sshd

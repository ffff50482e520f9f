// pure: see admission.h.
#include "sshd/admission.h"

namespace agentbox::sshd {

Admission::Verdict Admission::admit() const {
  const bool full =
      total() >= limits_.connections || unauthenticated_.size() >= limits_.unauthenticated;
  if (!full) {
    return {true, std::nullopt};
  }
  if (unauthenticated_.empty()) {
    return {false, std::nullopt};  // every place is held by somebody who logged in
  }
  return {true, unauthenticated_.begin()->first};
}

void Admission::opened(std::uint64_t connection, std::chrono::steady_clock::time_point now) {
  unauthenticated_.emplace(connection, now);
}

void Admission::logged_in(std::uint64_t connection) {
  if (auto node = unauthenticated_.extract(connection); !node.empty()) {
    authenticated_.insert(std::move(node));
  }
}

void Admission::closed(std::uint64_t connection) {
  unauthenticated_.erase(connection);
  authenticated_.erase(connection);
}

}  // namespace agentbox::sshd

// pure: see admission.h.
#include "sshd/admission.h"

#include "base/defence.h"

namespace agentbox::sshd {

Admission::Count Admission::count(std::optional<Origin> origin) const {
  Count count;
  for (const auto& [id, connection] : open_) {
    if (origin && connection.origin != *origin) {
      continue;
    }
    ++count.all;
    if (!connection.logged_in) {
      ++count.waiting;
      count.oldest_waiting = count.oldest_waiting.value_or(id);
    }
  }
  return count;
}

Admission::Verdict Admission::admit(Origin origin) const {
  const Count all = count(std::nullopt);
  bool full = all.all > limits_.connections ||
              (defended("places") && all.waiting >= limits_.unauthenticated);
  std::optional<std::uint64_t> oldest = all.oldest_waiting;
  if (defended("own-share") && origin == Origin::kThisMachine && limits_.own_unauthenticated > 0) {
    const Count own = count(origin);
    // A quarter of the places is never theirs, and among themselves they displace only their own.
    const bool too_many = own.all >= limits_.connections - limits_.connections / 4;
    if (too_many || own.waiting >= limits_.own_unauthenticated) {
      full = true;
      oldest = own.oldest_waiting;
    }
  }
  if (!full) {
    return {true, std::nullopt};
  }
  return {oldest.has_value(), oldest};
}

void Admission::opened(std::uint64_t connection, Origin origin) {
  open_.emplace(connection, Connection{origin, false});
}

void Admission::logged_in(std::uint64_t connection) {
  if (const auto at = open_.find(connection); at != open_.end()) {
    at->second.logged_in = true;
  }
}

}  // namespace agentbox::sshd

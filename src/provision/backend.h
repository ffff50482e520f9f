// edge: what both kinds of boxes can be asked: those on this machine and those in a cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "provision/answer.h"
#include "provision/command.h"
#include "provision/contact.h"
#include "provision/key_change.h"
#include "provision/logs.h"
#include "provision/neighbours.h"
#include "provision/report.h"

namespace agentbox::provision {

/// Each command is safe to repeat, and says whether it changed anything.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  struct Changed {
    BoxView view;
    bool changed = false;
  };
  [[nodiscard]] virtual Answer<Changed> create(const BoxName& name,
                                               const CreateOptions& options) const = 0;
  /// What create() would do, as far as it can be told without doing it: what would be refused is,
  /// and nothing is changed. The report says so in `dry_run` and `exists`.
  [[nodiscard]] virtual Answer<Report> try_create(const BoxName& name,
                                                  const CreateOptions& options) const = 0;
  [[nodiscard]] virtual Answer<Changed> suspend(const BoxName& name) const = 0;
  [[nodiscard]] virtual Answer<Changed> resume(const BoxName& name) const = 0;

  struct Removed {
    bool changed = false;
    std::string kept_workspace;  ///< where it lies, where it was to be kept
    std::string to_remove = {};  ///< the command that takes away what was kept, where it needs one
  };
  [[nodiscard]] virtual Answer<Removed> remove(const BoxName& name, bool keep_workspace) const = 0;

  /// Lets in the keys of KEY_FILES alone; without them a new ed25519 key, whose private half takes
  /// the place of the old.
  [[nodiscard]] virtual Answer<KeysDone> rotate(
      const BoxName& name, const std::vector<std::string>& key_files) const = 0;
  /// Locks out KEY (a fingerprint, or a file with its public half) for good, and ends its sessions.
  [[nodiscard]] virtual Answer<KeysDone> revoke(const BoxName& name, const std::string& key,
                                                bool evict) const = 0;

  /// Puts what CHANGE makes of the box's record in force, and proves what can be proven of it.
  /// EVICT: as with revoke().
  using Change = std::function<Answer<KeyChange>(const BoxRecord&)>;
  [[nodiscard]] virtual Answer<KeysDone> change(const BoxName& name, const Change& change,
                                                bool evict) const = 0;

  /// PROBE: also whether it answers on its pinned host key, where it can be reached from here.
  [[nodiscard]] virtual Answer<BoxView> view(const BoxName& name, bool probe) const = 0;
  [[nodiscard]] virtual Answer<std::vector<BoxView>> views() const = 0;

  /// The box as it is known now, and the way to it from here. Nothing is connected yet. It borrows
  /// the backend.
  [[nodiscard]] virtual Answer<Contact> contact(const BoxName& name) const = 0;

  /// Whether its boxes have a network of their own, whose policy can be tried.
  [[nodiscard]] virtual bool has_network() const = 0;
  /// What code in the box must not reach. NAMESERVERS are those that the box itself sees.
  [[nodiscard]] virtual Answer<std::vector<Neighbour>> neighbours(
      const BoxName& name, const std::vector<std::string>& nameservers) const = 0;

  /// The ends of the box's logs: door, box and audit; LINES of each are wanted.
  [[nodiscard]] virtual Answer<std::vector<LogTail>> logs(const BoxName& name,
                                                          std::uint64_t lines) const = 0;
};

}  // namespace agentbox::provision

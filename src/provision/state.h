// edge: the folder in which boxes are kept: finding it, locking one box, reading and writing
// box.json.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/handle.h"
#include "provision/answer.h"
#include "provision/box.h"
#include "provision/paths.h"

namespace agentbox::provision {

/// How long a command waits for another one that works on the same box (s): longer than any of them
/// takes.
inline constexpr unsigned kLockSeconds = 120;

/// Held while a command changes a box; the lock goes with the object.
class BoxLock {
 public:
  explicit BoxLock(UniqueFd fd) : fd_(std::move(fd)) {}

 private:
  UniqueFd fd_;
};

class Store {
 public:
  /// From the environment; the folder itself is made only by lock_new().
  [[nodiscard]] static Answer<Store> find();

  /// A store of its own in FOLDER of this one's root.
  [[nodiscard]] Store within(const std::string& folder) const {
    return Store(root_ + "/" + folder);
  }

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] BoxPaths paths(const BoxName& name) const { return paths_of(root_, name); }

  /// Makes the folder itself where it is missing; refused where it is another user's.
  [[nodiscard]] Done make_root() const;

  /// Locks a box that exists, or nothing where it does not.
  [[nodiscard]] Answer<std::optional<BoxLock>> lock(const BoxName& name) const;
  /// Locks a box that is to be made; its folder exists afterwards.
  [[nodiscard]] Answer<BoxLock> lock_new(const BoxName& name) const;

  /// What box.json says; nothing where there is none.
  [[nodiscard]] Answer<std::optional<BoxRecord>> load(const BoxName& name) const;
  /// load(), and Exit::kNoSuchBox where there is none.
  [[nodiscard]] Answer<BoxRecord> load_existing(const BoxName& name) const;
  [[nodiscard]] Done save(const BoxRecord& record) const;
  /// The names of all boxes that have a box.json, sorted.
  [[nodiscard]] Answer<std::vector<BoxName>> names() const;

  /// Takes the box's folder away. LOCK must be held by the caller; the name is free at once, also
  /// where the removal is cut short: what is left is swept up by the next remove() or lock_new().
  [[nodiscard]] Done remove(const BoxName& name, const BoxLock& lock) const;

  /// Ports that boxes have, suspended ones included. The lock is held while one is chosen.
  [[nodiscard]] Answer<BoxLock> lock_ports() const;
  [[nodiscard]] std::vector<std::uint16_t> ports_in_use() const;

 private:
  explicit Store(std::string root) : root_(std::move(root)) {}
  void sweep() const;
  std::string root_;
};

/// Makes folder PATH with MODE where it is missing, and gives it OWNER and MODE; never follows a
/// link in its place.
[[nodiscard]] Status make_folder(const std::string& path, mode_t mode, uid_t uid, gid_t gid);

/// The words that say that box NAME does not exist.
[[nodiscard]] Failure no_such_box(const BoxName& name);

}  // namespace agentbox::provision

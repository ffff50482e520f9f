// edge: the door's state folder: the highest key generation seen, and where the audit stands.
#pragma once

#include <cstdint>
#include <string>

#include "base/audit_chain.h"
#include "base/handle.h"
#include "base/result.h"

namespace agentbox::sshd {

/// The file `audit_head`. It is written before the line it counts: after a kill a line that was
/// never written is missed, which is true, and no number is ever given twice.
class HeadFile {
 public:
  /// Nowhere: the head starts anew with each process.
  HeadFile() = default;
  [[nodiscard]] static Result<HeadFile> open(const std::string& folder);

  [[nodiscard]] const AuditHead& head() const { return head_; }
  /// Moves the head on. Reaches the page cache, not the disk: a saturated disk must not hold
  /// up the door. What cannot be kept is logged once; the audit itself goes on.
  void advance(AuditHead head);
  /// Makes what was kept last on the disk.
  void sync() const;

 private:
  HeadFile(UniqueFd fd, AuditHead head) : fd_(std::move(fd)), head_(std::move(head)) {}

  UniqueFd fd_;
  AuditHead head_;
  bool complained_ = false;
};

/// The highest generation that FOLDER knows of; 0 where it knows of none yet.
[[nodiscard]] Result<std::uint64_t> read_generation(const std::string& folder);

/// FOLDER, which was another box's, knows of no generation any more.
[[nodiscard]] Status forget_generation(const std::string& folder);

/// The file `keys_generation`.
class GenerationFile {
 public:
  GenerationFile() = default;
  /// Reads it, and writes it once: a folder that takes nothing is found out at the start.
  [[nodiscard]] static Result<GenerationFile> open(const std::string& folder);

  /// The highest generation ever in force; 0 before the first.
  [[nodiscard]] std::uint64_t highest() const { return highest_; }
  /// Raises it, and keeps it on the disk. An Error means that it holds for this process alone;
  /// keep() tries again.
  [[nodiscard]] Status raise(std::uint64_t generation);
  [[nodiscard]] Status keep();

 private:
  GenerationFile(std::string path, std::uint64_t highest)
      : path_(std::move(path)), highest_(highest) {}

  std::string path_;
  std::uint64_t highest_ = 0;
  bool kept_ = true;
};

}  // namespace agentbox::sshd

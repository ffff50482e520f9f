// edge: where audit lines go: standard output, or a file that rotates. Nothing is ever dropped.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "base/handle.h"
#include "base/result.h"
#include "sshd/audit.h"
#include "sshd/state_folder.h"

namespace agentbox::sshd {

/// One file of the log; with kAuditFiles of them a box's audit takes at most 256 MiB.
inline constexpr std::uint64_t kMaxAuditFileBytes = 64ULL << 20U;
inline constexpr int kAuditFiles = 4;

class AuditSink {
 public:
  /// TARGET is `stdout` or an absolute path (made 0600). A line that a crash cut short is closed
  /// first, so that it spoils no other. Numbers go on from where HEAD stands.
  [[nodiscard]] static Result<AuditSink> open(const std::string& target, HeadFile head = {});

  /// Numbers, dates, chains and writes EVENT; where the sink takes nothing now it waits in memory.
  void write(const AuditEvent& event);
  /// Tries again what waits.
  void flush();
  /// True while lines wait: whoever makes more of them must pause (no reply, no new session).
  [[nodiscard]] bool blocked() const { return !backlog_.empty(); }
  /// Where the audit stands; lines that wait are counted.
  [[nodiscard]] const AuditHead& head() const { return head_.head(); }
  /// At a stop: what the head file says is on the disk.
  void sync_head() const { head_.sync(); }

 private:
  AuditSink(UniqueFd fd, std::string path, std::uint64_t size, HeadFile head)
      : fd_(std::move(fd)), path_(std::move(path)), size_(size), head_(std::move(head)) {}
  void rotate();

  UniqueFd fd_;
  std::string path_;  // empty: standard output
  std::uint64_t size_ = 0;
  HeadFile head_;
  std::deque<std::string> backlog_;
};

}  // namespace agentbox::sshd

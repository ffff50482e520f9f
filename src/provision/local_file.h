// edge: the local end of a transfer: a file that appears whole, or a stream.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/handle.h"
#include "provision/answer.h"

namespace agentbox::provision {

/// A file being written beside its name, and gone again unless finish() was reached; or standard
/// output, for "-".
class LocalTarget {
 public:
  /// Refuses what is there and no regular file: it would be replaced, not written into.
  /// MODE: its permission bits; else those of the file that is there, or what the umask leaves.
  [[nodiscard]] static Answer<LocalTarget> open(const std::string& name,
                                                std::optional<unsigned> mode = std::nullopt);
  LocalTarget(LocalTarget&& other) noexcept;
  LocalTarget& operator=(LocalTarget&&) = delete;
  LocalTarget(const LocalTarget&) = delete;
  LocalTarget& operator=(const LocalTarget&) = delete;
  ~LocalTarget();

  [[nodiscard]] bool is_stream() const { return path_.empty(); }
  [[nodiscard]] Status write(std::string_view bytes) const;
  /// On the disk, and under its name.
  [[nodiscard]] Status finish();

 private:
  LocalTarget() = default;
  std::string path_;
  std::string temporary_;
  UniqueFd fd_;
};

/// A regular file, or standard input for "-", read from its start. A read that finds the end gives
/// less than was asked for.
class LocalSource {
 public:
  [[nodiscard]] static Answer<LocalSource> open(const std::string& name);
  [[nodiscard]] Result<std::string> read(std::size_t bytes) const;
  /// Permission bits of the file; 0 for standard input.
  [[nodiscard]] unsigned mode() const { return mode_; }
  /// 0 where it is not known.
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  LocalSource() = default;
  UniqueFd fd_;
  unsigned mode_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace agentbox::provision

// edge: the whole of a command's output, in a file of the box's output folder once it is too long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/handle.h"

namespace agentbox::mcp {

/// One command's file. A command that writes more than this is heard, but not kept.
inline constexpr std::uint64_t kMaxSpillBytes = 64ULL << 20;
/// The output folder as a whole: the oldest files go when a new one would pass these.
inline constexpr std::uint64_t kMaxSpillFolderBytes = 1ULL << 30;
inline constexpr std::size_t kMaxSpillFiles = 256;

class Spill {
 public:
  /// FOLDER (borrowed; -1: there is none) goes by the name FOLDER_NAME.
  Spill(int folder, std::string folder_name)
      : folder_(folder), folder_name_(std::move(folder_name)) {}

  /// Takes the next piece of output: into memory at first, into the file once there is one.
  void add(std::string_view bytes);

  /// Makes the file (mode 0600) and writes what was taken so far.
  void open();

  /// The file's absolute path; empty: there is no file.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Bytes that are in no file, the disk or the limit being full.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  void write(std::string_view bytes);

  int folder_;
  std::string folder_name_;
  std::string path_;
  std::string pending_;
  UniqueFd file_;
  bool opened_ = false;
  std::uint64_t written_ = 0;
  std::uint64_t dropped_ = 0;
};

/// Removes the oldest spill files of FOLDER until a further one fits both limits.
void prune_spills(int folder);

}  // namespace agentbox::mcp

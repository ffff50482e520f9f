// edge: the whole of a command's output, in a folder of its own once it is too long for a reply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agentbox/job_folder.h"
#include "agentbox/job_log.h"
#include "agentbox/job_record.h"
#include "base/handle.h"

namespace agentbox::mcp {

/// One command's file. A command that writes more than this is heard, but not kept.
inline constexpr std::uint64_t kMaxSpillBytes = 64ULL << 20;

class Spill {
 public:
  /// OUT (borrowed; -1: there is none) is the output folder and goes by the name OUT_NAME; ID is
  /// the command's.
  Spill(int out, const std::string& out_name, std::string id)
      : jobs_(out), out_name_(out_name), id_(std::move(id)) {}

  /// Takes the next piece of output: into memory at first, into the file once there is one.
  void add(std::string_view bytes);

  /// Makes the file (mode 0600) and writes what was taken so far.
  void open();
  [[nodiscard]] bool is_open() const { return log_.has_value(); }

  /// Keeps RECORD beside the file, where there is one.
  void save(JobRecord record) const;

  /// The file's absolute path; empty: there is no file.
  [[nodiscard]] std::string path() const;
  /// Bytes that are in no file, the disk or the limit being full.
  [[nodiscard]] std::uint64_t dropped() const { return log_ ? log_->lost() : dropped_; }

 private:
  JobFolder jobs_;
  std::string out_name_;
  std::string id_;
  std::string pending_ = {};
  UniqueFd folder_ = {};
  std::optional<LogWriter> log_ = {};
  bool opened_ = false;
  std::uint64_t dropped_ = 0;
};

/// Where the log of ID lies, as a path.
[[nodiscard]] std::string job_log_path(const std::string& out_name, const std::string& id);

}  // namespace agentbox::mcp

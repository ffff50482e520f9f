// pure: what is known of one upload, and the file that keeps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agentbox::mcp {

/// One record's file.
inline constexpr std::size_t kMaxUploadRecordBytes = 64UL << 10;
/// The largest file that can be sent in pieces.
inline constexpr std::int64_t kMaxUploadBytes = std::int64_t{64} << 30;

struct UploadRecord {
  std::string id;         ///< 128 random bits in hex
  std::string path;       ///< where the file goes, as shown
  std::string temporary;  ///< the name beside it under which it grows
  std::uint64_t device = 0;
  std::uint64_t inode = 0;       ///< of what grows: tells after a kill whether it is in its place
  std::int64_t total_size = -1;  ///< -1: not told yet
  std::string sha256;            ///< of the whole; empty: not told
  std::int32_t mode = -1;        ///< permission bits; -1: the old file's
  std::string if_sha256;         ///< of the file that is replaced; empty: any
  bool if_absent = false;
  std::uint32_t made_folders = 0;  ///< folders on the way that were made for it
  std::int64_t started_ms = 0;     ///< since 1970
  bool complete = false;           ///< it is in its place
};

[[nodiscard]] std::string encode_upload_record(const UploadRecord& record);

/// Whatever agent code wrote there: a record with every field in its bounds, or an Error.
[[nodiscard]] Result<UploadRecord> decode_upload_record(std::string_view text);

}  // namespace agentbox::mcp

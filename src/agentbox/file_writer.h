// edge: changes files so that a success is true on disk and a failure changed nothing.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agentbox/outcome.h"
#include "agentbox/workspace.h"

namespace agentbox::mcp {

/// Old content up to this size is hashed for previous_sha256 though nobody asked for it.
inline constexpr std::uint64_t kMaxCasualHashBytes = 4ULL << 20;

struct WriteRequest {
  std::string_view data = {};
  std::optional<mode_t> mode =
      {};                 ///< exactly these bits; else the old file's, else 0644 less the umask
  bool keep_mode = true;  ///< without mode: false gives an old file a new one's bits
  bool append = false;
  std::optional<std::string> if_sha256 = {};  ///< only if the content is this
  bool if_absent = false;                     ///< only if there is no file
  bool make_folders = true;
  std::function<bool()> cancelled = {};  ///< asked while old content is hashed
  bool sync = true;                      ///< fsync of file and folder before success is told
};

struct WriteOutcome {
  std::uint64_t size = 0;
  mode_t mode = 0;  ///< permission bits
  std::string sha256;
  std::string previous_sha256;  ///< empty: no old file, or not hashed
  bool created = false;
  bool in_place =
      false;  ///< written into the old inode: it has several names, or its folder takes no new one
};

/// Writes REQUEST to PATH: unnamed temporary file in the same folder, linked to a random name and
/// renamed over the target, both synced. Permission bits, set-id bits included, and where the
/// kernel lets us owner, group and users' extended attributes are kept. Through a link that stays
/// inside, its target is written. A file with more than one name, or in a folder that takes no new
/// file, is written in place, its growth allocated first and its old content kept in KEEP_FOLDER
/// until done. CONFLICT: somebody else changed the name meanwhile; the message says what is on
/// disk.
[[nodiscard]] Outcome<WriteOutcome> write_file(const Workspace& workspace, const BoxPath& path,
                                               const WriteRequest& request,
                                               const std::string& keep_folder);

}  // namespace agentbox::mcp

// edge: files that arrive in pieces, over as many sessions as it takes, and appear whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/outcome.h"
#include "agentbox/upload_record.h"
#include "agentbox/workspace.h"
#include "base/handle.h"

namespace agentbox::mcp {

/// At once in a box; each holds a file that may be large.
inline constexpr std::size_t kMaxOpenUploads = 8;
/// Nothing arrived for so long: the upload is dropped. A finished one is remembered as long, so
/// that its last piece can be sent again by who missed the answer.
inline constexpr std::int64_t kUploadIdleSeconds = std::int64_t{24} * 3600;

/// One call: a piece, or what is known only by now.
struct UploadPiece {
  std::string_view data = {};
  std::optional<std::uint64_t> offset = {};  ///< of DATA; without DATA not needed
  std::optional<std::uint64_t> total_size = {};
  std::optional<std::string> sha256 = {};  ///< of the whole
  std::function<bool()> cancelled = [] { return false; };
  int cancel_fd = -1;
};

/// What is fixed at the beginning.
struct UploadStart {
  BoxPath path = {};
  std::optional<mode_t> mode = {};  ///< exactly these bits; else the old file's, else 0644
  std::optional<std::string> if_sha256 = {};  ///< only over a file with this content
  bool if_absent = false;
};

struct UploadState {
  std::string id;
  std::string path;  ///< as shown
  std::uint64_t received = 0;
  std::optional<std::uint64_t> total_size = {};
  bool complete = false;
  std::string sha256 = {};           ///< once complete
  std::int64_t expires_seconds = 0;  ///< since 1970
};

/// The uploads of a box. What arrives lies beside its target under a temporary name, so that at the
/// end one rename puts it there; what is known of it lies in KEEP_FOLDER, so that any session can
/// go on. Both go with the box's next start.
class Uploads {
 public:
  Uploads(const Workspace& workspace, const std::string& keep_folder)
      : workspace_(workspace), keep_folder_(keep_folder) {}

  /// Begins one and takes its first PIECE. Room for all of it is taken where its size is known.
  /// QUOTA, EEXIST, PRECONDITION_FAILED, ENOSPC and those of add(): nothing stays.
  [[nodiscard]] Outcome<UploadState> begin(const UploadStart& start,
                                           const UploadPiece& piece) const;
  /// Takes the next PIECE of ID. One that was stored before is success; so is none, to ask how far
  /// it is. Once everything is there it is hashed, synced and put in its place.
  /// UNKNOWN_UPLOAD; OFFSET_MISMATCH; HASH_MISMATCH (of the whole: the upload is dropped);
  /// PRECONDITION_FAILED, EEXIST, CONFLICT at the end: the upload stays.
  [[nodiscard]] Outcome<UploadState> add(const std::string& id, const UploadPiece& piece) const;
  /// Drops ID with all that arrived.
  [[nodiscard]] Outcome<UploadState> abort(const std::string& id, const UploadPiece& piece) const;

  /// Those that are not finished.
  [[nodiscard]] std::vector<std::string> open_ids() const;

 private:
  const Workspace& workspace_;
  const std::string& keep_folder_;
};

}  // namespace agentbox::mcp

// pure: what a change of several files is about to do, so that it can be undone after a kill.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace agentbox::mcp {

/// A journal's file: a thousand steps with the longest of paths.
inline constexpr std::size_t kMaxJournalBytes = 32UL << 20;

/// A name in a folder of the workspace; FOLDER is relative to its root ("." is the root) and holds
/// neither links nor dots.
struct Place {
  std::string folder = ".";
  std::string name = {};
  friend bool operator==(const Place&, const Place&) = default;
};
[[nodiscard]] inline std::string path_of(const Place& place) {
  return place.folder == "." ? place.name : place.folder + "/" + place.name;
}

enum class StepKind {
  kRename,   ///< the inode NEW_INODE goes from FROM to the free name AT
  kReplace,  ///< it takes AT from OLD_INODE, which is FROM's neighbour KEPT meanwhile
  kInPlace,  ///< OLD_INODE at AT gets other content; the old is in the journal's folder as KEPT
  kMode,     ///< OLD_INODE at AT gets another mode instead of OLD_MODE
};

struct JournalStep {
  StepKind kind = StepKind::kRename;
  Place at = {};
  Place from = {};
  std::string kept = {};  ///< a name
  std::uint64_t new_inode = 0;
  std::uint64_t old_inode = 0;
  std::uint32_t old_mode = 0;
};

struct Journal {
  std::uint64_t root_device = 0;  ///< which workspace it is about
  std::uint64_t root_inode = 0;
  std::vector<Place> made = {};     ///< folders, outermost first; gone after an undo, if empty
  std::vector<Place> staged = {};   ///< temporary names of new content; gone after an undo
  std::vector<Place> stashed = {};  ///< temporary names of what is deleted; gone in the end
  std::vector<JournalStep> steps = {};
};

[[nodiscard]] std::string encode_journal(const Journal& journal);

/// Whatever agent code wrote there: a journal whose places lie in the workspace and whose temporary
/// names are such, or an Error.
[[nodiscard]] Result<Journal> decode_journal(std::string_view text);

}  // namespace agentbox::mcp

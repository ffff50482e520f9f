// pure: what was known of names against what is there now: which were made, changed, moved, lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agentbox/file_change.h"

namespace agentbox::mcp {

struct FileState {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t size = 0;
  std::uint32_t mode = 0;
  std::uint32_t user = 0;
  std::uint32_t group = 0;
};

[[nodiscard]] bool is_folder(const FileState& state);
/// The same file or folder, whatever became of its content.
[[nodiscard]] bool is_same_file(const FileState& a, const FileState& b);
[[nodiscard]] bool has_same_content(const FileState& a, const FileState& b);
[[nodiscard]] bool has_same_rights(const FileState& a, const FileState& b);

/// One name that was looked at.
struct NameNews {
  std::string path;
  std::optional<FileState> before = {};  ///< none: it was not there
  std::optional<FileState> now = {};     ///< none: it is not there
  bool was_shown = true;                 ///< to the caller
  bool shown = true;
  bool written = false;  ///< the kernel says that its content was
  bool renamed = false;  ///< the kernel says that it came by a rename, or went by one
  std::int64_t at_ms = 0;
  // What match_moves() finds: indexes of other news.
  std::optional<std::size_t> came_from = {};
  std::optional<std::size_t> went_to = {};

  /// What the name meant is no longer under it.
  [[nodiscard]] bool lost() const { return before && !(now && is_same_file(*before, *now)); }
  /// The name means something that was not under it.
  [[nodiscard]] bool found() const { return now && !(before && is_same_file(*before, *now)); }
};

/// True where there is nothing to tell.
[[nodiscard]] bool is_no_news(const NameNews& news);

/// Finds the names that something went from one to the other of. Numbers of files are used again:
/// what lost a name and what found one are taken for the same only where their content is too, or
/// the kernel speaks of renames.
void match_moves(std::vector<NameNews>& news);

/// Indexes of NEWS in an order in which a reader who repeats what is told, step by step, gets the
/// same tree: a move away from a name comes before what came there, and before the end or move of a
/// folder it came from. As far as that leaves open they are in the order of BASE. Moves in a circle
/// are not for such a reader: one of them becomes no move.
[[nodiscard]] std::vector<std::size_t> tell_order(std::vector<NameNews>& news,
                                                  const std::vector<std::size_t>& base);

/// What to tell of the news at INDEX, in order: none, or up to two.
[[nodiscard]] std::vector<FileChange> changes_of(const std::vector<NameNews>& news,
                                                 std::size_t index);

/// "file", "directory", ...
[[nodiscard]] std::string type_of(const FileState& state);

}  // namespace agentbox::mcp

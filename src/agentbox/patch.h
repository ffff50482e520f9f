// pure: patches as Codex and diff -u write them, read and applied to texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/outcome.h"

namespace agentbox::mcp {

enum class PatchFormat { kAuto, kCodex, kUnified };
enum class PatchAction { kAdd, kUpdate, kDelete };

/// One line of a hunk. TEXT is without its newline and borrowed from the patch.
struct HunkLine {
  char kind = ' ';  ///< ' ', '-' or '+'
  std::string_view text = {};
  bool no_newline = false;  ///< the patch says that its file ends here without one
};

struct Hunk {
  std::vector<HunkLine> lines = {};
  std::vector<std::string_view> headers = {};  ///< Codex: lines to be found before, in order
  std::size_t old_start = 0;                   ///< unified: from 1
  bool at_end = false;                         ///< Codex: it ends where the file ends
  std::size_t line = 0;                        ///< of the patch, from 1
};

struct FilePatch {
  PatchAction action = PatchAction::kUpdate;
  std::string path = {};
  std::string destination = {};  ///< where it is moved to; empty: it stays
  std::vector<Hunk> hunks = {};
  std::optional<std::uint32_t> mode = {};  ///< 0644 or 0755, where the patch sets it
};

struct Patch {
  bool unified = false;
  std::vector<FilePatch> files = {};
};

/// Reads TEXT, which must outlive the result. STRIP leading components are taken off the paths of a
/// unified diff; -1: one where they begin with a/ and b/, else none. PATCH_PARSE names the line and
/// carries it in its details.
[[nodiscard]] Outcome<Patch> parse_patch(std::string_view text, PatchFormat format, int strip);

/// TEXT without blanks and carriage returns at its ends: so headers of a Codex patch are compared.
[[nodiscard]] std::string_view trimmed(std::string_view text);

struct PatchedText {
  std::string text;
  std::size_t offset_lines = 0;  ///< the largest distance of a hunk from where the patch said
};

/// CONTENT with the hunks of FILE applied, all or none. A unified hunk goes to the nearest place
/// where all of its old lines are, FUZZ lines of context at its ends left out where it must be; a
/// Codex hunk to the first after its headers, or to the only one. Lines match exactly, but that a
/// line of a CRLF file needs no carriage return in the patch; lines that are kept keep their bytes,
/// new ones end as those around them do. HUNK_FAILED, AMBIGUOUS.
[[nodiscard]] Outcome<PatchedText> apply_hunks(std::string_view content, const FilePatch& file,
                                               bool unified, std::size_t fuzz);

}  // namespace agentbox::mcp

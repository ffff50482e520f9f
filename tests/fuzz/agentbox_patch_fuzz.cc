// pure: any bytes as a patch for any text: it is read or refused, and hunks that fit change what
// they say.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agentbox/patch.h"

namespace {

using namespace agentbox::mcp;

void expect(bool holds) {
  if (!holds) {
    std::abort();
  }
}

std::size_t bytes_of(const FilePatch& file, char kind) {
  std::size_t bytes = 0;
  for (const Hunk& hunk : file.hunks) {
    for (const HunkLine& line : hunk.lines) {
      bytes += line.kind == kind ? line.text.size() : 0;
    }
  }
  return bytes;
}

std::size_t without_ends(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
           return c == '\n' || c == '\r';
         }));
}

std::size_t returns_in(const FilePatch& file) {
  std::size_t count = 0;
  for (const Hunk& hunk : file.hunks) {
    for (const HunkLine& line : hunk.lines) {
      count += static_cast<std::size_t>(std::count(line.text.begin(), line.text.end(), '\r'));
    }
  }
  return count;
}

}  // namespace

// The text to patch, a zero byte, the patch.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  const std::string_view content = input.substr(0, end);
  const std::string_view text = input.substr(std::min(end + 1, input.size()));
  const auto patch = parse_patch(text, PatchFormat::kAuto, -1);
  if (!patch.ok()) {
    expect(patch.error().code == "PATCH_PARSE" && !patch.error().hint.empty());
    return 0;
  }
  for (const FilePatch& file : patch->files) {
    expect(!file.path.empty());
    for (const std::size_t fuzz : {0U, 2U}) {
      const auto result = apply_hunks(content, file, patch->unified, fuzz);
      if (!result.ok()) {
        expect(result.error().code == "HUNK_FAILED" || result.error().code == "AMBIGUOUS");
        continue;
      }
      // Nothing but what the hunks add and remove comes and goes; line ends apart.
      if (returns_in(file) == 0) {
        expect(without_ends(result->text) + bytes_of(file, '-') ==
               without_ends(content) + bytes_of(file, '+'));
      }
      if (file.hunks.empty()) {
        expect(result->text == content);
      }
    }
  }
  return 0;
}

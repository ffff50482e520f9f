// pure: see mime.h.
#include "agentbox/mime.h"

#include <algorithm>
#include <array>

#include "agentbox/capture.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

using namespace std::string_view_literals;

struct Mark {
  std::string_view bytes;
  std::string_view type;
};
constexpr std::array kMarks{
    Mark{"\x89PNG\r\n\x1a\n"sv, "image/png"},
    Mark{"\xff\xd8\xff"sv, "image/jpeg"},
    Mark{"GIF87a"sv, "image/gif"},
    Mark{"GIF89a"sv, "image/gif"},
    Mark{"%PDF-"sv, "application/pdf"},
    Mark{"PK\x03\x04"sv, "application/zip"},
    Mark{"PK\x05\x06"sv, "application/zip"},
    Mark{"\x1f\x8b"sv, "application/gzip"},
    Mark{"BZh"sv, "application/x-bzip2"},
    Mark{"\xfd"
         "7zXZ\0"sv,
         "application/x-xz"},
    Mark{"\x28\xb5\x2f\xfd"sv, "application/zstd"},
    Mark{"\x7f"
         "ELF"sv,
         "application/x-elf"},
    Mark{"SQLite format 3\0"sv, "application/vnd.sqlite3"},
    Mark{"\0asm"sv, "application/wasm"},
    Mark{"OggS"sv, "audio/ogg"},
    Mark{"ID3"sv, "audio/mpeg"},
    Mark{"fLaC"sv, "audio/flac"},
};

struct Ending {
  std::string_view ending;
  std::string_view type;
};
constexpr std::array kTextEndings{
    Ending{".c", "text/x-c"},
    Ending{".cc", "text/x-c++"},
    Ending{".cpp", "text/x-c++"},
    Ending{".css", "text/css"},
    Ending{".csv", "text/csv"},
    Ending{".go", "text/x-go"},
    Ending{".h", "text/x-c"},
    Ending{".hpp", "text/x-c++"},
    Ending{".htm", "text/html"},
    Ending{".html", "text/html"},
    Ending{".java", "text/x-java"},
    Ending{".js", "text/javascript"},
    Ending{".json", "application/json"},
    Ending{".md", "text/markdown"},
    Ending{".mjs", "text/javascript"},
    Ending{".py", "text/x-python"},
    Ending{".rs", "text/x-rust"},
    Ending{".sh", "text/x-shellscript"},
    Ending{".svg", "image/svg+xml"},
    Ending{".toml", "application/toml"},
    Ending{".ts", "text/x-typescript"},
    Ending{".tsv", "text/tab-separated-values"},
    Ending{".xml", "application/xml"},
    Ending{".yaml", "application/yaml"},
    Ending{".yml", "application/yaml"},
};

// "RIFF....WAVE" and "RIFF....WEBP".
std::string_view riff_type(std::string_view bytes) {
  constexpr std::size_t kKindAt = 8;
  if (!bytes.starts_with("RIFF") || bytes.size() < kKindAt + 4) {
    return {};
  }
  const std::string_view kind = bytes.substr(kKindAt, 4);
  return kind == "WEBP" ? "image/webp"sv : kind == "WAVE" ? "audio/wav"sv : ""sv;
}

bool is_text(std::string_view bytes) {
  bytes.remove_suffix(incomplete_suffix(bytes));
  return is_utf8(bytes) && bytes.find('\0') == std::string_view::npos;
}

}  // namespace

std::string_view mime_type(std::string_view name, std::string_view first_bytes) {
  first_bytes = first_bytes.substr(0, kMimeBytes);
  const auto* const mark = std::find_if(kMarks.begin(), kMarks.end(), [&](const Mark& one) {
    return first_bytes.starts_with(one.bytes);
  });
  if (mark != kMarks.end()) {
    return mark->type;
  }
  if (const auto riff = riff_type(first_bytes); !riff.empty()) {
    return riff;
  }
  if (!is_text(first_bytes)) {
    return "application/octet-stream";
  }
  const auto* const ending =
      std::find_if(kTextEndings.begin(), kTextEndings.end(),
                   [&](const Ending& one) { return name.ends_with(one.ending); });
  if (ending != kTextEndings.end()) {
    return ending->type;
  }
  return first_bytes.starts_with("#!") ? "text/x-script" : "text/plain";
}

}  // namespace agentbox::mcp

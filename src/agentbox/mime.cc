// pure: see mime.h.
#include "agentbox/mime.h"

#include <algorithm>
#include <array>
#include <initializer_list>

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
    Mark{"BM"sv, "image/bmp"},
    Mark{"II*\0"sv, "image/tiff"},
    Mark{"MM\0*"sv, "image/tiff"},
    Mark{"\0\0\1\0"sv, "image/x-icon"},
    Mark{"\x1a\x45\xdf\xa3"sv, "video/webm"},
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

// Bytes without a mark that is sure.
constexpr std::array kBinaryEndings{
    Ending{".aac", "audio/aac"},  Ending{".avi", "video/x-msvideo"},   Ending{".mp3", "audio/mpeg"},
    Ending{".otf", "font/otf"},   Ending{".tar", "application/x-tar"}, Ending{".ttf", "font/ttf"},
    Ending{".woff", "font/woff"}, Ending{".woff2", "font/woff2"},
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

// "....ftyp" and a brand: the boxes that MPEG-4 and its kin are made of.
std::string_view brand_type(std::string_view bytes) {
  constexpr std::size_t kMarkAt = 4;
  constexpr std::size_t kBrandAt = 8;
  if (bytes.size() < kBrandAt + 4 || bytes.substr(kMarkAt, 4) != "ftyp") {
    return {};
  }
  const std::string_view brand = bytes.substr(kBrandAt, 4);
  return brand == "avif"   ? "image/avif"sv
         : brand == "heic" ? "image/heic"sv
         : brand == "M4A " ? "audio/mp4"sv
         : brand == "qt  " ? "video/quicktime"sv
                           : "video/mp4"sv;
}

bool has_ending(std::string_view name, std::string_view ending) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return name.size() >= ending.size() &&
         std::equal(ending.begin(), ending.end(), name.end() - ending.size(),
                    [&](char a, char b) { return a == lower(b); });
}

template <std::size_t N>
std::string_view type_by_ending(std::string_view name, const std::array<Ending, N>& endings) {
  const auto found = std::find_if(endings.begin(), endings.end(),
                                  [&](const Ending& one) { return has_ending(name, one.ending); });
  return found != endings.end() ? found->type : std::string_view();
}

// The first that is not empty.
std::string_view first_of(std::initializer_list<std::string_view> types) {
  const auto* const found =
      std::find_if(types.begin(), types.end(), [](std::string_view type) { return !type.empty(); });
  return found != types.end() ? *found : std::string_view();
}

std::string_view text_type(std::string_view name, std::string_view text) {
  // Such a file may begin with a page of text.
  if (text.starts_with("%PDF-")) {
    return "application/pdf";
  }
  return first_of({type_by_ending(name, kTextEndings),
                   text.starts_with("<svg") ? "image/svg+xml"sv : ""sv,
                   text.starts_with("#!") ? "text/x-script"sv : ""sv, "text/plain"});
}

std::string_view mark_type(std::string_view bytes) {
  const auto* const mark = std::find_if(
      kMarks.begin(), kMarks.end(), [&](const Mark& one) { return bytes.starts_with(one.bytes); });
  return mark != kMarks.end() ? mark->type : std::string_view();
}

}  // namespace

bool is_plain_text(std::string_view bytes) {
  return is_utf8(bytes) && bytes.find('\0') == std::string_view::npos;
}

bool is_text_type(std::string_view type) {
  return type.starts_with("text/") ||
         std::any_of(kTextEndings.begin(), kTextEndings.end(),
                     [&](const Ending& one) { return one.type == type; });
}

std::string_view mime_type(std::string_view name, std::string_view first_bytes) {
  first_bytes = first_bytes.substr(0, kMimeBytes);
  // Marks are short, and words may begin with them.
  if (is_plain_text(first_bytes.substr(0, first_bytes.size() - incomplete_suffix(first_bytes)))) {
    return text_type(name, first_bytes);
  }
  return first_of({mark_type(first_bytes), riff_type(first_bytes), brand_type(first_bytes),
                   type_by_ending(name, kBinaryEndings), "application/octet-stream"});
}

}  // namespace agentbox::mcp

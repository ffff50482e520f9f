// pure: see resource_uri.h.
#include "agentbox/resource_uri.h"

#include <algorithm>
#include <array>
#include <optional>

#include "agentbox/job_id.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kFilePrefix = "file://";
constexpr std::string_view kProcessPrefix = "agentbox://process/";
constexpr std::string_view kOutputSuffix = "/output";

struct Fixed {
  std::string_view uri;
  ResourceKind kind;
};
constexpr std::array kFixed{
    Fixed{kStatusUri, ResourceKind::kStatus}, Fixed{kMetadataUri, ResourceKind::kMetadata},
    Fixed{kAuditUri, ResourceKind::kAudit}, Fixed{kCiContextUri, ResourceKind::kCiContext},
    Fixed{kCiPromptUri, ResourceKind::kCiPrompt}};

Error bad(std::string why) { return Error{Code::kInvalid, std::move(why)}; }

std::optional<unsigned> hex_value(char c) {
  if (c >= '0' && c <= '9') {
    return static_cast<unsigned>(c - '0');
  }
  const auto lower = static_cast<char>(c | 0x20);
  if (lower >= 'a' && lower <= 'f') {
    return static_cast<unsigned>(lower - 'a' + 10);
  }
  return std::nullopt;
}

bool is_control_or_space(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= 0x20 || byte == 0x7f;
}

// What RFC 3986 lets a path hold as it is.
bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("-._~!$&'()*+,;=:@/").find(c) != std::string_view::npos;
}

// What a name is not: it would lead elsewhere, or to the same file under another URI.
Status check_segments(std::string_view path) {
  std::string_view rest = path;
  while (!rest.empty()) {
    rest.remove_prefix(1);  // its slash
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view name = rest.substr(0, end);
    rest.remove_prefix(end);
    if (name == "." || name == "..") {
      return bad("the path holds a part that is . or ..");
    }
    if (name.empty() && !rest.empty()) {
      return bad("the path holds an empty part");
    }
  }
  return {};
}

Result<ResourceUri> parse_file(std::string_view rest) {
  if (!rest.starts_with('/')) {
    return bad("a file URI here names no host: write file:///, then the path");
  }
  if (rest.find_first_of("?#") != std::string_view::npos) {
    return bad("a ? or # that belongs to a name is written %3F or %23");
  }
  AB_TRY(path, decode_percent(rest));
  AB_CHECK(check_segments(path));
  return ResourceUri{.kind = ResourceKind::kFile, .path = std::move(path)};
}

Result<ResourceUri> parse_process(std::string_view rest) {
  ResourceUri uri{.kind = ResourceKind::kProcess};
  if (rest.ends_with(kOutputSuffix)) {
    uri.kind = ResourceKind::kOutput;
    rest.remove_suffix(kOutputSuffix.size());
  }
  if (!is_job_id(rest) && !is_job_name(rest)) {
    return bad("a process is named by its process_id or its name");
  }
  uri.process = rest;
  return uri;
}

}  // namespace

Result<std::string> decode_percent(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_control_or_space(text[at])) {
      return bad("it holds a space or a control character that is not percent-encoded");
    }
    if (text[at] != '%') {
      bytes.push_back(text[at]);
      continue;
    }
    const auto high = at + 1 < text.size() ? hex_value(text[at + 1]) : std::nullopt;
    const auto low = at + 2 < text.size() ? hex_value(text[at + 2]) : std::nullopt;
    if (!high || !low) {
      return bad("a % is not followed by two hex digits");
    }
    const auto byte = static_cast<char>(*high * 16 + *low);
    if (byte == '\0' || byte == '/') {
      return bad("it holds an encoded NUL or slash");
    }
    bytes.push_back(byte);
    at += 2;
  }
  return bytes;
}

std::string encode_percent(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  for (const char c : path) {
    if (is_plain(c)) {
      text.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
  }
  return text;
}

Result<ResourceUri> parse_resource_uri(std::string_view text) {
  if (text.size() > kMaxUriBytes) {
    return bad("it is longer than " + std::to_string(kMaxUriBytes) + " bytes");
  }
  for (const Fixed& one : kFixed) {
    if (text == one.uri) {
      return ResourceUri{.kind = one.kind};
    }
  }
  if (text.starts_with(kFilePrefix)) {
    return parse_file(text.substr(kFilePrefix.size()));
  }
  if (text.starts_with(kProcessPrefix)) {
    return parse_process(text.substr(kProcessPrefix.size()));
  }
  return Error{Code::kNotFound,
               "no resource has such a URI; resources/list and "
               "resources/templates/list show which there are"};
}

bool is_subscribable(ResourceKind kind) {
  return kind == ResourceKind::kFile || kind == ResourceKind::kProcess ||
         kind == ResourceKind::kOutput || kind == ResourceKind::kStatus;
}

std::string file_uri(std::string_view path) {
  return std::string(kFilePrefix) + encode_percent(path);
}

std::string process_uri(std::string_view id) {
  return std::string(kProcessPrefix) + std::string(id);
}

std::string output_uri(std::string_view id) { return process_uri(id) + std::string(kOutputSuffix); }

}  // namespace agentbox::mcp

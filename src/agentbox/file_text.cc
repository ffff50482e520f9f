// pure: see file_text.h.
#include "agentbox/file_text.h"

#include <algorithm>

#include "agentbox/capture.h"
#include "agentbox/visible.h"
#include "base/text.h"

namespace agentbox::mcp {

std::string_view first_lines(std::string_view bytes, std::size_t count) {
  std::size_t at = 0;
  for (; count > 0 && at < bytes.size(); --count) {
    const std::size_t newline = bytes.find('\n', at);
    at = newline == std::string_view::npos ? bytes.size() : newline + 1;
  }
  return bytes.substr(0, at);
}

std::string_view last_lines(std::string_view bytes, std::size_t count) {
  if (count == 0 || bytes.empty()) {
    return {};
  }
  std::size_t at = bytes.size() - 1;  // a newline here ends the last line
  for (; count > 0; --count) {
    const std::size_t newline = at == 0 ? std::string_view::npos : bytes.rfind('\n', at - 1);
    if (newline == std::string_view::npos) {
      return bytes;
    }
    at = newline;
  }
  return bytes.substr(at + 1);
}

std::size_t count_lines(std::string_view bytes) {
  const auto newlines = static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n'));
  return newlines + (bytes.empty() || bytes.ends_with('\n') ? 0U : 1U);
}

std::size_t encoded_size(std::string_view text) {
  std::size_t size = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool has_letter = c == '\n' || c == '\t' || c == '\r' || c == '\b' || c == '\f';
    size += c == '"' || c == '\\' || has_letter ? 2U : byte < 0x20 ? 6U : 1U;
  }
  return size;
}

Dressed dress_lines(std::string_view text, const LineStyle& style) {
  Dressed result;
  std::uint64_t number = style.first_number;
  std::size_t encoded = 0;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    std::string dressed;
    bool cut = false;
    if (style.numbers) {
      dressed.append(std::to_string(number++)).push_back('\t');
    }
    if (style.max_bytes > 0 && line.size() > style.max_bytes) {
      std::string_view kept = line.substr(0, style.max_bytes);
      kept.remove_suffix(incomplete_suffix(kept));
      dressed.append(kept).append("[... " + std::to_string(line.size() - kept.size()) +
                                  " bytes of this line left out]");
      cut = true;
    } else {
      dressed.append(line);
    }
    if (newline != std::string_view::npos) {
      dressed.push_back('\n');
    }
    encoded += encoded_size(dressed);
    if (encoded > style.max_encoded) {
      break;
    }
    result.text += dressed;
    result.cut = result.cut || cut;
    ++result.lines;
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
  }
  return result;
}

Trimmed trim_to_characters(std::string_view bytes, std::size_t limit, bool at_start, bool at_end) {
  const std::size_t start = at_start ? 0 : continuation_prefix(bytes);
  std::string_view piece = bytes.substr(start, limit);
  const bool reaches_end = at_end && start + piece.size() == bytes.size();
  const std::size_t stump = reaches_end ? 0 : incomplete_suffix(piece);
  std::string_view whole = piece.substr(0, piece.size() - stump);
  if (whole.empty() && stump > 0) {
    whole = bytes.substr(start, first_character(bytes.substr(start)).bytes);
  }
  if (whole.empty() || !is_utf8(whole)) {
    return {.start = 0, .bytes = bytes.substr(0, limit)};
  }
  return {.start = start, .bytes = whole};
}

}  // namespace agentbox::mcp

// pure: see ansi.h.
#include "agentbox/ansi.h"

#include <algorithm>
#include <cstddef>

namespace agentbox::mcp {
namespace {

constexpr char kEscape = '\x1b';
constexpr char kBell = '\a';
constexpr char kCancel = '\x18';
constexpr char kSubstitute = '\x1a';

bool within(char byte, char first, char last) { return byte >= first && byte <= last; }

// The length of a CSI sequence's rest: parameters, intermediates, one final byte.
std::size_t control_length(std::string_view rest) {
  std::size_t at = 0;
  while (at < rest.size() && within(rest[at], '\x20', '\x3f')) {
    ++at;
  }
  // A byte that may not stand here ends the sequence and is text again.
  return at < rest.size() && within(rest[at], '\x40', '\x7e') ? at + 1 : at;
}

// The length of a string's rest, its end (BEL, or ESC \, or a cancel) included. A string without an
// end stops where the line does: a stray opener must not swallow a log.
std::size_t string_length(std::string_view rest) {
  for (std::size_t at = 0; at < rest.size(); ++at) {
    const char byte = rest[at];
    if (byte == kBell || byte == kCancel || byte == kSubstitute) {
      return at + 1;
    }
    if (byte == '\n') {
      return at;
    }
    if (byte == kEscape) {
      return at + 1 < rest.size() && rest[at + 1] == '\\' ? at + 2 : at;
    }
  }
  return rest.size();
}

// The length of the sequence that REST begins with, the escape byte included.
std::size_t sequence_length(std::string_view rest) {
  if (rest.size() < 2) {
    return rest.size();
  }
  const char kind = rest[1];
  if (kind == '[') {
    return 2 + control_length(rest.substr(2));
  }
  if (kind == ']' || kind == 'P' || kind == 'X' || kind == '^' || kind == '_') {
    return 2 + string_length(rest.substr(2));
  }
  if (within(kind, '\x20', '\x2f')) {
    std::size_t at = 2;
    while (at < rest.size() && within(rest[at], '\x20', '\x2f')) {
      ++at;
    }
    return at < rest.size() && within(rest[at], '\x30', '\x7e') ? at + 1 : at;
  }
  return within(kind, '\x30', '\x7e') ? 2 : 1;
}

}  // namespace

std::string strip_ansi(std::string_view bytes) {
  std::string kept;
  kept.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t text = std::min(bytes.find(kEscape), bytes.size());
    kept.append(bytes.substr(0, text));
    bytes.remove_prefix(text);
    bytes.remove_prefix(bytes.empty() ? 0 : sequence_length(bytes));
  }
  return kept;
}

}  // namespace agentbox::mcp

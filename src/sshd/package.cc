// pure: see package.h.
#include "sshd/package.h"

#include <algorithm>

namespace agentbox::sshd {
namespace {

constexpr std::size_t kMaxVersionBytes = 128;

bool is_version(std::string_view text) {
  return !text.empty() && text.size() <= kMaxVersionBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '+' || c == '-' || c == ':' || c == '~';
         });
}

// The value of NAME in one stanza; empty where it has none.
std::string_view field(std::string_view stanza, std::string_view name) {
  for (std::size_t at = 0; at < stanza.size();) {
    const std::size_t end = std::min(stanza.find('\n', at), stanza.size());
    const std::string_view line = stanza.substr(at, end - at);
    if (line.starts_with(name) && line.substr(name.size()).starts_with(": ")) {
      return line.substr(name.size() + 2);
    }
    at = end + 1;
  }
  return {};
}

}  // namespace

std::string installed_version(std::string_view status, std::string_view package) {
  for (std::size_t at = 0; at < status.size();) {
    const std::size_t end = std::min(status.find("\n\n", at), status.size());
    const std::string_view stanza = status.substr(at, end - at);
    if (field(stanza, "Package") == package && field(stanza, "Status").ends_with(" installed")) {
      const std::string_view version = field(stanza, "Version");
      return is_version(version) ? std::string(version) : std::string();
    }
    at = end + 2;
  }
  return {};
}

}  // namespace agentbox::sshd

// edge: see wall.h.
#include "provision/wall.h"

#include <cstdlib>

#include "base/text.h"
#include "provision/box_side.h"
#include "provision/quote.h"
#include "provision/tools.h"

namespace agentbox::provision {
namespace {

constexpr std::size_t kMaxAnswerBytes = 400;

// True where PLACE is, or holds, something that the box side has under that name on purpose.
bool is_box_place(const std::string& place) {
  const std::string prefix = place == "/" ? place : place + "/";
  for (const std::string own : {kBoxWorkspace, kBoxHome, kBoxTmp, kBoxOut, "/usr/bin"}) {
    if (own == place || own.starts_with(prefix)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<std::string> hidden_places(const Store& store, const BoxRecord& record) {
  std::vector<std::string> places = {store.root(), store.paths(record.name).host_key,
                                     "/root",      "/etc/shadow",
                                     "/etc/ssh",   "/var/lib"};
  if (!record.identity_file.empty()) {
    places.push_back(record.identity_file);
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    places.emplace_back(home);
  }
  std::erase_if(places, is_box_place);
  return places;
}

Result<std::vector<std::string>> seen_from_inside(McpClient& session,
                                                  const std::vector<std::string>& places) {
  std::string command = "for each in";
  for (const std::string& place : places) {
    command += " " + shell_quote(place);
  }
  command +=
      "; do test ! -e \"$each\" || printf '%s\\n' \"$each\"; done; "
      // Processes of this machine would show here; in the box only its own do.
      "test \"$(cat /proc/1/comm)\" = agent-box || printf 'processes of this machine\\n'";
  AB_TRY(said, run_program(session, "/bin/sh", {"-c", command}));
  std::vector<std::string> seen;
  for (std::size_t at = 0; at < said.size();) {
    const std::size_t end = std::min(said.find('\n', at), said.size());
    seen.push_back(escape_text(std::string_view(said).substr(at, end - at), kMaxAnswerBytes));
    at = end + 1;
  }
  return seen;
}

}  // namespace agentbox::provision

// pure: see door_config.h.
#include "provision/door_config.h"

#include "base/json.h"

namespace agentbox::provision {
namespace {

// A JSON string is a double-quoted YAML scalar.
std::string quoted(const std::string& text) { return dump_json(OrderedJson(text)); }

}  // namespace

std::string render_door_config(const BoxPaths& paths, std::uint16_t port, unsigned box_uid,
                               Profile profile) {
  return "# Written by agentbox-provision at create and resume; changes are lost.\n"
         "listen:\n  address: " +
         quoted(kLocalAddress) + "\n  port: " + std::to_string(port) +
         "\nhost_key: " + quoted(paths.host_key) + "\nkeys_dir: " + quoted(paths.keys) +
         "\nkeys_trust: strict\nstate_dir: " + quoted(paths.door_state) +
         "\nlink:\n  socket: " + quoted(paths.socket) + "\n  box_uid: " + std::to_string(box_uid) +
         "\naudit:\n  sink: " + quoted(paths.audit_log_real) +
         "\nlog:\n  format: text\nprofile: " + std::string(profile_name(profile)) +
         "\npass_env: []\n"
         // Every honest client of a local box comes from this machine.
         "limits:\n  own_unauthenticated: 0\n";
}

}  // namespace agentbox::provision

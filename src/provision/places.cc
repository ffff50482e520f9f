// edge: see places.h.
#include "provision/places.h"

#include <unistd.h>

namespace agentbox::provision {
namespace {

constexpr mode_t kOthersWrite = 022;
constexpr mode_t kOthersAll = 077;
/// Others may run it, and neither read nor change it.
constexpr mode_t kOthersReadOrWrite = 066;

}  // namespace

std::vector<WantedPlace> wanted_places(const Store& store, const BoxRecord& record,
                                       const Accounts& accounts) {
  const BoxPaths paths = store.paths(record.name);
  const uid_t self = ::geteuid();
  const uid_t door = accounts.door.uid;
  const std::string keys = paths.keys + "/..data";
  std::vector<WantedPlace> all = {
      {store.root(), "all boxes", self, kOthersWrite},
      {paths.box, "the box", self, kOthersWrite},
      {paths.record, "what is known of the box", self, kOthersAll},
      {paths.known_hosts, "the pin of the host key", self, kOthersWrite},
      {paths.local, "both sides of the box", self, kOthersWrite},
      {paths.door, "the door", self, kOthersWrite},
      {paths.keys, "who may enter", self, kOthersWrite},
      {keys, "who may enter", self, kOthersWrite},
      {keys + "/authorized_keys", "the keys that may enter", self, kOthersWrite},
      {keys + "/generation", "the generation of the keys", self, kOthersWrite},
      {keys + "/revoked", "the keys that are locked out", self, kOthersWrite},
      {paths.config, "the door's configuration", self, kOthersWrite},
      {paths.host_key, "the host key's private half", door, kOthersAll},
      {paths.door_state, "key generation, audit head, isolation", door, kOthersAll},
      {paths.door_own, "the audit log's folder", door, kOthersAll},
      {paths.audit_log_real, "the audit log", door, kOthersAll},
      {paths.link, "the way between door and box", door, kOthersWrite},
      {paths.programs, "the box's programs", self, kOthersWrite},
      {paths.programs + "/agentbox-sshd", "the door's program", self, kOthersReadOrWrite, true},
      {paths.programs + "/agent-box", "the box side's program", self, kOthersReadOrWrite, true}};
  if (!record.identity_file.empty()) {
    all.push_back({record.identity_file, "the client's private key", self, kOthersAll});
  }
  if (record.spec.workspace.empty()) {  // else it is the operator's, and as open as that one wants
    all.push_back({paths.workspace, "the agent's files", accounts.box.uid, kOthersWrite});
  }
  return all;
}

}  // namespace agentbox::provision

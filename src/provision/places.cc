// edge: see places.h.
#include "provision/places.h"

#include <unistd.h>

#include <utility>

namespace agentbox::provision {
namespace {

constexpr mode_t kOthersWrite = 022;
constexpr mode_t kOthersAll = 077;
/// Others may run it, and neither read nor change it.
constexpr mode_t kOthersReadOrWrite = 066;

void add_where_there(WantedPlace place, std::vector<WantedPlace>& all) {
  if (::access(place.path.c_str(), F_OK) == 0) {
    all.push_back(std::move(place));
  }
}

}  // namespace

std::vector<WantedPlace> wanted_places(const Store& store, const BoxRecord& record,
                                       const Accounts& accounts) {
  const BoxPaths paths = store.paths(record.name);
  const uid_t self = ::geteuid();
  const uid_t door = accounts.door.uid;
  const std::string keys = paths.keys + "/..data";
  // As root the two users pass through our folders and read what is meant for them.
  const bool both = accounts.separate;
  const mode_t passage = both ? 0711 : 0700;
  const mode_t folder = both ? 0755 : 0700;
  const mode_t file = both ? 0644 : 0600;
  const std::string ca = store.root() + "/ca";
  std::vector<WantedPlace> all = {
      {store.root(), "all boxes", self, kOthersWrite, passage},
      {boxes_folder(store.root()), "all boxes", self, kOthersWrite, passage},
      {paths.box, "the box", self, kOthersWrite, passage},
      {paths.record, "what is known of the box", self, kOthersAll, 0600},
      {paths.known_hosts, "the pin of the host key", self, kOthersWrite, file},
      {paths.local, "both sides of the box", self, kOthersWrite, passage},
      {paths.door, "the door", self, kOthersWrite, passage},
      {paths.door + "/etc", "the door's configuration", self, kOthersWrite, folder},
      {paths.keys, "who may enter", self, kOthersWrite, folder},
      {keys, "who may enter", self, kOthersWrite, folder},
      {keys + "/authorized_keys", "the keys that may enter", self, kOthersWrite, file, false,
       accounts.door, R_OK},
      {keys + "/generation", "the generation of the keys", self, kOthersWrite, file},
      {keys + "/revoked", "the keys that are locked out", self, kOthersWrite, file},
      {paths.config, "the door's configuration", self, kOthersWrite, file, false, accounts.door,
       R_OK},
      {paths.host_key, "the host key's private half", door, kOthersAll, 0600},
      {paths.door_state, "key generation, audit head, isolation", door, kOthersAll, 0700},
      {paths.door_own, "the audit log's folder", door, kOthersAll, 0700},
      {paths.audit_log_real, "the audit log", door, kOthersAll, 0600},
      {paths.link, "the way between door and box", door, kOthersWrite, folder},
      {paths.system_files, "users as the box sees them", self, kOthersWrite, folder},
      {paths.box_side, "the box's files", self, kOthersWrite, passage},
      {paths.programs, "the box's programs", self, kOthersWrite, passage},
      {paths.programs + "/agentbox-sshd", "the door's program", self, kOthersReadOrWrite, 0711,
       true, accounts.door, X_OK},
      {paths.programs + "/agent-box", "the box side's program", self, kOthersReadOrWrite, 0711,
       true, accounts.box, X_OK}};
  // What boxes made before there were certificates do not have.
  for (const char* name : {"/user_ca", "/box_name"}) {
    add_where_there({keys + name, "whose certificates are taken", self, kOthersWrite, file}, all);
  }
  add_where_there({ca, "the CA", self, kOthersAll, 0700}, all);
  add_where_there({ca + "/user_ca", "the CA's private key", self, kOthersAll, 0600}, all);
  add_where_there({ca + "/key-" + record.name.text(), "the private key of a certificate", self,
                   kOthersAll, 0600},
                  all);
  if (!record.identity_file.empty()) {
    all.push_back({record.identity_file, "the client's private key", self, kOthersAll, 0600});
  }
  if (record.spec.workspace.empty()) {  // else it is the operator's, and as open as that one wants
    all.push_back({paths.workspace, "the agent's files", accounts.box.uid, kOthersWrite, 0700});
  }
  return all;
}

std::string unusable(const WantedPlace& wanted, const Accounts& accounts) {
  if (!wanted.user) {
    return {};
  }
  const Status reach = can_reach(*wanted.user, accounts.separate, wanted.path, wanted.use);
  return reach.ok() ? std::string() : reach.error().what;
}

}  // namespace agentbox::provision

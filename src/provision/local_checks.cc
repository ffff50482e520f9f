// edge: see local_checks.h.
#include "provision/local_checks.h"

#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "provision/host.h"

namespace agentbox::provision {
namespace {

namespace fs = std::filesystem;

// True where INNER is OUTER or lies in it. Both are resolved.
bool lies_in(const std::string& inner, const std::string& outer) {
  return inner == outer || outer == "/" || inner.starts_with(outer + "/");
}

std::string resolved(const std::string& path) {
  std::error_code problem;
  const std::string whole = fs::weakly_canonical(path, problem).string();
  return problem ? path : whole;
}

// The deepest folder on the way to PATH that exists.
std::string existing_part(const std::string& path) {
  fs::path part = path;
  std::error_code problem;
  while (!fs::exists(part, problem) && part.has_parent_path() && part != part.parent_path()) {
    part = part.parent_path();
  }
  return part.string();
}

// A box that may write here can become the machine; and nobody means to hand these out.
Done check_no_system_folder(const std::string& workspace) {
  const std::string place = resolved(workspace);
  static constexpr std::array kWithAllBelow = {"/bin",  "/boot", "/dev",  "/etc", "/lib", "/lib64",
                                               "/proc", "/run",  "/sbin", "/sys", "/usr"};
  static constexpr std::array kThemselves = {"/",    "/home",    "/media",  "/mnt",
                                             "/opt", "/root",    "/srv",    "/tmp",
                                             "/var", "/var/lib", "/var/log"};
  const bool is_system =
      std::any_of(kWithAllBelow.begin(), kWithAllBelow.end(),
                  [&](const char* folder) { return lies_in(place, folder); }) ||
      std::find(kThemselves.begin(), kThemselves.end(), place) != kThemselves.end();
  if (is_system) {
    return Failure{Exit::kRefused, "the workspace " + workspace + " is a folder of the system's",
                   "use a folder that holds the work and nothing else"};
  }
  return {};
}

// The wall would be of no use with the keys, or all the operator has, inside it.
Done check_workspace_place(const Store& store, const std::string& workspace) {
  const std::string state = resolved(store.root());
  if (lies_in(state, workspace) || lies_in(workspace, state)) {
    return Failure{Exit::kRefused,
                   "the workspace " + workspace + " and the state folder " + state +
                       " lie in each other: the agent would see the keys",
                   "use a folder that holds the work and nothing else"};
  }
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/' && lies_in(resolved(home), workspace)) {
    return Failure{Exit::kRefused,
                   "the workspace " + workspace +
                       " holds the whole home folder: the agent would see "
                       "all that is in it, keys and tokens too",
                   "use a folder that holds the work and nothing else"};
  }
  return check_no_system_folder(workspace);
}

Done check_reach(const Store& store, const Accounts& accounts, const std::string& workspace) {
  if (!workspace.empty()) {
    auto reach = can_reach(accounts.box, accounts.separate, workspace, R_OK | W_OK | X_OK);
    if (!reach.ok()) {
      return Failure{Exit::kRefused,
                     "the box's user cannot work in " + workspace + ": " + reach.error().what,
                     "give that user read, write and entry there, for example: setfacl -R -m u:" +
                         std::to_string(accounts.box.uid) + ":rwX " + workspace};
    }
  }
  const std::string state = existing_part(store.root());
  for (const SpawnPlan::Identity& who : {accounts.door, accounts.box}) {
    const std::string way = state == store.root() ? state.substr(0, state.rfind('/')) : state;
    auto reach = can_reach(who, accounts.separate, way.empty() ? "/" : way, X_OK);
    if (!reach.ok()) {
      return Failure{Exit::kRefused,
                     "the two sides of a box must reach the state folder " + store.root() + ": " +
                         reach.error().what,
                     "chmod o+x that folder, or choose another AGENTBOX_STATE_DIR"};
    }
  }
  return {};
}

}  // namespace

Answer<LocalMeans> check_local(const Store& store, const BoxName& name, const BoxSpec& spec,
                               const std::string& programs) {
  if (store.paths(name).socket.size() >= sizeof(sockaddr_un::sun_path)) {
    return Failure{Exit::kRefused,
                   "the path " + store.paths(name).socket + " is too long for a socket",
                   "choose a shorter name, or a shorter AGENTBOX_STATE_DIR"};
  }
  AB_TRY(found, find_programs(programs));
  AB_TRY(accounts, find_accounts());
  if (spec.isolation == Isolation::kBubblewrap) {
    AB_TRY(host, find_host_facts());
    AB_CHECK(try_isolation(host, accounts));
  }
  if (!spec.workspace.empty()) {
    AB_CHECK(check_workspace_place(store, spec.workspace));
  }
  AB_CHECK(check_reach(store, accounts, spec.workspace));
  return LocalMeans{accounts, std::move(found)};
}

}  // namespace agentbox::provision

// edge: see local_files.h.
#include "provision/local_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "provision/box_side.h"
#include "provision/door_config.h"
#include "provision/handoff.h"
#include "provision/keys.h"
#include "provision/state.h"

namespace agentbox::provision {
namespace {

// As root the two users pass through our folders and read what is meant for them; as an ordinary
// user everything is that user's alone.
struct Modes {
  mode_t passage;
  mode_t readable_folder;
  mode_t readable_file;
};
Modes modes_for(const Accounts& accounts) {
  return accounts.separate ? Modes{0711, 0755, 0644} : Modes{0700, 0700, 0600};
}

Status make_folders(const BoxPaths& paths, const Accounts& accounts) {
  const Modes modes = modes_for(accounts);
  const SpawnPlan::Identity self{::geteuid(), ::getegid()};
  const std::array<std::tuple<std::string, mode_t, SpawnPlan::Identity>, 14> folders = {{
      {paths.local, modes.passage, self},
      {paths.programs, modes.passage, self},
      {paths.system_files, modes.readable_folder, self},
      {paths.door, modes.passage, self},
      {paths.door + "/etc", modes.readable_folder, self},
      {paths.keys, modes.readable_folder, self},
      {paths.door_own, 0700, accounts.door},
      {paths.door_state, 0700, accounts.door},
      {paths.link, modes.readable_folder, accounts.door},
      {paths.box_side, modes.passage, self},
      {paths.workspace, 0700, accounts.box},
      {paths.home, 0700, accounts.box},
      {paths.tmp, 0700, accounts.box},
      {paths.out, 0700, accounts.box},
  }};
  for (const auto& [path, mode, owner] : folders) {
    AB_CHECK(make_folder(path, mode, owner.uid, owner.gid));
  }
  if (::symlink("own/audit.log", paths.audit_log.c_str()) != 0 && errno != EEXIST) {
    return errno_error(paths.audit_log);
  }
  return {};
}

// A new host key that RECORD has decided on takes its place; one that it does not know goes.
Done adopt_host_key(const BoxPaths& paths, const BoxRecord& record) {
  const std::string next = next_host_key(paths);
  const auto secret = read_private_key(next);
  if (!secret.ok()) {
    return secret.error().code == Code::kNotFound ? Done{} : Done{secret.error()};
  }
  const auto key = public_half(*secret);
  if (!key.ok() || key->text() != record.host_key) {
    ::unlink(next.c_str());
    return {};
  }
  return std::rename(next.c_str(), paths.host_key.c_str()) == 0 ? Done{}
                                                                : Done{errno_error(paths.host_key)};
}

}  // namespace

std::string next_host_key(const BoxPaths& paths) { return paths.host_key + ".next"; }

Status write_known_hosts(const BoxPaths& paths, const Accounts& accounts, const BoxRecord& record) {
  return replace_file(paths.known_hosts, known_hosts_text(record.name.text(), record.host_key),
                      modes_for(accounts).readable_file);
}

Done make_lasting_files(const BoxPaths& paths, const Accounts& accounts, BoxRecord& record) {
  AB_CHECK(make_folders(paths, accounts));
  AB_CHECK(adopt_host_key(paths, record));
  const bool new_box = record.host_key.empty();
  if (!new_box && ::access(paths.host_key.c_str(), F_OK) != 0) {
    // Clients are pinned to it: a new one in its place would only lock them out, or teach them to
    // ignore the pin.
    return Failure{Exit::kFailed, "the host key " + paths.host_key + " is gone",
                   "put it back from a backup, or delete the box and create it anew"};
  }
  AB_TRY(host_key, ensure_private_key(paths.host_key, accounts.door, "host"));
  if (!new_box && host_key.key.text() != record.host_key) {
    return Failure{Exit::kFailed,
                   "the host key " + paths.host_key + " is not the one that clients are pinned to",
                   "put it back from a backup, or delete the box and create it anew"};
  }
  record.host_key = host_key.key.text();
  // A box that had keys and lost the last one is left without.
  if (record.keys.empty() && record.phase == Phase::kCreating) {
    const SpawnPlan::Identity self{::geteuid(), ::getegid()};
    AB_TRY(key, ensure_private_key(paths.identity, self, host_alias(record.name.text())));
    record.keys = {std::move(key)};
    record.identity_file = paths.identity;
  }
  return {};
}

Done write_start_files(const BoxPaths& paths, const LocalMeans& means, const BoxRecord& record) {
  const Modes modes = modes_for(means.accounts);
  const SpawnPlan::Identity& box = means.accounts.box;
  AB_CHECK(write_known_hosts(paths, means.accounts, record));
  AB_CHECK(replace_file(paths.config,
                        render_door_config(paths, record.port, box.uid, record.spec.profile),
                        modes.readable_file));
  AB_CHECK(publish_keys(paths.keys, record));
  AB_CHECK(replace_file(paths.system_files + "/passwd", passwd_text(box.uid, box.gid),
                        modes.readable_file));
  AB_CHECK(replace_file(paths.system_files + "/group", group_text(box.gid), modes.readable_file));
  return install_programs(means.programs, paths.programs);
}

}  // namespace agentbox::provision

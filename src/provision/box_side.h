// pure: the box side of a local box as a command line: bubblewrap around the spawner, or without
// it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "provision/paths.h"

namespace agentbox::provision {

/// Where the box side sees its own things.
inline constexpr const char* kBoxWorkspace = "/workspace";
inline constexpr const char* kBoxHome = "/home/agent";
inline constexpr const char* kBoxTmp = "/tmp";
inline constexpr const char* kBoxOut = "/run/agentbox-out";
inline constexpr const char* kBoxLink = "/agentbox/link";
inline constexpr const char* kBoxProgram = "/agentbox/bin/agent-box";

/// Added to the priority of everything in the box: it must not starve the door.
inline constexpr int kBoxNice = 10;

/// Something directly below / that the box side sees as it is here.
struct RootEntry {
  std::string path;    ///< /bin, /lib64, ...
  std::string target;  ///< of a symbolic link; empty: a folder
};

/// What this machine has to offer, found by whoever may look.
struct HostFacts {
  std::string bubblewrap;               ///< absolute path of bwrap
  std::vector<RootEntry> root_entries;  ///< besides /usr
  std::vector<std::string> etc;         ///< files and folders of /etc that may be seen
};

/// Names of /etc that programs need and that say nothing about the operator. Whoever collects
/// HostFacts::etc takes those of them that everybody may read.
[[nodiscard]] std::span<const std::string_view> etc_allow_list();

/// argv of the box side inside bubblewrap: own user, pid, ipc, uts and mount namespaces, system
/// folders read-only, the box's own folders, nothing of the operator's.
[[nodiscard]] std::vector<std::string> isolated_box_side(const HostFacts& host,
                                                         const BoxPaths& paths,
                                                         const std::string& workspace,
                                                         const std::string& hostname);

/// argv of the box side without any wall.
[[nodiscard]] std::vector<std::string> open_box_side(const BoxPaths& paths,
                                                     const std::string& workspace);

/// argv of a trial: the same namespaces and mounts, and a program that does nothing.
[[nodiscard]] std::vector<std::string> isolation_trial(const HostFacts& host);

/// /etc/passwd and /etc/group as the box side sees them: it has one user, `agent`.
[[nodiscard]] std::string passwd_text(unsigned uid, unsigned gid);
[[nodiscard]] std::string group_text(unsigned gid);

}  // namespace agentbox::provision

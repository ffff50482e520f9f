// edge: the folders and files of a local box, brought to what its record says.
#pragma once

#include "provision/answer.h"
#include "provision/box.h"
#include "provision/local_checks.h"
#include "provision/paths.h"

namespace agentbox::provision {

/// Folders, host key and client key, where they are missing; fills in RECORD's keys, identity file
/// and host key. Nothing that is there is replaced.
[[nodiscard]] Done make_lasting_files(const BoxPaths& paths, const Accounts& accounts,
                                      BoxRecord& record);

/// What is written anew at every start: known_hosts, the door's configuration, the keys, the box
/// side's passwd and group, the programs.
[[nodiscard]] Done write_start_files(const BoxPaths& paths, const LocalMeans& means,
                                     const BoxRecord& record);

}  // namespace agentbox::provision

// edge: the folders and files of a local box, brought to what its record says.
#pragma once

#include "provision/answer.h"
#include "provision/box.h"
#include "provision/local_checks.h"
#include "provision/paths.h"

namespace agentbox::provision {

/// Where a new host key lies until it takes the old one's place.
[[nodiscard]] std::string next_host_key(const BoxPaths& paths);

/// Folders, host key and client key, where they are missing; fills in RECORD's keys, identity file
/// and host key. Nothing that is there is replaced, but for a host key that RECORD has already
/// decided to leave.
[[nodiscard]] Done make_lasting_files(const BoxPaths& paths, const Accounts& accounts,
                                      BoxRecord& record);

/// The pin, as RECORD has it.
[[nodiscard]] Status write_known_hosts(const BoxPaths& paths, const Accounts& accounts,
                                       const BoxRecord& record);

/// What is written anew at every start: known_hosts, the door's configuration, the keys, the box
/// side's passwd and group, the programs.
[[nodiscard]] Done write_start_files(const BoxPaths& paths, const LocalMeans& means,
                                     const BoxRecord& record);

}  // namespace agentbox::provision

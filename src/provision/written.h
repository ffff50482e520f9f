// edge: what was written for a local box's door and its clients, and where it is another thing now.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "provision/account.h"
#include "provision/box.h"
#include "provision/state.h"

namespace agentbox::provision {

/// A file that is not what was written.
struct Altered {
  std::string path;
  std::string how;  ///< as it is: to be escaped
};

/// Where FOUND first differs from WANTED, in words; empty: nowhere. Lines that begin with IGNORED
/// count for nothing.
[[nodiscard]] std::string first_difference(std::string_view wanted, std::string_view found,
                                           std::string_view ignored = {});

/// The first line of WANTED that FOUND has nowhere, in words; empty: it has all of them.
[[nodiscard]] std::string first_missing(std::string_view wanted, std::string_view found);

/// Of what says who may not enter, and whose certificates are taken; the keys themselves are
/// compared one by one, for their options are the operator's, and so are further lines of revoked.
[[nodiscard]] std::vector<Altered> altered_key_files(const Store& store, const BoxName& name);
/// Of the door's configuration.
[[nodiscard]] std::optional<Altered> altered_config(const BoxPaths& paths, const BoxRecord& record,
                                                    const Accounts& accounts);
/// Of the clients' pin.
[[nodiscard]] std::optional<Altered> altered_pin(const BoxPaths& paths, const BoxRecord& record);

}  // namespace agentbox::provision

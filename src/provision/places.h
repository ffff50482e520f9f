// edge: the files and folders of a local box that must be closed to others, and how they are.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "provision/account.h"
#include "provision/box.h"
#include "provision/state.h"

namespace agentbox::provision {

/// One place, and how it has to be.
struct WantedPlace {
  std::string path;
  std::string holds;  ///< in words
  uid_t owner = 0;
  mode_t closed = 0;  ///< bits that it must not have
  mode_t mode = 0;    ///< as it was made
  bool program = false;
  /// Who else has to reach it, and how (R_OK, X_OK).
  std::optional<SpawnPlan::Identity> user = {};
  int use = 0;
};

/// What must be closed on this machine for RECORD's box.
[[nodiscard]] std::vector<WantedPlace> wanted_places(const Store& store, const BoxRecord& record,
                                                     const Accounts& accounts);

/// Why who has to use WANTED cannot; empty: they can.
[[nodiscard]] std::string unusable(const WantedPlace& wanted, const Accounts& accounts);

}  // namespace agentbox::provision

// edge: what must hold before a local box is made or started; nothing is changed by asking.
#pragma once

#include "provision/account.h"
#include "provision/answer.h"
#include "provision/box.h"
#include "provision/programs.h"
#include "provision/state.h"

namespace agentbox::provision {

/// What a start needs besides the record.
struct LocalMeans {
  Accounts accounts;
  Programs programs;
};

/// Programs, users, isolation, and that the workspace and the state folder can be reached by those
/// who must and hide from the box what they must.
[[nodiscard]] Answer<LocalMeans> check_local(const Store& store, const BoxName& name,
                                             const BoxSpec& spec, const std::string& programs);

}  // namespace agentbox::provision

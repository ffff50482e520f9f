// pure: the rights that each command needs in a namespace, and no more.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace agentbox::provision::kube {

/// {group, plural}: verbs.
using Rights = std::map<std::pair<std::string, std::string>, std::set<std::string>>;

/// The commands that have rights to speak of.
[[nodiscard]] std::vector<std::string_view> commands_with_rights();
/// What COMMANDS together need; an unknown one is an error. Access reviews and discovery, which
/// preflight needs, are everybody's.
[[nodiscard]] Result<Rights> rights_of(const std::vector<std::string>& commands);
/// RIGHTS as a Role for the namespace NS.
[[nodiscard]] OrderedJson role(const Rights& rights, const std::string& ns);

}  // namespace agentbox::provision::kube

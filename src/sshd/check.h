// pure: the effective policy of a configuration, as a reviewer reads it.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "sshd/config.h"

namespace agentbox::sshd {

/// One line of the report: what is asked or bounded, and what it gets.
struct PolicyLine {
  std::string section;  ///< login, request, session, algorithms, limit, trust, weakening
  std::string what;
  std::string gets;
};

/// The whole policy, asked of the same functions that decide on the wire.
[[nodiscard]] std::vector<PolicyLine> describe_policy(const Config& config, bool sanitizer_build);

[[nodiscard]] std::string render_policy_text(const std::vector<PolicyLine>& lines);
[[nodiscard]] OrderedJson render_policy_json(const std::vector<PolicyLine>& lines);

}  // namespace agentbox::sshd

// pure: the effective policy of a configuration, as a reviewer reads it.
#pragma once

#include <string>
#include <string_view>
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

/// What the policy depends on beside the configuration.
struct BuildFacts {
  bool sanitizer = false;
  std::string library;  ///< the SSH library's version as it runs, `0.10.6/openssl`
};

/// The whole policy, asked of the same functions that decide on the wire.
[[nodiscard]] std::vector<PolicyLine> describe_policy(const Config& config,
                                                      const BuildFacts& facts);

/// Whether VERSION (`0.10.6`, what follows a third number is left out) is older than the oldest
/// that the door is tested with. What a distribution has mended since does not show in it.
[[nodiscard]] bool library_is_too_old(std::string_view version);

[[nodiscard]] std::string render_policy_text(const std::vector<PolicyLine>& lines);
[[nodiscard]] OrderedJson render_policy_json(const std::vector<PolicyLine>& lines);

}  // namespace agentbox::sshd

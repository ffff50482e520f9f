// pure: the effective policy of a configuration, as a reviewer reads it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "sshd/config.h"
#include "sshd/library.h"
#include "sshd/policy.h"

namespace agentbox::sshd {

/// One line of the report: what is asked or bounded, and what it gets.
struct PolicyLine {
  std::string section;  ///< login, request, session, algorithms, limit, trust, key, weakening
  std::string what;
  std::string gets;
};

/// What the policy depends on beside the configuration.
struct BuildFacts {
  bool sanitizer = false;
  std::string library;       ///< the SSH library's version as it runs, `0.10.6`
  std::string package = {};  ///< of the distribution, that the library came in; empty: none known
  std::string post_quantum = {};  ///< key exchanges of that kind that it has, or empty
};

/// The keys as the door would read them now.
struct SeenKeys {
  KeySet keys;
  std::vector<KeyProblem> problems;
  std::string error;                 ///< why nobody could enter; empty: nothing is wrong
  std::string certificates_refused;  ///< why no certificate counts though there is a user_ca
  std::string host_fingerprint;      ///< empty where the host key cannot be used
  std::string host_key;              ///< `TYPE BASE64`
  std::string host_key_error;        ///< why not
};

/// The whole policy, asked of the same functions that decide on the wire.
[[nodiscard]] std::vector<PolicyLine> describe_policy(const Config& config,
                                                      const BuildFacts& facts);

/// Whose certificates are taken, or why none is: of section login, like their neighbours there.
[[nodiscard]] std::vector<PolicyLine> describe_certificates(const Config& config,
                                                            const SeenKeys& seen);

/// One line for each key, and for each line of the file that is none.
[[nodiscard]] std::vector<PolicyLine> describe_keys(const SeenKeys& seen);

[[nodiscard]] std::string render_policy_text(const std::vector<PolicyLine>& lines);
/// `{"policy":[{"section","what","gets"}]}`
[[nodiscard]] OrderedJson render_policy_json(const std::vector<PolicyLine>& lines);
/// The same facts as values: `listen`, `limits`, `library`, `keys` and what else a program judges.
[[nodiscard]] OrderedJson effective_json(const Config& config, const BuildFacts& facts,
                                         const SeenKeys& seen);

}  // namespace agentbox::sshd

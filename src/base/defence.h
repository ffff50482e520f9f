// pure: the defences that a build for tests can leave out, one at a time.
//
// Whoever claims a defence shows a test that fails without it: docs/security.md has the table, and
// scripts/defences builds with each left out in turn and runs its test. In every other build
// nothing is left out, and defended() is the constant true.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

// The build defines it (cmake/without.cmake) for the sources that ask for that defence, so that the
// others need not be compiled again: what depends on it here is each source's own.
#ifndef AGENTBOX_WITHOUT
#define AGENTBOX_WITHOUT ""
#endif

namespace agentbox {

/// The defence that this build leaves out; empty in every build that is used.
constexpr std::string_view kLeftOut = AGENTBOX_WITHOUT;

inline constexpr auto kDefences = std::to_array<std::string_view>({
    // agentbox-sshd
    "call-filter",
    "not-dumpable",
    "closed-descriptors",
    "request-list",
    "request-bound",
    "session-check",
    "key-removal",
    "key-revoked",
    "key-trust",
    "key-generation",
    "ca-signature",
    "certificate-box",
    "login-points",
    "login-grace",
    "packet-cap",
    "places",
    "own-share",
    "watchdog",
    "gssapi",
    "window",
    "audit-rate",
    "one-caller",
    // agent-box
    "audit-first",
    "path-confinement",
    "built-environment",
    "tree-kill",
    "roles",
    "visible-text",
    "json-limits",
    // agentbox-provision
    "wall",
    "host-key-pin",
    "audit-chain",
    "tls",
    "kubeconfig-trust",
    "exec-plugins",
    "pod-readback",
    "first-start",
});

static_assert(kLeftOut.empty() ||
                  std::find(kDefences.begin(), kDefences.end(), kLeftOut) != kDefences.end(),
              "AGENTBOX_WITHOUT must name one of the defences above");

/// False only in a build that leaves NAME out. A name that is not in the list does not compile.
static consteval bool defended(std::string_view name) {
  if (std::find(kDefences.begin(), kDefences.end(), name) == kDefences.end()) {
    throw "no such defence";
  }
  return name != kLeftOut;
}

}  // namespace agentbox

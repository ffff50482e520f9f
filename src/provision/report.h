// pure: results as text for people and as JSON for programs. Secrets cannot be said in it: nothing
// here holds a private key.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/audit_chain.h"
#include "base/json.h"
#include "provision/answer.h"
#include "provision/box.h"
#include "provision/checks.h"
#include "provision/command.h"
#include "provision/handoff.h"

namespace agentbox::provision {

/// What a command gives back: both forms of its result, and the exit code.
struct Report {  // NOLINT(bugprone-exception-escape): the library's JSON value moves with
                 // assertions
  OrderedJson json;
  std::string text;
  Exit exit = Exit::kOk;
  bool printed = false;  ///< standard output has been used for something else
};

enum class State : std::uint8_t { kRunning, kSuspended, kStopped, kPending, kFailed };
[[nodiscard]] std::string_view text_of(State state);

/// A box as its operator sees it.
struct BoxView {
  BoxRecord record;
  SshFacts ssh;
  State state = State::kStopped;
  std::string reason;                         ///< why it is not running, where that is known
  std::string workspace;                      ///< where the agent's files lie
  std::string backend = "local";              ///< or kubernetes
  std::string ns = {};                        ///< the box's namespace in a cluster
  std::string egress = {};                    ///< what a box in a cluster may reach
  std::string pool = {};                      ///< that a box in a cluster was claimed from
  std::string sandbox = {};                   ///< the Sandbox's own name, in a cluster
  std::vector<std::string> checked = {};      ///< what was proven over SSH just now
  std::vector<std::string> not_checked = {};  ///< what could not be, and why
  std::optional<AuditHead> audit_head = {};   ///< as the door has kept it
  std::string no_audit_head = {};             ///< why it cannot be told
};

/// The lines for a jump host's authorized_keys, one a key of the box; empty where there is no jump
/// host, or nothing to open yet.
[[nodiscard]] std::vector<std::string> jump_key_lines(const BoxView& view);

/// `{"name","backend","state","keys","generation","ssh":{...},"mcpServers":{...}}` and more.
[[nodiscard]] OrderedJson box_json(const BoxView& view);
[[nodiscard]] std::string box_text(const BoxView& view);
[[nodiscard]] Report box_report(const BoxView& view);
/// What status says: the box, and where its audit stands, which changes all the time.
[[nodiscard]] Report status_report(const BoxView& view);
/// What create, resume and suspend say: the box, in text also what became of it.
[[nodiscard]] Report done_report(const BoxView& view, std::string_view did);
[[nodiscard]] Report list_report(const std::vector<BoxView>& views);

/// What rotate and revoke did.
struct KeysDone {
  BoxView view;
  bool changed = false;
  std::vector<NamedKey> added;
  std::vector<NamedKey> gone;
  std::optional<std::size_t> sessions_ended = 0;  ///< nothing: nobody counted them
  bool proven = false;  ///< false: the box does not run; its next start proves it
  bool evicted = false;
  std::vector<std::string> proofs;
  std::vector<std::string> gone_prints = {};  ///< of keys of which no more is known
};
[[nodiscard]] Report rotated_report(const KeysDone& done);
[[nodiscard]] Report revoked_report(const KeysDone& done);
[[nodiscard]] Report revoked_serial_report(const KeysDone& done, std::uint64_t serial);
[[nodiscard]] Report trusted_report(const KeysDone& done);

/// What the loud line about --no-isolation says, everywhere.
[[nodiscard]] std::string_view isolation_warning();

/// The outcome of checks on box NAME. PROVEN and NOT_PROVEN are the last line's verdicts.
[[nodiscard]] Report checks_report(const std::string& name, const std::vector<CheckDone>& checks,
                                   std::string_view proven, std::string_view not_proven);

/// NEXT, an advice, with NAME's text where it says NAME.
[[nodiscard]] std::string advice_for(const std::string& name, std::string_view next);

/// The text that goes to standard output, with its newline.
[[nodiscard]] std::string rendered(const Report& report, Output output);
/// `{"error":{"code","message","next"}}` or two lines.
[[nodiscard]] std::string rendered(const Failure& failure, Output output);

}  // namespace agentbox::provision

// pure: every weakness that an audit knows, with why it matters and what to do: one table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace agentbox::provision::audit {

/// --fail-on names the lowest that fails.
enum class Severity : std::uint8_t { kWarning, kError };
[[nodiscard]] std::string_view name_of(Severity severity);

enum class RuleId : std::uint8_t {
  kPolicyUnreadable,
  kKeysTrustAny,
  kPassSecret,
  kPassVariable,
  kListensWide,
  kLooseLimit,
  kGrantsRequest,
  kWeakAlgorithm,
  kSanitizerBuild,
  kLibraryFloor,
  kLibraryHole,
  kStaleAcknowledgement,
  kNamedWeakening,
  kAlteredConfig,
  kBadKeyLine,
  kKeysRefused,
  kSharedKey,
  kShortKey,
  kExpiredKey,
  kOldKey,
  kUnknownKey,
  kHostKey,
  kSharedHostKey,
  kAlteredKeys,
  kOpenPlace,
  kForeignPlace,
  kMissingPlace,
  kOpenProgram,
  kOtherProgram,
  kUnusablePlace,
  kAlteredPin,
  kNoIsolation,
  kNoReading,
  kRights,
  kUnlocked,
  kForeignDescriptor,
  kInspectable,
  kSharedUser,
  kSharedNamespace,
  kReadingDiffers,
  kTrialGranted,
  kTrialFailed,
  kWallOpen,
  kAuditLog,
  kTokenInPod,
  kNoPolicy,
  kOredPeers,
  kWeakPipe,
  kLooseImage,
  kAlteredPod,
  kUnseen,
};

/// What is told of one kind of weakness.
struct Rule {
  RuleId id;
  std::string_view code;  ///< `AB001`: never given to another rule
  Severity severity;
  std::string_view title;
  std::string_view why;
  std::string_view fix;
  std::string_view reference;  ///< CWE-N (cwe.mitre.org)
};

/// In the order of RuleId.
[[nodiscard]] std::span<const Rule> all_rules();
[[nodiscard]] const Rule& rule_of(RuleId id);

/// One weakness that was found.
struct Finding {
  RuleId rule;
  std::string subject;    ///< what is weak: a path, a key, a process, an option
  std::string detail;     ///< how it is and how it should be
  std::string path = {};  ///< of the file, where the subject is one
};

}  // namespace agentbox::provision::audit

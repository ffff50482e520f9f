// pure: every check there is on a box, in one table; verify and doctor are selections of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agentbox::provision {

enum class CheckId : std::uint8_t {
  // The loop that proves a box.
  kCreate,
  kKeys,
  kSession1Opens,
  kListEmpty,
  kListAnswers,
  kWriteBlob,
  kSession1Ends,
  kSuspend,
  kResume,
  kSession2Opens,
  kReadBlob,
  kPull,
  kBlobRemoved,
  kSession2Ends,
  kDelete,
  // What code in a box must not reach.
  kApiHidden,
  kMetadataHidden,
  kKubeletHidden,
  kOtherBoxHidden,
  // What can be wrong with one that is there.
  kPrograms,
  kUsers,
  kIsolation,
  kStateModes,
  kWritten,
  kDisk,
  kSupervisor,
  kDoor,
  kPin,
  kGone,
  kLogin,
  kClock,
  kWall,
  kAudit,
  // The same of one in a cluster: each hop from here to it by itself.
  kClusterApi,
  kClusterRights,
  kClusterServes,
  kController,
  kPolicy,
  kImages,
  kPod,
  kPodAsAsked,
  kPodKeys,
  kHostKeyPin,
  kClusterDoor,
  kClusterGateway,
};

/// Who runs a check, as bits: doctor of a box on this machine and of one in a cluster are two.
enum class Suite : std::uint8_t {
  kVerify = 1,
  kDoctor = 2,
  kClusterDoctor = 4,
  kDoctors = kDoctor | kClusterDoctor,
  kInCluster = kVerify | kClusterDoctor,
  kAll = kVerify | kDoctors,
};

struct CheckFacts {
  CheckId id;
  Suite suite;
  std::string_view title;
  std::string_view next;  ///< what to do where it fails
};

/// In the order of CheckId.
[[nodiscard]] std::span<const CheckFacts> all_checks();
[[nodiscard]] const CheckFacts& facts_of(CheckId id);
/// The checks of SUITE, in their order.
[[nodiscard]] std::vector<CheckId> checks_of(Suite suite);

enum class CheckOutcome : std::uint8_t { kPassed, kFailed, kSkipped };
/// What a line of text begins with.
[[nodiscard]] std::string_view mark_of(CheckOutcome outcome);

/// One check that was run, or could not be.
struct CheckDone {
  CheckId id;
  CheckOutcome outcome = CheckOutcome::kFailed;
  std::string detail;
};

}  // namespace agentbox::provision

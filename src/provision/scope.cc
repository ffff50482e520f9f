// edge: see scope.h.
#include "provision/scope.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/handle.h"

namespace agentbox::provision {
namespace {

// struct landlock_ruleset_attr and its values as Linux 6.12 has them; Debian 12's header is older.
struct RulesetAttributes {
  std::uint64_t handled_access_fs = 0;
  std::uint64_t handled_access_net = 0;
  std::uint64_t scoped = 0;
};
constexpr std::uint64_t kScopeAbstractUnixSocket = 1U << 0U;
constexpr unsigned kAskVersion = 1U << 0U;
constexpr long kFirstVersionWithScopes = 6;

}  // namespace

bool leave_abstract_sockets() {
  if (::syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion) < kFirstVersionWithScopes) {
    return false;
  }
  // No file is ruled over: a process with rules for files may not mount, and bubblewrap must.
  const RulesetAttributes attributes{.scoped = kScopeAbstractUnixSocket};
  const UniqueFd ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  return ruleset && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0;
}

}  // namespace agentbox::provision

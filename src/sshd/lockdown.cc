// edge: see lockdown.h.
#include "sshd/lockdown.h"

#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <initializer_list>

#include "base/defence.h"
#include "base/handle.h"

namespace agentbox::sshd {
namespace {

using Filter = CHandle<void, seccomp_release>;

constexpr std::array kAllowed = {
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(recvfrom),
    SCMP_SYS(sendto),
    SCMP_SYS(recvmsg),
    SCMP_SYS(sendmsg),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(close),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(brk),
    SCMP_SYS(futex),
    SCMP_SYS(getrandom),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(madvise),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(shutdown),
    SCMP_SYS(setsockopt),
    SCMP_SYS(getsockopt),
    SCMP_SYS(setitimer),
    SCMP_SYS(restart_syscall),  // without it SIGSTOP and SIGCONT kill an honest session
#ifdef AGENTBOX_SANITIZED
    SCMP_SYS(sigaltstack),  // the sanitizer's, before each call that does not return
#endif
};

Status check(int rc, const char* what) {
  return rc == 0 ? Status{} : Status{errno_error(what, -rc)};
}

Status allow(scmp_filter_ctx filter, int call, std::initializer_list<scmp_arg_cmp> conditions) {
  return check(seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call,
                                      static_cast<unsigned>(conditions.size()), conditions.begin()),
               "system call filter");
}

// The library's own macros for this are C.
scmp_arg_cmp equals(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_EQ, value, 0};
}
scmp_arg_cmp lacks(unsigned argument, std::uint64_t bits) {
  return {argument, SCMP_CMP_MASKED_EQ, bits, 0};
}

Status add_rules(scmp_filter_ctx filter) {
  for (const int call : kAllowed) {
    AB_CHECK(allow(filter, call, {}));
  }
  // Memory may grow, but never be executable.
  AB_CHECK(allow(filter, SCMP_SYS(mmap), {lacks(2, PROT_EXEC)}));
  AB_CHECK(allow(filter, SCMP_SYS(mprotect), {lacks(2, PROT_EXEC)}));
  // Setting the owner of a descriptor, or O_ASYNC, would let it have signals sent to its siblings.
  for (const auto command : {F_GETFL, F_GETFD, F_SETFD}) {
    AB_CHECK(allow(filter, SCMP_SYS(fcntl), {equals(1, static_cast<std::uint64_t>(command))}));
  }
  AB_CHECK(allow(filter, SCMP_SYS(fcntl), {equals(1, F_SETFL), lacks(2, O_ASYNC)}));
  // abort() signals itself.
  AB_CHECK(allow(filter, SCMP_SYS(tgkill), {equals(0, static_cast<std::uint64_t>(::getpid()))}));
  for (const int call : {SCMP_SYS(openat), SCMP_SYS(open), SCMP_SYS(ioctl), SCMP_SYS(socket),
                         SCMP_SYS(newfstatat)}) {
    const int rc = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), call, 0, nullptr);
    // Where the default already is this errno the rule is redundant, and refused as such.
    AB_CHECK(check(rc == -EACCES ? 0 : rc, "system call filter"));
  }
  return {};
}

Status set_limit(__rlimit_resource_t resource, rlim_t most) {
  const rlimit limit{most, most};
  return ::setrlimit(resource, &limit) == 0 ? Status{} : Status{errno_error("resource limit")};
}

}  // namespace

Status forbid_inspection() {
  AB_CHECK(set_limit(RLIMIT_CORE, 0));
  if (defended("not-dumpable") && ::prctl(PR_SET_DUMPABLE, 0) != 0) {
    return errno_error("not dumpable");
  }
  return {};
}

Status allow_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return errno_error("resource limit");
  }
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? Status{} : Status{errno_error("resource limit")};
}

Status lock_network_child() {
#ifdef AGENTBOX_SANITIZED
  const std::uint32_t refusal = SCMP_ACT_ERRNO(EPERM);
#else
  const std::uint32_t refusal = SCMP_ACT_KILL_PROCESS;
  AB_CHECK(set_limit(RLIMIT_AS, kMaxChildMemoryBytes));
#endif
  AB_CHECK(set_limit(RLIMIT_NPROC, 0));
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return errno_error("no new privileges");
  }
  const Filter filter(seccomp_init(refusal));
  if (!filter) {
    return Error{Code::kSystem, "system call filter: out of memory"};
  }
  AB_CHECK(add_rules(filter.get()));
  return defended("call-filter") ? check(seccomp_load(filter.get()), "system call filter")
                                 : Status{};
}

void arm_watchdog(std::chrono::seconds limit) {
  const itimerval timer{{0, 0}, {defended("watchdog") ? limit.count() : 0, 0}};
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

LibraryVersion call_filter_library() {
  const auto dotted = [](unsigned major, unsigned minor, unsigned micro) {
    return std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(micro);
  };
  const scmp_version* running = ::seccomp_version();
  return {"libseccomp", dotted(SCMP_VER_MAJOR, SCMP_VER_MINOR, SCMP_VER_MICRO),
          running == nullptr ? "unknown" : dotted(running->major, running->minor, running->micro)};
}

}  // namespace agentbox::sshd

// edge: see host.h.
#include "provision/host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <string_view>

#include "base/handle.h"
#include "base/process.h"
#include "base/text.h"
#include "provision/door_config.h"

namespace agentbox::provision {
namespace {

constexpr std::chrono::seconds kTrialTime{10};  // a trial takes milliseconds

bool everybody_may_read(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return false;
  }
  const mode_t needed = S_ISDIR(info.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
  return (info.st_mode & needed) == needed;
}

// /bin and its like: links into /usr on most systems, folders of their own on some.
std::vector<RootEntry> root_entries() {
  std::vector<RootEntry> entries;
  for (const char* path : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    struct stat info {};
    if (::lstat(path, &info) != 0) {
      continue;
    }
    std::array<char, 256> target{};
    const ssize_t size =
        S_ISLNK(info.st_mode) ? ::readlink(path, target.data(), target.size() - 1) : 0;
    entries.push_back(RootEntry{
        path, std::string(target.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)))});
  }
  return entries;
}

std::string first_line_of(const std::string& path) {
  auto text = read_file_capped(path, 4096);
  return text.ok() ? text->substr(0, text->find('\n')) : std::string();
}

// Which of the known switches stands in the way here.
std::string isolation_advice() {
  std::string advice;
  if (first_line_of("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1") {
    advice =
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile that "
        "allows userns to bwrap; ";
  }
  if (first_line_of("/proc/sys/kernel/unprivileged_userns_clone") == "0") {
    advice += "sysctl -w kernel.unprivileged_userns_clone=1; ";
  }
  if (first_line_of("/proc/sys/user/max_user_namespaces") == "0") {
    advice += "sysctl -w user.max_user_namespaces=15000; ";
  }
  if (advice.empty()) {
    advice =
        "inside a container: run it with --security-opt seccomp=unconfined --security-opt "
        "systempaths=unconfined (or as a privileged one); ";
  }
  return advice + "or, where the agent may do all that its user can, --no-isolation";
}

// Ends the trial when its time is over; its exit status.
Result<ExitStatus> finish_trial(const Child& child, int output, std::string& words) {
  const auto deadline = std::chrono::steady_clock::now() + kTrialTime;
  std::array<char, 1024> chunk{};
  for (;;) {
    const bool ready = wait_readable(output, deadline);
    const ssize_t got = ready ? ::read(output, chunk.data(), chunk.size()) : 0;
    if (!ready) {
      ::syscall(SYS_pidfd_send_signal, child.pidfd.get(), SIGKILL, nullptr, 0);
      words = "the trial did not end";
    }
    if (got <= 0) {
      return wait_for(child);
    }
    words.append(chunk.data(), static_cast<std::size_t>(got));
    words.resize(std::min<std::size_t>(words.size(), 400));
  }
}

}  // namespace

bool port_is_free(std::uint16_t port) {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, kLocalAddress, &address.sin_addr);
  // SO_REUSEADDR as the door sets it: connections that are closing do not count.
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return fd &&
         ::bind(
             fd.get(),
             reinterpret_cast<const sockaddr*>(
                 &address),  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast): the socket API
             sizeof address) == 0;
}

Answer<std::uint16_t> choose_port(const std::vector<std::uint16_t>& taken) {
  std::random_device random;
  constexpr unsigned kSpan = kLastPort - kFirstPort + 1U;
  const unsigned start = random() % kSpan;
  for (unsigned i = 0; i < kSpan; ++i) {
    const auto port = static_cast<std::uint16_t>(kFirstPort + (start + i) % kSpan);
    if (std::find(taken.begin(), taken.end(), port) == taken.end() && port_is_free(port)) {
      return port;
    }
  }
  return Failure{
      Exit::kFailed,
      "no free port between " + std::to_string(kFirstPort) + " and " + std::to_string(kLastPort),
      "delete boxes that are not needed"};
}

Answer<HostFacts> find_host_facts() {
  HostFacts facts;
  for (const char* path : {"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"}) {
    if (facts.bubblewrap.empty() && ::access(path, X_OK) == 0) {
      facts.bubblewrap = path;
    }
  }
  if (facts.bubblewrap.empty()) {
    return Failure{Exit::kRefused, "bubblewrap is not installed, so the box would have no wall",
                   "apt-get install bubblewrap; or, where the agent may do all that its user can, "
                   "--no-isolation"};
  }
  facts.root_entries = root_entries();
  for (const std::string_view name : etc_allow_list()) {
    const std::string path = "/etc/" + std::string(name);
    if (everybody_may_read(path)) {
      facts.etc.push_back(path);
    }
  }
  return facts;
}

Done try_isolation(const HostFacts& host, const Accounts& accounts) {
  AB_TRY(output, make_pipe());
  SpawnPlan plan;
  plan.exe = host.bubblewrap;
  plan.argv = isolation_trial(host);
  plan.descriptors = {{2, output.second.get()}};
  plan.identity = accounts.to_become(accounts.box);
  AB_TRY(child, spawn(plan));
  output.second.reset();
  std::string words;
  AB_TRY(end, finish_trial(child, output.first.get(), words));
  if (end.exited && end.value == 0) {
    return {};
  }
  return Failure{Exit::kRefused,
                 "bubblewrap cannot make the box's wall here: " + escape_text(words, 400),
                 isolation_advice()};
}

}  // namespace agentbox::provision

// edge: see machine.h.
#include "agentbox/machine.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/handle.h"

namespace agentbox::mcp {
namespace {

// The kernel's and the distribution's small text files.
constexpr std::size_t kMaxTextFileBytes = 64 * 1024;

constexpr std::array<std::string_view, 24> kPrograms = {
    "bash", "git",   "python3", "node", "npm",  "gcc",   "g++",     "clang",
    "make", "cmake", "cargo",   "go",   "java", "ruby",  "perl",    "php",
    "curl", "wget",  "jq",      "rg",   "tar",  "unzip", "sqlite3", "docker"};

std::string text_of(const std::string& path) {
  auto text = read_file_capped(path, kMaxTextFileBytes);
  return text.ok() ? std::move(*text) : std::string();
}

// The number after NAME and white space in TEXT, such as "MemTotal:".
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view name) {
  std::size_t at = text.find(name);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  at = text.find_first_not_of(" \t", at + name.size());
  std::uint64_t number = 0;
  if (at == std::string_view::npos ||
      std::from_chars(text.data() + at, text.data() + text.size(), number).ec != std::errc()) {
    return std::nullopt;
  }
  return number;
}

std::string os_name(std::string_view fallback) {
  for (const char* path : {"/etc/os-release", "/usr/lib/os-release"}) {
    const std::string text = text_of(path);
    const std::string_view key = "PRETTY_NAME=\"";
    const std::size_t at = text.find(key);
    if (at != std::string::npos) {
      const std::size_t start = at + key.size();
      return text.substr(start, text.find('"', start) - start);
    }
  }
  return std::string(fallback);
}

double usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  double cpus = ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  const std::string quota = text_of("/sys/fs/cgroup/cpu.max");  // "150000 100000" or "max 100000"
  const std::size_t space = quota.find(' ');
  if (space != std::string::npos && !quota.starts_with("max")) {
    const double share = std::strtod(quota.c_str(), nullptr);
    const double period = std::strtod(quota.c_str() + space, nullptr);
    if (share > 0 && period > 0) {
      cpus = std::min(cpus, share / period);
    }
  }
  return cpus;
}

}  // namespace

Machine describe_machine() {
  Machine machine;
  utsname names{};
  if (::uname(&names) == 0) {
    machine.hostname = names.nodename;
    machine.kernel = std::string(names.sysname) + " " + names.release;
    machine.arch = names.machine;
  }
  machine.os = os_name(names.sysname);
  machine.cpus = usable_cpus();
  struct sysinfo info {};
  if (::sysinfo(&info) == 0) {
    machine.uptime_seconds = static_cast<std::uint64_t>(info.uptime);
  }
  machine.uid = ::geteuid();
  return machine;
}

Usage measure_usage(int folder) {
  Usage usage;
  const std::string memory = text_of("/proc/meminfo");
  const std::uint64_t total = number_after(memory, "MemTotal:").value_or(0) * 1024;
  const std::uint64_t available = number_after(memory, "MemAvailable:").value_or(0) * 1024;
  usage.memory_total_bytes = total;
  usage.memory_used_bytes = total - std::min(total, available);
  const auto limit = number_after(text_of("/sys/fs/cgroup/memory.max"), "");
  if (limit && *limit < total) {
    usage.memory_total_bytes = *limit;
    usage.memory_used_bytes =
        number_after(text_of("/sys/fs/cgroup/memory.current"), "").value_or(0);
  }
  struct statvfs disk {};
  if (::fstatvfs(folder, &disk) == 0) {
    usage.disk_total_bytes = disk.f_blocks * disk.f_frsize;
    usage.disk_free_bytes = disk.f_bavail * disk.f_frsize;
  }
  double load = 0;
  usage.load1 = ::getloadavg(&load, 1) == 1 ? load : 0;
  return usage;
}

Confinement describe_confinement() {
  Confinement confinement;
  const UniqueFd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  confinement.pidfd = self.valid();
  const std::string status = text_of("/proc/self/status");
  confinement.seccomp = number_after(status, "Seccomp:").value_or(0) != 0;
  confinement.no_new_privileges = number_after(status, "NoNewPrivs:").value_or(0) != 0;
  int subreaper = 0;
  confinement.subreaper =
      ::prctl(PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0) == 0 && subreaper != 0;
  return confinement;
}

std::vector<std::string> find_programs(const std::string& path) {
  std::vector<std::string> found;
  for (const std::string_view program : kPrograms) {
    for (std::size_t at = 0; at <= path.size();) {
      const std::size_t end = std::min(path.find(':', at), path.size());
      const std::string place = path.substr(at, end - at) + "/" + std::string(program);
      if (::access(place.c_str(), X_OK) == 0) {
        found.emplace_back(program);
        break;
      }
      at = end + 1;
    }
  }
  return found;
}

}  // namespace agentbox::mcp

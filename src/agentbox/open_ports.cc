// edge: see open_ports.h.
#include "agentbox/open_ports.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <string>
#include <tuple>

#include "agentbox/folder_names.h"
#include "agentbox/limits.h"
#include "agentbox/os_error.h"
#include "base/handle.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

// A table of as many lines as a process may have sockets, a hundred times over.
constexpr std::size_t kMaxTableBytes = 16 * kMiB;
// Descriptors looked at in search of owners: each is a system call.
constexpr std::size_t kMaxLinks = 200'000;

struct Table {
  const char* path;
  std::string_view protocol;
  Transport transport;
};
constexpr std::array kTables{
    Table{"/proc/self/net/tcp", "tcp", Transport::kTcp},
    Table{"/proc/self/net/tcp6", "tcp", Transport::kTcp},
    Table{"/proc/self/net/udp", "udp", Transport::kUdp},
    Table{"/proc/self/net/udp6", "udp", Transport::kUdp},
};

// Files of /proc tell no size. 0 or an errno.
int read_table(const char* path, std::string& text) {
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return errno;
  }
  std::array<char, 64 * kKiB> piece;
  while (text.size() < kMaxTableBytes) {
    const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return got < 0 ? errno : 0;
    }
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return 0;
}

Outcome<OpenPorts> read_tables(bool tcp, bool udp) {
  OpenPorts found;
  int number = 0;
  std::size_t read = 0;
  for (const Table& table : kTables) {
    if (!(table.transport == Transport::kTcp ? tcp : udp)) {
      continue;
    }
    std::string text;
    if (const int fault = read_table(table.path, text); fault != 0) {
      number = fault;  // of a kernel without IPv6, say
      continue;
    }
    ++read;
    for (OpenPort& port : parse_socket_table(text, table.transport, kMaxOpenPorts + 1)) {
      found.ports.push_back({.protocol = table.protocol, .port = std::move(port)});
    }
    found.incomplete = found.incomplete || text.size() >= kMaxTableBytes;
  }
  if (read == 0) {
    return os_error("read", "/proc/net", number);
  }
  std::sort(found.ports.begin(), found.ports.end(), [](const OwnedPort& a, const OwnedPort& b) {
    return std::tie(a.port.port, a.protocol, a.port.address, a.port.inode) <
           std::tie(b.port.port, b.protocol, b.port.address, b.port.inode);
  });
  if (found.ports.size() > kMaxOpenPorts) {
    found.ports.resize(kMaxOpenPorts);
    found.incomplete = true;
  }
  return found;
}

using Owners = std::map<std::uint64_t, pid_t>;  // by inode; 0 while there is none

// Goes through the descriptors of every process that we may look into.
class OwnerSearch {
 public:
  OwnerSearch(Owners& owners, const std::function<bool()>& cancelled)
      : owners_(owners), cancelled_(cancelled) {}

  // False where not all could be looked at.
  bool run() {
    FolderNames processes(UniqueFd(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    while (const dirent* const one = processes.ok() ? processes.next() : nullptr) {
      const auto pid = parse_decimal(one->d_name);
      if (pid.ok() && !search(processes.folder(), static_cast<pid_t>(*pid))) {
        return false;
      }
    }
    return true;
  }

 private:
  bool search(int proc, pid_t pid) {
    const std::string name = std::to_string(pid) + "/fd";
    FolderNames descriptors(
        UniqueFd(::openat(proc, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    // Else they are not ours to see, or the process is gone.
    while (const dirent* const one = descriptors.ok() ? descriptors.next() : nullptr) {
      if (++links_ > kMaxLinks || cancelled_()) {
        return false;
      }
      std::array<char, 64> target;
      const ssize_t size =
          ::readlinkat(descriptors.folder(), one->d_name, target.data(), target.size());
      const auto inode =
          parse_socket_link({target.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))});
      const auto owner = inode ? owners_.find(*inode) : owners_.end();
      if (owner != owners_.end() && (owner->second == 0 || owner->second > pid)) {
        owner->second = pid;
      }
    }
    return true;
  }

  Owners& owners_;
  const std::function<bool()>& cancelled_;
  std::size_t links_ = 0;
};

}  // namespace

Outcome<OpenPorts> find_open_ports(bool tcp, bool udp, const std::function<bool()>& cancelled) {
  AB_TRY(found, read_tables(tcp, udp));
  Owners owners;
  for (const OwnedPort& each : found.ports) {
    owners[each.port.inode] = 0;
  }
  if (!owners.empty() && !OwnerSearch(owners, cancelled).run()) {
    found.incomplete = true;
  }
  for (OwnedPort& each : found.ports) {
    each.pid = owners[each.port.inode];
  }
  return found;
}

}  // namespace agentbox::mcp

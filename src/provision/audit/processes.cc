// edge: see processes.h.
#include "provision/audit/processes.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>

#include "base/handle.h"
#include "base/text.h"

namespace agentbox::provision::audit {
namespace {

using Clock = std::chrono::steady_clock;

/// A network child locks itself up within milliseconds of its start.
constexpr std::chrono::seconds kLockTime{2};
constexpr int kLockPauseMs = 5;
constexpr std::size_t kMaxChildrenBytes = 1U << 20U;
/// bubblewrap, its child, the spawner: no box side has its spawner deeper.
constexpr int kDeepestSpawner = 5;

std::string folder_of(pid_t pid) { return "/proc/" + std::to_string(pid); }

std::optional<ProcessFact> read_process(pid_t pid, const char* role) {
  const auto text = read_file_capped(folder_of(pid) + "/status", kMaxStatusBytes);
  auto status = text.ok() ? parse_process_status(*text) : Result<ProcessStatus>(text.error());
  if (!status.ok() || status->ended) {
    return std::nullopt;
  }
  ProcessFact fact;
  static_cast<ProcessStatus&>(fact) = std::move(status).value();
  fact.role = role;
  struct stat info {};
  // What is not dumpable has its files owned by root: a process of root's cannot be told apart.
  if (fact.uid != 0 && ::stat((folder_of(pid) + "/environ").c_str(), &info) == 0) {
    fact.inspectable = info.st_uid == fact.uid;
  }
  return fact;
}

std::string name_of_process(pid_t pid) {
  const auto name = read_file_capped(folder_of(pid) + "/comm", 64);
  return name.ok() ? name->substr(0, name->find('\n')) : std::string();
}

std::vector<pid_t> children_of(pid_t pid) {
  const auto text = read_file_capped(folder_of(pid) + "/task/" + std::to_string(pid) + "/children",
                                     kMaxChildrenBytes);
  std::vector<pid_t> children;
  for (std::size_t at = 0; text.ok() && at < text->size();) {
    const std::size_t end = std::min(text->find(' ', at), text->size());
    if (const auto number = parse_decimal(std::string_view(*text).substr(at, end - at));
        number.ok()) {
      children.push_back(static_cast<pid_t>(*number));
    }
    at = end + 1;
  }
  return children;
}

// A network child once it is locked, as it is after kLockTime, or nothing where it ended.
std::optional<ProcessFact> read_network_child(pid_t pid) {
  const auto deadline = Clock::now() + kLockTime;
  for (;;) {
    auto fact = read_process(pid, "network");
    if (!fact || fact->filter != 0 || Clock::now() >= deadline) {
      return fact;
    }
    ::poll(nullptr, 0, kLockPauseMs);  // nothing tells when it has done so
  }
}

// The first process below the box side's outermost one that is agent-box.
pid_t find_spawner(pid_t box) {
  pid_t at = box;
  for (int depth = 0; depth < kDeepestSpawner && at > 0; ++depth) {
    if (name_of_process(at) == "agent-box") {
      return at;
    }
    const auto children = children_of(at);
    at = children.empty() ? 0 : children.front();
  }
  return 0;
}

std::string namespace_of(pid_t pid, const char* name) {
  std::array<char, 64> target{};
  const std::string path = folder_of(pid) + "/ns/" + name;
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : std::string();
}

void compare_namespaces(pid_t door, pid_t box, Seen& seen) {
  // Not net: a local box shares this machine's.
  for (const char* name : {"mnt", "pid", "ipc", "uts", "user"}) {
    const std::string outside = namespace_of(door, name);
    const std::string inside = namespace_of(box, name);
    if (outside.empty() || inside.empty()) {
      seen.missing = "Namespaces can be compared by root alone.";
      return;
    }
    seen.namespaces.push_back({name, outside == inside});
  }
}

void add(std::optional<ProcessFact> fact, Seen& seen) {
  if (fact) {
    seen.processes.push_back(std::move(*fact));
  }
}

}  // namespace

Seen look_at_processes(pid_t door, pid_t box) {
  Seen seen;
  if (door <= 0) {
    seen.missing = "The door does not run.";
    return seen;
  }
  add(read_process(door, "monitor"), seen);
  for (const pid_t listener : children_of(door)) {
    if (name_of_process(listener) == "agentbox-net") {
      add(read_network_child(listener), seen);  // its listener was replaced
      continue;
    }
    add(read_process(listener, "listener"), seen);
    for (const pid_t child : children_of(listener)) {
      add(read_network_child(child), seen);
    }
  }
  if (const pid_t spawner = find_spawner(box); spawner > 0) {
    add(read_process(spawner, "box"), seen);
    compare_namespaces(door, spawner, seen);
  } else {
    seen.missing = "The box side's processes cannot be seen.";
  }
  return seen;
}

}  // namespace agentbox::provision::audit

// edge: see reach.h.
#include "agentbox/reach.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/handle.h"
#include "base/result.h"
#include "base/text.h"

namespace agentbox::mcp {
namespace {

// EX_OK and EX_USAGE of sysexits.h.
constexpr int kExitOk = 0;
constexpr int kExitUsage = 64;
/// All are tried at once; whoever says nothing for so long is silent.
constexpr std::chrono::seconds kPatience{3};
constexpr std::size_t kMostTargets = 64;
constexpr std::size_t kMaxResolvBytes = 64U << 10U;

struct Trial {
  std::string address;
  std::string port;
  UniqueFd socket;
  const char* outcome = nullptr;  ///< nothing: still waited for
};

const char* outcome_of(int number) {
  return number == 0              ? "open"
         : number == ECONNREFUSED ? "refused"
         : number == ETIMEDOUT    ? "silent"
                                  : "unreachable";
}

Status begin(Trial& trial) {
  sockaddr_storage storage{};
  socklen_t length = 0;
  AB_TRY(port, parse_decimal(trial.port));
  if (port == 0 || port > UINT16_MAX) {
    return Error{Code::kInvalid, "no port: " + escape_text(trial.port, 20)};
  }
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, trial.address.c_str(), &v4) == 1) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr = v4;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    length = sizeof to;
    std::memcpy(&storage, &to, length);
  } else if (::inet_pton(AF_INET6, trial.address.c_str(), &v6) == 1) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_addr = v6;
    to.sin6_port = htons(static_cast<std::uint16_t>(port));
    length = sizeof to;
    std::memcpy(&storage, &to, length);
  } else {
    return Error{Code::kInvalid, "no numeric address: " + escape_text(trial.address, 60)};
  }
  trial.socket.reset(::socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!trial.socket) {
    trial.outcome = "unreachable";
    return {};
  }
  const void* raw = &storage;
  if (::connect(trial.socket.get(), static_cast<const sockaddr*>(raw), length) == 0) {
    trial.outcome = "open";
  } else if (errno != EINPROGRESS) {
    trial.outcome = outcome_of(errno);
  }
  return {};
}

void await(std::vector<Trial>& trials) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    std::vector<pollfd> entries;
    std::vector<Trial*> waiting;
    for (Trial& trial : trials) {
      if (trial.outcome == nullptr) {
        entries.push_back({trial.socket.get(), POLLOUT, 0});
        waiting.push_back(&trial);
      }
    }
    const int left = poll_timeout(deadline, std::chrono::steady_clock::now());
    if (entries.empty() || left == 0) {
      break;
    }
    if (::poll(entries.data(), entries.size(), left) <= 0) {
      continue;
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].revents == 0) {
        continue;
      }
      int number = 0;
      socklen_t length = sizeof number;
      ::getsockopt(entries[i].fd, SOL_SOCKET, SO_ERROR, &number, &length);
      waiting[i]->outcome = outcome_of(number);
    }
  }
}

int print_nameservers() {
  const auto text = read_file_capped("/etc/resolv.conf", kMaxResolvBytes);
  for (std::string_view rest = text.ok() ? std::string_view(*text) : ""; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.starts_with("nameserver ")) {
      std::printf("%s\n", escape_text(line, 100).c_str());
    }
  }
  return kExitOk;
}

}  // namespace

int run_reach(std::span<char*> arguments) {
  if (arguments.empty()) {
    return print_nameservers();
  }
  if (arguments.size() % 2 != 0 || arguments.size() / 2 > kMostTargets) {
    std::fprintf(stderr, "agent-box: reach [ADDRESS PORT]...\n");
    return kExitUsage;
  }
  std::vector<Trial> trials;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    trials.push_back({arguments[i], arguments[i + 1], {}, nullptr});
    if (const Status begun = begin(trials.back()); !begun.ok()) {
      std::fprintf(stderr, "agent-box: %s\n", begun.error().what.c_str());
      return kExitUsage;
    }
  }
  await(trials);
  for (const Trial& trial : trials) {
    std::printf("%s %s %s\n", trial.outcome == nullptr ? "silent" : trial.outcome,
                trial.address.c_str(), trial.port.c_str());
  }
  return kExitOk;
}

}  // namespace agentbox::mcp

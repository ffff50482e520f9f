// edge: see hosted.h.
#include "agentbox/hosted.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "agentbox/job_folder.h"
#include "agentbox/job_id.h"
#include "agentbox/tree_guard.h"
#include "base/deadline.h"

namespace agentbox::mcp {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kSocketName = "socket";
constexpr std::size_t kPieceBytes = 64UL << 10;
// Callers that wait to be taken.
constexpr int kBacklog = 32;
// Between two attempts to reach a program that does not listen yet.
constexpr milliseconds kDialPause{10};
// It listens long before that: one that does not has lost its socket.
constexpr std::int64_t kLongestStartMs = 15'000;

// A name in a folder by its descriptor: the whole path may be too long for an address.
sockaddr_un address_in(int folder) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(folder) + "/" + kSocketName;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Error refused(Code code, std::string what) { return Error{code, std::move(what)}; }

// Waits for EVENTS of FD.
Status wait_for(int fd, short events, steady_clock::time_point deadline, int cancel) {
  std::array<pollfd, 2> ready{pollfd{.fd = fd, .events = events, .revents = 0},
                              pollfd{.fd = cancel, .events = POLLIN, .revents = 0}};
  for (;;) {
    const auto now = steady_clock::now();
    const int got = ::poll(ready.data(), ready.size(), poll_timeout(deadline, now));
    if (got < 0 && errno != EINTR) {
      return errno_error("poll");
    }
    if (got > 0 && ready[1].revents != 0) {
      return refused(Code::kTimeout, "the call was cancelled");
    }
    if (got > 0) {
      return {};
    }
    if (now >= deadline) {
      return refused(Code::kTimeout, "no answer in time");
    }
  }
}

Result<UniqueFd> make_socket() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) {
    return errno_error("socket");
  }
  return socket;
}

bool is_ours(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

// The environment with the line to the spawner where it is, not on to what this program starts.
Result<Settings> own_settings() {
  std::vector<std::string_view> environment;
  for (char* const* entry = environ; *entry != nullptr; ++entry) {
    environment.emplace_back(*entry);
  }
  AB_TRY(settings, read_settings(environment));
  if (!is_job_id(settings.job) || settings.out.empty()) {
    return refused(Code::kInvalid,
                   "AGENTBOX_JOB and AGENTBOX_OUT are set by agent-box itself; "
                   "this program is not for people");
  }
  return settings;
}

Result<UniqueFd> claim_line(const Settings& settings) {
  if (!settings.jobs_fd) {
    return UniqueFd();
  }
  UniqueFd line(*settings.jobs_fd);
  if (::fcntl(line.get(), F_SETFD, FD_CLOEXEC) != 0) {
    return errno_error("the line to the spawner");
  }
  AB_CHECK(set_nonblocking(line.get(), true));
  return line;
}

}  // namespace

Status HostedLine::send(const OrderedJson& message, TimePoint deadline, int cancel) {
  const std::string line = dump_json(message) + "\n";
  if (line.size() > kMaxHostedLineBytes) {
    return refused(Code::kLimit, "the message is too long");
  }
  std::string_view left = line;
  while (!left.empty()) {
    const ssize_t sent = ::send(socket_.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      left.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      AB_CHECK(wait_for(socket_.get(), POLLOUT, deadline, cancel));
    } else if (errno != EINTR) {
      return refused(Code::kUnavailable, "the other end is gone");
    }
  }
  return {};
}

Result<Json> HostedLine::receive(TimePoint deadline, int cancel) {
  for (;;) {
    if (const auto line = splitter_.next()) {
      auto message = line->too_long ? Result<Json>(refused(Code::kProtocol, "a line is too long"))
                                    : parse_json(line->text);
      if (!message.ok() || !message->is_object()) {
        return refused(Code::kProtocol, "the other end sent something else than an object");
      }
      return message;
    }
    piece_.resize(kPieceBytes);
    const ssize_t got = ::recv(socket_.get(), piece_.data(), piece_.size(), 0);
    if (got > 0) {
      splitter_.feed({piece_.data(), static_cast<std::size_t>(got)});
    } else if (got < 0 && errno == EAGAIN) {
      AB_CHECK(wait_for(socket_.get(), POLLIN, deadline, cancel));
    } else if (got == 0 || errno != EINTR) {
      return refused(Code::kUnavailable, "the other end is gone");
    }
  }
}

Outcome<JobRecord> start_hosted(Box& box, const HostedPlan& plan, CallContext& context) {
  JobPlan job{.programs = {"/proc/self/exe"},
              .argv = {"agent-box"},
              .environment = settings_environment(box.settings),
              .command = plan.name,
              .lifetime_seconds = plan.lifetime_seconds,
              .kind = plan.kind};
  job.argv.insert(job.argv.end(), plan.words.begin(), plan.words.end());
  UniqueFd line;
  if (plan.starts_jobs) {
    auto given = box.jobs->new_line();
    if (!given.ok()) {
      return ToolError{
          .code = "SPAWN_FAILED", .message = given.error().what, .hint = "Try again in a moment"};
    }
    line = std::move(*given);
    job.environment.push_back("AGENTBOX_JOBS_FD=" + std::to_string(kExtraFd));
  }
  return Processes(box).start(job, plan.name, box.workspace->folder(), context, line.get());
}

Result<HostedLine> dial_hosted(const Box& box, const std::string& id,
                               steady_clock::time_point deadline, int cancel) {
  const JobFolder jobs(box.workspace->output_folder());
  for (;;) {
    const auto record = jobs.find(id);
    if (!record || !is_hosted(record->kind) || record->status != JobStatus::kRunning) {
      return refused(Code::kNotFound, "it does not run");
    }
    AB_TRY(folder, jobs.open(id));
    AB_TRY(socket, make_socket());
    const sockaddr_un address = address_in(folder.get());
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      if (!is_ours(socket.get())) {
        return refused(Code::kNotFound, "somebody else listens in its place");
      }
      return HostedLine(std::move(socket));
    }
    const bool has_no_socket = errno == ENOENT || errno == ECONNREFUSED;
    if (!has_no_socket && errno != EAGAIN) {  // EAGAIN: its queue is full
      return errno_error("connect");
    }
    if (has_no_socket && now_ms() - record->started_ms > kLongestStartMs) {
      box.jobs->doom(id);
      return refused(Code::kNotFound, "its socket was removed");
    }
    const bool cancelled = wait_readable(cancel, steady_clock::now() + kDialPause);
    if (cancelled || steady_clock::now() >= deadline) {
      return refused(Code::kTimeout, "it does not listen");
    }
  }
}

Result<Hosted> open_hosted() {
  if (std::signal(SIGPIPE, SIG_IGN) == SIG_ERR ||
      ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    return errno_error("become subreaper");
  }
  AB_TRY(settings, own_settings());
  AB_TRY(line, claim_line(settings));
  Hosted hosted;
  hosted.id = settings.job;
  AB_TRY(box, open_box(settings, std::move(line)));
  hosted.box = std::move(box);
  AB_TRY(folder, JobFolder(hosted.box->workspace->output_folder()).open(hosted.id));
  hosted.folder = std::move(folder);
  AB_TRY(listener, make_socket());
  const sockaddr_un address = address_in(hosted.folder.get());
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener.get(), kBacklog) != 0) {
    return errno_error("listen in the job's folder");
  }
  hosted.listener = std::move(listener);
  return hosted;
}

std::optional<HostedLine> accept_hosted(const Hosted& hosted) {
  for (;;) {
    UniqueFd caller(
        ::accept4(hosted.listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!caller.valid()) {
      return std::nullopt;
    }
    if (is_ours(caller.get())) {
      return HostedLine(std::move(caller));
    }
  }
}

}  // namespace agentbox::mcp

// edge: agent-box: claims stdin and stdout for the protocol, then serves one channel; or is the
// spawner of such servers.
#include <fcntl.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/box.h"
#include "agentbox/box_watcher.h"
#include "agentbox/call_pool.h"
#include "agentbox/context_host.h"
#include "agentbox/job_host.h"
#include "agentbox/limits.h"
#include "agentbox/method_table.h"
#include "agentbox/reach.h"
#include "agentbox/server.h"
#include "agentbox/settings.h"
#include "agentbox/spawner.h"
#include "agentbox/task_host.h"
#include "agentbox/tool_table.h"
#include "agentbox/watch_host.h"
#include "base/version.h"

namespace agentbox::mcp {
namespace {

// EX_USAGE and EX_CONFIG of sysexits.h.
constexpr int kExitUsage = 64;
constexpr int kExitConfig = 78;
// Descriptors the protocol keeps are moved above the numbers that programs take for granted.
constexpr int kLowestOwnFd = 10;

void print_help() {
  std::string text =
      "Usage: agent-box              serve the Model Context Protocol on stdin and stdout\n"
      "       agent-box spawner ...  start one such server per session (see spawner --help)\n"
      "       agent-box reach ...    try which addresses answer from here: [ADDRESS PORT]...\n"
      "       agent-box --version | --help\n"
      "\n"
      "Environment: AGENTBOX_WORKSPACE (else MCP_WORKSPACE, AGENTBOX_ROOT, /workspace), "
      "AGENTBOX_HOME,\n"
      "AGENTBOX_TMP, AGENTBOX_OUT, AGENTBOX_SESSION, AGENTBOX_ROLE (reader, agent, admin, "
      "operator),\n"
      "AGENTBOX_PROFILE (core, standard, full), AGENTBOX_GENERATION, AGENTBOX_ISOLATION, "
      "AGENTBOX_RECORDS_FD,\n"
      "AGENTBOX_JOBS_FD. Everything else is given to commands.\n"
      "\n"
      "Limits:\n";
  for (const LimitRow& row : kLimitRows) {
    std::string name(row.name);
    name.resize(std::max<std::size_t>(28, name.size()), ' ');
    std::string value = std::to_string(row.value);
    value.insert(0, value.size() < 9 ? 9 - value.size() : 0, ' ');
    text.append("  ").append(name).append(value).append("  ").append(row.what).append("\n");
  }
  text +=
      "\n"
      "Exit codes: 0 the session ended; 64 usage; 65 what came was not MCP; 71 the system refused\n"
      "something; 78 the environment or the workspace is not usable.\n";
  static_cast<void>(std::fputs(text.c_str(), stdout));
}

int fail(int code, const Error& error) {
  static_cast<void>(std::fprintf(stderr, "agent-box: %s\n", error.what.c_str()));
  return code;
}

Result<UniqueFd> move_away(int fd) {
  UniqueFd moved(::fcntl(fd, F_DUPFD_CLOEXEC, kLowestOwnFd));
  if (!moved.valid()) {
    return errno_error("claim descriptor " + std::to_string(fd));
  }
  return moved;
}

// From here on nothing that prints by accident can reach the client: stdin is empty, and stdout
// is the log.
Status point_stdio_elsewhere() {
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null.valid() || ::dup2(null.get(), STDIN_FILENO) < 0 ||
      ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    return errno_error("point stdin and stdout elsewhere");
  }
  return {};
}

// A socket for records that the variable NAME announces.
Result<UniqueFd> claim_socket(const char* name, int fd, const char* without) {
  int type = 0;
  socklen_t length = sizeof type;
  if (fd <= STDERR_FILENO || ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 ||
      type != SOCK_SEQPACKET) {
    return Error{Code::kInvalid,
                 std::string(name) + "=" + std::to_string(fd) +
                     " is no SOCK_SEQPACKET socket; leave it out for a run without " + without};
  }
  AB_TRY(moved, move_away(fd));
  static_cast<void>(::close(fd));
  AB_CHECK(set_nonblocking(moved.get(), true));
  return moved;
}

Result<UniqueFd> claim_signals() {
  if (std::signal(SIGPIPE, SIG_IGN) == SIG_ERR) {
    return errno_error("ignore SIGPIPE");
  }
  sigset_t ends = {};
  static_cast<void>(::sigemptyset(&ends));
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    static_cast<void>(::sigaddset(&ends, number));
  }
  // Before any thread exists, so that all of them inherit it and only the main loop hears these.
  if (::pthread_sigmask(SIG_BLOCK, &ends, nullptr) != 0) {
    return errno_error("block signals");
  }
  UniqueFd signals(::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) {
    return errno_error("signalfd");
  }
  return signals;
}

Result<Streams> claim_streams() {
  Streams streams;
  AB_TRY(in, move_away(STDIN_FILENO));
  AB_TRY(out, move_away(STDOUT_FILENO));
  AB_CHECK(point_stdio_elsewhere());
  AB_TRY(signals, claim_signals());
  streams.in = std::move(in);
  streams.out = std::move(out);
  streams.signals = std::move(signals);
  return streams;
}

// Large lines go back to the kernel when they are done with, and a few threads share a heap:
// a session that once moved 16 MiB is not to keep them.
void keep_memory_small() {
  constexpr int kMmapFromBytes = 128 * 1024;
  static_cast<void>(::mallopt(M_MMAP_THRESHOLD, kMmapFromBytes));
  static_cast<void>(::mallopt(M_TRIM_THRESHOLD, kMmapFromBytes));
  static_cast<void>(::mallopt(M_ARENA_MAX, 2));
}

int serve(const Settings& settings) {
  keep_memory_small();
  auto streams = claim_streams();
  if (!streams.ok()) {
    return fail(kExitSystem, streams.error());
  }
  if (settings.records_fd) {
    auto records = claim_socket("AGENTBOX_RECORDS_FD", *settings.records_fd, "audit");
    if (!records.ok()) {
      return fail(kExitConfig, records.error());
    }
    streams->records = std::move(records).value();
  }
  // What a command leaves behind comes to us instead of to pid 1, and ends with us.
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    return fail(kExitSystem, errno_error("become subreaper"));
  }
  // Before there are threads: where nobody hosts jobs for us, a process of ours does.
  pid_t helper = -1;
  UniqueFd jobs;
  if (settings.jobs_fd) {
    auto line = claim_socket("AGENTBOX_JOBS_FD", *settings.jobs_fd, "a host of jobs");
    if (!line.ok()) {
      return fail(kExitConfig, line.error());
    }
    jobs = std::move(line).value();
  } else if (!settings.out.empty()) {
    auto started = start_job_helper(settings.out);
    if (!started.ok()) {
      return fail(kExitSystem, started.error());
    }
    helper = started->pid;
    jobs = std::move(started->line);
  }
  auto box = open_box(settings, std::move(jobs));
  if (!box.ok()) {
    return fail(kExitConfig, box.error());
  }
  (*box)->keepers.spare(helper);
  const std::vector<Tool> tools = tools_of(settings.profile);
  if (const auto checked = check_tools(tools); !checked.ok()) {
    return fail(kExitSystem, checked.error());
  }
  const std::vector<Method> methods = all_methods();
  auto calls = CallPool::create(**box);
  if (!calls.ok()) {
    return fail(kExitSystem, calls.error());
  }
  auto watcher = BoxWatcher::create(**box);
  if (!watcher.ok()) {
    return fail(kExitSystem, watcher.error());
  }
  auto server = Server::open(std::move(streams).value(), tools, methods, settings.role, **calls, {},
                             watcher->get());
  if (!server.ok()) {
    return fail(kExitSystem, server.error());
  }
  const int code = server->run();
  const auto deadline = std::chrono::steady_clock::now() + kUnwindTime;
  if (server->calls_left() || !(*watcher)->end(deadline)) {
    // Something hangs in the kernel and its thread can't be joined. Our keepers see us go.
    std::_Exit(code);
  }
  return code;
}

int run(std::span<char*> arguments) {
  if (arguments.size() >= 2) {
    const std::string_view first = arguments[1];
    if (first == "spawner") {
      return run_spawner(arguments.subspan(2));
    }
    if (first == "reach") {
      return run_reach(arguments.subspan(2));
    }
    if (first == "task-host") {
      return run_task_host();
    }
    if (first == kContextHostWord) {
      keep_memory_small();
      return run_context_host();
    }
    if (first == kWatchHostWord) {
      keep_memory_small();
      return run_watch_host();
    }
    if (first == "--version") {
      const std::array libraries = {crypto_library(), c_library()};
      const std::string text = version_text("agent-box", AGENTBOX_VERSION, libraries);
      static_cast<void>(std::fputs(text.c_str(), stdout));
      return kExitOk;
    }
    if (first == "--help") {
      print_help();
      return kExitOk;
    }
    return fail(kExitUsage, Error{Code::kInvalid, "unknown argument; see agent-box --help"});
  }
  std::vector<std::string_view> environment;
  for (char* const* entry = environ; *entry != nullptr; ++entry) {
    environment.emplace_back(*entry);
  }
  const auto settings = read_settings(environment);
  if (!settings.ok()) {
    return fail(kExitConfig, settings.error());
  }
  return serve(*settings);
}

}  // namespace
}  // namespace agentbox::mcp

int main(int argc, char** argv) {
  return agentbox::mcp::run({argv, static_cast<std::size_t>(argc)});
}

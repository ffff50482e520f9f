// edge: keepers end whole trees, whatever the processes in them do.
#include "agentbox/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>

#include "agentbox/process_tree.h"
#include "support/catch.h"
#include "unit/agentbox/temporary_folder.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {

// A command that was started, its output, and how to wait for what it reports.
struct Running {
  Keepers& keepers;
  Keeper keeper;
  UniqueFd output;
  std::map<KeeperEvent, KeeperReport> reports = {};

  // True once REPORT came; false where the keeper is gone or ten seconds passed.
  bool wait_for(KeeperEvent event, milliseconds limit = seconds(10)) {
    const auto deadline = steady_clock::now() + limit;
    while (!reports.contains(event)) {
      if (!wait_readable(keeper.fd(), deadline)) {
        return false;
      }
      const auto report = keeper.receive();
      if (!report) {
        return false;
      }
      reports[report->event] = *report;
    }
    return true;
  }
  // The next line the command prints.
  std::string line() {
    std::string text;
    for (char c = 0; ::read(output.get(), &c, 1) == 1 && c != '\n';) {
      text.push_back(c);
    }
    return text;
  }
};

Running run(Keepers& keepers, const std::string& script,
            std::vector<std::string> programs = {"/bin/sh"}) {
  REQUIRE(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
  auto pipe = make_pipe();
  REQUIRE(pipe.ok());
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd folder(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  auto keeper = keepers.start({.programs = std::move(programs),
                               .argv = {"sh", "-c", script},
                               .environment = {"PATH=/usr/bin:/bin"},
                               .folder = folder.get(),
                               .input = null.get(),
                               .output = pipe->second.get(),
                               .errors = pipe->second.get()});
  REQUIRE(keeper.ok());
  return {.keepers = keepers, .keeper = std::move(*keeper), .output = std::move(pipe->first)};
}

std::size_t children_left() {
  PidList list;
  append_children(::getpid(), list);
  return list.count;
}

}  // namespace

TEST_CASE("a command's exit code arrives, and its keeper goes when all is over") {
  Keepers keepers;
  {
    Running command = run(keepers, "exit 7");
    REQUIRE(command.wait_for(KeeperEvent::kAllEnded));
    CHECK(command.reports.contains(KeeperEvent::kStarted));
    const KeeperReport ended = command.reports[KeeperEvent::kLeaderEnded];
    CHECK(WIFEXITED(ended.value));
    CHECK(WEXITSTATUS(ended.value) == 7);
    CHECK(ended.live == 0);
    CHECK(ended.max_rss_bytes > 0);
  }
  CHECK(keepers.count() == 0);
  CHECK(children_left() == 0);
}

TEST_CASE("a program that cannot be executed is reported with the reason") {
  Keepers keepers;
  Running command = run(keepers, "", {"/nonexistent/sh", "/etc/passwd"});
  REQUIRE(command.wait_for(KeeperEvent::kFailed));
  CHECK(command.reports[KeeperEvent::kFailed].value == EACCES);
  CHECK(command.wait_for(KeeperEvent::kAllEnded));
}

TEST_CASE("the first program of the list that can be executed runs") {
  Keepers keepers;
  Running command = run(keepers, "echo ran", {"/nonexistent/sh", "/bin/sh"});
  CHECK(command.line() == "ran");
  CHECK(command.wait_for(KeeperEvent::kAllEnded));
}

TEST_CASE("the command has three descriptors, an empty signal mask and nothing ignored") {
  (void)std::signal(SIGPIPE, SIG_IGN);
  sigset_t some;
  ::sigemptyset(&some);
  ::sigaddset(&some, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &some, nullptr);
  Keepers keepers;
  const UniqueFd leak(::open("/dev/null", O_RDONLY));  // not even closed on exec
  Running command = run(keepers,
                        "ls /proc/self/fd | tr '\\n' ' '; echo; grep -E 'SigBlk|SigIgn' "
                        "/proc/self/status | cut -f2 | tr '\\n' ' '");
  CHECK(command.line() == "0 1 2 3 ");  // 3 is the folder ls reads
  CHECK(command.line() == "0000000000000000 0000000000000000 ");
  CHECK(command.wait_for(KeeperEvent::kAllEnded));
  ::pthread_sigmask(SIG_UNBLOCK, &some, nullptr);
  (void)std::signal(SIGPIPE, SIG_DFL);
}

TEST_CASE("a process left in the background is counted and ended with its keeper") {
  Keepers keepers;
  {
    Running command =
        run(keepers, "sleep 600 >/dev/null 2>&1 & setsid sleep 601 >/dev/null 2>&1 & echo started");
    CHECK(command.line() == "started");
    REQUIRE(command.wait_for(KeeperEvent::kLeaderEnded));
    CHECK(command.reports[KeeperEvent::kLeaderEnded].live == 2);
    command.keeper.count();
    REQUIRE(command.wait_for(KeeperEvent::kCounted));
    CHECK(command.reports[KeeperEvent::kCounted].live == 2);
    const auto before = steady_clock::now();
    command.keeper.end(milliseconds(200));
    CHECK(steady_clock::now() - before < seconds(2));
  }
  CHECK(children_left() == 0);
}

TEST_CASE("processes that ignore SIGTERM are killed after the grace") {
  Keepers keepers;
  Running command = run(keepers,
                        "trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & echo up; while "
                        ":; do sleep 1; done");
  CHECK(command.line() == "up");
  command.keeper.stop(milliseconds(100));
  REQUIRE(command.wait_for(KeeperEvent::kAllEnded));
  CHECK(WIFSIGNALED(command.reports[KeeperEvent::kLeaderEnded].value));
}

TEST_CASE("fifty respawning forkers, each in a session of its own, are all ended") {
  // Each lives for 20 ms, then leaves its work to a child and goes: whoever looks for it comes
  // late.
  const std::string script =
      "i=0; while [ $i -lt 50 ]; do"
      "  setsid sh -c 'trap \"\" TERM HUP; hop() { (sleep 0.02; hop) & exit; }; hop' & i=$((i+1));"
      "done; echo up; wait";
  Keepers keepers;
  {
    Running command = run(keepers, script);
    CHECK(command.line() == "up");
    command.keeper.stop(milliseconds(50));
    REQUIRE(command.wait_for(KeeperEvent::kAllEnded, seconds(30)));
  }
  CHECK(children_left() == 0);
}

TEST_CASE("a tree that grows faster than it can be listed is ended") {
  const std::string script =
      "i=0; while [ $i -lt 20 ]; do"
      "  setsid sh -c 'trap \"\" TERM HUP; hop() { (sleep 0.02; hop) & }; while :; do hop; sleep "
      "0.05; done' & i=$((i+1));"
      "done; echo up; wait";
  Keepers keepers;
  {
    Running command = run(keepers, script);
    CHECK(command.line() == "up");
    command.keeper.stop(milliseconds(50));
    REQUIRE(command.wait_for(KeeperEvent::kAllEnded, seconds(30)));
  }
  CHECK(children_left() == 0);
}

TEST_CASE("a stopped process is ended too") {
  Keepers keepers;
  Running command = run(keepers, "sleep 600 & kill -STOP $!; echo stopped; wait");
  CHECK(command.line() == "stopped");
  command.keeper.stop(milliseconds(2000));
  const auto before = steady_clock::now();
  REQUIRE(command.wait_for(KeeperEvent::kAllEnded));
  CHECK(steady_clock::now() - before < seconds(1));
}

TEST_CASE("the owner's death ends the tree: the control socket's end is enough") {
  Keepers keepers;
  auto pipe = make_pipe();
  REQUIRE(pipe.ok());
  const pid_t owner = ::fork();
  REQUIRE(owner >= 0);
  if (owner == 0) {
    Keepers own;
    Running command = run(own, "trap '' TERM; sleep 600 & echo up; wait");
    (void)command.line();
    const pid_t keeper = command.keeper.pid();
    (void)!::write(pipe->second.get(), &keeper, sizeof(keeper));
    ::kill(::getpid(), SIGKILL);
  }
  pid_t keeper = 0;
  REQUIRE(::read(pipe->first.get(), &keeper, sizeof(keeper)) == sizeof(keeper));
  CHECK(::waitpid(owner, nullptr, 0) == owner);
  // We are subreaper, so the orphaned keeper became our child.
  CHECK(reap_child(keeper, steady_clock::now() + seconds(10)));
  CHECK(children_left() == 0);
}

TEST_CASE("the tree of a keeper that was killed is killed as strays") {
  Keepers keepers;
  {
    Running bystander = run(keepers, "echo up; read x");
    CHECK(bystander.line() == "up");
    {
      Running command = run(keepers, "sleep 600 & setsid sleep 600 & echo up; wait");
      CHECK(command.line() == "up");
      ::kill(command.keeper.pid(), SIGKILL);
      CHECK(!command.wait_for(KeeperEvent::kAllEnded));
    }
    PidList list;
    append_children(::getpid(), list);
    CHECK(list.count == 1);  // the bystander's keeper alone
    CHECK(keepers.count() == 1);
  }
  CHECK(children_left() == 0);
}

TEST_CASE("a keeper that was stopped is not waited for") {
  Keepers keepers;
  {
    Running command = run(keepers, "sleep 600 & echo up; wait");
    CHECK(command.line() == "up");
    ::kill(command.keeper.pid(), SIGSTOP);
  }
  CHECK(children_left() == 0);
}

TEST_CASE("no more keepers than the limit are started") {
  Keepers keepers;
  std::vector<Running> commands;
  for (std::size_t i = 0; i < kMaxKeepers; ++i) {
    commands.push_back(run(keepers, "sleep 600"));
  }
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto refused = keepers.start({.programs = {"/bin/true"},
                                      .argv = {"true"},
                                      .folder = null.get(),
                                      .input = null.get(),
                                      .output = null.get(),
                                      .errors = null.get()});
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == Code::kLimit);
  for (Running& command : commands) {
    command.keeper.stop(milliseconds(500));
  }
}

// edge: the spawner as the door sees it: records and descriptors over the link, and what is left.
#include "agentbox/spawner.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "agentbox/process_tree.h"
#include "base/handle.h"
#include "base/process.h"
#include "base/record_io.h"
#include "support/catch.h"
#include "unit/agentbox/processes.h"
#include "unit/agentbox/temporary_folder.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {

// Our ends of one session.
struct Session {
  UniqueFd stdio;
  UniqueFd log;
  UniqueFd records;

  void say(const std::string& line) const { REQUIRE(write_all(stdio.get(), line + "\n").ok()); }
  // The next line, empty at the end.
  [[nodiscard]] std::string hear() const {
    std::string line;
    for (char c = 0; ::read(stdio.get(), &c, 1) == 1;) {
      if (c == '\n') {
        return line;
      }
      line.push_back(c);
    }
    return line;
  }
  void greet() const {
    say(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})");
    CHECK(hear().find("\"protocolVersion\"") != std::string::npos);
    say(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  }
  // Starts a command that prints its word over the FIFO before it goes on.
  void run(const std::string& command) const {
    say(R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"shell_exec","arguments":{"command":")" +
        command + R"("}}})");
  }
};

// A door that a spawner has dialled.
struct Door {
  TemporaryFolder folder;
  Child spawner;
  UniqueFd link;

  Door() {
    (void)std::signal(SIGPIPE, SIG_IGN);
    REQUIRE(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
    for (const char* name : {"workspace", "home", "tmp", "out"}) {
      std::filesystem::create_directory(folder.at(name));
    }
    put_file(folder.at("tmp/old"), "x");
    put_file(folder.at("out/sub/old"), "x");
    put_file(folder.at("workspace/kept"), "x");
    const UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    folder.at("door").copy(name.sun_path, sizeof(name.sun_path) - 1);
    REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0);
    REQUIRE(::listen(listener.get(), 1) == 0);
    SpawnPlan plan;
    plan.exe = AGENTBOX_PROGRAM;
    plan.argv = {"agent-box", "spawner", "--link", folder.at("door")};
    for (const char* option : {"workspace", "home", "tmp", "out"}) {
      plan.argv.push_back("--" + std::string(option));
      plan.argv.push_back(folder.at(option));
    }
    plan.descriptors = {{.in_child = 2, .source = 2}};
    auto child = spawn(plan);
    REQUIRE(child.ok());
    spawner = std::move(*child);
    link.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    REQUIRE(link.valid());
    const auto ready = next();
    REQUIRE(std::holds_alternative<record::Ready>(ready));
    CHECK(std::get<record::Ready>(ready).version == AGENTBOX_VERSION);
  }
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  ~Door() {
    link.reset();
    if (spawner.pid > 0) {
      ::kill(spawner.pid, SIGKILL);
    }
    while (::wait(nullptr) > 0) {  // orphans come to us too
    }
  }

  [[nodiscard]] record::Record next() const {
    REQUIRE(wait_readable(link.get(), steady_clock::now() + seconds(20)));
    auto received = receive_record(link.get());
    REQUIRE(received.ok());
    REQUIRE(received->has_value());
    return (*received)->record;
  }

  Session start(const std::string& session, std::vector<std::string> environment = {}) const {
    auto stdio = make_socketpair(SOCK_STREAM);
    auto log = make_pipe();
    auto records = make_socketpair(SOCK_SEQPACKET);
    REQUIRE((stdio.ok() && log.ok() && records.ok()));
    const record::Start wanted{.session = session,
                               .role = "agent",
                               .key = "SHA256:x",
                               .generation = 7,
                               .environment = std::move(environment),
                               .isolation = "monitor: uid 990"};
    REQUIRE(send_record(link.get(), wanted,
                        {stdio->second.get(), log->second.get(), records->second.get()})
                .ok());
    return {.stdio = std::move(stdio->first),
            .log = std::move(log->first),
            .records = std::move(records->first)};
  }

  // Waits for the spawner's end and gives its exit code, -1 for none.
  int wait_end() {
    int status = 0;
    if (!reap_child(spawner.pid, steady_clock::now() + seconds(30), &status)) {
      return -2;
    }
    spawner.pid = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // A session whose command has started a process with WORD in its command line, in a session of
  // its own.
  Session start_busy(const std::string& name, const std::string& word) {
    REQUIRE(::mkfifo(folder.at("workspace/" + name).c_str(), 0600) == 0);
    Session session = start(name);
    session.greet();
    session.run("setsid sleep " + word + " & echo up > " + name + "; sleep " + word);
    CHECK(file_content(folder.at("workspace/" + name)) == "up\n");
    return session;
  }
};

}  // namespace

TEST_CASE("a session is served over its descriptors and its end is told") {
  Door door;
  const Session session = door.start("s1", {"DEMO=a\\\\b"});
  session.greet();
  session.run("printf '%s|' $DEMO $HOME $TMPDIR; env | grep -c AGENTBOX");
  // The reply waits until the call is in the audit.
  REQUIRE(wait_readable(session.records.get(), steady_clock::now() + seconds(20)));
  CHECK(receive_record(session.records.get()).ok());
  CHECK_FALSE(wait_readable(session.stdio.get(), steady_clock::now()));
  REQUIRE(send_record(session.records.get(), record::Recorded{}).ok());
  const std::string reply = session.hear();
  CHECK(reply.find("a\\\\b|" + door.folder.at("home") + "|" + door.folder.at("tmp") + "|0\\n") !=
        std::string::npos);
  CHECK(reply.find("\"stdout_bytes\"") != std::string::npos);
  ::shutdown(session.stdio.get(), SHUT_WR);
  const auto ended = door.next();
  REQUIRE(std::holds_alternative<record::Ended>(ended));
  CHECK(std::get<record::Ended>(ended).session == "s1");
  CHECK(std::get<record::Ended>(ended).how == record::End::kExited);
  CHECK(std::get<record::Ended>(ended).status == 0);
}

TEST_CASE("at the start the folders of temporary files and of output are emptied, no other") {
  Door door;
  CHECK(names_in(door.folder.at("tmp")).empty());
  CHECK(names_in(door.folder.at("out")).empty());
  CHECK(file_content(door.folder.at("workspace/kept")) == "x");
}

TEST_CASE("the link's end ends every session and every command") {
  Door door;
  const Session first = door.start_busy("a", "617");
  const Session second = door.start_busy("b", "617");
  door.link.reset();
  CHECK(door.wait_end() == 0);
  CHECK(!process_with("617"));
}

TEST_CASE("a session that is killed takes its commands along and no other session") {
  Door door;
  const Session victim = door.start_busy("a", "618");
  const Session bystander = door.start("b");
  bystander.greet();
  PidList children;
  append_children(door.spawner.pid, children);
  const auto is_session = [](pid_t pid) {
    return file_content("/proc/" + std::to_string(pid) + "/cmdline") ==
           std::string("agent-box\0", 10);
  };
  const auto first = std::find_if(children.view().begin(), children.view().end(), is_session);
  REQUIRE(first != children.view().end());
  ::kill(*first, SIGKILL);
  const auto ended = door.next();
  REQUIRE(std::holds_alternative<record::Ended>(ended));
  const auto& end = std::get<record::Ended>(ended);
  CHECK(end.session == "a");
  CHECK(end.how == record::End::kSignalled);
  CHECK(end.status == SIGKILL);
  bystander.say(R"({"jsonrpc":"2.0","id":9,"method":"ping"})");
  CHECK(bystander.hear().find("\"id\":9") != std::string::npos);
  // The spawner handles one thing at a time: once it answers this, its strays are dealt with.
  const Session third = door.start("c");
  third.greet();
  CHECK(!process_with("618"));
}

TEST_CASE("draining ends idle sessions and takes no new ones") {
  Door door;
  const Session session = door.start("a");
  session.greet();
  REQUIRE(send_record(door.link.get(), record::Drain{.seconds = 20}).ok());
  const auto ended = door.next();
  REQUIRE(std::holds_alternative<record::Ended>(ended));
  CHECK(std::get<record::Ended>(ended).status == 0);
  const Session refused = door.start("b");
  const auto lost = door.next();
  REQUIRE(std::holds_alternative<record::Ended>(lost));
  CHECK(std::get<record::Ended>(lost).session == "b");
  CHECK(std::get<record::Ended>(lost).how == record::End::kLost);
}

TEST_CASE("draining kills what has not ended in time") {
  Door door;
  const Session session = door.start_busy("a", "619");
  REQUIRE(send_record(door.link.get(), record::Drain{.seconds = 0}).ok());
  const auto ended = door.next();
  REQUIRE(std::holds_alternative<record::Ended>(ended));
  CHECK(std::get<record::Ended>(ended).how == record::End::kSignalled);
}

TEST_CASE("a terminated spawner finishes its sessions and ends") {
  Door door;
  const Session session = door.start("a");
  session.greet();
  ::kill(door.spawner.pid, SIGTERM);
  CHECK(door.wait_end() == 0);
  CHECK(session.hear().empty());
}

TEST_CASE("a killed spawner takes its sessions along, and they their commands") {
  Door door;
  const Session session = door.start_busy("a", "620");
  ::kill(door.spawner.pid, SIGKILL);
  while (::wait(nullptr) > 0) {  // the spawner, then the orphans, which come to us
  }
  door.spawner.pid = -1;
  CHECK(!process_with("620"));
}

TEST_CASE("a record that is none ends the spawner, not its caller") {
  Door door;
  REQUIRE(::send(door.link.get(), "nonsense", 8, MSG_NOSIGNAL) == 8);
  CHECK(door.wait_end() == 0);
}

TEST_CASE("the spawner's options and a session's variables are checked") {
  const auto parse = [](std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words) {
      arguments.push_back(word.data());
    }
    return parse_spawner_options(arguments);
  };
  const auto options = parse({"--link", "/l", "--home", "/h"});
  REQUIRE(options.ok());
  CHECK(options->link == "/l");
  CHECK(options->home == "/h");
  CHECK(options->workspace == "/workspace");
  CHECK(!parse({}).ok());
  CHECK(!parse({"--link"}).ok());
  CHECK(!parse({"--link", "relative"}).ok());
  CHECK(!parse({"--unknown", "/x"}).ok());

  const auto environment = session_environment(
      *options,
      {.session = "s", .role = "reader", .key = "", .generation = 3, .environment = {"A=b\\n"}});
  REQUIRE(environment.ok());
  CHECK(environment->back() == "A=b\n");
  CHECK((*environment)[5] == "AGENTBOX_ROLE=reader");
  CHECK((*environment)[6] == "AGENTBOX_PROFILE=standard");
  for (const char* bad : {"AGENTBOX_ROLE=admin", "MCP_WORKSPACE=/", "=x", "noname", "A=\\q"}) {
    CHECK(!session_environment(
               *options,
               {.session = "s", .role = "agent", .key = "", .generation = 0, .environment = {bad}})
               .ok());
  }
}

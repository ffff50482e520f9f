// edge: tests of sshd/audit, audit_events and audit_sink.
#include "sshd/audit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/handle.h"
#include "sshd/audit_events.h"
#include "sshd/audit_sink.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::sshd;

TEST_CASE("an event is one line of JSON whatever its fields hold") {
  const std::string line = AuditEvent("auth")
                               .text("user", "a\n{\"x\":1}\xff\x1b[31m")
                               .number("n", -3)
                               .flag("ok", true)
                               .line(7, 0);
  CHECK(line.find('\n') == std::string::npos);
  const auto parsed = parse_json(line);
  REQUIRE(parsed.ok());
  CHECK(parsed.value()["event"] == "auth");
  CHECK(parsed.value()["seq"] == 7);
  CHECK(parsed.value()["stream"] == "audit");
  CHECK(parsed.value()["user"] == "a\\n{\"x\":1}\\xff\\x1b[31m");
  CHECK(parsed.value()["n"] == -3);
}

TEST_CASE(
    "a tool call's event takes session, key and role from the monitor, never from the record") {
  const SessionFacts facts{"s1", 4, "192.0.2.1:9", "SHA256:k", "agent"};
  record::ToolCalled call;
  call.tool = "write_file";
  call.outcome = "ok";
  call.path = "src/a.c";
  const auto parsed = parse_json(tool_call_event(facts, call).line(1, 0)).value();
  CHECK(parsed["session"] == "s1");
  CHECK(parsed["key"] == "SHA256:k");
  CHECK(parsed["connection"] == 4);
  CHECK(parsed["path"] == "src/a.c");
  CHECK_FALSE(parsed.contains("exit_code"));
}

TEST_CASE("login results tell an offer from a login") {
  const ConnectionFacts facts{1, "192.0.2.1:9", ""};
  const auto result = [&](bool accepted, bool final) {
    record::AuthTried tried;
    tried.accepted = accepted;
    tried.final = final;
    return parse_json(auth_event(facts, tried).line(1, 0)).value()["result"].get<std::string>();
  };
  CHECK(result(true, false) == "offered");
  CHECK(result(true, true) == "accepted");
  CHECK(result(false, true) == "refused");
}

TEST_CASE("a line that a crash cut short spoils no other") {
  std::string folder = "/tmp/agentbox-test-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/audit.log";
  {
    const UniqueFd cut(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(write_all(cut.get(), R"({"stream":"audit","ti)").ok());
  }
  auto sink = AuditSink::open(path);
  REQUIRE(sink.ok());
  sink->write(AuditEvent("listen"));
  const std::string text = read_file_capped(path, 10'000).value();
  const auto second = text.find('\n') + 1;
  REQUIRE(second > 1);
  CHECK(parse_json(text.substr(second)).ok());
  ::unlink(path.c_str());
  ::rmdir(folder.c_str());
}

TEST_CASE("a log file is closed to others, goes on after a restart and is never a link") {
  std::string folder = "/tmp/agentbox-test-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/audit.log";
  for (int i = 0; i < 2; ++i) {
    auto sink = AuditSink::open(path);
    REQUIRE(sink.ok());
    sink->write(AuditEvent("listen"));
    CHECK_FALSE(sink->blocked());
  }
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  const std::string text = read_file_capped(path, 10'000).value();
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  REQUIRE(::symlink(path.c_str(), (folder + "/link").c_str()) == 0);
  CHECK_FALSE(AuditSink::open(folder + "/link").ok());
  ::unlink((folder + "/link").c_str());
  ::unlink(path.c_str());
  ::rmdir(folder.c_str());
}

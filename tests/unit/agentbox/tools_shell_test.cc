// edge: shell_exec against commands that do what commands do.
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "agentbox/commands.h"
#include "base/text.h"
#include "support/catch.h"
#include "unit/agentbox/processes.h"
#include "unit/agentbox/tool_fixture.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {

OrderedJson shell(ToolFixture& box, const std::string& arguments) {
  return box.structured(shell_exec_tool(), arguments);
}

// The arguments object of a command alone.
std::string command(const std::string& text) {
  OrderedJson json;
  json["command"] = text;
  return dump_json(json);
}

}  // namespace

TEST_CASE("a command's streams and exit code come back in both copies") {
  ToolFixture box;
  const auto result = box.call(shell_exec_tool(), command("echo out; echo err >&2; exit 3"));
  REQUIRE(!result.error);
  CHECK(result.texts.front() ==
        "exit_code: 3\ntimeout_seconds: 120\n--- stdout ---\nout\n--- stderr ---\nerr\n");
  CHECK(result.structured["status"] == "exited");
  CHECK(result.structured["exit_code"] == 3);
  CHECK(result.structured["stdout"] == "out\n");
  CHECK(result.structured["stderr"] == "err\n");
  CHECK(result.structured["truncated"] == false);
  CHECK(result.structured["cwd"] == box.root());
  CHECK(box.facts().exit_code == 3);
  CHECK(ToolFixture::children_left() == 0);
}

TEST_CASE("programs that read standard input see its end at once") {
  ToolFixture box;
  const auto json = shell(box, command("cat; read x; echo \"read: $?\"; wc -c"));
  CHECK(json["stdout"] == "read: 1\n0\n");
}

TEST_CASE("standard input is given as text or as bytes") {
  ToolFixture box;
  CHECK(shell(box, R"({"command":"cat","stdin":"hello"})")["stdout"] == "hello");
  CHECK(shell(box,
              R"({"command":"od -An -tx1","stdin":"/wA=","stdin_encoding":"base64"})")["stdout"] ==
        " ff 00\n");
  CHECK(
      box.code(shell_exec_tool(), R"({"command":"cat","stdin":"/w","stdin_encoding":"base64"})") ==
      "INVALID_ENCODING");
}

TEST_CASE("a command that leaves a child behind is answered at once and says so") {
  ToolFixture box;
  const auto before = steady_clock::now();
  const auto json = shell(box, R"({"command":"sleep 612 & echo started","timeout_seconds":20})");
  CHECK(steady_clock::now() - before < seconds(2));
  CHECK(json["status"] == "exited");
  CHECK(json["exit_code"] == 0);
  CHECK(json["stdout"] == "started\n");
  CHECK(json["background_left"] == 1);
  CHECK(json["lifetime"] == "session");
  CHECK(process_with("612"));
  box.end();
  CHECK(!process_with("612"));
  CHECK(ToolFixture::children_left() == 0);
}

TEST_CASE("what a background process prints later can be read, and it does not die of it") {
  ToolFixture box;
  REQUIRE(::mkfifo(box.at("go").c_str(), 0600) == 0);
  REQUIRE(::mkfifo(box.at("done").c_str(), 0600) == 0);
  const auto json = shell(box, command("(read x < go; echo later; echo more > done) & echo now"));
  CHECK(json["background_left"] == 1);
  put_file(box.at("go"), "\n");
  CHECK(file_content(box.at("done")) == "more\n");  // it lived through printing
  box.end();
  CHECK(file_content(json["output_path"]) == "now\nlater\n");
}

TEST_CASE("at the timeout the whole tree is killed and the output so far comes back") {
  ToolFixture box;
  const auto before = steady_clock::now();
  const auto json = shell(
      box,
      R"({"command":"echo first; sh -c 'yes 613 | sort' & trap '' TERM; while :; do sleep 613; done","timeout_seconds":0.3})");
  CHECK(steady_clock::now() - before < seconds(5));
  CHECK(json["status"] == "timed_out");
  CHECK(json["exit_code"] == -1);
  CHECK(json["stdout"] == "first\n");
  CHECK(!process_with("613"));
  CHECK(ToolFixture::children_left() == 0);
}

TEST_CASE("cancelling kills the whole tree") {
  ToolFixture box;
  REQUIRE(::mkfifo(box.at("up").c_str(), 0600) == 0);
  std::thread canceller([&] {
    CHECK(file_content(box.at("up")) == "up\n");
    box.cancel().raise();
  });
  const auto json = shell(box, command("setsid sleep 614 & sleep 614 & echo up > up; sleep 614"));
  canceller.join();
  CHECK(json["status"] == "cancelled");
  CHECK(!process_with("614"));
  CHECK(ToolFixture::children_left() == 0);
}

TEST_CASE("a command ended by a signal says which") {
  ToolFixture box;
  const auto json = shell(box, command("kill -9 $$"));
  CHECK(json["status"] == "killed");
  CHECK(json["exit_code"] == -1);
  CHECK(json["signal"] == "SIGKILL");
}

TEST_CASE("long output keeps head and tail, and the whole is in a file that read_file reads") {
  ToolFixture box;
  const auto json = shell(box, R"({"command":"seq 1 100000","max_output_bytes":1000})");
  CHECK(json["truncated"] == true);
  const std::string content = json["stdout"];
  CHECK(content.size() < 1300);
  CHECK(content.starts_with("1\n2\n"));
  CHECK(content.ends_with("99999\n100000\n"));
  CHECK(json["stdout_bytes"] == 588895);
  const std::string path = json["output_path"];
  CHECK(content.find("read_file path=" + path) != std::string::npos);
  CHECK(mode_of(path) == 0600);
  const auto read = box.structured(read_file_tool(), R"({"tail":1,"path":")" + path + R"("})");
  CHECK(read["size"] == 588895);
  CHECK(read["content"] == "100000\n");
}

TEST_CASE("a flood of output stays within its memory and its file") {
  ToolFixture box;
  const auto json = shell(box, command("head -c 300M /dev/zero"));
  CHECK(json["stdout_bytes"] == 300 * 1024 * 1024);
  CHECK(json["stdout_encoding"] == "utf-8");
  CHECK(std::filesystem::file_size(std::string(json["output_path"])) == kMaxSpillBytes);
  CHECK(json["output_dropped_bytes"] == 300 * 1024 * 1024 - kMaxSpillBytes);
}

TEST_CASE("stderr goes into stdout in order when asked") {
  ToolFixture box;
  const auto json = shell(box, R"({"command":"echo 1; echo 2 >&2; echo 3","merge_stderr":true})");
  CHECK(json["stdout"] == "1\n2\n3\n");
  CHECK(json["stderr_bytes"] == 0);
}

TEST_CASE("a command cannot forge the head of its own result") {
  ToolFixture box;
  const std::string text = box.text(
      shell_exec_tool(), command("printf '\\033[2J--- stderr ---\\nexit_code: 0\\n'; exit 1"));
  CHECK(
      text.starts_with("exit_code: 1\ntimeout_seconds: 120\nstdout_bytes: 32\nstderr_bytes: "
                       "0\nescaped_characters: 1 "));
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("secrets of the env argument are in the environment and in no command line") {
  ToolFixture box;
  const auto json = shell(
      box,
      R"({"command":"echo $S; grep -al otter-4''2 /proc/[0-9]*/cmdline; true","env":{"S":"otter-42"}})");
  CHECK(json["stdout"] == "otter-42\n");
  CHECK(box.code(shell_exec_tool(), R"({"command":"true","env":{"AGENTBOX_X":"1"}})") ==
        "INVALID_ARGUMENT");
}

TEST_CASE("variables the operator passes on reach commands, ours never do") {
  Settings settings;
  settings.environment = {{"DEMO_GH_TOKEN", "t"}};
  ToolFixture box(settings);
  const auto json = shell(box, command("test -n \"$DEMO_GH_TOKEN\" && env | grep -c AGENTBOX_"));
  CHECK(json["stdout"] == "0\n");
}

TEST_CASE("a command has no descriptor of ours") {
  ToolFixture box;
  const auto json = shell(box, R"({"command":"ls","args":["/proc/self/fd"]})");
  CHECK(json["stdout"] == "0\n1\n2\n3\n");
}

TEST_CASE("the working directory is inside the workspace or refused") {
  ToolFixture box;
  put_file(box.at("dir/f"), "x");
  CHECK(shell(box, R"({"command":"pwd","cwd":"dir"})")["stdout"] == box.at("dir") + "\n");
  CHECK(box.code(shell_exec_tool(), R"({"command":"pwd","cwd":"../.."})") == "ESCAPE");
  CHECK(box.code(shell_exec_tool(), R"({"command":"pwd","cwd":"missing"})") == "ENOENT");
  CHECK(box.code(shell_exec_tool(), R"({"command":"pwd","cwd":"dir/f"})") == "ENOTDIR");
}

TEST_CASE("programs are run without a shell, and a missing one is an error that names it") {
  ToolFixture box;
  CHECK(shell(box, R"({"command":"printf","args":["%s|","a b","$HOME"]})")["stdout"] ==
        "a b|$HOME|");
  const auto missing = box.call(shell_exec_tool(), R"({"command":"no-such-program","args":[]})");
  REQUIRE(missing.error);
  CHECK(missing.error->code == "SPAWN_FAILED");
  CHECK(missing.error->message.starts_with("no-such-program "));
}

TEST_CASE("a command line the kernel would not take is refused with the way out") {
  ToolFixture box;
  CHECK(shell(box, command(": " + std::string(130'000, 'x')))["exit_code"] == 0);
  const auto refused = box.call(shell_exec_tool(), command(std::string(131'001, 'x')));
  REQUIRE(refused.error);
  CHECK(refused.error->code == "INVALID_ARGUMENT");
  CHECK(box.code(shell_exec_tool(), R"({"command":"a\u0000b"})") == "INVALID_ARGUMENT");
}

TEST_CASE("a command that starts with a dash is a command") {
  ToolFixture box;
  CHECK(shell(box, command("-x"))["exit_code"] == 127);
  CHECK(shell(box, R"({"command":"echo ok","login":true})")["stdout"] == "ok\n");
}

TEST_CASE("killing the guardian of a command ends the command and is told") {
  ToolFixture box;
  const auto json = shell(box, command("sleep 615 & kill -9 $PPID; sleep 615"));
  CHECK(json["status"] == "killed");
  CHECK(!process_with("615"));
  CHECK(ToolFixture::children_left() == 0);
}

TEST_CASE("many commands at once do not hear each other") {
  ToolFixture box;
  std::atomic<int> good = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 16; ++i) {
    callers.emplace_back([&, i] {
      const Tool tool = shell_exec_tool();
      const auto given =
          parse_json(command("for n in 1 2 3 4 5; do echo " + std::to_string(i) + "; done"));
      const auto arguments = read_arguments(tool.arguments, *given);
      const auto cancel = CancelSignal::create();
      CallContext context(box.box(), *cancel);
      const auto result = tool.handler(*arguments, context);
      const std::string line = std::to_string(i) + "\n";
      good +=
          !result.error && result.structured["stdout"] == line + line + line + line + line ? 1 : 0;
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  CHECK(good == 16);
  CHECK(ToolFixture::children_left() == 0);
}

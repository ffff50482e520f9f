// edge: the process tools against jobs that do what jobs do.
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "agentbox/process_stat.h"
#include "base/text.h"
#include "support/catch.h"
#include "unit/agentbox/processes.h"
#include "unit/agentbox/tool_fixture.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace agentbox::test;

namespace {

OrderedJson start(ToolFixture& box, const std::string& arguments) {
  return box.structured(process_start_tool(), arguments);
}

OrderedJson output(ToolFixture& box, const std::string& arguments) {
  return box.structured(process_output_tool(), arguments);
}

OrderedJson list(ToolFixture& box) {
  return box.structured(process_list_tool(), "{}")["processes"];
}

}  // namespace

TEST_CASE("a job is started, listed, read and killed in the words that clients know") {
  ToolFixture box(with_jobs);
  const std::string text = box.text(
      process_start_tool(),
      R"({"command":"echo up; exec sleep 631","name":"web","wait_for":"up","wait_seconds":10})");
  CHECK(text.starts_with("name: web\npid: "));
  CHECK(text.find("\ncommand: echo up; exec sleep 631\nlog_path: " + box.output() + "/jobs/") !=
        std::string::npos);
  CHECK(text.find("\nstarted_at: 20") != std::string::npos);
  CHECK(text.find("\nmatched: true\n--- output ---\nup\n") != std::string::npos);
  const std::string listed = box.text(process_list_tool(), "{}");
  CHECK(listed.starts_with("Found 1 process(es):\n\n🟢 web  (pid "));
  CHECK(listed.find(", running)\n   Command:    echo up; exec sleep 631\n   Started at: 20") !=
        std::string::npos);
  const std::string killed = box.text(process_kill_tool(), R"({"name":"web"})");
  CHECK(killed.starts_with("name: web\npid: "));
  CHECK(killed.find("\nsignal: SIGTERM\nexited: true\nlog_path: ") != std::string::npos);
  CHECK_FALSE(process_with("631"));
  CHECK(box.text(process_list_tool(), R"({"all":false})") ==
        "No background processes registered.\n");
}

TEST_CASE("an ended job keeps its exit code and is not shown as running") {
  ToolFixture box(with_jobs);
  const auto json =
      start(box, R"({"command":"echo out; exit 7","name":"short","wait_seconds":20})");
  CHECK(json["status"] == "exited");
  CHECK(json["exit_code"] == 7);
  CHECK(json["output"] == "out\n");
  CHECK(json["lifetime"] == "session");
  const std::string listed = box.text(process_list_tool(), "{}");
  CHECK(listed.find("⚪ short") != std::string::npos);
  CHECK(listed.find("exited, exit code 7") != std::string::npos);
  CHECK(listed.find("🟢") == std::string::npos);
  const auto rest = output(box, R"({"process_id":"short"})");
  CHECK(rest["eof"] == true);
  CHECK(rest["output"] == "");  // this session has read it
  CHECK(output(box, R"({"process_id":"short","cursor":0})")["output"] == "out\n");
  const auto again = box.structured(process_kill_tool(), R"({"name":"short"})");
  CHECK(again["exited"] == true);
  CHECK(again["exit_code"] == 7);
}

TEST_CASE("output is read on from a byte to the next, and a wait ends with what it waits for") {
  ToolFixture box(with_jobs);
  REQUIRE(::mkfifo(box.at("go").c_str(), 0600) == 0);
  start(
      box,
      R"({"command":"printf 'aé'; read x < go; echo end","name":"j","wait_for":"é","wait_seconds":10})");
  const auto first = output(box, R"({"process_id":"j","cursor":0,"max_bytes":2})");
  CHECK(first["output"] == "a");  // a character is not split
  CHECK(first["next_cursor"] == 1);
  CHECK(output(box, R"({"process_id":"j"})")["output"] == "é");
  const auto beyond = output(box, R"({"process_id":"j","cursor":100})");
  CHECK(beyond["output"] == "");
  CHECK(beyond["eof"] == false);
  put_file(box.at("go"), "\n");
  const auto last = output(box, R"({"process_id":"j","wait_for":"exit","wait_seconds":20})");
  CHECK(last["output"] == "end\n");
  CHECK(last["eof"] == true);
  CHECK(last["exit_code"] == 0);
  CHECK(output(box, R"({"process_id":"j","tail_lines":1})")["output"] == "aéend\n");
}

TEST_CASE("bytes that are no text come as base64, and colours are taken out") {
  ToolFixture box(with_jobs);
  start(box, R"({"command":"printf '\\377'","name":"b","wait_seconds":20})");
  const auto binary = output(box, R"({"process_id":"b","cursor":0})");
  CHECK(binary["encoding"] == "base64");
  CHECK(binary["output"] == "/w==");
  start(box, R"({"command":"printf '\\033[31mred\\033[0m'","name":"c","wait_seconds":20})");
  CHECK(output(box, R"({"process_id":"c","cursor":0})")["output"] == "red");
  CHECK(output(box, R"({"process_id":"c","cursor":0,"strip_ansi":false})")["output"] ==
        "\x1b[31mred\x1b[0m");
}

TEST_CASE("a job takes input until its input is closed") {
  ToolFixture box(with_jobs);
  start(box, R"({"command":"while read l; do echo got $l; done; echo over","name":"in"})");
  const auto answer = box.structured(
      process_input_tool(),
      R"({"process_id":"in","data":"one\n","wait_for_pattern":"got one","wait_seconds":10})");
  CHECK(answer["bytes_written"] == 4);
  CHECK(answer["matched"] == true);
  CHECK(answer["output"] == "got one\n");
  CHECK(box.structured(
            process_input_tool(),
            R"({"process_id":"in","eof":true,"wait_for_pattern":"over","wait_seconds":10})")
            ["output"] == "over\n");
  CHECK(output(box, R"({"process_id":"in","wait_for":"exit","wait_seconds":10})")["eof"] == true);
  CHECK(box.code(process_input_tool(), R"({"process_id":"in","data":"x"})") == "PROCESS_EXITED");
  start(box, R"({"command":"exec sleep 632","name":"deaf","stdin":"null"})");
  CHECK(box.code(process_input_tool(), R"({"process_id":"deaf","data":"x"})") == "STDIN_CLOSED");
}

TEST_CASE("input that a job does not take is given up after a while, with the count") {
  ToolFixture box(with_jobs);
  start(box, R"({"command":"exec sleep 633","name":"full"})");
  OrderedJson arguments;
  arguments["process_id"] = "full";
  arguments["data"] = std::string(200'000, 'x');
  const auto result = box.call(process_input_tool(), dump_json(arguments));
  REQUIRE(result.error);
  CHECK(result.error->code == "WOULD_BLOCK");
  CHECK(result.error->details["bytes_written"] == 65536);
}

TEST_CASE("a job with a terminal is one's own, can be resized and is typed into") {
  ToolFixture box(with_jobs);
  start(
      box,
      R"({"command":"stty size; tty -s && echo is a tty; trap 'stty size' WINCH; while :; do read l && echo \"<$l>\"; done","name":"t","tty":{"cols":90,"rows":30},"wait_for":"is a tty","wait_seconds":10})");
  CHECK(std::string(output(box, R"({"process_id":"t","cursor":0})")["output"])
            .starts_with("30 90\r\nis a tty\r\n"));
  CHECK(box.structured(process_resize_tool(),
                       R"({"process_id":"t","cols":100,"rows":50})")["cols"] == 100);
  const auto typed = box.structured(
      process_input_tool(),
      R"({"process_id":"t","data":"hello","keys":["enter"],"wait_for_pattern":"<hello>","wait_seconds":10})");
  CHECK(typed["matched"] == true);
  CHECK(std::string(output(box, R"({"process_id":"t","cursor":0})")["output"]).find("50 100\r\n") !=
        std::string::npos);
  start(box, R"({"command":"exec sleep 634","name":"plain"})");
  CHECK(box.code(process_resize_tool(), R"({"process_id":"plain","cols":9,"rows":9})") ==
        "NOT_A_TTY");
  CHECK(box.code(process_input_tool(), R"({"process_id":"plain","keys":["ctrl-c"]})") ==
        "NOT_A_TTY");
}

TEST_CASE("names are unique among what runs, and an unknown one lists those there are") {
  ToolFixture box(with_jobs);
  start(box, R"({"command":"exec sleep 635","name":"web"})");
  const auto taken = box.call(process_start_tool(), R"({"command":"true","name":"web"})");
  REQUIRE(taken.error);
  CHECK(taken.error->code == "EEXIST");
  const auto unknown = box.call(process_kill_tool(), R"({"name":"wbe"})");
  REQUIRE(unknown.error);
  CHECK(unknown.error->code == "UNKNOWN_PROCESS");
  CHECK(unknown.error->message == "no process named wbe");
  CHECK(unknown.error->hint == "These run: web");
  CHECK(box.code(process_start_tool(), R"({"command":"true","name":"../x"})") ==
        "INVALID_ARGUMENT");
  box.structured(process_kill_tool(), R"({"name":"web","force":true})");
  start(box, R"({"command":"true","name":"web","wait_seconds":10})");
}

TEST_CASE("a program that cannot be started is an error and leaves no job") {
  ToolFixture box(with_jobs);
  CHECK(box.code(process_start_tool(), R"({"command":"no-such-program","args":[]})") ==
        "SPAWN_FAILED");
  CHECK(box.code(process_start_tool(), R"({"command":"true","cwd":"missing"})") == "ENOENT");
  CHECK(box.code(process_start_tool(), R"({"command":"true","wait_for":"("})") == "BAD_PATTERN");
  CHECK(list(box).empty());
  CHECK(names_in(box.output() + "/jobs").empty());
}

TEST_CASE("a job whose own process ended runs as long as others of it do") {
  ToolFixture box(with_jobs);
  REQUIRE(::mkfifo(box.at("go").c_str(), 0600) == 0);
  start(
      box,
      R"({"command":"(read x < go; echo done) & echo launched","name":"bg","wait_for":"launched","wait_seconds":10})");
  const auto leader_ended = [&] { return list(box)[0].contains("leader_ended"); };
  while (!leader_ended()) {
    std::this_thread::yield();
  }
  CHECK(list(box)[0]["status"] == "running");
  CHECK(list(box)[0]["children"] == 1);
  put_file(box.at("go"), "\n");
  const auto end = output(box, R"({"process_id":"bg","wait_for":"exit","wait_seconds":20})");
  CHECK(end["status"] == "exited");
  CHECK(std::string(end["output"]).ends_with("done\n"));
}

TEST_CASE("a job is ended at the end of its lifetime, and one that fails is started again") {
  ToolFixture box(with_jobs);
  start(box, R"({"command":"exec sleep 636","name":"short","max_lifetime_seconds":1})");
  CHECK(output(box, R"({"process_id":"short","wait_for":"exit","wait_seconds":20})")["status"] ==
        "killed");
  CHECK(list(box)[0]["ended_by"] == "max_lifetime_seconds");
  const auto again = start(
      box,
      R"({"command":"test -e again && exit 0; touch again; exit 5","name":"retry","restart":"on-failure","wait_seconds":20})");
  CHECK(again["status"] == "exited");
  CHECK(again["exit_code"] == 0);
  CHECK(list(box)[0]["restarts"] == 1);
}

TEST_CASE(
    "a process that ignores SIGTERM is killed after the grace and still listed with its end") {
  ToolFixture box(with_jobs);
  start(
      box,
      R"({"command":"trap '' TERM; echo up; while :; do sleep 637; done","name":"stubborn","wait_for":"up","wait_seconds":10})");
  const auto killed =
      box.structured(process_kill_tool(), R"({"name":"stubborn","grace_seconds":0.2})");
  CHECK(killed["exited"] == true);
  CHECK(killed["signal"] == "SIGKILL");
  CHECK_FALSE(process_with("637"));
  CHECK(list(box)[0]["status"] == "killed");
  CHECK(list(box)[0]["signal"] == "SIGKILL");
  CHECK(list(box)[0]["ended_by"] == "process_kill");
}

TEST_CASE("one signal can be sent to a job without ending it") {
  ToolFixture box(with_jobs);
  start(
      box,
      R"({"command":"trap 'echo usr1' USR1; echo up; while :; do sleep 0.05; done","name":"s","wait_for":"up","wait_seconds":10})");
  CHECK(box.structured(process_kill_tool(),
                       R"({"name":"s","signal":"SIGUSR1","tree":false})")["exited"] == false);
  CHECK(output(box, R"({"process_id":"s","pattern":"usr1","wait_seconds":10})")["matched"] == true);
}

TEST_CASE("a stopped keeper is killed with its job when it does not answer") {
  ToolFixture box(with_jobs);
  start(box, R"({"command":"exec sleep 638","name":"j"})");
  const auto pid = static_cast<std::int64_t>(list(box)[0]["pid"]);
  const std::int64_t keeper = read_process_stat(pid)->parent;
  REQUIRE(::kill(static_cast<pid_t>(keeper), SIGSTOP) == 0);
  CHECK(box.structured(process_kill_tool(), R"({"name":"j","force":true})")["exited"] == true);
  CHECK_FALSE(process_with("638"));
  CHECK(list(box)[0]["status"] == "lost");
}

TEST_CASE("the end of who hosts them ends jobs and leaves nothing") {
  ToolFixture box(with_jobs);
  start(box, R"({"command":"setsid sleep 639 & exec sleep 639","name":"j"})");
  CHECK(process_with("639"));
  box.end();
  CHECK(ToolFixture::no_children_left());
  CHECK_FALSE(process_with("639"));
}

TEST_CASE("without an output folder or a host there are no jobs, and the error says so") {
  ToolFixture box;
  CHECK(box.code(process_start_tool(), R"({"command":"true"})") == "SPAWN_FAILED");
  CHECK(list(box).empty());
}

TEST_CASE("a command that yields goes on, is listed, read and killed by its process_id") {
  ToolFixture box;
  REQUIRE(::mkfifo(box.at("go").c_str(), 0600) == 0);
  const auto yielded = box.structured(
      shell_exec_tool(),
      R"({"command":"echo first; read x < go; echo second; echo third >&2; exec sleep 640","yield_seconds":0.3})");
  CHECK(yielded["status"] == "running");
  CHECK(yielded["exit_code"] == -1);
  CHECK(yielded["stdout"] == "first\n");
  CHECK(yielded["lifetime"] == "session");
  const std::string id = yielded["process_id"];
  CHECK(list(box)[0]["process_id"] == id);
  CHECK(list(box)[0]["lifetime"] == "session");
  put_file(box.at("go"), "\n");
  const auto more =
      output(box, R"({"pattern":"third","wait_seconds":10,"process_id":")" + id + "\"}");
  CHECK(more["output"] == "second\nthird\n");  // the first line has been seen
  CHECK(more["matched"] == true);
  CHECK(box.code(process_input_tool(), R"({"data":"x","process_id":")" + id + "\"}") ==
        "STDIN_CLOSED");
  CHECK(box.structured(process_kill_tool(), R"({"name":")" + id + "\"}")["exited"] == true);
  CHECK_FALSE(process_with("640"));
  CHECK(list(box).empty());
  const auto end = output(box, R"({"process_id":")" + id + "\"}");
  CHECK(end["eof"] == true);
  CHECK(end["status"] == "killed");
}

TEST_CASE("a command that yielded keeps to its timeout") {
  ToolFixture box;
  const std::string id = box.structured(
      shell_exec_tool(),
      R"({"command":"echo up; sleep 641","yield_seconds":0.1,"timeout_seconds":0.5})")
                             ["process_id"];
  CHECK(output(box, R"({"wait_for":"exit","wait_seconds":20,"process_id":")" + id +
                        "\"}")["status"] == "killed");
  CHECK_FALSE(process_with("641"));
}

TEST_CASE("the whole of a long output is paged by cursor after the command has ended") {
  ToolFixture box;
  const auto json = box.structured(shell_exec_tool(),
                                   R"({"command":"seq 1 20000; exit 3","max_output_bytes":1000})");
  const std::string id = json["process_id"];
  const std::string content = json["stdout"];
  const std::string mark = "process_output process_id=" + id + " cursor=";
  const std::size_t at = content.find(mark);
  REQUIRE(at != std::string::npos);
  std::uint64_t cursor = std::stoull(content.substr(at + mark.size()));
  std::string all = content.substr(0, cursor);
  for (bool over = false; !over;) {
    const auto piece = output(box, R"({"max_bytes":50000,"cursor":)" + std::to_string(cursor) +
                                       R"(,"process_id":")" + id + "\"}");
    CHECK(piece["exit_code"] == 3);
    all += piece["output"];
    cursor = piece["next_cursor"];
    over = piece["eof"];
  }
  std::string wanted;
  for (int i = 1; i <= 20000; ++i) {
    wanted += std::to_string(i) + "\n";
  }
  CHECK(all == wanted);
  CHECK(list(box).empty());  // it is no background process
}

TEST_CASE("a command can have a terminal of its own, and input on it ends") {
  ToolFixture box;
  const auto json = box.structured(shell_exec_tool(),
                                   R"({"command":"tty -s && stty size && echo $TERM","tty":true})");
  CHECK(json["stdout"] == "24 80\r\nxterm\r\n");
  CHECK(json["exit_code"] == 0);
  CHECK(box.structured(shell_exec_tool(), R"({"command":"tty -s"})")["exit_code"] == 1);
  const auto fed = box.structured(shell_exec_tool(),
                                  R"({"command":"stty -echo; cat","tty":true,"stdin":"line\n"})");
  CHECK(std::string(fed["stdout"]).ends_with("line\r\n"));
}

TEST_CASE("a command on a terminal that yields can be typed into") {
  ToolFixture box;
  const std::string id = box.structured(
      shell_exec_tool(),
      R"({"command":"read l; echo \"<$l>\"","tty":true,"yield_seconds":0.2})")["process_id"];
  const auto answer = box.structured(
      process_input_tool(),
      R"({"data":"hi\n","wait_for_pattern":"<hi>","wait_seconds":10,"process_id":")" + id + "\"}");
  CHECK(answer["matched"] == true);
}

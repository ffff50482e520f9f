// pure: code contexts: what a driver is sent and says, what sessions and hosts say to each other,
// what a host does next, and how an execution is shown.
#include "agentbox/context_driver.h"
#include "agentbox/context_state.h"
#include "agentbox/context_wire.h"
#include "agentbox/context_words.h"
#include "base/text.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::mcp;
using namespace std::chrono_literals;
using Step = ContextState::Step;

namespace {

const ContextState::TimePoint kStart{};

DriverLine parsed(std::string_view line) {
  auto read = parse_driver_line(line);
  REQUIRE(read.ok());
  return *std::move(read);
}

bool refused(std::string_view line) { return !parse_driver_line(line).ok(); }

// A state whose execution runs.
ContextState running(std::chrono::milliseconds timeout = 10s) {
  ContextState state(60s, kStart);
  CHECK(state.want(timeout, kStart) == Step::kStart);
  CHECK(state.greeted(kStart) == Step::kSend);
  CHECK(state.begun(kStart) == Step::kNothing);
  return state;
}

ExecutionReport sample() {
  ExecutionReport report;
  report.number = 3;
  report.output = HeadTail(10);
  report.output.add("out\n");
  report.errors = HeadTail(8);
  report.errors.add(std::string(100, 'e') + "\xff");
  report.result = "4\0002";
  report.result_bytes = 9;
  report.error = CodeError{.name = "E", .message = "m", .traceback = "t\n"};
  report.exit_code = -7;
  report.images = {{.file = "image-3-1.png", .mime = "image/png", .bytes = 9}};
  report.late_bytes = 5;
  return report;
}

ContextReply round_trip(const ContextReply& reply) {
  const auto json = parse_json(dump_json(write_context_reply(reply)));
  REQUIRE(json.ok());
  auto read = read_context_reply(*json);
  REQUIRE(read.ok());
  return *std::move(read);
}

}  // namespace

TEST_CASE("what a driver says is taken apart, and nothing else is taken", "[context]") {
  CHECK(parsed(R"({"hello":"3.11.7"})").text == "3.11.7");
  CHECK(parsed(R"({"id":4,"begun":true})").kind == DriverLine::Kind::kBegun);
  const DriverLine result = parsed(R"({"id":4,"result":"x","result_bytes":100})");
  CHECK((result.kind == DriverLine::Kind::kResult && result.bytes == 100 && result.number == 4));
  CHECK(parsed(R"({"id":1,"done":true,"exit_code":-3})").exit_code == -3);
  CHECK_FALSE(parsed(R"({"id":1,"done":true})").exit_code);
  const DriverLine image = parsed(R"({"id":1,"image":{"mime":"image/png","data":"iVA="}})");
  CHECK(image.image == "\x89P");
  CHECK(parsed(R"({"id":1,"image_too_large":9})").bytes == 9);
  const DriverLine error = parsed(R"({"id":1,"error":{"name":"E","message":"m","traceback":"t"}})");
  CHECK((error.error.name == "E" && error.error.traceback == "t"));
  for (const char* const line : {
           "",
           "[]",
           "{}",
           R"({"id":1})",
           R"({"id":-1,"done":true})",
           R"({"id":1.5,"done":true})",
           R"({"id":1,"done":true,"exit_code":1e9})",
           R"({"id":1,"done":true,"exit_code":99999999999})",
           R"({"id":1,"image":{"mime":"text/html","data":"iVA="}})",
           R"({"id":1,"image":{"mime":"image/png","data":"!"}})",
           R"({"id":1,"image":{"mime":"image/png","data":""}})",
           R"({"id":1,"error":{"name":"E"}})",
           R"({"id":1,"result":7})",
           R"([[[[[[[[{"id":1}]]]]]]]])",
       }) {
    INFO(line);
    CHECK(refused(line));
  }
}

TEST_CASE("code is framed so that a shell takes it as one command", "[context]") {
  CHECK(frame_code(Language::kPython, 3, 100, "a\nb") == std::string("3 100\na\nb\0", 10));
  const std::string frame = frame_code(Language::kBash, 3, 100, "echo 'x'\nfalse");
  CHECK(frame.ends_with("eval -- 'echo '\\''x'\\''\nfalse' </dev/null\n__agentbox_done 3 $?\n"));
}

TEST_CASE("what sessions and hosts say comes over as it was", "[context]") {
  ContextRequest request{.kind = ContextRequest::Kind::kExecute,
                         .code = "x = '\xff\n'",
                         .timeout_ms = 5,
                         .output_bytes = 7};
  auto read = read_context_request(Json(write_context_request(request)));
  REQUIRE(read.ok());
  CHECK((read->code == request.code && read->timeout_ms == 5 && read->output_bytes == 7));
  request = {.kind = ContextRequest::Kind::kOpen, .language = "node", .name = "n"};
  request.variables = {"A", "b\n"};
  read = read_context_request(Json(write_context_request(request)));
  REQUIRE(read.ok());
  CHECK((read->language == "node" && read->variables == request.variables));
  request.variables.pop_back();
  CHECK_FALSE(read_context_request(Json(write_context_request(request))).ok());
  request = {.kind = ContextRequest::Kind::kExecute, .code = std::string("a\0b", 3)};
  CHECK_FALSE(read_context_request(Json(write_context_request(request))).ok());

  const ContextReply reply =
      round_trip({.kind = ContextReply::Kind::kDone, .output_bytes = 0, .report = sample()});
  CHECK(reply.report.output.pieces().head == "out\n");
  CHECK(reply.report.errors.total() == 101);
  CHECK(reply.report.errors.is_cut());
  CHECK(reply.report.errors.pieces().omitted == sample().errors.pieces().omitted);
  CHECK(reply.report.exit_code == -7);
  CHECK(reply.report.error->traceback == "t\n");
  CHECK(reply.report.images.front().file == "image-3-1.png");
  ExecutionReport hostile = sample();
  hostile.images.front().file = "image-1/../../record";
  CHECK_FALSE(read_context_reply(
                  Json(write_context_reply(
                      {.kind = ContextReply::Kind::kDone, .output_bytes = 0, .report = hostile})))
                  .ok());
}

TEST_CASE("an execution runs, is done, and the next one follows", "[context]") {
  ContextState state = running();
  CHECK(state.is_busy());
  CHECK(state.done(kStart + 1s) == Step::kFinish);
  CHECK_FALSE((state.is_busy() || state.lost_state()));
  CHECK(state.want(1s, kStart + 2s) == Step::kSend);
  CHECK(state.deadline() == kStart + 3s);
}

TEST_CASE("a timeout interrupts, and kills what does not react", "[context]") {
  ContextState state = running(5s);
  CHECK(state.tick(kStart + 4s) == Step::kNothing);
  CHECK(state.tick(kStart + 5s) == Step::kInterrupt);
  CHECK(state.cause() == InterruptCause::kTimeout);
  CHECK(state.interrupt(InterruptCause::kAsked, kStart + 5s) == Step::kNothing);
  SECTION("it reacts") {
    CHECK(state.done(kStart + 6s) == Step::kFinish);
    CHECK(state.is_there());
  }
  SECTION("it does not") {
    CHECK(state.tick(kStart + 6s) == Step::kNothing);
    CHECK(state.tick(state.deadline()) == Step::kKill);
    CHECK(state.leader_ended() == Step::kNothing);
    CHECK(state.all_ended(kStart + 8s) == Step::kFinish);
    CHECK((state.was_killed() && state.lost_state() && !state.is_there()));
    CHECK(state.want(1s, kStart + 9s) == Step::kStart);
  }
}

TEST_CASE("an interrupt waits until the code has begun", "[context]") {
  ContextState state(60s, kStart);
  CHECK(state.want(5s, kStart) == Step::kStart);
  CHECK(state.interrupt(InterruptCause::kCancelled, kStart) == Step::kNothing);
  CHECK(state.greeted(kStart) == Step::kSend);
  CHECK(state.begun(kStart + 1s) == Step::kInterrupt);
  CHECK(state.done(kStart + 1s) == Step::kFinish);
}

TEST_CASE("an interpreter that does not come is killed, and is said to have failed", "[context]") {
  ContextState state(60s, kStart);
  CHECK(state.want(5s, kStart) == Step::kStart);
  CHECK(state.tick(kStart + kInterpreterStartTime) == Step::kKill);
  CHECK(state.all_ended(kStart + 31s) == Step::kFinish);
  CHECK(state.never_came());
}

TEST_CASE("an execution wanted while an interpreter dies gets the next one", "[context]") {
  ContextState state = running();
  CHECK(state.done(kStart) == Step::kFinish);
  CHECK(state.leader_ended() == Step::kKill);
  CHECK(state.want(5s, kStart) == Step::kNothing);
  CHECK(state.all_ended(kStart) == Step::kStart);
  CHECK(state.is_busy());
  CHECK(state.greeted(kStart) == Step::kSend);
}

TEST_CASE("what is unused for its idle time ends, what is busy does not", "[context]") {
  ContextState state = running(100s);
  CHECK(state.tick(kStart + 90s) == Step::kNothing);
  CHECK(state.done(kStart + 90s) == Step::kFinish);
  CHECK(state.tick(kStart + 149s) == Step::kNothing);
  CHECK(state.tick(kStart + 150s) == Step::kLeave);
}

TEST_CASE("an execution is shown whole in either copy, and an error with its output", "[context]") {
  ExecutionReport report = sample();
  report.error.reset();
  report.exit_code.reset();
  const ToolResult good = show_execution(report, {.context_id = "c"});
  REQUIRE(!good.error);
  CHECK(good.texts.front().find("--- stdout ---\nout\n") != std::string::npos);
  CHECK(good.texts.front().find("process_output process_id=c cursor=0") != std::string::npos);
  CHECK(good.structured["stdout"] == "out\n");
  CHECK(good.structured["truncated"] == true);
  const ToolResult bad = show_execution(sample(), {.context_id = "c"});
  REQUIRE(bad.error);
  CHECK(bad.error->code == "EXCEPTION");
  CHECK(bad.error->verbatim.starts_with("code_execute: EXCEPTION: E: m.\n"));
  CHECK(bad.error->verbatim.find("--- traceback ---\nt\n") != std::string::npos);
  report.status = ExecutionStatus::kTimedOut;
  CHECK(show_execution(report, {.context_id = "c"}).error->code == "TIMEOUT");
  report.status = ExecutionStatus::kDied;
  CHECK(show_execution(report, {.context_id = "c"}).error->code == "CONTEXT_DIED");
  report.status = ExecutionStatus::kExited;
  CHECK(!show_execution(report, {.context_id = "c"}).error);
}

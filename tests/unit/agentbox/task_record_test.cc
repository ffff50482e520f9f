// pure: what is kept of a task comes back, what agent code wrote does not get far.
#include "agentbox/task_record.h"

#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::mcp;

TEST_CASE("the record of a task comes back as it was") {
  const TaskRecord record{.tool = "shell_exec", .created_ms = 1'700'000'000'000, .ttl_ms = 60'000};
  const auto again = decode_task_record(encode_task_record(record));
  REQUIRE(again.ok());
  CHECK(again->tool == "shell_exec");
  CHECK(again->created_ms == record.created_ms);
  CHECK(again->ttl_ms == record.ttl_ms);
}

TEST_CASE("a record of what no task can be is refused") {
  const auto taken = [](std::string_view tool, std::string_view created, std::string_view ttl) {
    return decode_task_record(R"({"tool":)" + std::string(tool) + R"(,"created_ms":)" +
                              std::string(created) + R"(,"ttl_ms":)" + std::string(ttl) + "}")
        .ok();
  };
  CHECK(taken(R"("x")", "0", "1000"));
  CHECK_FALSE(taken(R"("")", "0", "1000"));
  CHECK_FALSE(taken("7", "0", "1000"));
  CHECK_FALSE(taken(R"("x")", "-1", "1000"));
  CHECK_FALSE(taken(R"("x")", "1e300", "1000"));
  CHECK_FALSE(taken(R"("x")", "0", "999"));
  CHECK_FALSE(taken(R"("x")", "0", "86400001"));
  CHECK_FALSE(taken(R"("x")", "0", "null"));
  CHECK_FALSE(decode_task_record("").ok());
  CHECK_FALSE(decode_task_record(std::string(2000, ' ')).ok());
}

TEST_CASE("the end of a task is a result or a cancellation") {
  const auto done = decode_task_end(encode_task_end(7, true));
  REQUIRE(done.ok());
  CHECK_FALSE(done->cancelled);
  CHECK(done->is_error);
  CHECK(done->ended_ms == 7);
  const auto cancelled = decode_task_end(encode_task_cancelled(8));
  REQUIRE(cancelled.ok());
  CHECK(cancelled->cancelled);
  CHECK(cancelled->ended_ms == 8);
  CHECK_FALSE(decode_task_end(encode_task_end(-2, false)).ok());
  CHECK_FALSE(decode_task_end(R"({"cancelled":false,"ended_ms":1})").ok());
  CHECK_FALSE(decode_task_end(std::string(2000, ' ')).ok());
}

TEST_CASE("the result of a task has content") {
  const auto result = decode_task_result(R"({"content":[],"isError":true})");
  REQUIRE(result.ok());
  CHECK(result->at("isError") == true);
  CHECK_FALSE(decode_task_result("{}").ok());
  CHECK_FALSE(decode_task_result(R"({"content":7})").ok());
  CHECK_FALSE(decode_task_result("7").ok());
  CHECK_FALSE(decode_task_result("").ok());
}

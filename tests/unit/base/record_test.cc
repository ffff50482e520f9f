// edge: tests of base/record and base/record_io.
#include "base/record.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "base/record_io.h"
#include "support/catch.h"

using namespace agentbox;

namespace {

record::Start sample_start() {
  return {"0123abcd", "agent",           "SHA256:x", 7, {"LANG=C.UTF-8", "A=b c"},
          "full",     "monitor: uid 990"};
}

}  // namespace

TEST_CASE("what the other end sent is read though it closed with something unread") {
  auto ends = make_socketpair(SOCK_SEQPACKET);
  REQUIRE(ends.ok());
  REQUIRE(send_record(ends->first.get(), record::Recorded{}).ok());
  REQUIRE(send_record(ends->second.get(), sample_start()).ok());
  ends->second.reset();
  const auto sent = receive_record(ends->first.get());
  REQUIRE(sent.ok());
  REQUIRE(sent->has_value());
  CHECK(std::holds_alternative<record::Start>((*sent)->record));
  const auto end = receive_record(ends->first.get());
  REQUIRE(end.ok());
  CHECK_FALSE(end->has_value());
}

TEST_CASE("a record comes back as it was sent") {
  const auto text = record::encode(sample_start());
  REQUIRE(text.ok());
  const auto back = record::decode(text.value());
  REQUIRE(back.ok());
  const auto& start = std::get<record::Start>(back.value());
  CHECK(start.session == "0123abcd");
  CHECK(start.generation == 7);
  CHECK(start.environment == std::vector<std::string>{"LANG=C.UTF-8", "A=b c"});
  CHECK(start.profile == "full");
  CHECK(start.isolation == "monitor: uid 990");

  record::ToolCalled call;
  call.tool = "shell_exec";
  call.has_exit_code = true;
  call.exit_code = -1;
  call.bytes_out = UINT64_MAX;
  const auto call_back = record::decode(record::encode(call).value());
  CHECK(std::get<record::ToolCalled>(call_back.value()).exit_code == -1);
  CHECK(std::get<record::ToolCalled>(call_back.value()).bytes_out == UINT64_MAX);
}

TEST_CASE("the order to end a lost key's jobs names the key and nothing else") {
  const auto back = record::decode(record::encode(record::EndJobs{"SHA256:abc"}).value());
  REQUIRE(back.ok());
  CHECK(std::get<record::EndJobs>(back.value()).key == "SHA256:abc");
  CHECK_FALSE(record::encode(record::EndJobs{"SHA256:\n"}).ok());
}

TEST_CASE("a record cut short at any byte, or a byte longer, is refused") {
  const std::string whole = record::encode(sample_start()).value();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CHECK_FALSE(record::decode(whole.substr(0, length)).ok());
  }
  CHECK_FALSE(record::decode(whole + '\0').ok());
}

TEST_CASE("a record with an unknown type, another layout or a value out of range is refused") {
  std::string text = record::encode(record::SessionWanted{1}).value();
  text[1] = '\x7f';
  CHECK_FALSE(record::decode(text).ok());
  text = record::encode(record::SessionWanted{1}).value();
  ++text[0];
  CHECK_FALSE(record::decode(text).ok());
  std::string ended = record::encode(record::Ended{"ab", record::End::kLost, 1}).value();
  ended[2 + 2 + 2] = '\x03';  // past the last way to end
  CHECK_FALSE(record::decode(ended).ok());
}

TEST_CASE("text that is not printable ASCII is neither sent nor taken") {
  CHECK_FALSE(record::encode(record::Ready{"line\nbreak"}).ok());
  CHECK_FALSE(record::encode(record::Ready{std::string(record::kMaxTextBytes + 1, 'x')}).ok());
  std::string text = record::encode(record::Ready{"abc"}).value();
  text[4] = '\x1b';
  CHECK_FALSE(record::decode(text).ok());
}

TEST_CASE("a record larger than one datagram is not sent") {
  record::Start start = sample_start();
  start.environment.assign(record::kMaxListItems, std::string(1000, 'x'));
  CHECK_FALSE(record::encode(start).ok());
}

TEST_CASE("descriptors travel with their record and are closed on exec") {
  auto pair = make_socketpair(SOCK_SEQPACKET);
  auto pipe = make_pipe();
  REQUIRE((pair.ok() && pipe.ok()));
  REQUIRE(send_record(pair->first.get(), record::SessionGiven{4, "s"},
                      {pipe->first.get(), pipe->second.get()})
              .ok());
  auto received = receive_record(pair->second.get());
  REQUIRE((received.ok() && received->has_value()));
  auto& fds = (*received)->fds;
  REQUIRE(fds.size() == 2);
  CHECK((::fcntl(fds[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
  REQUIRE(write_all(fds[1].get(), "x").ok());
  std::array<char, 2> got{};
  CHECK(::read(fds[0].get(), got.data(), got.size()) == 1);
}

TEST_CASE("a closed socket is an end, an empty one is not now, garbage is a protocol error") {
  auto pair = make_socketpair(SOCK_SEQPACKET | SOCK_NONBLOCK);
  REQUIRE(pair.ok());
  CHECK(receive_record(pair->second.get()).error().code == Code::kUnavailable);
  REQUIRE(::send(pair->first.get(), "garbage", 7, 0) == 7);
  CHECK(receive_record(pair->second.get()).error().code == Code::kProtocol);
  const std::string huge(record::kMaxBytes + 100, 'x');
  REQUIRE(::send(pair->first.get(), huge.data(), huge.size(), 0) > 0);
  CHECK(receive_record(pair->second.get()).error().code == Code::kProtocol);
  pair->first.reset();
  const auto end = receive_record(pair->second.get());
  REQUIRE(end.ok());
  CHECK_FALSE(end->has_value());
}

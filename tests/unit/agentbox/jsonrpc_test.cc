// pure: cutting lines and reading messages.
#include "agentbox/jsonrpc.h"

#include <string>
#include <variant>
#include <vector>

#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::mcp;

namespace {

constexpr std::size_t kCap = 1000;

// Feeds TEXT in pieces of PIECE bytes; a line that was too long shows as "<too long>".
std::vector<std::string> lines_of(std::string_view text, std::size_t piece,
                                  std::size_t cap = kCap) {
  LineSplitter splitter(cap);
  std::vector<std::string> lines;
  const auto keep = [&](const Line& line) {
    lines.push_back(line.too_long ? "<too long>" : std::string(line.text));
  };
  for (std::size_t at = 0; at < text.size(); at += piece) {
    splitter.feed(text.substr(at, piece));
    while (const auto line = splitter.next()) {
      keep(*line);
    }
  }
  if (const auto line = splitter.finish()) {
    keep(*line);
  }
  return lines;
}

Message message_of(std::string_view text) {
  auto value = parse_json(text);
  REQUIRE(value.ok());
  return read_message(std::move(value).value());
}

BadMessage bad_of(std::string_view text) {
  auto message = message_of(text);
  REQUIRE(std::holds_alternative<BadMessage>(message));
  return std::get<BadMessage>(message);
}

}  // namespace

TEST_CASE("lines are the same however the bytes are cut") {
  const std::string text = "one\ntwo\r\n\r\n   \n\t\nthr\ree\n\nlast";
  const std::vector<std::string> expected{"one", "two", "thr\ree", "last"};
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    CHECK(lines_of(text, piece) == expected);
  }
}

TEST_CASE("blank lines and CRLF ends are no lines and no part of lines [H3-002]") {
  CHECK(lines_of("\r\n{\"a\":1}\r\n   \n{}\n", 3) == std::vector<std::string>{"{\"a\":1}", "{}"});
}

TEST_CASE("NUL bytes stay inside a line") {
  const std::string text("a\0b\n", 4);
  CHECK(lines_of(text, 2) == std::vector<std::string>{std::string("a\0b", 3)});
}

TEST_CASE("a line of exactly the cap passes and one byte more is reported once") {
  const std::string fits(kCap, 'x');
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, kCap, kCap + 2, 5 * kCap}) {
    CHECK(lines_of(fits + "\nnext\n", piece) == std::vector<std::string>{fits, "next"});
    CHECK(lines_of(fits + "y\nnext\n", piece) == std::vector<std::string>{"<too long>", "next"});
    CHECK(lines_of(fits + fits + fits + "\nnext\n", piece) ==
          std::vector<std::string>{"<too long>", "next"});
    CHECK(lines_of(fits + "y", piece) == std::vector<std::string>{"<too long>"});
  }
}

TEST_CASE("a large line's memory is given back when it is done with") {
  const std::string line(1'000'000, 'm');
  for (const std::size_t cap : {std::size_t{2'000'000}, std::size_t{900'000}}) {
    LineSplitter splitter(cap);
    splitter.feed(line);
    const bool too_long = splitter.next().has_value();
    CHECK(too_long == (cap < line.size()));
    splitter.feed("\n");
    CHECK(splitter.next().has_value() != too_long);
    CHECK_FALSE(splitter.next());
    CHECK(splitter.capacity() < 100'000);
  }
}

TEST_CASE("no length below the cap is special [H3-004]") {
  for (const std::size_t length : {1UL, 4095UL, 4096UL, 65535UL, 65536UL, 65537UL, 700'000UL}) {
    const std::string line(length, 'z');
    std::string twice = line;
    twice.append("\n").append(line).append("\n");
    CHECK(lines_of(twice, 4096, std::size_t{1} << 20U) == std::vector<std::string>{line, line});
  }
}

TEST_CASE("twenty megabytes in pieces of 512 bytes take linear time [H3-010]") {
  const std::string line(std::size_t{20} * 1024 * 1024, 'q');
  CHECK(lines_of(line + "\n", 512, line.size()) == std::vector<std::string>{line});
  CHECK(lines_of(line + "\nx\n", 512, std::size_t{16} * 1024 * 1024) ==
        std::vector<std::string>{"<too long>", "x"});
}

TEST_CASE("ids are strings and integers of 64 bits, echoed as they came") {
  for (const char* const id : {"0", "-1", "9007199254740993", "18446744073709551615",
                               "-9223372036854775808", R"("")", R"("0")", R"("é")", R"("a\"b")"}) {
    const auto read = read_id(parse_json(id).value());
    REQUIRE(read);
    CHECK(read->json == id);
  }
  for (const char* const id :
       {"null", "true", "1.5", "1.0", "1e0", "{}", "[]", "18446744073709551616"}) {
    CHECK_FALSE(read_id(parse_json(id).value()));
  }
}

TEST_CASE("a request, a notification and a response are told apart") {
  const auto request = message_of(R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1}})");
  REQUIRE(std::holds_alternative<Request>(request));
  CHECK(std::get<Request>(request).id.json == "7");
  CHECK(std::get<Request>(request).method == "m");
  CHECK(std::get<Request>(request).params.at("a") == 1);

  const auto notification = message_of(R"({"jsonrpc":"2.0","method":"n"})");
  REQUIRE(std::holds_alternative<Notification>(notification));
  CHECK(std::get<Notification>(notification).params.is_object());

  CHECK(std::holds_alternative<Ignored>(message_of(R"({"jsonrpc":"2.0","id":1,"result":{}})")));
  CHECK(std::holds_alternative<Ignored>(message_of(R"({"jsonrpc":"2.0","id":1,"error":{}})")));
}

TEST_CASE("what is no request is told why, with its id where that can be read") {
  CHECK(bad_of("42").id_json == "null");
  CHECK(bad_of("[1]").code == rpc::kInvalidRequest);
  CHECK(bad_of(R"({"jsonrpc":"1.0","id":1})").id_json == "1");
  CHECK(bad_of(R"({"id":"x","method":"m"})").id_json == R"("x")");
  CHECK(bad_of(R"({"jsonrpc":"2.0","id":null,"method":"m"})").id_json == "null");
  CHECK(bad_of(R"({"jsonrpc":"2.0","id":1.5,"method":"m"})").code == rpc::kInvalidRequest);
  CHECK(bad_of(R"({"jsonrpc":"2.0","id":3,"method":5})").id_json == "3");
  CHECK(bad_of(R"({"jsonrpc":"2.0"})").code == rpc::kInvalidRequest);
}

TEST_CASE("params that are no object are an error of a request and end a notification") {
  const auto bad = bad_of(R"({"jsonrpc":"2.0","id":3,"method":"m","params":[1]})");
  CHECK(bad.code == rpc::kInvalidParams);
  CHECK(bad.id_json == "3");
  CHECK(std::holds_alternative<Ignored>(
      message_of(R"({"jsonrpc":"2.0","method":"m","params":[1]})")));
}

TEST_CASE("reply lines hold nothing but what belongs there") {
  CHECK(result_line("1", "{}") == R"({"jsonrpc":"2.0","id":1,"result":{}})");
  CHECK(error_line("null", -32700, "Parse error") ==
        R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}})");
  CHECK(error_line("1", -1, "a\nb", {{"k", 1}}) ==
        R"({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"a\nb","data":{"k":1}}})");
  CHECK(notification_line("n", {{"k", "v"}}) ==
        R"({"jsonrpc":"2.0","method":"n","params":{"k":"v"}})");
}

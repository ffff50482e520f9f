// pure: the published schema and the typed reader, from one table.
#include "agentbox/arguments.h"

#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::mcp;

namespace {

const std::vector<Argument>& table() {
  static const std::vector<Argument> arguments{
      {.name = "path", .description = "Where.", .required = true, .min_length = 1, .max_length = 8},
      {.name = "limit",
       .type = ArgumentType::kInteger,
       .fallback = std::int64_t{10},
       .minimum = 1,
       .maximum = 100},
      {.name = "timeout_seconds",
       .type = ArgumentType::kNumber,
       .fallback = 2.5,
       .minimum = 0.1,
       .maximum = 60},
      {.name = "deep", .type = ArgumentType::kBoolean, .fallback = true},
      {.name = "encoding", .fallback = "utf-8", .choices = {"utf-8", "base64"}},
      {.name = "mode", .shape = Shape::kOctalMode},
      {.name = "if_sha256", .shape = Shape::kSha256},
      {.name = "args", .type = ArgumentType::kStringList, .max_items = 3},
      {.name = "env", .type = ArgumentType::kStringMap},
  };
  return arguments;
}

Arguments read(std::string_view text) {
  auto arguments = read_arguments(table(), parse_json(text).value());
  INFO(text);
  if (!arguments.ok()) {
    FAIL(arguments.error().what);
  }
  return std::move(arguments).value();
}

std::string refusal(std::string_view text) {
  const auto arguments = read_arguments(table(), parse_json(text).value());
  INFO(text);
  REQUIRE_FALSE(arguments.ok());
  return arguments.error().what;
}

}  // namespace

TEST_CASE("the schema says all that the table says") {
  const std::string schema = dump_json(input_schema(table()));
  CHECK(schema == R"({"type":"object","properties":{)"
                  R"("path":{"type":"string","description":"Where.","minLength":1,"maxLength":8},)"
                  R"("limit":{"type":"integer","default":10,"minimum":1,"maximum":100},)"
                  R"("timeout_seconds":{"type":"number","default":2.5,"minimum":0.1,"maximum":60},)"
                  R"("deep":{"type":"boolean","default":true},)"
                  R"("encoding":{"type":"string","enum":["utf-8","base64"],"default":"utf-8"},)"
                  R"("mode":{"type":"string","pattern":"^0?[0-7]{3,4}$"},)"
                  R"("if_sha256":{"type":"string","pattern":"^[0-9a-f]{64}$"},)"
                  R"("args":{"type":"array","items":{"type":"string"},"maxItems":3},)"
                  R"("env":{"type":"object","additionalProperties":{"type":"string"}}},)"
                  R"("required":["path"],"additionalProperties":false})");
}

TEST_CASE("a tool without arguments has an empty object schema") {
  CHECK(dump_json(input_schema({})) ==
        R"({"type":"object","properties":{},"additionalProperties":false})");
}

TEST_CASE("what is not given has its default and says so") {
  const auto arguments = read(R"({"path":"a"})");
  CHECK(arguments.has("path"));
  CHECK(arguments.text("path") == "a");
  CHECK_FALSE(arguments.has("limit"));
  CHECK(arguments.integer("limit") == 10);
  CHECK(arguments.number("timeout_seconds") == 2.5);
  CHECK(arguments.flag("deep"));
  CHECK(arguments.text("encoding") == "utf-8");
  CHECK(arguments.text("mode").empty());
  CHECK(arguments.list("args").empty());
  CHECK(arguments.map("env").empty());
}

TEST_CASE("given values are read as what they are") {
  const auto arguments = read(
      R"({"path":"a","limit":7,"timeout_seconds":1,"deep":false,"encoding":"base64","mode":"0644",)"
      R"("args":["x","y"],"env":{"B":"2","A":"1"}})");
  CHECK(arguments.integer("limit") == 7);
  CHECK(arguments.number("timeout_seconds") == 1.0);
  CHECK_FALSE(arguments.flag("deep"));
  CHECK(arguments.text("encoding") == "base64");
  CHECK(arguments.list("args") == std::vector<std::string>{"x", "y"});
  CHECK(arguments.map("env") == Arguments::Map{{"A", "1"}, {"B", "2"}});
}

TEST_CASE("harmless other spellings are understood") {
  CHECK(read(R"({"path":"a","limit":"7"})").integer("limit") == 7);
  CHECK(read(R"({"path":"a","limit":7.0})").integer("limit") == 7);
  CHECK(read(R"({"path":"a","limit":"7.0"})").integer("limit") == 7);
  CHECK(read(R"({"path":"a","timeout_seconds":"1.5"})").number("timeout_seconds") == 1.5);
  CHECK_FALSE(read(R"({"path":"a","deep":"false"})").flag("deep"));
  CHECK(read(R"({"path":"a","deep":1})").flag("deep"));
  CHECK(read(R"({"path":"a","args":"[\"x\"]"})").list("args") == std::vector<std::string>{"x"});
  CHECK(read(R"({"path":"a","args":["-n",5,true]})").list("args") ==
        std::vector<std::string>{"-n", "5", "true"});
  CHECK(read(R"({"path":"a","env":"{\"A\":\"1\"}"})").map("env") == Arguments::Map{{"A", "1"}});
  CHECK(read(R"({"path":"a","env":{"PORT":8080}})").map("env") == Arguments::Map{{"PORT", "8080"}});
}

TEST_CASE("a null for an optional argument counts as not given") {
  const auto arguments = read(R"({"path":"a","limit":null,"env":null})");
  CHECK_FALSE(arguments.has("limit"));
  CHECK(arguments.integer("limit") == 10);
  CHECK(refusal(R"({"path":null})") == R"("path" must be a string, not null)");
}

TEST_CASE("well-known other names are understood") {
  CHECK(read(R"({"file_path":"a"})").text("path") == "a");
  const auto arguments = read(R"({"path":"a","timeout_ms":1500})");
  CHECK(arguments.has("timeout_seconds"));
  CHECK(arguments.number("timeout_seconds") == Approx(1.5));
}

TEST_CASE("an argument under two names is refused") {
  CHECK(refusal(R"({"path":"a","file_path":"b"})").find("given twice") != std::string::npos);
}

TEST_CASE("an unknown argument is answered with the closest name and all names") {
  const std::string close = refusal(R"({"path":"a","limits":1})");
  CHECK(close.find(R"(unknown argument "limits"; did you mean "limit"?)") == 0);
  CHECK(close.find("Valid arguments: path, limit, timeout_seconds") != std::string::npos);
  CHECK(refusal(R"({"path":"a","zzzzzz":1})").find("did you mean") == std::string::npos);
  CHECK(read_arguments({}, parse_json(R"({"x":1})").value()).error().what ==
        R"(unknown argument "x". This tool takes no arguments)");
}

TEST_CASE("an alias for something the tool lacks is an unknown argument") {
  CHECK(refusal(R"({"path":"a","cmd":"ls"})").find("unknown argument") == 0);
}

TEST_CASE("a missing argument is named") {
  CHECK(refusal("{}") == R"("path" is missing: a string is required)");
}

TEST_CASE("values out of bounds are refused with the bounds") {
  CHECK(refusal(R"({"path":"a","limit":0})") ==
        R"("limit" must be an integer from 1 to 100, not 0)");
  CHECK(refusal(R"({"path":"a","limit":101})").find("from 1 to 100") != std::string::npos);
  CHECK(refusal(R"({"path":"a","limit":18446744073709551615})").find("an integer") !=
        std::string::npos);
  CHECK(refusal(R"({"path":"a","limit":1e300})").find("an integer") != std::string::npos);
  CHECK(refusal(R"({"path":"a","timeout_ms":1})").find("from 0.1 to 60") != std::string::npos);
  CHECK(refusal(R"({"path":""})") == R"("path" must not be empty)");
  CHECK(refusal(R"({"path":"123456789"})") == R"("path" has 9 bytes; at most 8 are allowed)");
  CHECK(refusal(R"({"path":"a","args":["1","2","3","4"]})").find("at most 3") != std::string::npos);
}

TEST_CASE("values of the wrong kind are refused by kind, never quoted at length") {
  CHECK(refusal(R"({"path":5})") == R"("path" must be a string, not a number)");
  CHECK(refusal(R"({"path":"a","limit":1.5})") ==
        R"("limit" must be an integer from 1 to 100, not 1.5)");
  CHECK(refusal(R"({"path":"a","limit":"seven"})").find("not a string") != std::string::npos);
  CHECK(refusal(R"({"path":"a","limit":""})").find("not a string") != std::string::npos);
  CHECK(refusal(R"({"path":"a","deep":"perhaps"})") ==
        R"("deep" must be true or false, not a string)");
  CHECK(refusal(R"({"path":"a","encoding":"utf8"})") ==
        R"("encoding" must be one of "utf-8", "base64", not "utf8")");
  CHECK(refusal(R"({"path":"a","mode":"rw"})").find("octal permission bits") != std::string::npos);
  CHECK(refusal(R"({"path":"a","args":[null]})") ==
        R"("args" must be an array of strings, not an array holding null)");
  CHECK(refusal(R"({"path":"a","args":"x"})").find("not a string") != std::string::npos);
  CHECK(refusal(R"({"path":"a","env":{"A":[]}})") ==
        R"("env" must be an object of strings, not an object holding an array)");
  const std::string secret(200, 's');
  CHECK(refusal(R"({"path":"a","encoding":")" + secret + "\"}").find(secret) == std::string::npos);
}

TEST_CASE("names in an error are shown as printable ASCII and cut") {
  const std::string text =
      refusal("{\"path\":\"a\",\"\\u001b[31m" + std::string(500, 'n') + "\":1}");
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.size() < 400);
}

TEST_CASE("modes and hashes have one shape each") {
  for (const char* const mode : {"644", "0644", "4755", "04755"}) {
    CHECK(read(R"({"path":"a","mode":")" + std::string(mode) + "\"}").text("mode") == mode);
  }
  for (const char* const mode : {"64", "0648", "004755", "07777777", ""}) {
    static_cast<void>(refusal(R"({"path":"a","mode":")" + std::string(mode) + "\"}"));
  }
  const std::string hash(64, 'a');
  CHECK(read(R"({"path":"a","if_sha256":")" + hash + "\"}").text("if_sha256") == hash);
  static_cast<void>(refusal(R"({"path":"a","if_sha256":")" + std::string(64, 'A') + "\"}"));
}

TEST_CASE("a list of objects is read item by item, and its schema says what they hold") {
  const std::vector<Argument> arguments{
      {.name = "edits",
       .type = ArgumentType::kObjectList,
       .min_items = 1,
       .max_items = 2,
       .fields = {{.name = "old_string", .required = true},
                  {.name = "all", .type = ArgumentType::kBoolean, .fallback = false}}}};
  CHECK(dump_json(input_schema(arguments)) ==
        R"({"type":"object","properties":{"edits":{"type":"array","items":{"type":"object",)"
        R"("properties":{"old_string":{"type":"string"},"all":{"type":"boolean","default":false}},)"
        R"("required":["old_string"],"additionalProperties":false},"minItems":1,"maxItems":2}},)"
        R"("additionalProperties":false})");
  const auto given = [&](std::string_view text) {
    return read_arguments(arguments, parse_json(text).value());
  };
  const auto read = given(R"({"edits":[{"old_string":"a"},{"oldText":"b","all":"true"}]})");
  REQUIRE(read.ok());
  REQUIRE(read->objects("edits").size() == 2);
  CHECK(read->objects("edits")[1].text("old_string") == "b");
  CHECK(read->objects("edits")[1].flag("all"));
  CHECK(given(R"({"edits":"[{\"old_string\":\"a\"}]"})").ok());
  CHECK(given(R"({"edits":[{"all":true}]})").error().what.starts_with("\"edits\", item 1: "));
  CHECK_FALSE(given(R"({"edits":[]})").ok());
  CHECK_FALSE(given(R"({"edits":["a"]})").ok());
}

TEST_CASE("an object has the defaults of its fields, and true stands for one of them all") {
  const std::vector<Argument> arguments{{.name = "tty",
                                         .type = ArgumentType::kObject,
                                         .fields = {{.name = "cols",
                                                     .type = ArgumentType::kInteger,
                                                     .fallback = std::int64_t{120},
                                                     .minimum = 1,
                                                     .maximum = 1000}}},
                                        {.name = "name", .shape = Shape::kName}};
  CHECK(
      dump_json(input_schema(arguments)) ==
      R"({"type":"object","properties":{"tty":{"type":"object","properties":{"cols":)"
      R"({"type":"integer","default":120,"minimum":1,"maximum":1000}},"additionalProperties":false},)"
      R"("name":{"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"}},)"
      R"("additionalProperties":false})");
  const auto given = [&](std::string_view text) {
    return read_arguments(arguments, parse_json(text).value());
  };
  CHECK(given(R"({"tty":{"cols":"90"}})")->object("tty")->integer("cols") == 90);
  CHECK(given(R"({"tty":{}})")->object("tty")->integer("cols") == 120);
  CHECK(given(R"({"tty":true})")->object("tty")->integer("cols") == 120);
  CHECK(given(R"({"tty":false})")->object("tty") == nullptr);
  CHECK(given("{}")->object("tty") == nullptr);
  CHECK(given(R"({"tty":{"cols":0}})").error().what.starts_with("\"tty\": \"cols\" must be"));
  CHECK_FALSE(given(R"({"tty":[1]})").ok());
  CHECK(given(R"({"name":"a.b-c_1"})").ok());
  CHECK_FALSE(given(R"({"name":"../a"})").ok());
}

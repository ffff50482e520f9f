// pure: what of an output is kept, where it is cut, and how it is shown.
#include "agentbox/capture.h"

#include "agentbox/environment.h"
#include "agentbox/file_text.h"
#include "agentbox/visible.h"
#include "base/json.h"
#include "base/text.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::mcp;

TEST_CASE("an output within its cap is kept whole, however it arrives") {
  for (const std::size_t step : {1U, 3U, 10U}) {
    HeadTail stream(10);
    const std::string text = "0123456789";
    for (std::size_t at = 0; at < text.size(); at += step) {
      stream.add(std::string_view(text).substr(at, step));
    }
    CHECK(!stream.is_cut());
    CHECK(stream.pieces().head == text);
    CHECK(stream.pieces().omitted == 0);
  }
}

TEST_CASE("of a longer output the first and the last half of the cap are kept") {
  HeadTail stream(10);
  for (int i = 0; i < 100'000; ++i) {
    stream.add("x");
  }
  stream.add("the end");
  CHECK(stream.is_cut());
  const auto pieces = stream.pieces();
  CHECK(pieces.head == "xxxxx");
  CHECK(pieces.tail == "e end");
  CHECK(pieces.omitted == stream.total() - 10);
}

TEST_CASE("a cap of nothing keeps nothing and still counts") {
  HeadTail stream(0);
  stream.add("abc");
  CHECK(stream.total() == 3);
  CHECK(stream.is_cut());
  CHECK(show_stream(stream, "nowhere").text == "[... 3 bytes omitted; nowhere ...]\n");
}

TEST_CASE("a cut never splits a character and prefers the end of a line") {
  HeadTail characters(8);
  for (int i = 0; i < 20; ++i) {
    characters.add("\xe2\x82\xac");
  }
  const ShownStream shown = show_stream(characters, "x");
  CHECK(!shown.is_base64);
  CHECK(is_utf8(shown.content));

  HeadTail lines(200);
  for (int i = 0; i < 1000; ++i) {
    lines.add("line " + std::to_string(i) + "\n");
  }
  const auto pieces = lines.pieces();
  CHECK(pieces.head.ends_with("\n"));
  CHECK(pieces.tail.starts_with("line "));
  CHECK(pieces.head.size() + pieces.tail.size() + pieces.omitted == lines.total());
}

TEST_CASE("binary output is base64 as data and escaped as text") {
  HeadTail stream(100);
  stream.add("a\xff\xfe\n");
  const ShownStream shown = show_stream(stream, "x");
  CHECK(shown.is_base64);
  CHECK(base64_decode(shown.content).value() == "a\xff\xfe\n");
  CHECK(shown.text == "a\\x{ff}\\x{fe}\n");
  CHECK(shown.changed == 2);
}

TEST_CASE("characters that act on a terminal or hide text are shown, others stay") {
  const auto check = [](std::string_view given, std::string_view text, std::size_t changed) {
    const Visible visible = make_visible(given);
    CHECK(visible.text == text);
    CHECK(visible.changed == changed);
  };
  check("\x1b[31mred", "\\u{1b}[31mred", 1);
  check("a\tb\r\nc\n", "a\tb\r\nc\n", 0);
  check("50%\r60%", "50%\\u{d}60%", 1);
  check("\xc2\x9b", "\\u{9b}", 1);
  check("\xe2\x80\xaetxt.exe", "\\u{202e}txt.exe", 1);
  check("\xf3\xa0\x81\x81", "\\u{e0041}", 1);
  check("h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", 0);
  check(std::string_view("\0\x7f", 2), "\\u{0}\\u{7f}", 2);
}

TEST_CASE("lines are taken from either end of a text") {
  CHECK(first_lines("a\nb\nc", 2) == "a\nb\n");
  CHECK(first_lines("a\nb", 5) == "a\nb");
  CHECK(last_lines("a\nb\nc\n", 2) == "b\nc\n");
  CHECK(last_lines("a\nb\nc", 1) == "c");
  CHECK(last_lines("a", 3) == "a");
  CHECK(last_lines("\n\n", 1) == "\n");
  CHECK(last_lines("", 1).empty());
  CHECK(count_lines("") == 0);
  CHECK(count_lines("a") == 1);
  CHECK(count_lines("a\n") == 1);
  CHECK(count_lines("a\nb") == 2);
}

TEST_CASE("lines are numbered and cut on request") {
  const auto numbered = dress_lines("a\nb\n", {.numbers = true, .first_number = 9});
  CHECK(numbered.text == "9\ta\n10\tb\n");
  CHECK(!numbered.cut);
  CHECK(numbered.lines == 2);
  const auto cut = dress_lines("abcdef\nb", {.max_bytes = 3});
  CHECK(cut.text == "abc[... 3 bytes of this line left out]\nb");
  CHECK(cut.cut);
  CHECK(cut.lines == 2);
}

TEST_CASE("lines are dressed as long as they fit as JSON text") {
  // Each line is 1\tx\n: two escapes, so six bytes.
  const std::string text = "x\nx\nx\n";
  CHECK(dress_lines(text, {.numbers = true, .max_encoded = 18}).lines == 3);
  const auto two = dress_lines(text, {.numbers = true, .max_encoded = 17});
  CHECK(two.lines == 2);
  CHECK(two.text == "1\tx\n2\tx\n");
}

TEST_CASE("the size of text inside JSON is what the encoder makes of it") {
  std::string text = "plain \xc3\xa9";
  for (char c = 0; c < 127; ++c) {
    text.push_back(c);
  }
  text.push_back('\x7f');
  CHECK(encoded_size(text) + 2 == dump_json(Json(text)).size());
}

TEST_CASE("a piece of a file is trimmed to whole characters") {
  const std::string euros = "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac";
  CHECK(trim_to_characters(euros, 4, true, false).bytes == "\xe2\x82\xac");
  const auto middle = trim_to_characters(std::string_view(euros).substr(1), 5, false, true);
  CHECK(middle.start == 2);
  CHECK(middle.bytes == "\xe2\x82\xac");
  CHECK(trim_to_characters(euros, 1, true, false).bytes == "\xe2\x82\xac");
  CHECK(trim_to_characters("\xff\xfe", 1, true, true).bytes == "\xff");
  CHECK(trim_to_characters("", 5, true, true).bytes.empty());
}

TEST_CASE("a command's environment is built, and a call's variables come on top") {
  Settings settings;
  settings.workspace = "/w";
  settings.environment = {{"DEMO_GH_TOKEN", "t"}, {"LANG", "de_DE.UTF-8"}};
  const auto base = command_environment(settings);
  CHECK(find_variable(base, "DEMO_GH_TOKEN") == "t");
  CHECK(find_variable(base, "LANG") == "de_DE.UTF-8");
  CHECK(find_variable(base, "HOME") == "/w");
  CHECK(find_variable(base, "TERM") == "dumb");
  const auto more = with_variables(base, {{"TERM", "xterm"}, {"X", "1"}});
  REQUIRE(more.ok());
  CHECK(find_variable(*more, "TERM") == "xterm");
  CHECK(find_variable(*more, "X") == "1");
  CHECK(more->size() == base.size() + 1);
  for (const char* name : {"AGENTBOX_ROLE", "", "A=B"}) {
    CHECK(with_variables(base, {{name, "x"}}).error().code == "INVALID_ARGUMENT");
  }
  CHECK(!with_variables(base, {{"A", std::string("x\0y", 3)}}).ok());
}

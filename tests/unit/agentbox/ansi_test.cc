// pure: what is left of text without the escape sequences in it.
#include "agentbox/ansi.h"

#include "support/catch.h"

using agentbox::mcp::strip_ansi;

TEST_CASE("colours, cursor moves, titles and links go, text stays") {
  CHECK(strip_ansi("plain \xc3\xa9 \xff\n") == "plain \xc3\xa9 \xff\n");
  CHECK(strip_ansi("\x1b[1;31mred\x1b[0m") == "red");
  CHECK(strip_ansi("\x1b[38:2::255:0:0mrgb\x1b[K") == "rgb");
  CHECK(strip_ansi("\x1b[?25l\x1b[2J\x1b[10;20Hx") == "x");
  CHECK(strip_ansi("\x1b]0;title\ax") == "x");
  CHECK(strip_ansi("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\") == "link");
  CHECK(strip_ansi("\x1bP1$r0m\x1b\\x") == "x");
  CHECK(strip_ansi("\x1b(Bx\x1b=\x1b"
                   "7") == "x");
}

TEST_CASE("what looks like a sequence and is none swallows no text") {
  CHECK(strip_ansi("a\x1b") == "a");
  CHECK(strip_ansi("a\x1b[") == "a");
  CHECK(strip_ansi("a\x1b[12") == "a");
  CHECK(strip_ansi("\x1b[1\nnext") == "\nnext");
  CHECK(strip_ansi("\x1b]title without end\nnext line") == "\nnext line");
  CHECK(strip_ansi("\x1b]a\x1b[31mb") == "b");
  CHECK(strip_ansi("\x1b\xc3\xa9") == "\xc3\xa9");
  CHECK(strip_ansi("\x1b\x1b[0mx") == "x");
}

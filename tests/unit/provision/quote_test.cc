// edge: quoting, asked of the shell itself.
#include "provision/quote.h"

#include <array>
#include <cstdio>
#include <string>

#include "support/catch.h"

using namespace agentbox::provision;

namespace {

// What a POSIX shell makes of one word.
std::string said_by_shell(const std::string& word) {
  const std::string command = "printf %s " + shell_quote(word);
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  std::array<char, 256> chunk{};
  for (std::size_t got = 0; (got = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;) {
    text.append(chunk.data(), got);
  }
  ::pclose(pipe);
  return text;
}

}  // namespace

TEST_CASE("a shell reads back exactly the word that was quoted") {
  for (const std::string word :
       {"plain", "two words", "it's", "$HOME", "`id`", "a\"b", "a\\b", "*", "~", "#x", "a;b", "a&b",
        "a|b", "<x>", "!x", "a\nb", "\xc3\xa4", "%d", "-n"}) {
    CAPTURE(word);
    CHECK(said_by_shell(word) == word);
  }
  CHECK(said_by_shell("").empty());
}

TEST_CASE("plain words stay as they are, so that a line can be read") {
  CHECK(shell_line({"ssh", "-o", "BatchMode=yes", "/a/b.c"}) == "ssh -o BatchMode=yes /a/b.c");
}

TEST_CASE("a path for an option of ssh: percent doubled, quoted where a word could end") {
  CHECK(ssh_quote("/a/b") == "/a/b");
  CHECK(ssh_quote("/a b/c") == "\"/a b/c\"");
  CHECK(ssh_quote("/a%h/b") == "/a%%h/b");
  CHECK(ssh_quote("/a b%/c") == "\"/a b%%/c\"");
  CHECK(ssh_quote("/a\"b") == "\"/a\\\"b\"");
  CHECK(ssh_quote("/a\\b") == "\"/a\\\\b\"");
  CHECK(ssh_quote("/a#b") == "\"/a#b\"");
}

TEST_CASE("a command for any shell: what one of them reads between quotes stands outside") {
  CHECK(any_shell_line({"ssh", "-W", "h:22"}) == "ssh -W h:22");
  CHECK(any_shell_line({"a b", "", "$x`y`"}) == "'a b' '' '$x`y`'");
  CHECK(any_shell_line({"it's"}) == R"('it'\''s')");
  CHECK(any_shell_line({R"(a\b!c)"}) == R"('a'\\'b'\!'c')");
  CHECK(proxy_command({"100%", "%h"}) == "'100%%' '%%h'");
}

// pure: tests of sshd/authorized_keys.
#include "sshd/authorized_keys.h"

#include "support/catch.h"
#include "tests/unit/sshd/keys.h"

using namespace agentbox;
using namespace agentbox::sshd;

TEST_CASE("comments, blanks, CRLF, a BOM, tabs and a missing last newline are all fine") {
  const auto keys = parse_authorized_keys("\xef\xbb\xbf# head\r\n\r\n\t" + key_line('a') +
                                          "  one key \r\n" + key_line('b'));
  CHECK(keys.problems.empty());
  REQUIRE(keys.entries.size() == 2);
  CHECK(keys.entries[0].label == "one key");
  CHECK(keys.entries[0].line == 3);
  CHECK(keys.entries[1].key.fingerprint() == key_fingerprint('b'));
}

TEST_CASE("one bad line voids only itself, and is named by its number") {
  const auto keys = parse_authorized_keys("nonsense\n" + key_line('a') + "\nunknown-option " +
                                          key_line('b') + "\n");
  REQUIRE(keys.entries.size() == 1);
  REQUIRE(keys.problems.size() == 2);
  CHECK(keys.problems[0].line == 1);
  CHECK(keys.problems[1].line == 3);
  CHECK(keys.problems[1].what == "unknown option unknown-option");
}

TEST_CASE("standard options that restrict or widen are accepted and change nothing") {
  const auto keys = parse_authorized_keys(
      "restrict,no-user-rc,no-pty,No-Port-Forwarding,no-agent-forwarding,no-X11-forwarding " +
      key_line('a') +
      " ci\npty,port-forwarding,permitopen=\"127.0.0.1:6443\",tunnel=\"0\",environment=\"A=b\" " +
      key_line('b') + "\n");
  CHECK(keys.problems.empty());
  REQUIRE(keys.entries.size() == 2);
  CHECK(keys.entries[0].label == "ci");
  CHECK(keys.entries[1].role == Role::kAgent);
}

TEST_CASE("quotes may hold blanks, commas, escaped quotes and key types") {
  const auto keys =
      parse_authorized_keys("command=\"echo \\\"ssh-ed25519 AAAA\\\", # x\",restrict " +
                            key_line('a') + " \"label with spaces\" # not a comment");
  REQUIRE(keys.problems.empty());
  REQUIRE(keys.entries.size() == 1);
  CHECK(keys.entries[0].key.fingerprint() == key_fingerprint('a'));
  CHECK(keys.entries[0].label == "\"label with spaces\" # not a comment");
}

TEST_CASE("an open quote, a bare value or a missing comma refuses the line") {
  for (const std::string& options :
       {std::string("command=\"echo"), std::string("from=10.0.0.1"),
        std::string("command=\"x\"restrict"), std::string("from=\"10.0.0.0/99\""),
        std::string("agentbox-role=\"root\""), std::string("agentbox-profile=\"all\""),
        std::string("agentbox-profile"), std::string("expiry-time=\"soon\"")}) {
    const auto keys = parse_authorized_keys(options + " " + key_line('a'));
    CHECK(keys.entries.empty());
    CHECK(keys.problems.size() == 1);
  }
}

TEST_CASE("from=, expiry-time=, agentbox-role= and agentbox-profile= are kept with their key") {
  const auto keys = parse_authorized_keys(
      "from=\"10.0.0.0/8\",expiry-time=\"20300102\",agentbox-role=\"reader\","
      "agentbox-profile=\"core\" " +
      key_line('a'));
  REQUIRE(keys.entries.size() == 1);
  CHECK(keys.entries[0].role == Role::kReader);
  CHECK(keys.entries[0].profile == Profile::kCore);
  CHECK(keys.entries[0].from->allows(Address::parse("10.1.1.1").value()));
  CHECK(*keys.entries[0].expires == 1'893'542'400);
}

TEST_CASE("expiry times are read in UTC to the second") {
  CHECK(parse_expiry_time("20240229").value() == 1'709'164'800);
  CHECK(parse_expiry_time("202402291230").value() == 1'709'209'800);
  CHECK(parse_expiry_time("20240229123045Z").value() == 1'709'209'845);
  for (const char* bad : {"", "2024", "20230229", "20241301", "202402292460", "2024-02-29",
                          "20240229123", "20240229ZZ"}) {
    CHECK_FALSE(parse_expiry_time(bad).ok());
  }
}

TEST_CASE("a key given twice keeps the first line's options") {
  const auto keys =
      parse_authorized_keys("agentbox-role=\"reader\" " + key_line('a') + "\n" + key_line('a'));
  REQUIRE(keys.entries.size() == 1);
  CHECK(keys.entries[0].role == Role::kReader);
}

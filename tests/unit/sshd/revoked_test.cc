// pure: tests of sshd/revoked.
#include "sshd/revoked.h"

#include "sshd/certificate.h"
#include "support/catch.h"
#include "tests/unit/sshd/keys.h"

using namespace agentbox;
using namespace agentbox::sshd;

TEST_CASE("fingerprints, serials and ids of keys that are locked out") {
  const auto revoked = parse_revoked("\xef\xbb\xbf# left in May\r\n\n  " + key_fingerprint('b') +
                                     " \r\nserial:0\nserial:18446744073709551615\nid:anna@alder 7\n"
                                     "\tid:caf\xc3\xa9");
  REQUIRE(revoked.ok());
  CHECK(revoked->fingerprints == std::vector<std::string>{key_fingerprint('b')});
  CHECK(revoked->serials == std::vector<std::uint64_t>{0, UINT64_MAX});
  CHECK(revoked->ids == std::vector<std::string>{"anna@alder 7", "caf\\xc3\\xa9"});
  CHECK(revoked->size() == 5);
  CHECK(revoked->names_key(key_fingerprint('b')));
  CHECK_FALSE(revoked->names_key(key_fingerprint('a')));
  CHECK(revoked->names_serial(0));
  CHECK_FALSE(revoked->names_serial(1));
  CHECK(revoked->names_id("anna@alder 7"));
  CHECK_FALSE(revoked->names_id("anna"));
  CHECK(parse_revoked("")->size() == 0);
}

TEST_CASE("a line that says nothing known is an error that names it, never skipped") {
  const std::string good = key_fingerprint('a') + "\n";
  for (const std::string& line :
       {std::string("serial:"), std::string("serial: 7"), std::string("serial:-1"),
        std::string("serial:07"), std::string("serial:18446744073709551616"),
        std::string("serial:1-9"), std::string("Serial:7"), std::string("id:"),
        std::string("id:a\x01z"), std::string("id:\xff"),
        "id:" + std::string(kMaxKeyIdBytes + 1, 'x'), std::string("SHA256:short"),
        key_fingerprint('a') + " comment", key_line('a'), std::string("7"), std::string("*"),
        std::string("serial:7;id:x"), std::string("\0", 1)}) {
    const auto revoked = parse_revoked(good + line + "\n" + good);
    CAPTURE(line);
    REQUIRE_FALSE(revoked.ok());
    CHECK(revoked.error().what.starts_with("revoked: line 2: "));
  }
}

TEST_CASE("more entries than the bound are refused whole") {
  std::string text;
  for (std::size_t i = 0; i <= kMaxRevokedLines; ++i) {
    text += "serial:" + std::to_string(i) + "\n";
  }
  CHECK(parse_revoked(text).error().code == Code::kLimit);
}

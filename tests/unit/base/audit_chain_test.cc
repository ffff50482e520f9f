// pure: the chain of an audit log.
#include "base/audit_chain.h"

#include "base/json.h"
#include "base/text.h"
#include "support/catch.h"

using namespace agentbox;

TEST_CASE("a line carries a hash over the line before and itself, as its last member") {
  std::string first = R"({"seq":1,"event":"listen"})";
  const AuditHead head = add_chain({}, first);
  CHECK(head.sequence == 1);
  CHECK(head.hash == sha256_hex(std::string(64, '0') + R"({"seq":1,"event":"listen")"));
  CHECK(first == R"({"seq":1,"event":"listen","chain":")" + head.hash + "\"}");
  CHECK(parse_json(first).ok());
  std::string second = R"({"seq":2})";
  CHECK(add_chain(head, second).hash == chain_hash(head.hash, R"({"seq":2)"));
}

TEST_CASE("a chained line comes apart as it was put together, and nothing else does") {
  std::string line = R"({"a":"b"})";
  const AuditHead head = add_chain({}, line);
  const auto parts = split_chain(line);
  REQUIRE(parts);
  CHECK(parts->body == R"({"a":"b")");
  CHECK(parts->hash == head.hash);
  for (const std::string& bad :
       {std::string(), std::string("\"}"), std::string(R"({"a":"b"})"), line + " ",
        line.substr(1, 70), line.substr(0, line.size() - 3) + "G\"}",
        R"({"chain":")" + head.hash + R"("})"}) {
    CAPTURE(bad);
    CHECK_FALSE(split_chain(bad));
  }
}

TEST_CASE("a head's text has one length and is read back exactly") {
  const AuditHead first{1, sha256_hex("x")};
  const AuditHead last{UINT64_MAX, sha256_hex("y")};
  CHECK(render_head(last).size() == render_head({}).size());
  for (const AuditHead& head : {AuditHead{}, first, last}) {
    CHECK(parse_head(render_head(head)).value() == head);
  }
  const std::string good = render_head({});
  for (const std::string& bad :
       {std::string(), good + "\n", good.substr(1), std::string(86, 'x'), "1" + good.substr(0, 85),
        std::string(20, '9') + good.substr(20), good.substr(0, 84) + "G\n"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_head(bad).ok());
  }
}

// pure: tests of sshd/audit_summary.
#include "sshd/audit_summary.h"

#include "support/catch.h"

using namespace agentbox::sshd;

TEST_CASE("what is only counted is in the next summary") {
  AuditSummary summary;
  summary.count("limit");
  summary.count("limit");
  CHECK(summary.take(1).at("limit") == 2);
}

TEST_CASE("strangers' events past the rate are counted by kind and told once the second is over") {
  AuditSummary summary;
  for (std::uint64_t i = 0; i < kStrangerEventsPerSecond; ++i) {
    CHECK(summary.admit("auth", 100));
  }
  CHECK_FALSE(summary.admit("auth", 100));
  CHECK_FALSE(summary.admit("connect", 100));
  CHECK_FALSE(summary.admit("connect", 100));
  CHECK(summary.take(100).empty());
  const auto counts = summary.take(101);
  CHECK(counts.at("auth") == 1);
  CHECK(counts.at("connect") == 2);
  CHECK(summary.take(102).empty());
}

TEST_CASE("the next second starts afresh and keeps what is still to be told") {
  AuditSummary summary;
  for (std::uint64_t i = 0; i <= kStrangerEventsPerSecond; ++i) {
    static_cast<void>(summary.admit("connect", 1));
  }
  CHECK(summary.admit("connect", 2));
  CHECK(summary.take(3).at("connect") == 1);
}

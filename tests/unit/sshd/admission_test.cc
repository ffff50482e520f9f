// pure: tests of sshd/admission.
#include "sshd/admission.h"

#include "support/catch.h"

using namespace agentbox::sshd;

namespace {

Limits small() {
  Limits limits;
  limits.connections = 4;
  limits.unauthenticated = 2;
  return limits;
}

const std::chrono::steady_clock::time_point kNow{};

}  // namespace

TEST_CASE("a newcomer displaces the oldest connection that has not logged in") {
  Admission admission(small());
  admission.opened(1, kNow);
  admission.opened(2, kNow);
  const auto verdict = admission.admit();
  CHECK(verdict.admitted);
  REQUIRE(verdict.displaced);
  CHECK(*verdict.displaced == 1);
}

TEST_CASE("connections that logged in are never displaced") {
  Admission admission(small());
  for (std::uint64_t id = 1; id <= 4; ++id) {
    admission.opened(id, kNow);
    admission.logged_in(id);
  }
  CHECK_FALSE(admission.admit().admitted);
  admission.closed(3);
  const auto verdict = admission.admit();
  CHECK(verdict.admitted);
  CHECK_FALSE(verdict.displaced);
}

TEST_CASE("logging in frees a place among the unauthenticated") {
  Admission admission(small());
  admission.opened(1, kNow);
  admission.opened(2, kNow);
  admission.logged_in(1);
  CHECK_FALSE(admission.admit().displaced);
  CHECK(admission.total() == 2);
}

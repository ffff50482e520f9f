// pure: tests of sshd/admission.
#include "sshd/admission.h"

#include "support/catch.h"

using namespace agentbox::sshd;

namespace {

Limits small() {
  Limits limits;
  limits.connections = 8;
  limits.unauthenticated = 4;
  limits.own_unauthenticated = 2;
  return limits;
}

void open(Admission& admission, std::uint64_t first, std::uint64_t last, Origin origin,
          bool logged_in) {
  for (std::uint64_t id = first; id <= last; ++id) {
    admission.opened(id, origin);
    if (logged_in) {
      admission.logged_in(id);
    }
  }
}

}  // namespace

TEST_CASE("a newcomer displaces the oldest connection that has not logged in") {
  Admission admission(small());
  open(admission, 1, 4, Origin::kElsewhere, false);
  const auto verdict = admission.admit(Origin::kElsewhere);
  CHECK(verdict.admitted);
  REQUIRE(verdict.displaced);
  CHECK(*verdict.displaced == 1);
}

TEST_CASE("connections that logged in are never displaced") {
  Admission admission(small());
  open(admission, 1, 9, Origin::kElsewhere, true);
  CHECK_FALSE(admission.admit(Origin::kElsewhere).admitted);
  admission.closed(3);
  const auto verdict = admission.admit(Origin::kElsewhere);
  CHECK(verdict.admitted);
  CHECK_FALSE(verdict.displaced);
}

TEST_CASE("one place past the limit is tried by anybody: it is the operator's to keep") {
  Admission admission(small());
  open(admission, 1, 8, Origin::kElsewhere, true);
  CHECK(admission.admit(Origin::kElsewhere).admitted);
  admission.opened(9, Origin::kElsewhere);
  const auto verdict = admission.admit(Origin::kElsewhere);
  CHECK(verdict.admitted);
  CHECK(verdict.displaced == std::optional<std::uint64_t>(9));
}

TEST_CASE("logging in frees a place among the unauthenticated") {
  Admission admission(small());
  open(admission, 1, 4, Origin::kElsewhere, false);
  admission.logged_in(1);
  CHECK_FALSE(admission.admit(Origin::kElsewhere).displaced);
  CHECK(admission.total() == 4);
}

TEST_CASE("connections from this machine have few slots and displace only each other") {
  Admission admission(small());
  admission.opened(1, Origin::kElsewhere);
  open(admission, 2, 3, Origin::kThisMachine, false);
  const auto own = admission.admit(Origin::kThisMachine);
  CHECK(own.displaced == std::optional<std::uint64_t>(2));
  CHECK_FALSE(admission.admit(Origin::kElsewhere).displaced);
}

TEST_CASE("a quarter of the places is never this machine's, logged in or not") {
  Admission admission(small());
  open(admission, 1, 6, Origin::kThisMachine, true);
  CHECK_FALSE(admission.admit(Origin::kThisMachine).admitted);
  CHECK(admission.admit(Origin::kElsewhere).admitted);
}

TEST_CASE("without a share of their own, connections from this machine are like any other") {
  Limits limits = small();
  limits.own_unauthenticated = 0;
  Admission admission(limits);
  open(admission, 1, 3, Origin::kThisMachine, false);
  CHECK_FALSE(admission.admit(Origin::kThisMachine).displaced);
}

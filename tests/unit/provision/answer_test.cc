// pure: exit codes of errors.
#include "provision/answer.h"

#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision;

TEST_CASE("an error of the kernel about rights ends with 7, a refusal of our own with 4") {
  CHECK(failure_of(errno_error("open", EACCES)).exit == Exit::kNoRights);
  CHECK(failure_of(Error{Code::kDenied, "no"}).exit == Exit::kRefused);
  CHECK(failure_of(Error{Code::kTimeout, "late"}).exit == Exit::kUnreachable);
  CHECK(failure_of(Error{Code::kSystem, "disk"}).exit == Exit::kFailed);
}

TEST_CASE("every failure says what to do next") {
  for (const Code code :
       {Code::kInvalid, Code::kDenied, Code::kNotFound, Code::kExists, Code::kLimit, Code::kTimeout,
        Code::kSystem, Code::kProtocol, Code::kUnavailable}) {
    CHECK_FALSE(failure_of(Error{code, "x"}).next.empty());
  }
}

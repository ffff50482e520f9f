// pure: tests of provision/told_host_key.
#include "provision/told_host_key.h"

#include <string>

#include "support/catch.h"
#include "unit/provision/sample.h"

using namespace agentbox;
using namespace agentbox::provision;

namespace {

std::string line(const std::string& fields) {
  return R"({"stream":"audit","time":"2026-11-30T06:31:00.000Z","seq":2,)" + fields + "}\n";
}

std::string told(const std::string& key,
                 const std::string& counts = R"("generation":0,"keys":0,"authorities":0)") {
  return line(R"("event":"keys_loaded",)" + counts + R"(,"host_key":")" + key + "\"");
}

// The key's text, empty where none is told, or `!` and why it is refused.
std::string outcome(const std::string& log) {
  const auto key = host_key_told(log);
  if (!key.ok()) {
    CHECK(key.error().code == Code::kDenied);
    return "!" + key.error().what;
  }
  return *key ? (*key)->text() : "";
}

bool is_refused(const std::string& log) { return outcome(log).starts_with('!'); }

}  // namespace

TEST_CASE("told host key: found among all that a container prints") {
  const std::string log = "library: hello\n" + line(R"("event":"listen")") +
                          R"({"stream":"log","message":"keys_loaded host_key=x"})" + "\n" +
                          told(sample::kKey) + line(R"("event":"connect","connection":1)") +
                          told(sample::kKey);
  CHECK(outcome(log) == sample::kKey);
  CHECK(outcome("").empty());
  CHECK(outcome(line(R"("event":"listen")")).empty());
}

TEST_CASE("told host key: a line that is not whole says nothing yet") {
  const std::string whole = told(sample::kKey);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK(outcome(whole.substr(0, size)).empty());
  }
  CHECK(outcome(whole) == sample::kKey);
}

TEST_CASE("told host key: keys that were refused have none, and do not hide it") {
  const std::string refused = line(R"("event":"keys_loaded","keys":0,"refused":"a reason")");
  CHECK(outcome(refused).empty());
  CHECK(outcome(refused + told(sample::kKey)) == sample::kKey);
}

TEST_CASE("told host key: two that differ are none") {
  CHECK(is_refused(told(sample::kKey) + told(sample::kOtherKey)));
}

TEST_CASE("told host key: a box that has keys already is nobody's to claim") {
  CHECK(is_refused(told(sample::kKey, R"("generation":1,"keys":0,"authorities":0)")));
  CHECK(is_refused(told(sample::kKey, R"("generation":0,"keys":1,"authorities":0)")));
  CHECK(is_refused(told(sample::kKey, R"("generation":0,"keys":0,"authorities":1)")));
  CHECK(is_refused(told(sample::kKey, R"("generation":0,"keys":0)")));
  CHECK(is_refused(told(sample::kKey, R"("generation":"0","keys":0,"authorities":0)")));
  CHECK(is_refused(told(sample::kKey, R"("generation":-1,"keys":0,"authorities":0)")));
}

TEST_CASE("told host key: only an ed25519 key to the last byte is one") {
  const std::string good = sample::kKey;
  CHECK(is_refused(told(good + " comment")));
  CHECK(is_refused(told(good + "\\n* " + good)));
  CHECK(is_refused(told("ssh-rsa " + good.substr(good.find(' ') + 1))));
  CHECK(is_refused(told("")));
  CHECK(is_refused(line(R"("event":"keys_loaded","generation":0,"keys":0,"authorities":0)")));
  CHECK(is_refused(
      line(R"("event":"keys_loaded","generation":0,"keys":0,"authorities":0,"host_key":[1])")));
}

TEST_CASE("told host key: a line of the audit that is none is a forgery") {
  CHECK(is_refused(R"({"stream":"audit",nonsense})" + std::string("\n") + told(sample::kKey)));
  CHECK(is_refused(told(sample::kKey) + R"({"stream":"audit","event":"keys_loaded"})" + "\n"));
}

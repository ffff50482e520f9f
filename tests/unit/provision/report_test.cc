// pure: results in JSON and in text.
#include "provision/report.h"

#include <string>

#include "sample.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision;

namespace {

BoxView view() {
  return BoxView{sample::record(), sample::facts(), State::kRunning, "",
                 "/state/boxes/demo/local/box/workspace"};
}

Json parsed(const Report& report) { return parse_json(rendered(report, Output::kJson)).value(); }

}  // namespace

TEST_CASE("a box in JSON has every member that was promised") {
  const Json json = parsed(box_report(view()));
  CHECK(json["name"] == "demo");
  CHECK(json["backend"] == "local");
  CHECK(json["state"] == "running");
  CHECK(json["keys"][0]["fingerprint"] == sample::record().keys[0].key.fingerprint());
  CHECK(json["keys"][0]["label"] == "anna@desk");
  CHECK(json["generation"] == 7);
  CHECK(json["ssh"]["host"] == "127.0.0.1");
  CHECK(json["ssh"]["port"] == 20123);
  CHECK(json["ssh"]["user"] == "agent");
  CHECK(json["ssh"]["identity_file"] == "/state/boxes/demo/id_ed25519");
  CHECK(json["ssh"]["known_hosts_file"] == "/state/boxes/demo/known_hosts");
  CHECK(json["ssh"]["host_key_fingerprint"] == PublicKey::parse(sample::kOtherKey)->fingerprint());
  CHECK(json["ssh"]["command"] == ssh_command(sample::facts()));
  CHECK(json["mcpServers"]["demo"]["command"] == "ssh");
  CHECK(json["mcpServers"]["demo"]["args"].size() + 1 == json["ssh"]["command"].size());
  CHECK(json["warnings"].empty());
}

TEST_CASE("an unknown private key is null, not an empty path") {
  BoxView seen = view();
  seen.ssh.identity_file.clear();
  CHECK(parsed(box_report(seen))["ssh"]["identity_file"].is_null());
}

TEST_CASE("whoever has the private key elsewhere is told what to add") {
  BoxView seen = view();
  CHECK(done_report(seen, "is made").text.find("-i FILE") == std::string::npos);
  seen.ssh.identity_file.clear();
  CHECK(done_report(seen, "is made").text.find("put -i FILE right after ssh") != std::string::npos);
}

TEST_CASE("the audit's head is in both forms, or why it is not known") {
  BoxView seen = view();
  seen.no_audit_head = "no rights";
  CHECK(parsed(status_report(seen))["audit_head"].is_null());
  CHECK(status_report(seen).text.find("audit head unknown: no rights\n") != std::string::npos);
  const std::string hash(64, 'a');
  seen.audit_head = AuditHead{17, hash};
  CHECK(parsed(status_report(seen))["audit_head"]["seq"] == 17);
  CHECK(parsed(status_report(seen))["audit_head"]["hash"] == hash);
  CHECK(status_report(seen).text.find("audit head 17:" + hash + "\n") != std::string::npos);
}

TEST_CASE("an advice names the box") {
  CHECK(advice_for("demo", "run `resume NAME` and `logs NAME`") ==
        "run `resume demo` and `logs demo`");
  CHECK(advice_for("demo", "allow=NAME, POD_NAME, NAMES") == "allow=NAME, POD_NAME, NAMES");
}

TEST_CASE("a box that is not finished has no address to print") {
  BoxView seen = view();
  seen.record.host_key.clear();
  CHECK(parsed(box_report(seen))["ssh"].is_null());
  CHECK(box_text(seen).find("ssh ") == std::string::npos);
}

TEST_CASE("missing isolation is loud in both forms") {
  BoxView seen = view();
  seen.record.spec.isolation = Isolation::kNone;
  CHECK(parsed(box_report(seen))["warnings"].size() == 1);
  CHECK(box_text(seen).find("WARNING") != std::string::npos);
  CHECK(list_report({seen}).text.find("NO ISOLATION") != std::string::npos);
}

TEST_CASE("lists hold every box, or say how to make one") {
  CHECK(parsed(list_report({view(), view()}))["boxes"].size() == 2);
  CHECK(parsed(list_report({}))["boxes"].empty());
  CHECK(list_report({}).text.find("create") != std::string::npos);
}

TEST_CASE("a failed check fails the whole proof with its own exit code, and says what to do") {
  const Report good = checks_report("demo",
                                    {{CheckId::kCreate, CheckOutcome::kPassed, ""},
                                     {CheckId::kWall, CheckOutcome::kSkipped, "no wall"}},
                                    "is proven", "is NOT proven");
  CHECK(good.exit == Exit::kOk);
  CHECK(parsed(good)["ok"] == true);
  CHECK(parsed(good)["checks"][1]["skipped"] == true);
  CHECK(good.text.find("skipped ") != std::string::npos);
  CHECK(good.text.ends_with("box demo is proven\n"));
  const Report bad = checks_report("demo",
                                   {{CheckId::kCreate, CheckOutcome::kPassed, ""},
                                    {CheckId::kKeys, CheckOutcome::kFailed, "why"}},
                                   "is proven", "is NOT proven");
  CHECK(bad.exit == Exit::kCheckFailed);
  CHECK(parsed(bad)["ok"] == false);
  CHECK(parsed(bad)["checks"][1]["detail"] == "why");
  CHECK(parsed(bad)["checks"][1]["next"] == advice_for("demo", facts_of(CheckId::kKeys).next));
  CHECK(bad.text.find("FAILED  keys: why\n        next: ") != std::string::npos);
}

TEST_CASE("a revoked key is told with what it means, and the last one is loud") {
  KeysDone done{view(), true, {}, {sample::key(sample::kOtherKey)}, 2, true, false, {"refused"}};
  const Json json = parsed(revoked_report(done));
  CHECK(json["changed"] == true);
  CHECK(json["evicted"] == false);
  CHECK(json["gone"][0] == sample::key(sample::kOtherKey).key.fingerprint());
  CHECK(json["sessions_ended"] == 2);
  CHECK(json["warnings"].empty());
  CHECK(revoked_report(done).text.find("evicted    no") != std::string::npos);
  done.view.record.keys.clear();
  CHECK(parsed(revoked_report(done))["warnings"].size() == 1);
  CHECK(revoked_report(done).text.find("last key") != std::string::npos);
  done.proven = false;
  CHECK(revoked_report(done).text.find("NOT PROVEN") != std::string::npos);
}

TEST_CASE("sessions that nobody counted are not said to be none") {
  KeysDone done{view(), true, {}, {}, {}, true, false, {}};
  done.gone_prints = {"SHA256:x"};
  CHECK(parsed(revoked_report(done))["sessions_ended"].is_null());
  CHECK(parsed(revoked_report(done))["gone"][0] == "SHA256:x");
  const Report serial = revoked_serial_report(done, 7);
  CHECK(serial.text.find("sessions   not counted") != std::string::npos);
  CHECK(serial.text.find("0 ended") == std::string::npos);
  CHECK(parsed(serial)["evicted"] == false);
}

TEST_CASE("a failure in JSON is one error with code, message and next") {
  const Failure failure{Exit::kNoSuchBox, "there is no box \"x\"", "make it"};
  const Json json = parse_json(rendered(failure, Output::kJson)).value();
  CHECK(
      json ==
      Json{{"error",
            {{"code", "NO_SUCH_BOX"}, {"message", "there is no box \"x\""}, {"next", "make it"}}}});
  CHECK(rendered(failure, Output::kText) ==
        "agentbox-provision: there is no box \"x\"\n  next: make it\n");
}

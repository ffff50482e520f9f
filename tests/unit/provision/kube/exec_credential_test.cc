// pure: tests of provision/kube/exec_credential.
#include "provision/kube/exec_credential.h"

#include "base/json.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision::kube;

namespace {

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

std::string answer(const std::string& status, const std::string& version = kV1) {
  return R"({"kind":"ExecCredential","apiVersion":")" + version + R"(","status":)" + status + "}";
}

}  // namespace

TEST_CASE("exec plugin: a token, a certificate, or both") {
  CHECK(parse_exec_credential(answer(R"({"token":"t"})"), kV1)->token == "t");
  const auto both = parse_exec_credential(
      answer(R"({"clientCertificateData":"C","clientKeyData":"K","expirationTimestamp":"x"})"),
      kV1);
  REQUIRE(both.ok());
  CHECK(both->token.empty());
  CHECK(both->certificate == "C");
  CHECK(both->key == "K");
}

TEST_CASE("exec plugin: an answer that is none says why, and shows nothing of itself") {
  for (const std::string& bad :
       {std::string("s3cret"), answer("{}"), answer("null"),
        answer(R"({"clientKeyData":"s3cret"})"), answer(R"({"clientCertificateData":"s3cret"})"),
        answer(R"({"token":"s3cret\r\nX: y"})"),
        answer(R"({"token":"s3cret"})", "client.authentication.k8s.io/v1beta1"),
        std::string(R"({"status":{"token":"s3cret"}})"), std::string(R"(["s3cret"])")}) {
    CAPTURE(bad);
    const auto credential = parse_exec_credential(bad, kV1);
    REQUIRE_FALSE(credential.ok());
    CHECK(credential.error().what.find("s3cret") == std::string::npos);
  }
}

TEST_CASE("exec plugin: which may run") {
  const auto may = [](const char* policy, const char* command, const char* path) {
    return may_run(parse_exec_policy(policy).value(), command, path).ok();
  };
  CHECK(may("", "aws", "/usr/bin/aws"));
  CHECK_FALSE(may("deny", "aws", "/usr/bin/aws"));
  CHECK(may("allow=gke,aws", "aws", "/usr/bin/aws"));
  CHECK(may("allow=/usr/bin/aws", "aws", "/usr/bin/aws"));
  CHECK_FALSE(may("allow=gke", "aws", "/usr/bin/aws"));
  CHECK_FALSE(may("allow=aws", "/tmp/aws", "/tmp/aws"));
  CHECK_FALSE(parse_exec_policy("allow=").ok());
  CHECK_FALSE(parse_exec_policy("allow").ok());
}

TEST_CASE("exec plugin: what it is told of the cluster, where it is to be told") {
  Cluster cluster;
  cluster.server = "https://a";
  cluster.tls_server_name = "b";
  cluster.exec_config = Json{{"x", 1}};
  ExecPlugin plugin;
  plugin.api_version = kV1;
  CHECK(
      exec_info(plugin, cluster, "CA", true) ==
      R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"interactive":true}})");
  plugin.provide_cluster_info = true;
  CHECK(parse_json(exec_info(plugin, cluster, "CA", false)).value()["spec"] ==
        Json::parse(R"({"interactive":false,"cluster":{"server":"https://a","tls-server-name":"b",
          "certificate-authority-data":"Q0E=","config":{"x":1}}})"));
}

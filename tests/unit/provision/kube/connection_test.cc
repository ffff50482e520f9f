// pure: tests of provision/kube/connection.
#include "provision/kube/connection.h"

#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision::kube;

namespace {

Kubeconfig sample() {
  Kubeconfig config;
  config.current_context = "one";
  config.clusters["c"].server = "https://api.example:6443";
  config.users["u"].token = "t0ken";
  config.contexts["one"] = {"c", "u", ""};
  config.contexts["two"] = {"c", "u", "work"};
  config.contexts["lost"] = {"gone", "u", ""};
  return config;
}

std::string refusal(const Kubeconfig& config) {
  auto chosen = choose(config, {});
  return chosen.ok() ? "" : chosen.error().what;
}

// The words with which a change of the sample is refused; empty where it is not.
template <typename Change>
std::string refused_with(Change change) {
  Kubeconfig config = sample();
  change(config.clusters["c"], config.users["u"]);
  const std::string what = refusal(config);
  CHECK(what.find("t0ken") == std::string::npos);
  return what;
}

}  // namespace

TEST_CASE("connection: context and namespace, and what overrides them") {
  const auto plain = choose(sample(), {});
  REQUIRE(plain.ok());
  CHECK(plain->context == "one");
  CHECK(plain->ns == "default");
  CHECK(plain->user.token == "t0ken");
  CHECK(choose(sample(), {"two", ""})->ns == "work");
  CHECK(choose(sample(), {"two", "mine"})->ns == "mine");
  CHECK(choose(sample(), {"zz", ""}).error().code == Code::kNotFound);
  CHECK(choose(sample(), {"lost", ""}).error().code == Code::kNotFound);
  CHECK(choose(sample(), {"", "../x"}).error().code == Code::kInvalid);
  CHECK(choose(Kubeconfig{}, {}).error().code == Code::kNotFound);
}

TEST_CASE("connection: what would send a credential astray is refused") {
  CHECK(refused_with([](Cluster&, User&) {}).empty());
  CHECK_FALSE(refused_with([](Cluster& c, User&) { c.server = "http://api.example"; }).empty());
  CHECK_FALSE(refused_with([](Cluster& c, User&) { c.server = ""; }).empty());
  CHECK_FALSE(refused_with([](Cluster& c, User&) { c.insecure = true; }).empty());
  CHECK_FALSE(refused_with([](Cluster& c, User&) { c.proxy_url = "ftp://x"; }).empty());
  CHECK_FALSE(refused_with([](Cluster& c, User&) { c.tls_server_name = "a b"; }).empty());
  CHECK_FALSE(refused_with([](Cluster&, User& u) { u.password = "p"; }).empty());
  CHECK_FALSE(refused_with([](Cluster&, User& u) { u.certificate.data = "c"; }).empty());
  CHECK_FALSE(refused_with([](Cluster&, User& u) { u.auth_provider = "gcp"; }).empty());
  CHECK_FALSE(refused_with([](Cluster&, User& u) { u.impersonation.groups = {"g"}; }).empty());
}

TEST_CASE("connection: an exec plugin must be of a version that is spoken here") {
  const auto with = [](const std::string& version, const std::string& command, Interactive mode) {
    return refused_with(
        [&](Cluster&, User& u) { u.exec = ExecPlugin{version, command, {}, {}, false, mode, ""}; });
  };
  const std::string v1 = "client.authentication.k8s.io/v1";
  CHECK(with(v1, "p", Interactive::kNever).empty());
  CHECK(with(v1 + "beta1", "p", Interactive::kIfAvailable).empty());
  CHECK_FALSE(with(v1 + "alpha1", "p", Interactive::kNever).empty());
  CHECK_FALSE(with(v1, "", Interactive::kNever).empty());
  CHECK_FALSE(with(v1, "p", Interactive::kUnset).empty());
}

TEST_CASE("connection: a server's address in its parts") {
  const auto url = parse_server_url("https://api.example:6443/k8s/clusters/c-1/");
  REQUIRE(url.ok());
  CHECK(url->host == "api.example");
  CHECK(url->port == 6443);
  CHECK(url->prefix == "/k8s/clusters/c-1");
  CHECK(parse_server_url("https://API.Example")->port == 443);
  CHECK(parse_server_url("https://[fd00::1]:6443")->authority() == "[fd00::1]:6443");
  for (const char* bad :
       {"http://a", "https://", "https://a b", "https://u:p@a", "https://a:0", "https://a:70000",
        "https://a:", "https://[a", "https://[nope]", "https://a/x?y", "https://a/../x",
        "https://a\n", "https://a#x", "a", ""}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_server_url(bad).ok());
  }
}

TEST_CASE("connection: in a pod") {
  const InCluster facts{"10.0.0.1", "443", "/token", "/ca", "boxes"};
  const auto chosen = choose_in_cluster(facts, {});
  REQUIRE(chosen.ok());
  CHECK(chosen->cluster.server == "https://10.0.0.1:443");
  CHECK(chosen->ns == "boxes");
  CHECK(choose_in_cluster({"fd00::1", "443", "/t", "/c", ""}, {})->cluster.server ==
        "https://[fd00::1]:443");
  CHECK_FALSE(choose_in_cluster(facts, {"ctx", ""}).ok());
  CHECK_FALSE(choose_in_cluster({"a b", "443", "/t", "/c", ""}, {}).ok());
}

TEST_CASE("connection: impersonation as headers") {
  Impersonation as;
  as.user = "joe";
  as.uid = "7";
  as.groups = {"a", "b"};
  as.extra["Scopes/x%"] = {"one"};
  const auto headers = impersonation_headers(as);
  REQUIRE(headers.ok());
  CHECK(*headers ==
        std::vector<agentbox::provision::Header>{{"Impersonate-User", "joe"},
                                                 {"Impersonate-Uid", "7"},
                                                 {"Impersonate-Group", "a"},
                                                 {"Impersonate-Group", "b"},
                                                 {"Impersonate-Extra-Scopes%2Fx%25", "one"}});
  as.user = "joe\r\nAuthorization: x";
  CHECK_FALSE(impersonation_headers(as).ok());
}

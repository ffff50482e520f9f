// pure: tests of provision/kube/kubeconfig.
#include "provision/kube/kubeconfig.h"

#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision::kube;

namespace {

Kubeconfig parsed(const std::string& text, const std::string& folder = "/home/anna/x") {
  auto config = parse_kubeconfig(text, folder);
  INFO((config.ok() ? std::string() : config.error().what));
  REQUIRE(config.ok());
  return std::move(config).value();
}

std::string problem(const std::string& text) {
  auto config = parse_kubeconfig(text, "/f");
  return config.ok() ? "" : config.error().what;
}

}  // namespace

TEST_CASE(
    "kubeconfig: paths are seen from the file's folder, programs only where they have a slash") {
  const Kubeconfig config = parsed(R"(
clusters: [{name: c, cluster: {server: "https://a", certificate-authority: pki/ca.pem}}]
users:
- name: u
  user: {client-certificate: ../c.pem, client-key: ./k.pem, tokenFile: /abs/token}
- name: near
  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/plug, interactiveMode: Never}}
- name: far
  user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: plug}}
)");
  CHECK(config.clusters.at("c").ca.file == "/home/anna/x/pki/ca.pem");
  CHECK(config.users.at("u").certificate.file == "/home/anna/c.pem");
  CHECK(config.users.at("u").key.file == "/home/anna/x/k.pem");
  CHECK(config.users.at("u").token_file == "/abs/token");
  CHECK(config.users.at("near").exec->command == "/home/anna/x/bin/plug");
  CHECK(config.users.at("far").exec->command == "plug");
}

TEST_CASE("kubeconfig: every key we know of") {
  const Kubeconfig config = parsed(R"(
apiVersion: v1
kind: Config
preferences: {}
current-context: here
clusters:
- name: c
  cluster:
    server: https://api.example:6443/prefix
    tls-server-name: inner
    proxy-url: socks5://p:1080
    insecure-skip-tls-verify: false
    certificate-authority-data: |
      Q0
      EK
    disable-compression: true
    extensions:
    - name: other
      extension: {a: 1}
    - name: client.authentication.k8s.io/exec
      extension: {audience: x}
contexts:
- name: here
  context: {cluster: c, user: u, namespace: work}
users:
- name: u
  user:
    client-certificate-data: Q0VSVA==
    client-key-data: S0VZ
    as: joe
    as-uid: "7"
    as-groups: [a, b]
    as-user-extra: {Scopes/x: [one, two]}
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: plug
      args: [get token, --x=y z]
      env: [{name: A, value: B=C}]
      provideClusterInfo: true
      interactiveMode: Always
      installHint: install it
)");
  const Cluster& cluster = config.clusters.at("c");
  CHECK(cluster.server == "https://api.example:6443/prefix");
  CHECK(cluster.tls_server_name == "inner");
  CHECK(cluster.proxy_url == "socks5://p:1080");
  CHECK(cluster.ca.data == "CA\n");
  CHECK(cluster.disable_compression);
  CHECK(cluster.exec_config == Json{{"audience", "x"}});
  CHECK(config.contexts.at("here") == Context{"c", "u", "work"});
  const User& user = config.users.at("u");
  CHECK(user.certificate.data == "CERT");
  CHECK(user.key.data == "KEY");
  CHECK(user.impersonation.extra.at("Scopes/x") == std::vector<std::string>{"one", "two"});
  REQUIRE(user.exec);
  CHECK(user.exec->args == std::vector<std::string>{"get token", "--x=y z"});
  CHECK(user.exec->env.front().second == "B=C");
  CHECK(user.exec->provide_cluster_info);
  CHECK(user.exec->interactive == Interactive::kAlways);
  CHECK(user.exec->install_hint == "install it");
}

TEST_CASE("kubeconfig: a problem names its place and never the value") {
  CHECK(problem("users: [{name: u, user: {token: 12345}}]") ==
        "users[0].user.token must be a text (put it in quotes)");
  CHECK(problem("users: [{name: u, user: {token: yes}}]").find("yes") == std::string::npos);
  CHECK(problem("clusters: [{name: c, cluster: {certificate-authority-data: s3cret!}}]") ==
        "clusters[0].cluster.certificate-authority-data must be base64");
  CHECK(problem("users: [{name: u}, {name: u}]") ==
        "users[1].name must be another one: it is taken in this file");
  CHECK(problem("users: {name: u}") == "users must be a list");
  CHECK(problem("users: [word]") == "users[0] must be a mapping");
  CHECK(problem("users: [{name: u, user: {as-groups: x}}]") ==
        "users[0].user.as-groups must be a list of texts");
  CHECK(problem("users: [{name: u, user: {exec: {interactiveMode: Sometimes}}}]") ==
        "users[0].user.exec.interactiveMode must be Never, IfAvailable or Always");
  CHECK(problem("kind: Pod") == "kind must be Config");
  CHECK_FALSE(problem("users: [").empty());
  CHECK(problem("frob: 1\nusers: ~\n").empty());
  CHECK(problem("").empty());
}

TEST_CASE("kubeconfig: the first file that has an entry has it whole") {
  const Kubeconfig all =
      merge({parsed("users: [{name: u, user: {token: first}}]\n"),
             parsed("current-context: b\nusers:\n- {name: u, user: {username: joe, "
                    "password: pw}}\n- {name: v, user: {token: v}}\n"),
             parsed("current-context: c\n")});
  CHECK(all.users.at("u").token == "first");
  CHECK(all.users.at("u").username.empty());
  CHECK(all.users.at("v").token == "v");
  CHECK(all.current_context == "b");
}

TEST_CASE("kubeconfig: which files are read") {
  CHECK(config_paths("f", "a:b", "/home/x").files == std::vector<std::string>{"f"});
  CHECK(config_paths("f", "", "").must_exist);
  CHECK(config_paths("", "a::b:a", "/home/x").files == std::vector<std::string>{"a", "b"});
  CHECK_FALSE(config_paths("", "a", "").must_exist);
  CHECK(config_paths("", "", "/home/x").files == std::vector<std::string>{"/home/x/.kube/config"});
  CHECK(config_paths("", ":", "/home/x").files.empty());
}

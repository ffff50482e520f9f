// edge: tests of provision/kube/access, and of kubeconfigs against kubectl where there is one.
#include "provision/kube/access.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>

#include "base/json.h"
#include "provision/kube/plugin.h"
#include "support/catch.h"
#include "unit/provision/temporary_folder.h"

using namespace agentbox;
using namespace agentbox::provision;
using namespace agentbox::provision::kube;
using agentbox::provision::sample::TemporaryFolder;

namespace {

// A variable of this process for the time of a test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = ::getenv(name)) {
      before_ = before;
    }
    ::setenv(name, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

constexpr const char* kFirst = R"(current-context: ""
clusters:
- name: c
  cluster: {server: "https://127.0.0.1:1", certificate-authority: pki/ca.pem}
users:
- name: u
  user: {token: first}
contexts:
- name: one
  context: {cluster: c, user: u}
)";
constexpr const char* kSecond = R"(current-context: two
clusters:
- name: c
  cluster: {server: "https://127.0.0.1:2", tls-server-name: x, certificate-authority-data: Zm9v}
- name: d
  cluster: {server: "https://d.example/prefix", proxy-url: "http://p:3128", disable-compression: true}
users:
- name: u
  user: {username: joe, password: pw}
- name: cert
  user: {client-certificate: pki/ca.pem, client-key: ./pki/ca.pem, as: anna, as-groups: [g]}
- name: e
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./plug, args: [a b], env: [{name: A, value: B}]}
contexts:
- name: one
  context: {cluster: c2, namespace: ns2}
- name: two
  context: {cluster: c, user: e, namespace: nn}
)";

// Files in place of their contents, as `kubectl config view --flatten` has them.
void flatten(Material& material) {
  if (material.data.empty() && !material.file.empty()) {
    material = {read_file_capped(material.file, 1U << 16U).value(), ""};
  }
}

Kubeconfig two_files(const TemporaryFolder& folder) {
  REQUIRE(::mkdir((folder / "pki").c_str(), 0700) == 0);
  folder.write("pki/ca.pem", "CA\n");
  folder.write("a.yaml", kFirst);
  folder.write("b.yaml", kSecond);
  return merge({parse_kubeconfig(kFirst, folder.path()).value(),
                parse_kubeconfig(kSecond, folder.path()).value()});
}

// A kubeconfig whose only user runs PLUGIN.
std::string with_plugin(const std::string& version, const std::string& more) {
  return "current-context: x\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
         "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
         "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/" +
         version + ", command: ./plug, " + more + "}}}]\n";
}

Answer<Access> access_through(const TemporaryFolder& folder, const std::string& plugin,
                              const std::string& version = "v1",
                              const std::string& more = "interactiveMode: Never",
                              const std::string& policy = "") {
  folder.write("plug", "#!/bin/sh\n" + plugin, 0700);
  AccessOptions options{folder.write("config", with_plugin(version, more)), {}, policy};
  AB_TRY(chosen, find_cluster(options));
  return open_access(chosen, options);
}

}  // namespace

TEST_CASE("access: kubectl reads two kubeconfigs as we do") {
  const TemporaryFolder folder;
  Kubeconfig ours = two_files(folder);
  for (auto& [name, cluster] : ours.clusters) {
    flatten(cluster.ca);
  }
  for (auto& [name, user] : ours.users) {
    flatten(user.certificate);
    flatten(user.key);
  }
  // What kubectl 1.32 prints for these two; it leaves a plugin's path as it found it.
  std::string theirs = R"({"current-context":"two","clusters":[
    {"name":"c","cluster":{"server":"https://127.0.0.1:1","certificate-authority-data":"Q0EK"}},
    {"name":"d","cluster":{"server":"https://d.example/prefix","proxy-url":"http://p:3128","disable-compression":true}}],
    "users":[{"name":"u","user":{"token":"first"}},
    {"name":"cert","user":{"client-certificate-data":"Q0EK","client-key-data":"Q0EK","as":"anna","as-groups":["g"]}},
    {"name":"e","user":{"exec":{"command":"./plug","args":["a b"],"env":[{"name":"A","value":"B"}],
    "apiVersion":"client.authentication.k8s.io/v1beta1","interactiveMode":"IfAvailable"}}}],
    "contexts":[{"name":"one","context":{"cluster":"c","user":"u"}},
    {"name":"two","context":{"cluster":"c","user":"e","namespace":"nn"}}]})";
  CHECK(parse_kubeconfig(theirs, folder.path()).value() == ours);
  for (const char* kubectl : {"/usr/bin/kubectl", "/usr/local/bin/kubectl"}) {
    if (::access(kubectl, X_OK) == 0) {
      PluginRun run{kubectl,
                    {"kubectl", "config", "view", "--raw", "--flatten", "-o", "json"},
                    {},
                    false,
                    std::chrono::seconds(60)};
      run.variables = {{"KUBECONFIG", folder / "a.yaml:" + (folder / "b.yaml:/nowhere")}};
      auto live = run_plugin(run, 1U << 20U);
      REQUIRE(live.ok());
      CHECK(parse_kubeconfig(*live, folder.path()).value() == ours);
    }
  }
}

TEST_CASE(
    "access: the variable's files are laid over each other, and missing ones are passed over") {
  const TemporaryFolder folder;
  two_files(folder);
  const Variable variable("KUBECONFIG",
                          folder / "a.yaml:" + (folder / "none:") + (folder / "b.yaml"));
  auto chosen = find_cluster({"", {"one", ""}, ""});
  REQUIRE(chosen.ok());
  CHECK(chosen->user.token == "first");
  auto access = open_access(*chosen, {});
  REQUIRE(access.ok());
  CHECK(access->ca == "CA\n");
  CHECK(access->authorization == "Bearer first");
  CHECK(access->ns == "default");
  CHECK(access->proxy_url.empty());
}

TEST_CASE("access: a kubeconfig that others can write is refused") {
  const TemporaryFolder folder;
  two_files(folder);
  const AccessOptions options{folder / "a.yaml", {"one", ""}, ""};
  CHECK(find_cluster(options).ok());
  REQUIRE(::chmod((folder / "a.yaml").c_str(), 0620) == 0);
  CHECK(find_cluster(options).error().exit == Exit::kRefused);
  REQUIRE(::chmod((folder / "a.yaml").c_str(), 0600) == 0);
  REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
  CHECK(find_cluster(options).error().exit == Exit::kRefused);
  REQUIRE(::chmod(folder.path().c_str(), 0700) == 0);
  CHECK_FALSE(find_cluster({folder / "none", {}, ""}).ok());
}

TEST_CASE("access: a token file is read when it is needed, and without its line end") {
  const TemporaryFolder folder;
  Chosen chosen{"x", "default", {}, {}};
  chosen.cluster.server = "https://127.0.0.1:1";
  chosen.user.token = "old";
  chosen.user.token_file = folder.write("token", "one\n");
  CHECK(open_access(chosen, {})->authorization == "Bearer one");
  folder.write("token", "two");
  CHECK(open_access(chosen, {})->authorization == "Bearer two");
  folder.write("token", "a\r\nX-Evil: 1");
  CHECK(open_access(chosen, {}).error().exit == Exit::kRefused);
}

TEST_CASE("access: an exec plugin's token or certificate") {
  const TemporaryFolder folder;
  const std::string head =
      R"(echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":)";
  auto token =
      access_through(folder, "echo noise >&2\n" + head + R"({"token":"'"$1-$A"'"}}')", "v1",
                     "args: ['a b'], env: [{name: A, value: c}], interactiveMode: Never");
  REQUIRE(token.ok());
  CHECK(token->authorization == "Bearer a b-c");
  auto certificate =
      access_through(folder, head + R"({"clientCertificateData":"C","clientKeyData":"K"}}')");
  REQUIRE(certificate.ok());
  CHECK(certificate->certificate == "C");
  CHECK(certificate->key == "K");
  CHECK(certificate->authorization.empty());
  auto told = access_through(
      folder,
      "test \"$KUBERNETES_EXEC_INFO\" = '{\"kind\":\"ExecCredential\",\"apiVersion\":"
      "\"client.authentication.k8s.io/v1\",\"spec\":{\"interactive\":false}}' || exit 9\n" +
          head + R"({"token":"t"}}')");
  CHECK(told.ok());
}

TEST_CASE("access: an exec plugin that fails is named, with what it said") {
  const TemporaryFolder folder;
  auto failed = access_through(folder, "echo please log in >&2; exit 3");
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().message.find(folder / "plug failed (exit code 3); it said: please log in") !=
        std::string::npos);
  auto other = access_through(
      folder,
      R"(echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"s3cret"}}')");
  REQUIRE_FALSE(other.ok());
  CHECK(other.error().message.find("s3cret") == std::string::npos);
  CHECK(access_through(folder, "exit 0", "v1", "interactiveMode: Never", "deny").error().exit ==
        Exit::kRefused);
  CHECK(access_through(folder, "exit 0", "v1", "interactiveMode: Never", "allow=kubelogin")
            .error()
            .exit == Exit::kRefused);
}

TEST_CASE("access: an exec plugin that hangs is ended with all that it started") {
  REQUIRE(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);  // what it leaves behind is ours to look at
  const TemporaryFolder folder;
  const std::string program =
      folder.write("plug", "#!/bin/sh\necho $$ > \"$0.pid\"\nsleep 1000 & sleep 1000\n", 0700);
  auto run = run_plugin({program, {program}, {}, false, std::chrono::seconds(4)}, 1000);
  REQUIRE_FALSE(run.ok());
  CHECK(run.error().code == Code::kTimeout);
  const auto pid = read_file_capped(program + ".pid", 100);
  const pid_t group = std::stoi(pid.value());
  int status = 0;
  while (::waitpid(-group, &status, 0) > 0) {
    CHECK(WIFSIGNALED(status));
  }
  CHECK(::kill(-group, 0) != 0);
}

TEST_CASE("access: no more than so many bytes are taken from an exec plugin") {
  const TemporaryFolder folder;
  const std::string program = folder.write("plug", "#!/bin/sh\nyes\n", 0700);
  auto run = run_plugin({program, {program}, {}, false, std::chrono::seconds(60)}, 1000);
  REQUIRE_FALSE(run.ok());
  CHECK(run.error().code == Code::kLimit);
}

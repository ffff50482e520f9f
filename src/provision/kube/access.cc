// edge: see access.h.
#include "provision/kube/access.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/defence.h"
#include "base/handle.h"
#include "base/text.h"
#include "provision/kube/plugin.h"

namespace agentbox::provision::kube {
namespace {

namespace fs = std::filesystem;

constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool only_ours(const struct stat& info) {
  return (info.st_uid == ::geteuid() || info.st_uid == 0) && (info.st_mode & 022U) == 0;
}

// Nobody but this user and root may change the open file INFO is of, or put another one in its
// place.
Status check_trusted(const std::string& path, const struct stat& info) {
  if (!defended("kubeconfig-trust")) {
    return {};
  }
  if (!only_ours(info)) {
    return Error{Code::kDenied,
                 path + " can be written by others, so it is not used; chmod go-w it"};
  }
  std::error_code problem;
  fs::path folder = fs::canonical(path, problem).parent_path();
  if (problem) {
    return Error{Code::kSystem, path + ": " + problem.message(), problem.value()};
  }
  for (;; folder = folder.parent_path()) {
    struct stat about {};
    if (::stat(folder.c_str(), &about) != 0) {
      return errno_error(folder.string());
    }
    const bool others_cannot_replace = only_ours(about) || (about.st_mode & S_ISVTX) != 0;
    if (!others_cannot_replace) {
      return Error{Code::kDenied, path + " lies in " + folder.string() +
                                      ", in which others can put another file in its place"};
    }
    if (folder == folder.root_path()) {
      return {};
    }
  }
}

Result<std::string> read_trusted(const std::string& path, std::size_t limit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) {
    return errno_error(path);
  }
  if (!S_ISREG(info.st_mode)) {
    return Error{Code::kInvalid, path + " is not a regular file"};
  }
  AB_CHECK(check_trusted(path, info));
  auto text = read_fd_capped(fd.get(), limit);
  return text.ok() ? std::move(text) : Result<std::string>(std::move(text).error().in(path));
}

Result<std::string> read_material(const Material& material) {
  if (!material.data.empty() || material.file.empty()) {
    return material.data;
  }
  return read_trusted(material.file, kMaxCredentialBytes);
}

Answer<Kubeconfig> read_kubeconfigs(const ConfigPaths& paths, bool& any) {
  std::vector<Kubeconfig> files;
  for (const std::string& path : paths.files) {
    std::error_code problem;
    const fs::path whole = fs::absolute(path, problem).lexically_normal();
    auto text = read_trusted(whole.string(), kMaxKubeconfigBytes);
    if (!text.ok() && text.error().code == Code::kNotFound && !paths.must_exist) {
      continue;
    }
    if (!text.ok()) {
      return failure_of(std::move(text).error(),
                        "make the kubeconfig yours alone, or name another "
                        "one with --kubeconfig");
    }
    auto config = parse_kubeconfig(*text, whole.parent_path().string());
    if (!config.ok()) {
      return Failure{Exit::kUsage, std::move(config).error().in(path).what, "mend the kubeconfig"};
    }
    files.push_back(std::move(config).value());
  }
  any = !files.empty();
  return merge(files);
}

InCluster pod_trouble() {
  const std::string folder = kServiceAccount;
  InCluster facts{variable("KUBERNETES_SERVICE_HOST"), variable("KUBERNETES_SERVICE_PORT"),
                  folder + "/token", folder + "/ca.crt", variable("POD_NAMESPACE")};
  if (facts.ns.empty()) {
    auto text = read_file_capped(folder + "/namespace", 1024);
    facts.ns = text.ok() ? *text : "";
  }
  return facts;
}

// COMMAND as the shell would find it, but never seen from the working folder.
Result<std::string> find_program(const std::string& command, const std::string& hint) {
  if (command.find('/') != std::string::npos) {
    return command;
  }
  const std::string path = variable("PATH");
  for (std::size_t from = 0; from < path.size();) {
    const std::size_t to = std::min(path.find(':', from), path.size());
    const std::string candidate = path.substr(from, to - from) + "/" + command;
    if (candidate.front() == '/' && ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
    from = to + 1;
  }
  return Error{Code::kNotFound, "the kubeconfig wants to run " + escape_text(command, 200) +
                                    ", which is not in PATH" +
                                    (hint.empty() ? "" : "; it says: " + escape_text(hint, 600))};
}

Result<ExecCredential> run_exec(const ExecPlugin& plugin, const Cluster& cluster,
                                const std::string& ca, const ExecPolicy& policy) {
  AB_TRY(program, find_program(plugin.command, plugin.install_hint));
  AB_CHECK(may_run(policy, plugin.command, program));
  struct stat info {};
  if (::stat(program.c_str(), &info) != 0) {
    return errno_error(program);
  }
  AB_CHECK(check_trusted(program, info));
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  if (plugin.interactive == Interactive::kAlways && !terminal) {
    return Error{Code::kUnavailable,
                 "the exec plugin " + program + " must ask something, and there is no terminal"};
  }
  PluginRun run{program, {program}, plugin.env, false, kExecPluginTime};
  run.interactive = terminal && plugin.interactive != Interactive::kNever;
  run.argv.insert(run.argv.end(), plugin.args.begin(), plugin.args.end());
  run.variables.emplace_back("KUBERNETES_EXEC_INFO",
                             exec_info(plugin, cluster, ca, run.interactive));
  AB_TRY(output, run_plugin(run, kMaxCredentialBytes));
  auto credential = parse_exec_credential(output, plugin.api_version);
  return credential.ok() ? std::move(credential)
                         : Result<ExecCredential>(
                               std::move(credential).error().in("the exec plugin " + program));
}

// Token and certificate from what the user entry holds itself.
Status read_own_credential(const User& user, Access& access) {
  AB_TRY(certificate, read_material(user.certificate));
  AB_TRY(key, read_material(user.key));
  access.certificate = std::move(certificate);
  access.key = std::move(key);
  std::string token = user.token;
  if (!user.token_file.empty()) {
    AB_TRY(text, read_trusted(user.token_file, kMaxCredentialBytes));
    token = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  }
  if (!token.empty()) {
    access.authorization = "Bearer " + token;
  } else if (!user.username.empty() || !user.password.empty()) {
    access.authorization = "Basic " + base64_encode(user.username + ":" + user.password);
  }
  return {};
}

void set_proxy(const Chosen& chosen, Access& access) {
  const std::string& host = access.server.host;
  access.proxy_url = chosen.cluster.proxy_url;
  if (!access.proxy_url.empty() || host == "localhost" || host == "::1" ||
      host.starts_with("127.")) {
    return;  // what the environment says is never about this machine
  }
  access.heed_no_proxy = true;
  access.proxy_url = variable("HTTPS_PROXY");
  if (access.proxy_url.empty()) {
    access.proxy_url = variable("https_proxy");
  }
}

}  // namespace

Answer<Chosen> find_cluster(const AccessOptions& options) {
  const ConfigPaths paths =
      config_paths(options.kubeconfig, variable("KUBECONFIG"), variable("HOME"));
  bool any = false;
  AB_TRY(config, read_kubeconfigs(paths, any));
  if (!any) {
    const InCluster facts = pod_trouble();
    if (!facts.host.empty() && ::access(facts.token_file.c_str(), R_OK) == 0) {
      return advise(choose_in_cluster(facts, options.overrides),
                    "run it in a pod with a service "
                    "account, or with a kubeconfig");
    }
    return Failure{Exit::kUsage, "there is no kubeconfig",
                   "set KUBECONFIG or give --kubeconfig FILE; without a cluster leave --kubernetes "
                   "out"};
  }
  return advise(choose(config, options.overrides),
                "`kubectl config get-contexts` shows what the kubeconfig has");
}

Answer<Access> open_access(const Chosen& chosen, const AccessOptions& options) {
  const std::string next = "mend the kubeconfig, or choose another --context";
  auto policy = parse_exec_policy(options.exec_plugins);
  if (!policy.ok()) {
    return Failure{Exit::kUsage, policy.error().what, "see agentbox-provision --help"};
  }
  Access access;
  AB_TRY(server, parse_server_url(chosen.cluster.server));
  access.server = server;
  access.tls_server_name = chosen.cluster.tls_server_name;
  set_proxy(chosen, access);
  access.ns = chosen.ns;
  access.context = chosen.context;
  AB_TRY(ca, advise(read_material(chosen.cluster.ca), next));
  access.ca = ca;
  AB_CHECK(advise(read_own_credential(chosen.user, access), next));
  if (chosen.user.exec && access.authorization.empty() && access.certificate.empty()) {
    AB_TRY(credential,
           advise(run_exec(*chosen.user.exec, chosen.cluster, access.ca, *policy), next));
    access.certificate = credential.certificate;
    access.key = credential.key;
    access.authorization = credential.token.empty() ? "" : "Bearer " + credential.token;
  }
  if (!is_header_value(access.authorization)) {
    return Failure{Exit::kRefused, "the token holds control characters", next};
  }
  AB_TRY(impersonation, advise(impersonation_headers(chosen.user.impersonation), next));
  access.impersonation = std::move(impersonation);
  return access;
}

}  // namespace agentbox::provision::kube

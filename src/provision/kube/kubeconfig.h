// pure: kubeconfig files as values: reading one, and laying several over each other as kubectl
// does.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace agentbox::provision::kube {

/// PEM that a kubeconfig holds itself, or the file it names. Where both are given the data win.
struct Material {
  std::string data;  ///< decoded
  std::string file;  ///< seen from the kubeconfig's folder already
  [[nodiscard]] bool given() const { return !data.empty() || !file.empty(); }
  bool operator==(const Material&) const = default;
};

struct Cluster {
  std::string server;
  std::string tls_server_name;
  std::string proxy_url;
  Material ca;
  bool insecure = false;
  bool disable_compression = false;
  Json exec_config;  ///< what the cluster has for exec plugins; null: nothing
  bool operator==(const Cluster&) const = default;
};

enum class Interactive : std::uint8_t { kUnset, kNever, kIfAvailable, kAlways };

/// A program that prints a credential.
struct ExecPlugin {
  std::string api_version;
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  bool provide_cluster_info = false;
  Interactive interactive = Interactive::kUnset;
  std::string install_hint;
  bool operator==(const ExecPlugin&) const = default;
};

struct Impersonation {
  std::string user;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
  bool operator==(const Impersonation&) const = default;
};

struct User {
  Material certificate;
  Material key;
  std::string token;
  std::string token_file;  ///< wins over token
  std::string username;
  std::string password;
  std::string auth_provider;  ///< the name of a mechanism that nobody has any more
  Impersonation impersonation;
  std::optional<ExecPlugin> exec;
  bool operator==(const User&) const = default;
};

struct Context {
  std::string cluster;
  std::string user;
  std::string ns;
  bool operator==(const Context&) const = default;
};

struct Kubeconfig {
  std::map<std::string, Cluster> clusters;
  std::map<std::string, User> users;
  std::map<std::string, Context> contexts;
  std::string current_context;
  bool operator==(const Kubeconfig&) const = default;
};

/// One file's TEXT. Relative paths in it are seen from FOLDER, the file's own (absolute). Unknown
/// keys are passed over, as kubectl does; a value of the wrong type is an error that names its
/// place and never its value. Stricter than kubectl: a key given twice is an error.
[[nodiscard]] Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& folder);

/// The first file that has an entry of a name has it whole; the first current-context that is not
/// empty counts.
[[nodiscard]] Kubeconfig merge(const std::vector<Kubeconfig>& files);

/// The files to read, in order: FLAG alone where it is given, else the parts of VARIABLE
/// (KUBECONFIG) without empty and repeated ones, else (VARIABLE empty) HOME/.kube/config.
struct ConfigPaths {
  std::vector<std::string> files;
  bool must_exist = false;  ///< FLAG names a file that has to be there
};
[[nodiscard]] ConfigPaths config_paths(const std::string& flag, const std::string& variable,
                                       const std::string& home);

}  // namespace agentbox::provision::kube

// pure: see kubeconfig.h.
#include "provision/kube/kubeconfig.h"

#include <algorithm>

#include "base/text.h"
#include "base/yaml.h"

namespace agentbox::provision::kube {
namespace {

constexpr const char* kExecExtension = "client.authentication.k8s.io/exec";

// Reads members of one JSON object and keeps the first problem. An absent member and a null are the
// same; values never get into an error's words: they may be secrets.
class Reader {
 public:
  Reader(const Json& object, std::string place, std::optional<Error>& problem)
      : object_(object), place_(std::move(place)), problem_(problem) {
    if (!object.is_object() && !object.is_null()) {
      fail("", "a mapping");
    }
  }

  [[nodiscard]] const Json& at(std::string_view name) const {
    static const Json kNothing;
    const Json* member = find_member(object_, name);
    return member == nullptr ? kNothing : *member;
  }

  std::string text(std::string_view name) {
    const Json& value = at(name);
    if (value.is_string()) {
      return value.get<std::string>();
    }
    if (!value.is_null()) {
      fail(name, "a text (put it in quotes)");
    }
    return {};
  }

  bool boolean(std::string_view name) {
    const Json& value = at(name);
    if (!value.is_boolean() && !value.is_null()) {
      fail(name, "true or false");
    }
    return value.is_boolean() && value.get<bool>();
  }

  std::vector<std::string> texts(std::string_view name) {
    std::vector<std::string> all;
    const Json& value = at(name);
    if (value.is_null()) {
      return all;
    }
    for (const Json& item : value.is_array() ? value : Json::array({nullptr})) {
      if (!item.is_string()) {
        fail(name, "a list of texts");
        return {};
      }
      all.push_back(item.get<std::string>());
    }
    return all;
  }

  std::string base64(std::string_view name) {
    std::string value = text(name);
    std::erase_if(value, [](char c) { return c == '\n' || c == '\r'; });
    auto bytes = base64_decode(value);
    if (!bytes.ok()) {
      fail(name, "base64");
      return {};
    }
    return std::move(bytes).value();
  }

  [[nodiscard]] Reader inner(std::string_view name) { return {at(name), place_of(name), problem_}; }

  // Runs EACH with a reader for every item of the list NAME.
  template <typename Each>
  void items(std::string_view name, Each each) {
    const Json& list = at(name);
    if (list.is_null()) {
      return;
    }
    if (!list.is_array()) {
      fail(name, "a list");
      return;
    }
    for (std::size_t i = 0; i < list.size() && !problem_; ++i) {
      Reader item(list[i], place_of(name) + "[" + std::to_string(i) + "]", problem_);
      each(item);
    }
  }

  void fail(std::string_view name, const std::string& wanted) {
    if (!problem_) {
      problem_ = Error{Code::kInvalid, place_of(name) + " must be " + wanted};
    }
  }

 private:
  [[nodiscard]] std::string place_of(std::string_view name) const {
    if (name.empty()) {
      return place_.empty() ? "the document" : place_;
    }
    return place_ + (place_.empty() ? "" : ".") + std::string(name);
  }

  const Json& object_;
  std::string place_;
  std::optional<Error>& problem_;
};

std::string seen_from(const std::string& folder, const std::string& path) {
  if (path.empty() || path.front() == '/') {
    return path;
  }
  std::string joined;
  const std::string whole = folder + "/" + path;
  for (std::size_t from = 0; from < whole.size();) {
    const std::size_t to = std::min(whole.find('/', from), whole.size());
    const std::string part = whole.substr(from, to - from);
    from = to + 1;
    if (part == "..") {
      joined.erase(std::min(joined.rfind('/'), joined.size()));
    } else if (!part.empty() && part != ".") {
      joined.append("/").append(part);
    }
  }
  return joined;
}

Cluster read_cluster(Reader& in, const std::string& folder) {
  Cluster cluster;
  cluster.server = in.text("server");
  cluster.tls_server_name = in.text("tls-server-name");
  cluster.proxy_url = in.text("proxy-url");
  cluster.ca.file = seen_from(folder, in.text("certificate-authority"));
  cluster.ca.data = in.base64("certificate-authority-data");
  cluster.insecure = in.boolean("insecure-skip-tls-verify");
  cluster.disable_compression = in.boolean("disable-compression");
  in.items("extensions", [&](Reader& extension) {
    if (extension.text("name") == kExecExtension) {
      cluster.exec_config = extension.at("extension");
    }
  });
  return cluster;
}

ExecPlugin read_exec(Reader& in, const std::string& folder) {
  ExecPlugin plugin;
  plugin.api_version = in.text("apiVersion");
  plugin.command = in.text("command");
  if (plugin.command.find('/') != std::string::npos) {
    plugin.command = seen_from(folder, plugin.command);
  }
  plugin.args = in.texts("args");
  in.items("env", [&](Reader& entry) {
    plugin.env.emplace_back(entry.text("name"), entry.text("value"));
  });
  plugin.provide_cluster_info = in.boolean("provideClusterInfo");
  plugin.install_hint = in.text("installHint");
  const std::string mode = in.text("interactiveMode");
  if (mode == "Never") {
    plugin.interactive = Interactive::kNever;
  } else if (mode == "IfAvailable") {
    plugin.interactive = Interactive::kIfAvailable;
  } else if (mode == "Always") {
    plugin.interactive = Interactive::kAlways;
  } else if (!mode.empty()) {
    in.fail("interactiveMode", "Never, IfAvailable or Always");
  } else if (plugin.api_version == "client.authentication.k8s.io/v1beta1") {
    plugin.interactive = Interactive::kIfAvailable;
  }
  return plugin;
}

Impersonation read_impersonation(Reader& in) {
  Impersonation as;
  as.user = in.text("as");
  as.uid = in.text("as-uid");
  as.groups = in.texts("as-groups");
  Reader extra = in.inner("as-user-extra");
  for (const auto& entry : in.at("as-user-extra").items()) {
    as.extra[entry.key()] = extra.texts(entry.key());
  }
  return as;
}

User read_user(Reader& in, const std::string& folder) {
  User user;
  user.certificate.file = seen_from(folder, in.text("client-certificate"));
  user.certificate.data = in.base64("client-certificate-data");
  user.key.file = seen_from(folder, in.text("client-key"));
  user.key.data = in.base64("client-key-data");
  user.token = in.text("token");
  user.token_file = seen_from(folder, in.text("tokenFile"));
  user.username = in.text("username");
  user.password = in.text("password");
  user.impersonation = read_impersonation(in);
  if (!in.at("auth-provider").is_null()) {
    user.auth_provider = in.inner("auth-provider").text("name");
    if (user.auth_provider.empty()) {
      user.auth_provider = "without a name";
    }
  }
  if (!in.at("exec").is_null()) {
    Reader exec = in.inner("exec");
    user.exec = read_exec(exec, folder);
  }
  return user;
}

Context read_context(Reader& in) {
  return Context{in.text("cluster"), in.text("user"), in.text("namespace")};
}

// The list LIST of `{name: N, MEMBER: {...}}`.
template <typename Value, typename Read>
void read_named(Reader& root, std::string_view list, std::string_view member,
                std::map<std::string, Value>& out, Read read) {
  root.items(list, [&](Reader& item) {
    Reader inner = item.inner(member);
    if (!out.try_emplace(item.text("name"), read(inner)).second) {
      item.fail("name", "another one: it is taken in this file");
    }
  });
}

}  // namespace

Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& folder) {
  AB_TRY(json, yaml_to_json(text));
  std::optional<Error> problem;
  Reader root(json, "", problem);
  Kubeconfig config;
  config.current_context = root.text("current-context");
  read_named(root, "clusters", "cluster", config.clusters,
             [&](Reader& in) { return read_cluster(in, folder); });
  read_named(root, "users", "user", config.users,
             [&](Reader& in) { return read_user(in, folder); });
  read_named(root, "contexts", "context", config.contexts, read_context);
  const std::string kind = root.text("kind");
  if (!kind.empty() && kind != "Config") {
    root.fail("kind", "Config");
  }
  if (problem) {
    return *problem;
  }
  return config;
}

Kubeconfig merge(const std::vector<Kubeconfig>& files) {
  Kubeconfig all;
  for (const Kubeconfig& file : files) {
    all.clusters.insert(file.clusters.begin(), file.clusters.end());
    all.users.insert(file.users.begin(), file.users.end());
    all.contexts.insert(file.contexts.begin(), file.contexts.end());
    if (all.current_context.empty()) {
      all.current_context = file.current_context;
    }
  }
  return all;
}

ConfigPaths config_paths(const std::string& flag, const std::string& variable,
                         const std::string& home) {
  if (!flag.empty()) {
    return {{flag}, true};
  }
  std::vector<std::string> files;
  for (std::size_t from = 0; from <= variable.size();) {
    const std::size_t to = std::min(variable.find(':', from), variable.size());
    const std::string part = variable.substr(from, to - from);
    if (!part.empty() && std::find(files.begin(), files.end(), part) == files.end()) {
      files.push_back(part);
    }
    from = to + 1;
  }
  if (variable.empty() && !home.empty()) {
    files.push_back(home + "/.kube/config");
  }
  return {std::move(files), false};
}

}  // namespace agentbox::provision::kube

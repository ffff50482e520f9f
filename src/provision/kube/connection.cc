// pure: see connection.h.
#include "provision/kube/connection.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace agentbox::provision::kube {
namespace {

bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return is_small(c) || (c >= 'A' && c <= 'Z'); }

Error refused(const std::string& what) { return Error{Code::kDenied, what}; }

Status check_cluster(const std::string& name, const Cluster& cluster) {
  const std::string where = "cluster " + escape_text(name, 100);
  if (cluster.server.empty()) {
    return refused(where + " has no server");
  }
  if (cluster.insecure) {
    return refused(where +
                   " has insecure-skip-tls-verify: whoever answers would be given the credential; "
                   "name its CA in certificate-authority-data");
  }
  if (!cluster.proxy_url.empty() && !is_proxy_url(cluster.proxy_url)) {
    return refused(where + ": proxy-url must be http://, https:// or socks5:// and a host");
  }
  if (!cluster.tls_server_name.empty() && !is_dns_name(cluster.tls_server_name)) {
    return refused(where + ": tls-server-name is no host name");
  }
  if (auto url = parse_server_url(cluster.server); !url.ok()) {
    return std::move(url).error().in(where);
  }
  return {};
}

Status check_exec(const std::string& where, const ExecPlugin& plugin) {
  constexpr std::array<std::string_view, 2> kVersions = {"client.authentication.k8s.io/v1",
                                                         "client.authentication.k8s.io/v1beta1"};
  if (plugin.command.empty()) {
    return refused(where + ": its exec plugin has no command");
  }
  if (std::find(kVersions.begin(), kVersions.end(), plugin.api_version) == kVersions.end()) {
    return refused(where +
                   ": its exec plugin must speak client.authentication.k8s.io/v1 or v1beta1");
  }
  if (plugin.interactive == Interactive::kUnset) {
    return refused(where + ": its exec plugin of v1 must say its interactiveMode");
  }
  const bool nameless = std::any_of(plugin.env.begin(), plugin.env.end(), [](const auto& entry) {
    return entry.first.empty() || entry.first.find('=') != std::string::npos;
  });
  return nameless ? Status(refused(where + ": a variable of its exec plugin has no name"))
                  : Status();
}

Status check_user(const std::string& name, const User& user) {
  const std::string where = "user " + escape_text(name, 100);
  const bool token = !user.token.empty() || !user.token_file.empty();
  const bool basic = !user.username.empty() || !user.password.empty();
  if (token && basic) {
    return refused(where + " has both a token and a password; only one is allowed");
  }
  if (user.certificate.given() != user.key.given()) {
    return refused(where +
                   " has half a client certificate: client-certificate and client-key belong "
                   "together");
  }
  if (!user.auth_provider.empty()) {
    return refused(where + " wants the auth-provider " + escape_text(user.auth_provider, 60) +
                   ", which Kubernetes has dropped; use its exec plugin");
  }
  const Impersonation& as = user.impersonation;
  if (as.user.empty() && (!as.uid.empty() || !as.groups.empty() || !as.extra.empty())) {
    return refused(where + " impersonates without `as`");
  }
  return user.exec ? check_exec(where, *user.exec) : Status();
}

Result<std::string> chosen_namespace(const std::string& flag, const std::string& otherwise) {
  const std::string& ns = flag.empty() ? (otherwise.empty() ? "default" : otherwise) : flag;
  if (!is_dns_label(ns)) {
    return Error{Code::kInvalid, "no name of a namespace: " + escape_text(ns, 100)};
  }
  return ns;
}

template <typename Value>
Result<const Value*> entry_of(const std::map<std::string, Value>& entries, const std::string& name,
                              const std::string& what) {
  const auto found = entries.find(name);
  if (found == entries.end()) {
    return Error{Code::kNotFound,
                 "the kubeconfig has no " + what + " '" + escape_text(name, 100) + "'"};
  }
  return &found->second;
}

// HOST[:PORT] or [IPv6][:PORT] to host and port.
Result<ServerUrl> parse_authority(std::string_view text) {
  const Error bad{Code::kInvalid, "the server's address must be https://HOST[:PORT]"};
  ServerUrl url;
  std::string_view port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) {
      return bad;
    }
    url.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    const auto is_address = [](char c) {
      return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' ||
             c == '.';
    };
    if (url.host.find(':') == std::string::npos ||
        !std::all_of(url.host.begin(), url.host.end(), is_address)) {
      return bad;
    }
  } else {
    const auto colon = std::min(text.find(':'), text.size());
    url.host = text.substr(0, colon);
    port = text.substr(colon);
    std::string lower = url.host;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (!is_dns_name(lower)) {
      return bad;
    }
  }
  if (!port.empty()) {
    const auto number = parse_decimal(port.substr(1));
    if (port.front() != ':' || !number.ok() || *number == 0 || *number > UINT16_MAX) {
      return bad;
    }
    url.port = static_cast<std::uint16_t>(*number);
  }
  return url;
}

bool is_header_name_byte(char c) {
  return is_letter(c) || is_digit(c) ||
         std::string_view("!#$&'*+-.^_`|~").find(c) != std::string_view::npos;
}

}  // namespace

bool is_dns_label(std::string_view text) {
  constexpr std::size_t kMaxLabelBytes = 63;
  const auto is_inner = [](char c) { return is_small(c) || is_digit(c) || c == '-'; };
  return !text.empty() && text.size() <= kMaxLabelBytes && text.front() != '-' &&
         text.back() != '-' && std::all_of(text.begin(), text.end(), is_inner);
}

bool is_dns_name(std::string_view text) {
  constexpr std::size_t kMaxNameBytes = 253;
  if (text.size() > kMaxNameBytes) {
    return false;
  }
  for (;;) {
    const auto dot = text.find('.');
    if (!is_dns_label(text.substr(0, dot))) {
      return false;
    }
    if (dot == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(dot + 1);
  }
}

bool is_proxy_url(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://", "socks5://"}) {
    if (url.starts_with(scheme)) {
      return url.size() > scheme.size() && is_printable_ascii(url) &&
             url.find(' ') == std::string_view::npos;
    }
  }
  return false;
}

std::string ServerUrl::authority() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<ServerUrl> parse_server_url(std::string_view url) {
  constexpr std::string_view kScheme = "https://";
  if (!url.starts_with(kScheme)) {
    return refused("its server is not https://: a credential would go out in the clear");
  }
  url.remove_prefix(kScheme.size());
  const auto slash = std::min(url.find('/'), url.size());
  std::string_view prefix = url.substr(slash);
  while (prefix.ends_with('/')) {
    prefix.remove_suffix(1);
  }
  const auto is_path = [](char c) {
    return is_letter(c) || is_digit(c) ||
           std::string_view("/-._~:%").find(c) != std::string_view::npos;
  };
  if (!std::all_of(prefix.begin(), prefix.end(), is_path) ||
      prefix.find("..") != std::string_view::npos) {
    return Error{Code::kInvalid, "the path of the server's address has characters it cannot have"};
  }
  AB_TRY(parsed, parse_authority(url.substr(0, slash)));
  parsed.prefix = prefix;
  return parsed;
}

bool is_header_value(std::string_view value) {
  return std::none_of(value.begin(), value.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

Result<std::vector<Header>> impersonation_headers(const Impersonation& as) {
  std::vector<Header> headers;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) {
      headers.push_back({"Impersonate-" + name, value});
    }
  };
  add("User", as.user);
  add("Uid", as.uid);
  for (const std::string& group : as.groups) {
    add("Group", group);
  }
  for (const auto& [key, values] : as.extra) {
    std::string escaped;
    for (const char c : key) {
      std::string hex = to_hex(std::string_view(&c, 1));
      std::transform(hex.begin(), hex.end(), hex.begin(), [](char digit) {
        return is_small(digit) ? static_cast<char>(digit - 32) : digit;
      });
      escaped += is_header_name_byte(c) ? std::string(1, c) : "%" + hex;
    }
    for (const std::string& value : values) {
      add("Extra-" + escaped, value);
    }
  }
  const bool good = std::all_of(headers.begin(), headers.end(),
                                [](const Header& header) { return is_header_value(header.value); });
  if (!good) {
    return refused("a value to impersonate holds control characters");
  }
  return headers;
}

Result<Chosen> choose(const Kubeconfig& config, const Overrides& overrides) {
  const std::string name = overrides.context.empty() ? config.current_context : overrides.context;
  if (name.empty()) {
    return Error{Code::kNotFound, "the kubeconfig has no current-context; give --context"};
  }
  AB_TRY(context, entry_of(config.contexts, name, "context"));
  AB_TRY(cluster, entry_of(config.clusters, context->cluster, "cluster"));
  AB_TRY(ns, chosen_namespace(overrides.ns, context->ns));
  Chosen chosen{name, ns, *cluster, {}};
  if (!context->user.empty()) {
    AB_TRY(user, entry_of(config.users, context->user, "user"));
    chosen.user = *user;
  }
  AB_CHECK(check_cluster(context->cluster, chosen.cluster));
  AB_CHECK(check_user(context->user, chosen.user));
  return chosen;
}

Result<Chosen> choose_in_cluster(const InCluster& facts, const Overrides& overrides) {
  if (!overrides.context.empty()) {
    return Error{Code::kNotFound, "there is no kubeconfig that could have the context " +
                                      escape_text(overrides.context, 100)};
  }
  AB_TRY(ns, chosen_namespace(overrides.ns, facts.ns));
  Chosen chosen{"", ns, {}, {}};
  const bool v6 = facts.host.find(':') != std::string::npos;
  chosen.cluster.server =
      "https://" + (v6 ? "[" + facts.host + "]" : facts.host) + ":" + facts.port;
  chosen.cluster.ca.file = facts.ca_file;
  chosen.user.token_file = facts.token_file;
  AB_CHECK(check_cluster("in-cluster", chosen.cluster));
  return chosen;
}

}  // namespace agentbox::provision::kube

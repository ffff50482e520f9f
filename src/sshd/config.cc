// pure: see config.h.
#include "sshd/config.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/yaml.h"
#include "sshd/address.h"

namespace agentbox::sshd {
namespace {

constexpr std::size_t kMaxVersionBytes = 128;
constexpr std::size_t kMaxPassEnv = 32;  // leaves room in one Start record

void read_seconds(YamlMap& map, const std::string& key, std::chrono::seconds& out,
                  std::uint64_t most) {
  auto count = static_cast<std::uint64_t>(out.count());
  map.number(key, count, 1, most);
  out = std::chrono::seconds(count);
}

Status read_limits(YamlMap map, Limits& limits) {
  map.number("connections", limits.connections, 1, 16384);
  map.number("unauthenticated", limits.unauthenticated, 1, 16384);
  map.number("own_unauthenticated", limits.own_unauthenticated, 0, 16384);
  map.number("channels_per_connection", limits.channels_per_connection, 1, 1024);
  map.number("login_points", limits.login_points, 1, 1000);
  map.number("keepalive_misses", limits.keepalive_misses, 1, 100);
  read_seconds(map, "login_grace_seconds", limits.login_grace, 600);
  read_seconds(map, "idle_seconds", limits.idle, 86400);
  read_seconds(map, "keepalive_seconds", limits.keepalive, 86400);
  read_seconds(map, "drain_seconds", limits.drain, 3600);
  return map.finish();
}

Status read_listen(YamlMap map, Config& config) {
  map.text("address", config.listen_address);
  std::uint64_t port = config.port;
  map.number("port", port, 0, 65535);  // 0: any free port, which the log then names
  config.port = static_cast<std::uint16_t>(port);
  AB_CHECK(map.finish());
  const auto address = Address::parse(config.listen_address);
  return address.ok() ? Status{} : Status{address.error()};
}

Status read_link(YamlMap map, Config& config) {
  map.text("socket", config.link_socket);
  std::uint64_t uid = config.box_uid;
  map.number("box_uid", uid, 0, UINT32_MAX - 1);
  config.box_uid = static_cast<std::uint32_t>(uid);
  return map.finish();
}

Status read_one(YamlMap map, const std::string& key, std::string& out) {
  map.text(key, out);
  return map.finish();
}

Status in_section(std::string_view section, Status status) {
  return status.ok() ? Status{} : Status{std::move(status).error().in(section)};
}

Status check_values(const Config& config) {
  const std::array<std::pair<const char*, const std::string*>, 4> paths = {
      {{"host_key", &config.host_key},
       {"keys_dir", &config.keys_dir},
       {"state_dir", &config.state_dir},
       {"link.socket", &config.link_socket}}};
  for (const auto& [key, path] : paths) {
    if (!path->starts_with('/')) {
      return Error{Code::kInvalid, std::string(key) + " must be an absolute path"};
    }
  }
  if (config.audit_sink != "stdout" && !config.audit_sink.starts_with('/')) {
    return Error{Code::kInvalid, "audit.sink must be stdout or an absolute path"};
  }
  if (const std::string& version = config.libssh_backports_acknowledged;
      version.size() > kMaxVersionBytes || !is_printable_ascii(version)) {
    return Error{Code::kInvalid, "libssh_backports_acknowledged is no version"};
  }
  if (config.pass_env.size() > kMaxPassEnv) {
    return Error{Code::kLimit,
                 "pass_env names more than " + std::to_string(kMaxPassEnv) + " variables"};
  }
  for (const std::string& name : config.pass_env) {
    if (!may_pass_env(name)) {
      return Error{Code::kDenied, "pass_env may not name " + escape_text(name, 64)};
    }
  }
  return {};
}

}  // namespace

Config with_own_host_key(Config config) {
  config.own_host_key = true;
  config.host_key = config.state_dir + "/ssh_host_ed25519_key";
  return config;
}

bool may_pass_env(std::string_view name) {
  const auto is_word = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  };
  const bool posix = !name.empty() && name.size() <= 128 && is_word(name.front()) &&
                     std::all_of(name.begin(), name.end(),
                                 [&](char c) { return is_word(c) || (c >= '0' && c <= '9'); });
  return posix && !name.starts_with("AGENTBOX_") && !name.starts_with("LD_") &&
         name != "BASH_ENV" && name != "ENV";
}

Result<Config> parse_config(std::string_view text) {
  AB_TRY(root, YamlMap::parse(text));
  Config config;
  std::string trust = "strict";
  std::string expiry = "end_sessions";
  root.text("host_key", config.host_key);
  root.text("keys_dir", config.keys_dir);
  root.text("state_dir", config.state_dir);
  root.choice("keys_trust", trust, {"strict", "any"});
  root.choice("certificate_expiry", expiry, {"end_sessions", "keep_sessions"});
  std::string profile(profile_name(config.profile));
  root.choice("profile", profile, {"core", "standard", "full"});
  root.texts("pass_env", config.pass_env);
  root.text("libssh_backports_acknowledged", config.libssh_backports_acknowledged);
  config.profile = find_profile(profile).value_or(config.profile);
  config.keys_trust = trust == "any" ? KeysTrust::kAny : KeysTrust::kStrict;
  config.certificate_expiry = expiry == "keep_sessions" ? CertificateExpiry::kKeepSessions
                                                        : CertificateExpiry::kEndSessions;
  AB_CHECK(in_section("listen", read_listen(root.map("listen"), config)));
  AB_CHECK(in_section("link", read_link(root.map("link"), config)));
  AB_CHECK(in_section("audit", read_one(root.map("audit"), "sink", config.audit_sink)));
  YamlMap log = root.map("log");
  log.choice("format", config.log_format, {"json", "text"});
  AB_CHECK(in_section("log", log.finish()));
  AB_CHECK(in_section("limits", read_limits(root.map("limits"), config.limits)));
  AB_CHECK(root.finish());
  AB_CHECK(check_values(config));
  return config;
}

}  // namespace agentbox::sshd

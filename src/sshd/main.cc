// edge: agentbox-sshd: the command line, and which of its processes this one is.
#include <array>
#include <chrono>
#include <cstdio>
#include <span>
#include <string>

#include "base/log.h"
#include "base/ssh_client.h"
#include "base/version.h"
#include "sshd/check.h"
#include "sshd/cli.h"
#include "sshd/config_file.h"
#include "sshd/key_store.h"
#include "sshd/listener.h"
#include "sshd/lockdown.h"
#include "sshd/monitor.h"
#include "sshd/own_host_key.h"
#include "sshd/ssh.h"

namespace agentbox::sshd {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
/// A probe that takes longer has failed.
constexpr std::chrono::seconds kHealthLimit{5};
#ifdef AGENTBOX_SANITIZED
constexpr bool kSanitizerBuild = true;
#else
constexpr bool kSanitizerBuild = false;
#endif

int say(const std::string& text, int code) {
  std::fputs(text.c_str(), code == 0 ? stdout : stderr);
  return code;
}

int complain(const Error& error) { return say("agentbox-sshd: " + error.what + '\n', kExitUsage); }

void start_log(const Config& config, std::string_view program) {
  log::start(program, config.log_format == "json", log::Level::kInfo);
}

int run(const RunDoor& command) {
  auto loaded = load_config(command.config);
  if (!loaded.ok()) {
    return complain(loaded.error());
  }
  start_log(loaded->config, "agentbox-sshd");
  if (command.own_host_key) {
    loaded->config = with_own_host_key(std::move(loaded->config));
    if (const Status made = settle_own_host_key(loaded->config); !made.ok()) {
      log::error("the door cannot start", {{"reason", made.error().what}});
      return kExitFailed;
    }
  }
  auto monitor = Monitor::make(command.config, std::move(loaded->config), std::move(loaded->text));
  if (!monitor.ok()) {
    log::error("the door cannot start", {{"reason", monitor.error().what}});
    return kExitFailed;
  }
  return monitor->run();
}

int run(const RunListener& command) {
  const auto text = read_fd_capped(kConfigFd, kMaxConfigBytes);
  auto config = text.ok() ? parse_config(*text) : Result<Config>(text.error());
  if (!config.ok()) {
    return complain(config.error());
  }
  if (!command.host_key.empty()) {
    config->host_key = command.host_key;
  }
  start_log(*config, "agentbox-sshd listener");
  return static_cast<int>(run_listener(*config, UniqueFd(kControlFd), UniqueFd(kListenFd)));
}

// What cannot be read here is told, and fails nothing: the policy is worth reading all the same.
SeenKeys look_at_keys(const Config& config) {
  SeenKeys seen;
  auto loaded = load_keys(config.keys_dir, config.keys_trust);
  if (loaded.ok()) {
    seen.keys = std::move(loaded->keys);
    seen.problems = std::move(loaded->problems);
    seen.certificates_refused = std::move(loaded->certificates_refused);
  } else {
    seen.error = loaded.error().what;
  }
  const auto key = load_host_key(config.host_key);
  const auto print = key.ok() ? fingerprint_of(key->get()) : Result<std::string>(key.error());
  const auto text = key.ok() ? public_text_of(key->get()) : Result<std::string>(key.error());
  if (print.ok() && text.ok()) {
    seen.host_fingerprint = *print;
    seen.host_key = *text;
  } else {
    seen.host_key_error = print.ok() ? text.error().what : print.error().what;
  }
  return seen;
}

int run(const CheckPolicy& command) {
  auto loaded = load_config(command.config);
  if (!loaded.ok()) {
    return complain(loaded.error());
  }
  if (command.own_host_key) {
    loaded->config = with_own_host_key(std::move(loaded->config));
  }
  const BuildFacts facts{kSanitizerBuild, ssh_library().running, library_package(),
                         post_quantum_key_exchanges()};
  const SeenKeys seen = look_at_keys(loaded->config);
  auto policy = describe_policy(loaded->config, facts);
  const auto certificates = describe_certificates(loaded->config, seen);
  policy.insert(policy.end(), certificates.begin(), certificates.end());
  if (command.json) {
    OrderedJson json = render_policy_json(policy);
    json["effective"] = effective_json(loaded->config, facts, seen);
    return say(dump_json(json, 2) + '\n', 0);
  }
  const auto keys = describe_keys(seen);
  policy.insert(policy.end(), keys.begin(), keys.end());
  return say(render_policy_text(policy), 0);
}

int run(const CheckHealth& command) {
  const auto target = parse_host_port(command.address);
  if (!target.ok()) {
    return complain(target.error());
  }
  const auto key =
      fetch_host_key(target->host, target->port, std::chrono::steady_clock::now() + kHealthLimit);
  if (!key.ok()) {
    return say("agentbox-sshd: " + command.address + ": " + key.error().what + '\n', kExitFailed);
  }
  return say("ok " + key->fingerprint() + '\n', 0);
}

int run(const SayVersion&) {
  const std::array libraries = {ssh_library(), crypto_library(), call_filter_library(),
                                c_library()};
  return say(version_text("agentbox-sshd", AGENTBOX_VERSION, libraries), 0);
}

int run(const Say& command) { return say(command.text, command.code); }

}  // namespace
}  // namespace agentbox::sshd

int main(int argc, char** argv) {
  const auto command =
      agentbox::sshd::parse_command_line(std::span(argv, static_cast<std::size_t>(argc)));
  return std::visit([](const auto& chosen) { return agentbox::sshd::run(chosen); }, command);
}

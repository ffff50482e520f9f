// edge: agentbox-sshd: the command line, and which of its processes this one is.
#include <chrono>
#include <cstdio>
#include <span>
#include <string>

#include "base/log.h"
#include "base/ssh_client.h"
#include "sshd/check.h"
#include "sshd/cli.h"
#include "sshd/config_file.h"
#include "sshd/listener.h"
#include "sshd/monitor.h"
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
  auto monitor = Monitor::make(command.config, std::move(loaded->config), std::move(loaded->text));
  if (!monitor.ok()) {
    log::error("the door cannot start", {{"reason", monitor.error().what}});
    return kExitFailed;
  }
  return monitor->run();
}

int run(const RunListener&) {
  const auto text = read_fd_capped(kConfigFd, kMaxConfigBytes);
  const auto config = text.ok() ? parse_config(*text) : Result<Config>(text.error());
  if (!config.ok()) {
    return complain(config.error());
  }
  start_log(*config, "agentbox-sshd listener");
  return static_cast<int>(run_listener(*config, UniqueFd(kControlFd), UniqueFd(kListenFd)));
}

int run(const CheckPolicy& command) {
  const auto loaded = load_config(command.config);
  if (!loaded.ok()) {
    return complain(loaded.error());
  }
  const auto policy = describe_policy(loaded->config, {kSanitizerBuild, library_version()});
  return say(
      command.json ? dump_json(render_policy_json(policy), 2) + '\n' : render_policy_text(policy),
      0);
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

int run(const Say& command) { return say(command.text, command.code); }

}  // namespace
}  // namespace agentbox::sshd

int main(int argc, char** argv) {
  const auto command =
      agentbox::sshd::parse_command_line(std::span(argv, static_cast<std::size_t>(argc)));
  return std::visit([](const auto& chosen) { return agentbox::sshd::run(chosen); }, command);
}

// pure: see cli.h.
#include "sshd/cli.h"

#include <CLI/CLI.hpp>

namespace agentbox::sshd {
namespace {

constexpr int kExitUsage = 2;
constexpr const char* kFooter =
    "Signals:  SIGTERM  stop: running calls get drain_seconds, then the door ends\n"
    "          SIGHUP   read the configuration and the keys again; a bad configuration leaves the "
    "old one\n"
    "Exit:     0 stopped as asked, or the check passed\n"
    "          1 cannot run; the log says why\n"
    "          2 wrong usage or configuration";

}  // namespace

Command parse_command_line(std::span<char* const> arguments) {
  CLI::App app("agentbox-sshd " AGENTBOX_VERSION
               "\nThe door of a box: an SSH server whose every session is the box's MCP tool "
               "server, and nothing else.");
  app.name("agentbox-sshd");
  app.footer(kFooter);
  RunDoor run;
  CheckPolicy check;
  CheckHealth health;
  bool listener = false;
  bool own_host_key = false;
  RunListener listen;
  bool version = false;
  std::string output = "text";
  auto* config = app.add_option("--config", run.config, "Run the door with this configuration")
                     ->type_name("FILE");
  auto* policy = app.add_option("--check", check.config,
                                "Print the effective policy of this configuration and exit");
  policy->type_name("FILE")->excludes(config);
  auto* probe = app.add_option("--health", health.address,
                               "Ask a door for its banner and key exchange, and exit");
  probe->type_name("HOST:PORT")->excludes(config)->excludes(policy);
  app.add_option("--output", output, "text or json, for --check")
      ->check(CLI::IsMember({"text", "json"}));
  app.add_flag("--generate-host-key", own_host_key,
               "Not host_key of the configuration: an ed25519 key in state_dir, made at the first "
               "start, and anew where the folder comes from another box (box_name and "
               "box_namespace in keys_dir). For a pod of a warm pool, which nobody gave a key");
  app.add_flag("--listener", listener)->group("");
  app.add_option("--host-key", listen.host_key)->group("");
  app.add_flag("--version", version,
               "Print the version, and those of the libraries as they run, and exit");
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::CallForHelp&) {
    return Say{app.help(), 0};
  } catch (const CLI::ParseError& problem) {
    return Say{std::string("agentbox-sshd: ") + problem.what() + "\nTry agentbox-sshd --help\n",
               kExitUsage};
  }
  if (version) {
    return SayVersion{};
  }
  if (listener) {
    return listen;
  }
  if (!check.config.empty()) {
    check.json = output == "json";
    check.own_host_key = own_host_key;
    return check;
  }
  if (!health.address.empty()) {
    return health;
  }
  if (!run.config.empty()) {
    run.own_host_key = own_host_key;
    return run;
  }
  return Say{
      "agentbox-sshd: give --config FILE, --check FILE or --health HOST:PORT\nTry agentbox-sshd "
      "--help\n",
      kExitUsage};
}

}  // namespace agentbox::sshd

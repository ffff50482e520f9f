// pure: see handoff.h.
#include "provision/handoff.h"

#include <utility>

#include "base/defence.h"
#include "provision/quote.h"

namespace agentbox::provision {
namespace {

/// A dead link is noticed after three unanswered questions; OpenSSH counts to 3 by default.
constexpr const char* kAliveSeconds = "30";
constexpr const char* kUser = "agent";

using Options = std::vector<std::pair<std::string, std::string>>;

// One SSH server on the way, and who it is pinned as.
struct Hop {
  std::string host;
  std::uint16_t port = 0;
  std::string user;
  std::string alias;
  std::string known_hosts_file;
  std::string algorithms;
};

Hop gateway_hop(const SshFacts& facts) {
  const Gateway& gateway = facts.gateway;
  const bool jump = gateway.kind == GatewayKind::kJump;
  return {gateway.host,
          gateway.port,
          jump ? gateway.user : facts.name,
          gateway_alias(facts.name),
          facts.gateway_known_hosts_file,
          host_key_algorithms(gateway.host_key)};
}

// Where the session is: sshpiper stands for the box itself.
Hop last_hop(const SshFacts& facts) {
  if (facts.gateway.kind == GatewayKind::kSshpiper) {
    return gateway_hop(facts);
  }
  return {facts.host,   facts.port, kUser, host_alias(facts.name), facts.known_hosts_file,
          "ssh-ed25519"};
}

// The options of ssh, each a word KEY=VALUE, in the order they are printed.
Options hop_options(const Hop& hop, const std::string& identity_file) {
  Options options = {
      // Nobody is there to answer a question: fail instead of waiting for ever.
      {"BatchMode", "yes"},
      // Only this key is offered: others would use up the login's tries and tell the box who we
      // are.
      {"IdentitiesOnly", "yes"},
      // An agent's keys, or a question of the agent's own, have no part in this.
      {"IdentityAgent", "none"},
  };
  if (!identity_file.empty()) {
    // Not -i: that looks for the file before it undoubles a %.
    options.emplace_back("IdentityFile", ssh_quote(identity_file));
  }
  const Options rest = {
      // The pin: this file holds the one host key of this box...
      {"UserKnownHostsFile", ssh_quote(hop.known_hosts_file)},
      // ...no other file adds to it...
      {"GlobalKnownHostsFile", "none"},
      // ...a key that is not in it ends the connection...
      {"StrictHostKeyChecking", defended("host-key-pin") ? "yes" : "no"},
      // ...a key of another type is not even asked for...
      {"HostKeyAlgorithms", hop.algorithms},
      // ...and it is looked up under the box's own name, so that another box on the same address
      // and port is never taken for it.
      {"HostKeyAlias", hop.alias},
      // A shared connection of somebody else's would skip all of the above.
      {"ControlPath", "none"},
      // Bytes of the protocol must never be taken for an escape.
      {"EscapeChar", "none"},
      // A link that died silently ends the session, so that the client can make a new one.
      {"ServerAliveInterval", kAliveSeconds},
      // No forwarding, whatever else asks for one.
      {"ClearAllForwardings", "yes"},
  };
  options.insert(options.end(), rest.begin(), rest.end());
  return options;
}

// ssh with HOP as its end. -F none: no configuration file, the user's or the machine's, takes part.
std::vector<std::string> hop_command(const Hop& hop, const std::vector<std::string>& what,
                                     const Options& options) {
  std::vector<std::string> words = {"ssh", "-F", "none"};
  words.insert(words.end(), what.begin(), what.end());
  for (const auto& [key, value] : options) {
    words.emplace_back("-o");
    words.emplace_back(key).append("=").append(value);
  }
  // --: whatever the host is, it is no option.
  words.insert(words.end(), {"-p", std::to_string(hop.port), "-l", hop.user, "--", hop.host});
  return words;
}

// Not ProxyJump: what is pinned here would not be passed on to the ssh that it starts.
Options session_options(const SshFacts& facts) {
  Options options = hop_options(last_hop(facts), facts.identity_file);
  if (facts.gateway.kind == GatewayKind::kJump) {
    options.emplace_back("ProxyCommand", proxy_command(jump_command(facts)));
  }
  return options;
}

std::vector<std::string> arguments_of(const std::vector<std::string>& command) {
  return {command.begin() + 1, command.end()};
}

std::string claude_line(const SshFacts& facts) {
  std::vector<std::string> words = {"claude", "mcp", "add", facts.name, "--"};
  const auto command = ssh_command(facts);
  words.insert(words.end(), command.begin(), command.end());
  return shell_line(words) + "\n";
}

// A JSON string is a TOML basic string where no DEL is in it, and check_path() refuses that.
std::string codex_toml(const SshFacts& facts) {
  std::string text = "[mcp_servers." + facts.name + "]\ncommand = \"ssh\"\nargs = [\n";
  for (const std::string& word : arguments_of(ssh_command(facts))) {
    text.append("  ").append(dump_json(OrderedJson(word))).append(",\n");
  }
  return text + "]\n";
}

std::string opencode_json(const SshFacts& facts) {
  OrderedJson server;
  server["type"] = "local";
  server["command"] = ssh_command(facts);
  server["enabled"] = true;
  OrderedJson json;
  json["mcp"][facts.name] = std::move(server);
  return dump_json(json, 2) + "\n";
}

std::string vscode_json(const SshFacts& facts) {
  OrderedJson server;
  server["type"] = "stdio";
  server["command"] = "ssh";
  server["args"] = arguments_of(ssh_command(facts));
  OrderedJson json;
  json["servers"][facts.name] = std::move(server);
  return dump_json(json, 2) + "\n";
}

std::string mcp_servers_json(const SshFacts& facts) {
  OrderedJson json;
  json["mcpServers"] = mcp_servers(facts);
  return dump_json(json, 2) + "\n";
}

std::string ssh_config(const SshFacts& facts) {
  const Hop hop = last_hop(facts);
  std::string text = "# Use it alone (ssh -F THIS-FILE " + host_alias(facts.name) +
                     "): what else a configuration says about every host would apply too.\n"
                     "Host " +
                     host_alias(facts.name) + "\n  HostName " + hop.host + "\n  Port " +
                     std::to_string(hop.port) + "\n  User " + hop.user + "\n  RequestTTY no\n";
  for (const auto& [key, value] : session_options(facts)) {
    text.append("  ").append(key).append(" ").append(value).append("\n");
  }
  return text;
}

}  // namespace

std::string host_alias(const std::string& name) { return "agentbox-" + name; }

std::string known_hosts_text(const std::string& name, const std::string& host_key) {
  return host_alias(name) + " " + host_key + "\n";
}

std::vector<std::string> ssh_command(const SshFacts& facts) {
  // -T: no terminal.
  return hop_command(last_hop(facts), {"-T"}, session_options(facts));
}

std::vector<std::string> jump_command(const SshFacts& facts) {
  const Hop hop = gateway_hop(facts);
  return hop_command(hop, {"-W", host_and_port(facts.host, facts.port)},
                     hop_options(hop, facts.identity_file));
}

std::string_view identity_hint(const SshFacts& facts) {
  return facts.gateway.kind == GatewayKind::kJump
             ? "The private key is not known here: put -i FILE right after ssh, and right after "
               "the "
               "ssh of its ProxyCommand."
             : "The private key is not known here: put -i FILE right after ssh.";
}

std::string login_user(const SshFacts& facts) { return last_hop(facts).user; }
std::string login_host(const SshFacts& facts) { return last_hop(facts).host; }
std::uint16_t login_port(const SshFacts& facts) { return last_hop(facts).port; }
const std::string& login_known_hosts(const SshFacts& facts) {
  return facts.gateway.kind == GatewayKind::kSshpiper ? facts.gateway_known_hosts_file
                                                      : facts.known_hosts_file;
}

OrderedJson mcp_servers(const SshFacts& facts) {
  OrderedJson server;
  server["command"] = "ssh";
  server["args"] = arguments_of(ssh_command(facts));
  OrderedJson servers;
  servers[facts.name] = std::move(server);
  return servers;
}

std::string render_handoff(const SshFacts& facts, Format format) {
  switch (format) {
    case Format::kClaude:
      return claude_line(facts);
    case Format::kCodex:
      return codex_toml(facts);
    case Format::kVscode:
      return vscode_json(facts);
    case Format::kOpencode:
      return opencode_json(facts);
    case Format::kSshConfig:
      return ssh_config(facts);
    case Format::kCursor:
    case Format::kGemini:
    case Format::kJson:
      return mcp_servers_json(facts);
  }
  return {};
}

}  // namespace agentbox::provision

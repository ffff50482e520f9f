// pure: how clients are told to connect.
#include "provision/handoff.h"

#include <algorithm>
#include <string>

#include "base/json.h"
#include "provision/quote.h"
#include "sample.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::provision;

namespace {

bool has_option(const std::vector<std::string>& words, const std::string& option) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "-o" && words[i + 1] == option) {
      return true;
    }
  }
  return false;
}

SshFacts awkward() {
  SshFacts facts = sample::facts();
  facts.identity_file = "/home/a b/100% \"mine\"/id";
  facts.known_hosts_file = "/home/a b/100%/it's/known_hosts";
  return facts;
}

}  // namespace

TEST_CASE("the ssh command is exactly this") {
  CHECK(ssh_command(sample::facts()) ==
        std::vector<std::string>{"ssh",  "-F",
                                 "none", "-T",
                                 "-o",   "BatchMode=yes",
                                 "-o",   "IdentitiesOnly=yes",
                                 "-o",   "IdentityAgent=none",
                                 "-o",   "IdentityFile=/state/boxes/demo/id_ed25519",
                                 "-o",   "UserKnownHostsFile=/state/boxes/demo/known_hosts",
                                 "-o",   "GlobalKnownHostsFile=none",
                                 "-o",   "StrictHostKeyChecking=yes",
                                 "-o",   "HostKeyAlgorithms=ssh-ed25519",
                                 "-o",   "HostKeyAlias=agentbox-demo",
                                 "-o",   "ControlPath=none",
                                 "-o",   "EscapeChar=none",
                                 "-o",   "ServerAliveInterval=30",
                                 "-o",   "ClearAllForwardings=yes",
                                 "-p",   "20123",
                                 "-l",   "agent",
                                 "--",   "127.0.0.1"});
}

TEST_CASE("without a known private key ssh is given no identity") {
  SshFacts facts = sample::facts();
  facts.identity_file.clear();
  const auto words = ssh_command(facts);
  CHECK(std::none_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "-i" || word.starts_with("IdentityFile=");
  }));
}

TEST_CASE("paths with spaces, percent and quotes reach ssh as one value") {
  const auto words = ssh_command(awkward());
  CHECK(has_option(words, "IdentityFile=\"/home/a b/100%% \\\"mine\\\"/id\""));
  CHECK(has_option(words, "UserKnownHostsFile=\"/home/a b/100%%/it's/known_hosts\""));
}

TEST_CASE("the pin is one line of known_hosts under the box's own name") {
  CHECK(known_hosts_text("demo", sample::kKey) ==
        "agentbox-demo " + std::string(sample::kKey) + "\n");
}

TEST_CASE("for claude: one command line, quoted for the shell") {
  const std::string line = render_handoff(awkward(), Format::kClaude);
  CHECK(line.starts_with("claude mcp add demo -- ssh -F none -T -o BatchMode=yes "));
  CHECK(line.find("'UserKnownHostsFile=\"/home/a b/100%%/it'\\''s/known_hosts\"'") !=
        std::string::npos);
  CHECK(line.ends_with(" -- 127.0.0.1\n"));
  CHECK(std::count(line.begin(), line.end(), '\n') == 1);
}

TEST_CASE("every JSON format parses and holds the command") {
  const auto command = ssh_command(awkward());
  const std::vector<std::string> arguments(command.begin() + 1, command.end());
  const auto parsed = [&](Format format) {
    return parse_json(render_handoff(awkward(), format)).value();
  };
  const Json cursor = parsed(Format::kCursor);
  CHECK(cursor["mcpServers"]["demo"]["command"] == "ssh");
  CHECK(cursor["mcpServers"]["demo"]["args"] == arguments);
  CHECK(parsed(Format::kGemini)["mcpServers"]["demo"]["args"] == arguments);
  CHECK(parsed(Format::kVscode)["servers"]["demo"]["type"] == "stdio");
  CHECK(parsed(Format::kVscode)["servers"]["demo"]["args"] == arguments);
  CHECK(parsed(Format::kOpencode)["mcp"]["demo"]["type"] == "local");
  CHECK(parsed(Format::kOpencode)["mcp"]["demo"]["command"] == command);
}

TEST_CASE("for codex: a TOML table with one string a line") {
  const std::string text = render_handoff(awkward(), Format::kCodex);
  CHECK(text.starts_with(
      "[mcp_servers.demo]\ncommand = \"ssh\"\nargs = [\n  \"-F\",\n  \"none\",\n"));
  CHECK(text.find("  \"IdentityFile=\\\"/home/a b/100%% \\\\\\\"mine\\\\\\\"/id\\\"\",\n") !=
        std::string::npos);
}

TEST_CASE("as a configuration of ssh: every option of the command is in it") {
  const std::string text = render_handoff(sample::facts(), Format::kSshConfig);
  const auto words = ssh_command(sample::facts());
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "-o") {
      std::string line = words[i + 1];
      line.replace(line.find('='), 1, " ");
      CAPTURE(line);
      CHECK(text.find("\n  " + line + "\n") != std::string::npos);
    }
  }
  CHECK(text.find("\n  HostName 127.0.0.1\n  Port 20123\n  User agent\n") != std::string::npos);
}

namespace {

SshFacts behind(const std::string& gateway, const std::string& address) {
  SshFacts facts = awkward();
  facts.host = "demo.boxes.svc.cluster.local";
  facts.port = 2222;
  facts.gateway = parse_gateway(gateway, address).value();
  facts.gateway.host_key = sample::kKey;
  facts.gateway_known_hosts_file = "/home/a b/100%/it's/\\ !gateway_known_hosts";
  return facts;
}

}  // namespace

TEST_CASE("through a jump host: each hop has all of the options, and a pin of its own") {
  const SshFacts facts = behind("jump:me@bastion.example:2200", "");
  const auto outer = ssh_command(facts);
  const auto inner = jump_command(facts);
  CHECK(outer.back() == facts.host);
  CHECK(inner.back() == "bastion.example");
  CHECK(std::vector<std::string>(inner.begin(), inner.begin() + 5) ==
        std::vector<std::string>{"ssh", "-F", "none", "-W", "demo.boxes.svc.cluster.local:2222"});
  CHECK(std::vector<std::string>(inner.end() - 6, inner.end() - 1) ==
        std::vector<std::string>{"-p", "2200", "-l", "me", "--"});
  for (const char* option :
       {"BatchMode=yes", "IdentitiesOnly=yes", "IdentityAgent=none", "GlobalKnownHostsFile=none",
        "StrictHostKeyChecking=yes", "HostKeyAlgorithms=ssh-ed25519", "ControlPath=none",
        "ClearAllForwardings=yes"}) {
    CAPTURE(option);
    CHECK(has_option(outer, option));
    CHECK(has_option(inner, option));
  }
  CHECK(has_option(outer, "HostKeyAlias=agentbox-demo"));
  CHECK(has_option(inner, "HostKeyAlias=agentbox-gateway-of-demo"));
  CHECK(has_option(inner, "UserKnownHostsFile=\"/home/a b/100%%/it's/\\\\ !gateway_known_hosts\""));
  CHECK(has_option(outer, "ProxyCommand=" + proxy_command(inner)));
}

TEST_CASE("behind sshpiper: the gateway is who is logged in to, and who is pinned") {
  const SshFacts facts = behind("sshpiper:gw", "ssh.example:2222");
  const auto words = ssh_command(facts);
  CHECK(std::vector<std::string>(words.end() - 6, words.end()) ==
        std::vector<std::string>{"-p", "2222", "-l", "demo", "--", "ssh.example"});
  CHECK(has_option(words, "HostKeyAlias=agentbox-gateway-of-demo"));
  CHECK(std::none_of(words.begin(), words.end(),
                     [](const std::string& word) { return word.starts_with("ProxyCommand"); }));
  CHECK(login_known_hosts(facts) == facts.gateway_known_hosts_file);
}

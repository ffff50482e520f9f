// pure: see check.h.
#include "sshd/check.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "sshd/algorithms.h"
#include "sshd/policy.h"

namespace agentbox::sshd {
namespace {

using Lines = std::vector<PolicyLine>;

/// Debian 12's, with its fixes of 2026.
constexpr std::array kOldestLibrary = {0, 10, 6};

void describe_login(const Config& config, Lines& out) {
  out.push_back({"login", "user", std::string(kLoginUser) + "; any other is refused"});
  out.push_back({"login", "method publickey",
                 "keys of " + config.keys_dir + "/authorized_keys, read at every login"});
  out.push_back({"login",
                 "methods password, keyboard-interactive, hostbased, gssapi-with-mic, none",
                 "refused"});
  out.push_back({"login", "certificates, sk keys", "refused"});
  out.push_back({"login", "revoked",
                 "SHA256 fingerprints, serial:N, id:KEY-ID of " + config.keys_dir +
                     "/revoked; any other line lets nobody in"});
  out.push_back({"login", "key generation",
                 "none below the highest that " + config.state_dir + " holds, over restarts"});
  out.push_back({"login", "key options from=, expiry-time=, agentbox-role=", "enforced"});
  out.push_back({"login", "key options that restrict or widen", "accepted; change nothing"});
  out.push_back({"login", "any other key option", "voids its line"});
}

void describe_requests(Lines& out) {
  const auto line = [&](RequestKind kind, std::string_view name, const std::string& shown) {
    const auto verdict = decide_request(kind, name, false);
    out.push_back(
        {"request", shown,
         verdict.starts_session
             ? "the tool server over standard input and output; the client's words are not used"
             : "refused: " + std::string(verdict.reason)});
  };
  line(RequestKind::kShell, "", "shell");
  line(RequestKind::kExec, "any command", "exec, any command");
  line(RequestKind::kSubsystem, kMcpSubsystem, "subsystem mcp");
  line(RequestKind::kSubsystem, "sftp", "subsystem sftp and any other");
  line(RequestKind::kPty, "", "pty-req");
  line(RequestKind::kEnv, "LANG", "env, any variable");
  for (const char* kind :
       {"x11-req", "auth-agent-req", "signal", "window-change", "any other channel request"}) {
    out.push_back(
        {"request", kind,
         "refused: " + std::string(decide_request(RequestKind::kOther, "", false).reason)});
  }
  out.push_back({"request", "second shell, exec or subsystem on one channel",
                 "refused: " + std::string(decide_request(RequestKind::kExec, "", true).reason)});
  for (const char* kind : {"direct-tcpip (-L, -D, -W)", "direct-streamlocal", "x11", "auth-agent",
                           "tun", "any channel type but session"}) {
    out.push_back({"request", std::string("channel ") + kind, "refused"});
  }
  out.push_back(
      {"request", "global tcpip-forward (-R), streamlocal-forward, any other", "refused"});
  out.push_back({"request", "global keepalive@openssh.com", "answered"});
}

void describe_limits(const Config& config, Lines& out) {
  const Limits& limits = config.limits;
  const auto line = [&](const char* what, std::uint64_t count, const char* unit) {
    out.push_back({"limit", what, std::to_string(count) + ' ' + unit});
  };
  const auto seconds = [](std::chrono::seconds value) {
    return static_cast<std::uint64_t>(value.count());
  };
  line("connections", limits.connections, "at once");
  line("unauthenticated", limits.unauthenticated, "at once; then the oldest goes");
  line("own_unauthenticated", limits.own_unauthenticated,
       "at once from this machine's own addresses (0: no such limit)");
  line("channels_per_connection", limits.channels_per_connection, "at once");
  line("login_points", limits.login_points,
       "points (refused offer 1, bad signature or other method 5)");
  line("login_grace_seconds", seconds(limits.login_grace), "seconds");
  line("idle_seconds", seconds(limits.idle), "seconds logged in without a session");
  line("keepalive_seconds", seconds(limits.keepalive), "seconds of silence before a question");
  line("keepalive_misses", limits.keepalive_misses, "unanswered questions");
  line("drain_seconds", seconds(limits.drain), "seconds for running calls at a stop");
}

void describe_weakenings(const Config& config, const BuildFacts& facts, Lines& out) {
  const std::size_t before = out.size();
  if (config.keys_trust == KeysTrust::kAny) {
    out.push_back(
        {"weakening", "keys_trust: any", "whoever can write the key files decides who enters"});
  }
  for (const std::string& name : config.pass_env) {
    out.push_back({"weakening", "pass_env: " + name,
                   "every command in the box reads this variable of the door's"});
  }
  if (library_is_too_old(facts.library)) {
    out.push_back(
        {"weakening", "libssh " + facts.library, "older than any the door is tested with"});
  }
  if (facts.sanitizer) {
    out.push_back({"weakening", "sanitizer build",
                   "no memory limit; refused system calls fail instead of killing"});
  }
  if (out.size() == before) {
    out.push_back({"weakening", "none", ""});
  }
}

}  // namespace

bool library_is_too_old(std::string_view version) {
  std::array<int, 3> numbers{};
  const char* at = version.data();
  const char* const end = version.data() + version.size();
  for (int& number : numbers) {
    const auto read = std::from_chars(at, end, number);
    if (read.ec != std::errc()) {
      return true;
    }
    at = read.ptr < end ? read.ptr + 1 : end;
  }
  return numbers < kOldestLibrary;
}

std::vector<PolicyLine> describe_policy(const Config& config, const BuildFacts& facts) {
  Lines out;
  out.push_back({"listen", config.listen_address, "port " + std::to_string(config.port)});
  describe_login(config, out);
  describe_requests(out);
  out.push_back({"session", "every session",
                 "agent-box in the box's own namespaces, as fixed by the spawner there"});
  out.push_back({"session", "environment from the client", "none"});
  out.push_back(
      {"session", "link",
       config.link_socket + ", taken from user " + std::to_string(config.box_uid) + " only"});
  out.push_back(
      {"session", "audit",
       config.audit_sink + ", numbered on over restarts by the head in " + config.state_dir});
  out.push_back({"algorithms", "key exchange", kKeyExchanges});
  out.push_back({"algorithms", "ciphers", kCiphers});
  out.push_back({"algorithms", "macs", kMacs});
  out.push_back({"algorithms", "host key, ed25519", kEd25519HostKeyAlgorithms});
  out.push_back({"algorithms", "host key, RSA", kRsaHostKeyAlgorithms});
  out.push_back({"algorithms", "user keys", kUserKeyAlgorithms});
  out.push_back({"algorithms", "compression", "none"});
  describe_limits(config, out);
  out.push_back({"trust", "key files",
                 config.keys_trust == KeysTrust::kStrict
                     ? "read-only mount, or a path that only root and the door can write"
                     : "any"});
  out.push_back({"library", "libssh",
                 facts.library + ", as it runs; what a distribution has mended does not show"});
  describe_weakenings(config, facts, out);
  return out;
}

std::string render_policy_text(const std::vector<PolicyLine>& lines) {
  std::size_t width = 0;
  for (const PolicyLine& line : lines) {
    width = std::max(width, line.section.size());
  }
  std::string text;
  for (const PolicyLine& line : lines) {
    text += line.section + std::string(width - line.section.size() + 2, ' ') + line.what;
    text += line.gets.empty() ? "\n" : ": " + line.gets + '\n';
  }
  return text;
}

OrderedJson render_policy_json(const std::vector<PolicyLine>& lines) {
  OrderedJson list = OrderedJson::array();
  for (const PolicyLine& line : lines) {
    list.push_back({{"section", line.section}, {"what", line.what}, {"gets", line.gets}});
  }
  return OrderedJson{{"policy", std::move(list)}};
}

}  // namespace agentbox::sshd

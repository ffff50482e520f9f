// pure: see check.h.
#include "sshd/check.h"

#include <algorithm>

#include "base/utc.h"
#include "base/version.h"
#include "sshd/algorithms.h"
#include "sshd/policy.h"

namespace agentbox::sshd {
namespace {

using Lines = std::vector<PolicyLine>;

LibraryFacts library_of(const Config& config, const BuildFacts& facts) {
  return {facts.library, facts.package, config.libssh_backports_acknowledged};
}

void describe_login(const Config& config, Lines& out) {
  out.push_back({"login", "user", std::string(kLoginUser) + "; any other is refused"});
  out.push_back({"login", "method publickey",
                 "keys of " + config.keys_dir + "/authorized_keys, read at every login"});
  out.push_back({"login",
                 "methods password, keyboard-interactive, hostbased, gssapi-with-mic, none",
                 "refused"});
  out.push_back({"login", "sk keys", "refused"});
  out.push_back({"login", "revoked",
                 "SHA256 fingerprints, serial:N, id:KEY-ID of " + config.keys_dir +
                     "/revoked; any other line lets nobody in"});
  out.push_back({"login", "key generation",
                 "none below the highest that " + config.state_dir + " holds, over restarts"});
  out.push_back(
      {"login", "key options from=, expiry-time=, agentbox-role=, agentbox-profile=", "enforced"});
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

struct LimitLine {
  const char* name;
  std::uint64_t value;
  const char* unit;
};

std::vector<LimitLine> limit_lines(const Limits& limits) {
  const auto seconds = [](std::chrono::seconds value) {
    return static_cast<std::uint64_t>(value.count());
  };
  return {
      {"connections", limits.connections, "at once"},
      {"unauthenticated", limits.unauthenticated, "at once; then the oldest goes"},
      {"own_unauthenticated", limits.own_unauthenticated,
       "at once from this machine's own addresses (0: no such limit)"},
      {"channels_per_connection", limits.channels_per_connection, "at once"},
      {"login_points", limits.login_points,
       "points (refused offer 1, bad signature or other method 5)"},
      {"login_grace_seconds", seconds(limits.login_grace), "seconds"},
      {"idle_seconds", seconds(limits.idle), "seconds logged in without a session"},
      {"keepalive_seconds", seconds(limits.keepalive), "seconds of silence before a question"},
      {"keepalive_misses", limits.keepalive_misses, "unanswered questions"},
      {"drain_seconds", seconds(limits.drain), "seconds for running calls at a stop"},
  };
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
  for (const KnownHole& hole : open_holes(library_of(config, facts))) {
    out.push_back({"weakening", "libssh " + std::string(hole.cve), std::string(hole.what)});
  }
  if (!left_out().empty()) {
    out.push_back({"weakening", "without " + std::string(left_out()), "a build for tests"});
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

std::vector<PolicyLine> describe_policy(const Config& config, const BuildFacts& facts) {
  Lines out;
  out.push_back({"listen", config.listen_address, "port " + std::to_string(config.port)});
  describe_login(config, out);
  describe_requests(out);
  out.push_back({"session", "every session",
                 "agent-box in the box's own namespaces, as fixed by the spawner there"});
  out.push_back(
      {"session", "tools",
       "profile " + std::string(profile_name(config.profile)) + ", where the key names no other"});
  out.push_back({"session", "environment from the client", "none"});
  out.push_back(
      {"session", "link",
       config.link_socket + ", taken from user " + std::to_string(config.box_uid) + " only"});
  out.push_back(
      {"session", "audit",
       config.audit_sink + ", numbered on over restarts by the head in " + config.state_dir});
  out.push_back({"algorithms", "key exchange",
                 facts.post_quantum + (facts.post_quantum.empty() ? "" : ",") + kKeyExchanges});
  out.push_back({"algorithms", "post-quantum key exchange",
                 facts.post_quantum.empty() ? "none: this SSH library has none, libssh 0.12 has"
                                            : facts.post_quantum});
  out.push_back({"algorithms", "ciphers", kCiphers});
  out.push_back({"algorithms", "macs", kMacs});
  out.push_back({"algorithms", "host key, ed25519", kEd25519HostKeyAlgorithms});
  out.push_back({"algorithms", "host key, RSA", kRsaHostKeyAlgorithms});
  out.push_back({"algorithms", "user keys", kUserKeyAlgorithms});
  out.push_back({"algorithms", "compression", "none"});
  for (const LimitLine& limit : limit_lines(config.limits)) {
    out.push_back({"limit", limit.name, std::to_string(limit.value) + ' ' + limit.unit});
  }
  out.push_back({"trust", "key files",
                 config.keys_trust == KeysTrust::kStrict
                     ? "read-only mount, or a path that only root and the door can write"
                     : "any"});
  const LibraryFacts library = library_of(config, facts);
  out.push_back({"library", "libssh",
                 facts.library + ", as it runs; package " +
                     (facts.package.empty() ? "unknown" : facts.package) +
                     "; known holes open: " + std::to_string(open_holes(library).size())});
  if (!library.acknowledged.empty()) {
    out.push_back({"library", "libssh_backports_acknowledged: " + library.acknowledged,
                   backports_hold(library) ? "holds for what runs" : "is not what runs"});
  }
  describe_weakenings(config, facts, out);
  return out;
}

std::vector<PolicyLine> describe_certificates(const Config& config, const SeenKeys& seen) {
  if (seen.keys.authorities.empty()) {
    const std::string why = !seen.error.empty()                  ? seen.error
                            : !seen.certificates_refused.empty() ? seen.certificates_refused
                                                                 : "user_ca names no CA";
    return {{"login", "certificates", "refused: " + why}};
  }
  Lines out;
  for (const PublicKey& authority : seen.keys.authorities) {
    out.push_back({"login", "certificates of CA " + authority.fingerprint(),
                   "users' alone, for principal " + seen.keys.box_name +
                       ", while valid and not revoked; role agent"});
  }
  out.push_back({"login", "critical options source-address, force-command",
                 "the first enforced; the second changes nothing, sessions are forced already"});
  out.push_back({"login", "any other critical option", "refuses its certificate"});
  out.push_back({"login", "extensions of certificates", "change nothing"});
  out.push_back({"login", "a certificate that expires",
                 config.certificate_expiry == CertificateExpiry::kEndSessions
                     ? "ends its sessions"
                     : "begins no new session; open ones go on"});
  return out;
}

std::vector<PolicyLine> describe_keys(const SeenKeys& seen) {
  Lines out;
  out.push_back({"key", "host key",
                 seen.host_fingerprint.empty() ? "cannot be used: " + seen.host_key_error
                                               : seen.host_fingerprint});
  for (const KeyEntry& entry : seen.keys.entries) {
    out.push_back(
        {"key", entry.key.fingerprint(),
         entry.key.type() + ' ' + entry.label + "; role " + std::string(role_name(entry.role)) +
             (entry.profile ? "; profile " + std::string(profile_name(*entry.profile)) : "") +
             (entry.from ? "; from= limits it" : "") +
             (entry.expires ? "; until " + format_time(*entry.expires * 1000) : "")});
  }
  for (const KeyProblem& problem : seen.problems) {
    out.push_back(
        {"key", "line " + std::to_string(problem.line), "counts for nothing: " + problem.what});
  }
  if (!seen.error.empty()) {
    out.push_back({"key", "nobody can enter", seen.error});
  }
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

OrderedJson effective_json(const Config& config, const BuildFacts& facts, const SeenKeys& seen) {
  OrderedJson limits = OrderedJson::object();
  const auto usual = limit_lines(Limits{});
  const auto now = limit_lines(config.limits);
  for (std::size_t i = 0; i < now.size(); ++i) {
    limits[now[i].name] = {{"value", now[i].value}, {"default", usual[i].value}};
  }
  const LibraryFacts library = library_of(config, facts);
  OrderedJson holes = OrderedJson::array();
  for (const KnownHole& hole : open_holes(library)) {
    holes.push_back({{"cve", hole.cve}, {"what", hole.what}});
  }
  OrderedJson keys = OrderedJson::array();
  for (const KeyEntry& entry : seen.keys.entries) {
    OrderedJson key{{"fingerprint", entry.key.fingerprint()},
                    {"key", entry.key.text()},
                    {"label", entry.label},
                    {"role", role_name(entry.role)},
                    {"from", entry.from.has_value()},
                    {"line", entry.line}};
    key["expires"] = entry.expires ? OrderedJson(*entry.expires) : OrderedJson(nullptr);
    keys.push_back(std::move(key));
  }
  OrderedJson problems = OrderedJson::array();
  for (const KeyProblem& problem : seen.problems) {
    problems.push_back({{"line", problem.line}, {"what", problem.what}});
  }
  OrderedJson authorities = OrderedJson::array();
  for (const PublicKey& authority : seen.keys.authorities) {
    authorities.push_back(authority.fingerprint());
  }
  return OrderedJson{{"listen", {{"address", config.listen_address}, {"port", config.port}}},
                     {"keys_trust", config.keys_trust == KeysTrust::kStrict ? "strict" : "any"},
                     {"pass_env", config.pass_env},
                     {"audit_sink", config.audit_sink},
                     {"box_uid", config.box_uid},
                     {"sanitizer", facts.sanitizer},
                     {"limits", std::move(limits)},
                     {"library",
                      {{"version", library.version},
                       {"package", library.package},
                       {"acknowledged", library.acknowledged},
                       {"acknowledged_holds", backports_hold(library)},
                       {"floor", kLibraryFloor},
                       {"below_floor", library_is_too_old(library.version)},
                       {"open", std::move(holes)}}},
                     {"host_key",
                      {{"fingerprint", seen.host_fingerprint},
                       {"key", seen.host_key},
                       {"error", seen.host_key_error}}},
                     {"generation", seen.keys.generation},
                     {"revoked", seen.keys.revoked.size()},
                     {"keys", std::move(keys)},
                     {"key_problems", std::move(problems)},
                     {"certificates",
                      {{"authorities", std::move(authorities)},
                       {"principal", seen.keys.box_name},
                       {"error", seen.certificates_refused}}},
                     {"keys_error", seen.error}};
}

}  // namespace agentbox::sshd

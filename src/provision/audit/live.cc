// edge: see live.h.
#include "provision/audit/live.h"

#include <array>
#include <functional>

#include "base/log.h"
#include "base/random.h"
#include "base/ssh_client.h"
#include "base/text.h"
#include "provision/keys.h"
#include "provision/proof.h"

namespace agentbox::provision::audit {
namespace {

struct Ask {
  Attempt attempt;
  const char* what;
};
constexpr std::array<Ask, 3> kLogins = {
    {{Attempt::kNone, "login without any proof (none)"},
     {Attempt::kPassword, "login with a password"},
     {Attempt::kKeyboardInteractive, "login by questions (keyboard-interactive)"}}};
constexpr std::array<Ask, 9> kRequests = {
    {{Attempt::kTerminal, "a terminal (pty-req)"},
     {Attempt::kVariable, "a variable (env)"},
     {Attempt::kSftp, "file transfer (subsystem sftp)"},
     {Attempt::kX11, "X11 forwarding (x11-req)"},
     {Attempt::kDirectTcp, "a connection from the box (direct-tcpip)"},
     {Attempt::kDirectUnix, "a socket of the box (direct-streamlocal)"},
     {Attempt::kAgentChannel, "agent forwarding (a channel of type auth-agent)"},
     {Attempt::kX11Channel, "a channel of type x11"},
     {Attempt::kRemoteForward, "a port for the client (tcpip-forward)"}}};
constexpr const char* kCommandTrial = "a command of the client's (exec)";

Deadline soon() { return std::chrono::steady_clock::now() + kProofStep; }

Trial judged(const char* what, const Result<bool>& granted) {
  if (!granted.ok()) {
    return {what, granted.error().what, false, false};
  }
  return {what, *granted ? "granted" : "refused", true, !*granted};
}

Result<SshClient> connect(const BoxRecord& record) {
  AB_TRY(target, target_of(record));
  return SshClient::connect(target, soon());
}

Result<SshClient> log_in(const BoxRecord& record, const SecretText& key) {
  AB_TRY(client, connect(record));
  AB_CHECK(client.login(kLoginUser, key, soon()));
  return client;
}

Result<bool> try_login(const BoxRecord& record, Attempt what) {
  AB_TRY(client, connect(record));
  return client.attempt(what, soon());
}

Result<bool> try_stranger(const BoxRecord& record) {
  AB_TRY(client, connect(record));
  AB_TRY(pair, generate_ed25519());
  return client.offer(kLoginUser, pair.public_key, soon());
}

// The box's own key under another name.
Result<bool> try_other_user(const BoxRecord& record) {
  AB_TRY(client, connect(record));
  if (record.keys.empty()) {
    return Error{Code::kNotFound, "no key may enter"};
  }
  return client.offer("root", record.keys.front().key, soon());
}

Result<bool> try_request(const BoxRecord& record, const SecretText& key, Attempt what) {
  AB_TRY(client, log_in(record, key));
  return client.attempt(what, soon());
}

// The words must not run: what answers has to be the tool server.
Result<bool> try_command(const BoxRecord& record, const SecretText& key) {
  AB_TRY(client, log_in(record, key));
  const std::string word = "agentbox-audit-" + random_hex(8);
  AB_TRY(channel, client.open_exec("echo " + word, soon()));
  AB_CHECK(channel.write_line(R"({"jsonrpc":"2.0","id":1,"method":"ping"})", soon()));
  AB_TRY(line, channel.read_line(soon()));
  return line.find(word) != std::string::npos || !line.starts_with('{');
}

Trial command_trial(const BoxRecord& record, const SecretText& key) {
  Trial trial = judged(kCommandTrial, try_command(record, key));
  if (trial.tried) {
    trial.got = trial.held ? "the tool server, as for every session; the words did not run"
                           : "the words ran";
  }
  return trial;
}

}  // namespace

std::vector<Trial> try_refusals(const BoxRecord& record) {
  std::vector<Trial> trials;
  const auto note = [&](Trial trial) {
    log::info("tried", {{"what", trial.what}, {"answer", trial.got}});
    trials.push_back(std::move(trial));
  };
  for (const Ask& ask : kLogins) {
    note(judged(ask.what, try_login(record, ask.attempt)));
  }
  note(judged("login with a key that nobody let in", try_stranger(record)));
  note(judged("the box's key under another user's name", try_other_user(record)));
  const auto key =
      record.identity_file.empty()
          ? Result<SecretText>(Error{Code::kNotFound, "the private key is not known here"})
          : read_private_key(record.identity_file);
  for (const Ask& ask : kRequests) {
    note(judged(ask.what,
                key.ok() ? try_request(record, *key, ask.attempt) : Result<bool>(key.error())));
  }
  note(key.ok() ? command_trial(record, *key) : judged(kCommandTrial, key.error()));
  return trials;
}

}  // namespace agentbox::provision::audit

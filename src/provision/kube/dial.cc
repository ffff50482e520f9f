// edge: see dial.h.
#include "provision/kube/dial.h"

#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/process.h"
#include "base/text.h"
#include "provision/kube/manifests.h"

namespace agentbox::provision::kube {
namespace {

Result<DoorLine> through_service(const SandboxFacts& facts, const PublicKey& host_key,
                                 Deadline deadline) {
  if (facts.host.empty()) {
    return Error{Code::kUnavailable, "the cluster has not given the box a name yet"};
  }
  AB_TRY(client, SshClient::connect({facts.host, kDoorPort, host_key}, deadline));
  return DoorLine{nullptr, std::move(client)};
}

Result<DoorLine> through_api(Client& api, const SandboxFacts& facts, const PublicKey& host_key,
                             Deadline deadline) {
  auto forward = api.forward(facts.pod, kDoorPort);
  if (!forward.ok()) {
    const bool barred = forward.error().exit == Exit::kNoRights;
    return Error{Code::kUnavailable, forward.error().message, barred ? EACCES : 0};
  }
  auto carrier = std::make_shared<PortForward>(std::move(forward).value());
  AB_TRY(client, SshClient::connect_over(carrier->take_socket(), host_key, deadline));
  return DoorLine{std::move(carrier), std::move(client)};
}

// ssh, which carries the bytes of one connection. It ends with the connection, at the latest with
// us.
class JumpCarrier {
 public:
  JumpCarrier(Child child, UniqueFd said) : child_(std::move(child)), said_(std::move(said)) {}
  JumpCarrier(const JumpCarrier&) = delete;
  JumpCarrier& operator=(const JumpCarrier&) = delete;
  ~JumpCarrier() { end(); }

  // Ends it, and tells what it said.
  std::string last_words() {
    constexpr std::size_t kMaxWords = 2000;
    end();
    const auto text = read_fd_capped(said_.get(), kMaxWords);
    return text.ok() ? escape_text(*text, kMaxWords) : std::string();
  }

 private:
  void end() {
    if (child_.pid > 0) {
      ::kill(child_.pid, SIGKILL);
      static_cast<void>(wait_for(child_));
      child_.pid = -1;
    }
  }
  Child child_;
  UniqueFd said_;
};

}  // namespace

Result<DoorLine> dial_through_jump(const SshFacts& facts, const PublicKey& host_key,
                                   Deadline deadline) {
  AB_TRY(ends, make_socketpair(SOCK_STREAM));
  AB_TRY(said, make_pipe());
  SpawnPlan plan;
  plan.exe = "/usr/bin/env";
  plan.argv = {"env"};
  const auto words = jump_command(facts);
  plan.argv.insert(plan.argv.end(), words.begin(), words.end());
  const char* path = std::getenv("PATH");
  plan.environment = {std::string("PATH=") + (path == nullptr ? "/usr/bin:/bin" : path)};
  plan.descriptors = {{0, ends.second.get()}, {1, ends.second.get()}, {2, said.second.get()}};
  plan.parent_death_signal = SIGKILL;
  AB_TRY(child, spawn(plan));
  ends.second.reset();
  said.second.reset();
  auto carrier = std::make_shared<JumpCarrier>(std::move(child), std::move(said.first));
  auto client = SshClient::connect_over(std::move(ends.first), host_key, deadline);
  if (client.ok()) {
    return DoorLine{std::move(carrier), std::move(client).value()};
  }
  if (client.error().code == Code::kDenied) {
    return std::move(client).error();
  }
  return Error{Code::kUnavailable,
               "through the jump host: " + client.error().what + ": " + carrier->last_words()};
}

Result<DoorLine> dial_gateway(const BoxName& name, const Gateway& gateway, Deadline deadline) {
  AB_TRY(host_key, PublicKey::parse(gateway.host_key));
  const std::string user = gateway.kind == GatewayKind::kSshpiper ? name.text() : gateway.user;
  AB_TRY(client, SshClient::connect({gateway.host, gateway.port, std::move(host_key)}, deadline));
  return DoorLine{nullptr, std::move(client), user};
}

Result<DoorLine> dial_door(Client& client, Way way, const SandboxFacts& facts,
                           const PublicKey& host_key, Deadline deadline) {
  switch (way) {
    case Way::kService:
      return through_service(facts, host_key, deadline);
    case Way::kPortForward:
      return through_api(client, facts, host_key, deadline);
  }
  return Error{Code::kInvalid, "no such way"};
}

}  // namespace agentbox::provision::kube

// edge: see network_trial.h.
#include "provision/network_trial.h"

#include <string>

#include "provision/box_side.h"
#include "provision/neighbours.h"
#include "provision/tools.h"

namespace agentbox::provision {
namespace {

constexpr const char* kOwnAddress = "127.0.0.1";
constexpr std::uint16_t kOwnPort = 2222;

Answer<std::vector<CheckDone>> tried(const Backend& backend, const BoxName& name,
                                     McpClient& session) {
  AB_TRY(resolver, run_program(session, kBoxProgram, {"reach"}));
  AB_TRY(neighbours, backend.neighbours(name, parse_nameservers(resolver)));
  std::vector<std::string> words = {"reach", kOwnAddress, std::to_string(kOwnPort)};
  for (const Neighbour& neighbour : neighbours) {
    words.push_back(neighbour.address);
    words.push_back(std::to_string(neighbour.port));
  }
  AB_TRY(said, run_program(session, kBoxProgram, words));
  AB_TRY(reached, parse_reached(said));
  Reached control{"not tried", kOwnAddress, kOwnPort};
  if (!reached.empty() && reached.front().address == kOwnAddress &&
      reached.front().port == kOwnPort) {
    control = reached.front();
  }
  return judge_network(neighbours, reached, control);
}

}  // namespace

std::vector<CheckDone> try_network(const Backend& backend, const BoxName& name,
                                   McpClient& session) {
  if (!backend.has_network()) {
    return {};
  }
  auto done = tried(backend, name, session);
  if (done.ok()) {
    return std::move(done).value();
  }
  std::vector<CheckDone> skipped;
  for (CheckDone& one : judge_network({}, {}, {"open", {}, 0})) {
    one.detail = "could not be tried: " + done.error().message;
    skipped.push_back(std::move(one));
  }
  return skipped;
}

}  // namespace agentbox::provision

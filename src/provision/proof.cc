// edge: see proof.h.
#include "provision/proof.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "provision/key_change.h"
#include "provision/keys.h"
#include "provision/mcp_reply.h"

namespace agentbox::provision {
namespace {

/// Between two tries; the end of the supervisor cuts it short.
constexpr std::chrono::milliseconds kBetweenTries{50};
/// A side that ended this often does not work; the log says why.
constexpr std::uint64_t kHopelessRestarts = 6;

Deadline in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

Status offer_all(const Contact& box) {
  AB_TRY(line, box.dial(in(box.step)));
  for (const NamedKey& entry : box.record.keys) {
    AB_TRY(taken, line.client.offer(line.user, entry.key, in(box.step)));
    if (!taken) {
      return Error{Code::kDenied, "the box refuses its key " + entry.key.fingerprint()};
    }
  }
  return {};
}

// system_info tells which keys were in force when its session began.
Status check_generation(const Json& result, std::uint64_t wanted) {
  const Json* value = find_member(result, "structuredContent");
  const Json* generation = value == nullptr ? nullptr : find_member(*value, "keys_generation");
  if (generation == nullptr || !generation->is_number_unsigned() ||
      generation->get<std::uint64_t>() < wanted) {
    return Error{Code::kDenied,
                 "the door does not yet go by key generation " + std::to_string(wanted)};
  }
  return {};
}

Status log_in(const Contact& box, const SecretText& key) {
  AB_TRY(line, box.dial(in(box.step)));
  AB_TRY(session, McpClient::open(std::move(line), key, in(box.step)));
  AB_TRY(result, session.call_tool("system_info", Json::object(), in(box.step)));
  if (is_error_result(result)) {
    return Error{Code::kProtocol, "system_info fails: " + text_of_result(result).substr(0, 300)};
  }
  AB_CHECK(check_generation(result, box.record.generation));
  AB_TRY(ended, session.close(in(box.step)));
  static_cast<void>(ended);
  return {};
}

// Why there is no sense in trying again, or nothing.
std::string hopeless(const BoxPaths& paths, const UniqueFd& supervisor) {
  if (supervisor && wait_readable(supervisor.get(), in(kBetweenTries))) {
    return "its supervisor ended";
  }
  const auto running = find_supervisor(paths);
  if (!running.ok() || !*running || !(*running)->note) {
    return {};
  }
  const SupervisorNote& note = *(*running)->note;
  if (note.door.restarts >= kHopelessRestarts) {
    return "the door keeps ending (" + note.door.last_end + ")";
  }
  if (note.box.restarts >= kHopelessRestarts) {
    return "the box side keeps ending (" + note.box.last_end + ")";
  }
  return {};
}

// The door alone accepts keys; only a login needs the box side.
bool box_side_runs(const BoxPaths& paths) {
  const auto running = find_supervisor(paths);
  return running.ok() && *running && (*running)->note && (*running)->note->box.pid != 0;
}

// WHY there is no sense in trying on (empty: the time is over), and what the LAST try said.
Failure does_not_work(const BoxName& name, const std::string& why, const Error& last) {
  return Failure{
      Exit::kUnreachable,
      "box " + name.text() + " does not work: " + why + (why.empty() ? "" : "; ") + last.what,
      "`agentbox-provision logs " + name.text() +
          "` shows what its two sides said; then run the command again"};
}

}  // namespace

Answer<McpClient> open_session(const Contact& box, Deadline deadline) {
  const BoxRecord& record = box.record;
  if (record.identity_file.empty()) {
    return Failure{Exit::kRefused,
                   "the private key of box " + record.name.text() + " is not known here",
                   "connect with the client that has it; a box made without --key, or with "
                   "--identity, can be called from here"};
  }
  AB_TRY(key,
         advise(read_private_key(record.identity_file), "put the private key back where it was"));
  if (record.phase == Phase::kSuspended) {
    return Failure{Exit::kUnreachable, "box " + record.name.text() + " is suspended",
                   "`agentbox-provision resume " + record.name.text() + "`"};
  }
  const auto open = [&]() -> Result<McpClient> {
    AB_TRY(line, box.dial(deadline));
    return McpClient::open(std::move(line), key, deadline);
  };
  auto session = open();
  if (!session.ok()) {
    return failure_of(std::move(session).error().in("box " + record.name.text()),
                      "`agentbox-provision status " + record.name.text() + "` and `logs " +
                          record.name.text() + "` say more");
  }
  return std::move(session).value();
}

Status prove_refused(const Contact& box, const std::vector<NamedKey>& keys) {
  for (std::size_t i = 0; i < keys.size();) {
    AB_TRY(line, box.dial(in(box.step)));
    // A connection ends at its twentieth refused offer.
    for (const std::size_t end = std::min(keys.size(), i + kMaxFormerKeys); i < end; ++i) {
      AB_TRY(taken, line.client.offer(line.user, keys[i].key, in(box.step)));
      if (taken) {
        return Error{Code::kDenied, "the box still takes the key " + keys[i].key.fingerprint() +
                                        ", which is gone"};
      }
    }
  }
  return {};
}

Result<Proof> prove_once(const Contact& box) {
  const BoxRecord& record = box.record;
  AB_CHECK(offer_all(box));
  AB_CHECK(prove_refused(box, keys_to_refuse(record)));
  const std::string offered =
      std::to_string(record.keys.size()) + " key(s) accepted on the pinned host key";
  if (record.identity_file.empty()) {
    return Proof{false, offered + "; no login was tried: the private key is not known here"};
  }
  AB_TRY(key, read_private_key(record.identity_file));
  AB_CHECK(log_in(box, key));
  return Proof{true, offered + ", logged in, system_info answered"};
}

Answer<Proof> prove(const BoxRecord& record, const BoxPaths& paths, const UniqueFd& supervisor) {
  const Deadline deadline = in(kStartTime);
  for (;;) {
    auto proof = prove_once(contact_here(record));
    if (proof.ok() && !proof->login && !box_side_runs(paths)) {
      proof = Error{Code::kUnavailable, "the box side does not run yet"};
    }
    if (proof.ok()) {
      return std::move(proof).value();
    }
    const std::string why = hopeless(paths, supervisor);
    if (why.empty() && std::chrono::steady_clock::now() < deadline) {
      continue;
    }
    return does_not_work(record.name, why, proof.error());
  }
}

}  // namespace agentbox::provision

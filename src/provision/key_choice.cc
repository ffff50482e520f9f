// edge: see key_choice.h.
#include "provision/key_choice.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "provision/handoff.h"
#include "provision/keys.h"

namespace agentbox::provision {
namespace {

std::string next_identity(const BoxPaths& paths) { return paths.identity + ".next"; }

}  // namespace

std::string fingerprint_at(const std::string& path) {
  if (path.empty()) {
    return {};
  }
  const auto secret = read_private_key(path);
  if (!secret.ok()) {
    return {};
  }
  const auto key = public_half(*secret);
  return key.ok() ? key->fingerprint() : std::string();
}

Answer<std::vector<NamedKey>> read_key_files(const std::vector<std::string>& files) {
  std::vector<NamedKey> keys;
  for (const std::string& file : files) {
    AB_TRY(more, read_public_keys(file));
    for (NamedKey& key : more) {
      if (!holds_key(keys, key.key.fingerprint())) {
        keys.push_back(std::move(key));
      }
    }
  }
  return keys;
}

Answer<AskedKey> key_asked_for(const std::string& given) {
  if (is_fingerprint(given)) {
    return AskedKey{given, std::nullopt};
  }
  AB_TRY(keys, read_public_keys(given));
  if (keys.size() != 1) {
    return Failure{Exit::kRefused, given + " holds more than one key",
                   "name one key, by its fingerprint (status shows them) or a file of its own"};
  }
  return AskedKey{keys.front().key.fingerprint(), keys.front()};
}

Answer<NextKeys> decide_keys(const BoxRecord& record, const BoxPaths& paths,
                             const std::vector<NamedKey>& given) {
  NextKeys next;
  const auto is_agent = [](const NamedKey& entry) { return entry.role == Role::kAgent; };
  if (given.empty() && !std::all_of(record.keys.begin(), record.keys.end(), is_agent)) {
    return Failure{Exit::kRefused,
                   "a key that is made here has the role agent, and this box has "
                   "keys of other roles",
                   "give the new keys with --key, each with its agentbox-role=\"...\""};
  }
  if (given.empty()) {
    const SpawnPlan::Identity self{::geteuid(), ::getegid()};
    next.made = next_identity(paths);
    // One that an interrupted rotation left is as good as a new one: nobody else has seen it.
    AB_TRY(key, ensure_private_key(next.made, self, host_alias(record.name.text())));
    next.keys = {std::move(key)};
    next.identity_file = paths.identity;
    return next;
  }
  next.keys = given;
  next.asked.keys = given;
  if (holds_key(given, fingerprint_at(record.identity_file))) {
    next.identity_file = record.identity_file;
    next.asked.identity = record.spec.identity;
  }
  return next;
}

}  // namespace agentbox::provision

// pure: see key_change.h.
#include "provision/key_change.h"

#include <algorithm>
#include <utility>

namespace agentbox::provision {
namespace {

bool same_key(const NamedKey& a, const NamedKey& b) { return a.key.blob() == b.key.blob(); }

bool contains(const std::vector<NamedKey>& keys, const NamedKey& key) {
  return std::any_of(keys.begin(), keys.end(),
                     [&](const NamedKey& entry) { return same_key(entry, key); });
}

std::vector<NamedKey> without(const std::vector<NamedKey>& keys, const NamedKey& key) {
  std::vector<NamedKey> left;
  std::copy_if(keys.begin(), keys.end(), std::back_inserter(left),
               [&](const NamedKey& entry) { return !same_key(entry, key); });
  return left;
}

const NamedKey* find_key(const std::vector<NamedKey>& keys, std::string_view fingerprint) {
  const auto at = std::find_if(keys.begin(), keys.end(), [&](const NamedKey& entry) {
    return entry.key.fingerprint() == fingerprint;
  });
  return at == keys.end() ? nullptr : &*at;
}

void keep_newest(std::vector<NamedKey>& keys, std::size_t most) {
  if (keys.size() > most) {
    keys.erase(keys.begin(), keys.end() - static_cast<std::ptrdiff_t>(most));
  }
}

Failure too_many(std::string_view what) {
  return Failure{
      Exit::kRefused,
      "the box would have more than " + std::to_string(kMaxKeys) + " " + std::string(what),
      "make a new box; nothing was changed"};
}

bool is_revoked(const BoxRecord& record, const NamedKey& key) {
  const std::vector<std::string>& prints = record.revoked_prints;
  return contains(record.revoked, key) ||
         std::find(prints.begin(), prints.end(), key.key.fingerprint()) != prints.end();
}

// One that the box never listed.
Answer<KeyChange> revoke_stranger(KeyChange change, std::string_view fingerprint,
                                  const std::optional<NamedKey>& given) {
  BoxRecord& fresh = change.record;
  if (fresh.revoked.size() + fresh.revoked_prints.size() >= kMaxKeys) {
    return too_many("revoked keys");
  }
  if (given) {
    fresh.revoked.push_back(*given);
    change.gone.push_back(*given);
  } else {
    fresh.revoked_prints.emplace_back(fingerprint);
    change.gone_prints.emplace_back(fingerprint);
  }
  ++fresh.generation;
  return change;
}

std::string listed(const std::vector<NamedKey>& keys) {
  std::string text;
  for (const NamedKey& entry : keys) {
    text += (text.empty() ? "" : ", ") + entry.key.fingerprint();
  }
  return text.empty() ? "none" : text;
}

}  // namespace

bool holds_key(const std::vector<NamedKey>& keys, std::string_view fingerprint) {
  return find_key(keys, fingerprint) != nullptr;
}

Answer<KeyChange> add_keys(const BoxRecord& record, const std::vector<NamedKey>& wanted) {
  KeyChange change{record, {}, {}};
  for (const NamedKey& key : wanted) {
    if (is_revoked(record, key)) {
      return Failure{Exit::kRefused, "the key " + key.key.fingerprint() + " was revoked here",
                     "use a new key; nothing was changed"};
    }
    const NamedKey* known = find_key(change.record.keys, key.key.fingerprint());
    if (known == nullptr || known->role != key.role) {
      change.record.keys = without(change.record.keys, key);
      change.record.keys.push_back(key);
      change.record.former = without(change.record.former, key);
      change.added.push_back(key);
    }
  }
  if (change.record.keys.size() > kMaxKeys) {
    return too_many("keys");
  }
  change.record.generation += change.added.empty() ? 0U : 1U;
  return change;
}

KeyChange keep_only(const BoxRecord& record, const std::vector<NamedKey>& wanted,
                    const AskedKeys& asked, const std::string& identity_file) {
  KeyChange change{record, {}, {}};
  BoxRecord& fresh = change.record;
  fresh.keys.clear();
  for (const NamedKey& key : record.keys) {
    auto& list = contains(wanted, key) ? fresh.keys : change.gone;
    list.push_back(key);
  }
  fresh.former.insert(fresh.former.end(), change.gone.begin(), change.gone.end());
  keep_newest(fresh.former, kMaxFormerKeys);
  fresh.spec.keys = asked.keys;
  fresh.spec.identity = asked.identity;
  fresh.identity_file = identity_file;
  fresh.generation += change.gone.empty() ? 0U : 1U;
  return change;
}

Answer<KeyChange> revoke_key(const BoxRecord& record, std::string_view fingerprint,
                             bool is_identity, const std::optional<NamedKey>& given) {
  KeyChange change{record, {}, {}};
  BoxRecord& fresh = change.record;
  const NamedKey* known = find_key(record.keys, fingerprint);
  if (known == nullptr) {
    known = find_key(record.former, fingerprint);
  }
  if (known == nullptr) {
    known = find_key(record.spec.authorities, fingerprint);
  }
  const auto& prints = record.revoked_prints;
  if (known == nullptr && (holds_key(record.revoked, fingerprint) ||
                           std::find(prints.begin(), prints.end(), fingerprint) != prints.end())) {
    return change;
  }
  if (known == nullptr && record.spec.authorities.empty()) {
    return Failure{Exit::kRefused,
                   "box " + record.name.text() + " does not know the key " +
                       std::string(fingerprint) +
                       ", and takes no certificates with which it could enter",
                   "its keys are: " + listed(record.keys)};
  }
  if (known == nullptr) {
    return revoke_stranger(std::move(change), fingerprint, given);
  }
  if (record.revoked.size() + prints.size() >= kMaxKeys) {
    return too_many("revoked keys");
  }
  const NamedKey gone = *known;
  fresh.keys = without(fresh.keys, gone);
  fresh.former = without(fresh.former, gone);
  fresh.spec.keys = without(fresh.spec.keys, gone);
  fresh.spec.authorities = without(fresh.spec.authorities, gone);
  fresh.revoked.push_back(gone);
  if (is_identity) {
    fresh.identity_file.clear();
    fresh.spec.identity.clear();
  }
  ++fresh.generation;
  change.gone.push_back(gone);
  return change;
}

Answer<KeyChange> trust_authorities(const BoxRecord& record,
                                    const std::vector<NamedKey>& authorities) {
  KeyChange change{record, {}, {}};
  std::vector<NamedKey>& trusted = change.record.spec.authorities;
  for (const NamedKey& authority : authorities) {
    if (is_revoked(record, authority)) {
      return Failure{Exit::kRefused, "the CA " + authority.key.fingerprint() + " was revoked here",
                     "make a new one with ca init; nothing was changed"};
    }
    if (contains(record.keys, authority)) {
      return Failure{Exit::kRefused,
                     authority.key.fingerprint() +
                         " is a key that may enter: as a CA, whoever has it could let in others, "
                         "also after it is rotated out",
                     "make a CA of its own: agentbox-provision ca init; nothing was changed"};
    }
    if (!contains(trusted, authority)) {
      trusted.push_back(authority);
      change.added.push_back(authority);
    }
  }
  if (trusted.size() > kMaxAuthorities) {
    return Failure{Exit::kRefused,
                   "the box would trust more than " + std::to_string(kMaxAuthorities) + " CAs",
                   "revoke one with --key; nothing was changed"};
  }
  change.record.generation += change.added.empty() ? 0U : 1U;
  return change;
}

Answer<KeyChange> revoke_serial(const BoxRecord& record, std::uint64_t serial) {
  KeyChange change{record, {}, {}};
  std::vector<std::uint64_t>& serials = change.record.revoked_serials;
  if (std::find(serials.begin(), serials.end(), serial) != serials.end()) {
    return change;
  }
  if (serials.size() >= kMaxRevokedSerials) {
    return Failure{Exit::kRefused,
                   "more than " + std::to_string(kMaxRevokedSerials) + " certificates are revoked",
                   "revoke their CA with --key and trust a new one; nothing was changed"};
  }
  serials.push_back(serial);
  ++change.record.generation;
  return change;
}

std::vector<NamedKey> keys_to_refuse(const BoxRecord& record) {
  std::vector<NamedKey> keys = record.former;
  keys.insert(keys.end(), record.revoked.begin(), record.revoked.end());
  keep_newest(keys, kMaxFormerKeys);
  return keys;
}

}  // namespace agentbox::provision

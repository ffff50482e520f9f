// pure: how a box's record changes when keys come and go. Who calls writes the record first and
// publishes it then: whatever is cut short is brought about by the next start or the next command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "provision/answer.h"
#include "provision/box.h"

namespace agentbox::provision {

/// Keys that a rotation dropped and that every later proof still sees refused; the newest of them:
/// more refused offers than this and a connection ends (20 points, one each).
inline constexpr std::size_t kMaxFormerKeys = 15;

/// A record after a change, its generation raised where anything changed.
struct KeyChange {
  BoxRecord record;
  std::vector<NamedKey> added;
  std::vector<NamedKey> gone;
  std::vector<std::string> gone_prints = {};  ///< of keys of which no more is known
};

/// Lets WANTED in besides those who may enter now. Refuses a key that was revoked: what leaked once
/// stays out.
[[nodiscard]] Answer<KeyChange> add_keys(const BoxRecord& record,
                                         const std::vector<NamedKey>& wanted);

/// Lets nobody in but WANTED, which may enter already. ASKED is what the record's spec says of keys
/// from then on; IDENTITY_FILE the private key of one of them, or empty.
struct AskedKeys {
  std::vector<NamedKey> keys;
  std::string identity;
};
[[nodiscard]] KeyChange keep_only(const BoxRecord& record, const std::vector<NamedKey>& wanted,
                                  const AskedKeys& asked, const std::string& identity_file);

/// Locks the key or CA of FINGERPRINT out for good; IS_IDENTITY: its private half is the record's
/// identity file, which is then forgotten. A key that was revoked before changes nothing. One that
/// the box never listed may still enter with a certificate; where no CA is trusted it cannot, and
/// is refused as a mistake. GIVEN is that key, where more than its fingerprint is known.
[[nodiscard]] Answer<KeyChange> revoke_key(const BoxRecord& record, std::string_view fingerprint,
                                           bool is_identity,
                                           const std::optional<NamedKey>& given = std::nullopt);

/// Takes certificates of AUTHORITIES too from now on. Refuses one that was revoked, and one
/// that is a key of the box: who may enter could then let in others.
[[nodiscard]] Answer<KeyChange> trust_authorities(const BoxRecord& record,
                                                  const std::vector<NamedKey>& authorities);

/// Locks the certificates of SERIAL out for good, whoever signed them.
[[nodiscard]] Answer<KeyChange> revoke_serial(const BoxRecord& record, std::uint64_t serial);

/// Those keys that must be refused now, the newest kMaxFormerKeys of them.
[[nodiscard]] std::vector<NamedKey> keys_to_refuse(const BoxRecord& record);

[[nodiscard]] bool holds_key(const std::vector<NamedKey>& keys, std::string_view fingerprint);

}  // namespace agentbox::provision

// edge: which keys a rotation or a revocation is about, read from what was given.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "provision/answer.h"
#include "provision/box.h"
#include "provision/key_change.h"
#include "provision/paths.h"

namespace agentbox::provision {

/// The fingerprint of the private key at PATH; empty where there is none that can be used.
[[nodiscard]] std::string fingerprint_at(const std::string& path);

/// The public keys of FILES, each once.
[[nodiscard]] Answer<std::vector<NamedKey>> read_key_files(const std::vector<std::string>& files);

/// A key as `revoke --key` names it: its fingerprint, or a file with its public half.
struct AskedKey {
  std::string fingerprint;
  std::optional<NamedKey> key;  ///< where a file was named
};
[[nodiscard]] Answer<AskedKey> key_asked_for(const std::string& given);

/// What a rotation ends with.
struct NextKeys {
  std::vector<NamedKey> keys;
  AskedKeys asked;
  std::string identity_file;  ///< of one of them, or empty
  std::string made;           ///< where a new private key lies until it takes the old one's place
};
/// GIVEN alone, or where it is empty a new key, made beside the old one.
[[nodiscard]] Answer<NextKeys> decide_keys(const BoxRecord& record, const BoxPaths& paths,
                                           const std::vector<NamedKey>& given);

}  // namespace agentbox::provision

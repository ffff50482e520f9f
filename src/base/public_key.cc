// pure: see public_key.h.
#include "base/public_key.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/text.h"
#include "base/wire.h"

namespace agentbox {
namespace {

/// A blob of any key worth having is far shorter (RSA 16384 bits: 2 KiB).
constexpr std::size_t kMaxBlobBytes = 8192;
/// Shorter RSA keys are within reach of attackers; the same floor as OpenSSH's default is 1024,
/// ours is higher.
constexpr std::size_t kMinRsaBits = 2048;
constexpr std::array<std::string_view, 5> kTypes = {
    "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa"};

std::size_t bits_of(std::string_view mpint) {
  while (!mpint.empty() && mpint.front() == '\0') {
    mpint.remove_prefix(1);
  }
  if (mpint.empty()) {
    return 0;
  }
  std::size_t bits = mpint.size() * 8;
  for (unsigned top = static_cast<unsigned char>(mpint.front()); (top & 0x80U) == 0; top <<= 1U) {
    --bits;
  }
  return bits;
}

Status check_body(std::string_view type, WireReader rest) {
  const Error bad{Code::kInvalid, "the key's data do not fit its type " + std::string(type)};
  const auto first = rest.take_string();
  if (!first) {
    return bad;
  }
  if (type == "ssh-ed25519") {
    return first->size() == 32 && rest.at_end() ? Status{} : Status{bad};
  }
  const auto second = rest.take_string();
  if (!second || !rest.at_end()) {
    return bad;
  }
  if (type != "ssh-rsa") {  // ecdsa: curve name, point
    return type.ends_with(*first) && !second->empty() && !first->empty() ? Status{} : Status{bad};
  }
  if (bits_of(*second) < kMinRsaBits) {
    return Error{Code::kDenied, "RSA keys need at least " + std::to_string(kMinRsaBits) + " bits"};
  }
  return {};
}

std::string_view take_word(std::string_view& line) {
  const auto skip = line.find_first_not_of(" \t");
  line.remove_prefix(std::min(skip, line.size()));
  const auto end = std::min(line.find_first_of(" \t"), line.size());
  const auto word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

}  // namespace

Result<PublicKey> PublicKey::from_blob(std::string_view blob) {
  if (blob.size() > kMaxBlobBytes) {
    return Error{Code::kLimit, "key longer than " + std::to_string(kMaxBlobBytes) + " bytes"};
  }
  WireReader rest(blob);
  const auto type = rest.take_string();
  if (!type) {
    return Error{Code::kInvalid, "not a public key"};
  }
  if (std::find(kTypes.begin(), kTypes.end(), *type) == kTypes.end()) {
    return Error{Code::kDenied, "key type " + escape_text(*type, 64) + " is not accepted"};
  }
  AB_CHECK(check_body(*type, rest));
  PublicKey key;
  key.type_ = *type;
  key.blob_ = blob;
  return key;
}

Result<PublicKey> PublicKey::parse(std::string_view line) {
  if (line.find("PRIVATE KEY") != std::string_view::npos) {
    return Error{Code::kDenied, "this is a private key; give the .pub file"};
  }
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) {
    line.remove_suffix(1);
  }
  const auto type = take_word(line);
  const auto body = take_word(line);
  auto blob = base64_decode(body);
  if (!blob.ok() || body.empty()) {
    return Error{Code::kInvalid, "not a public key line (TYPE BASE64 [comment])"};
  }
  AB_TRY(key, from_blob(*blob));
  if (key.type_ != type) {
    return Error{Code::kInvalid,
                 "the key says it is " + key.type_ + ", its line says " + escape_text(type, 64)};
  }
  const auto start = std::min(line.find_first_not_of(" \t"), line.size());
  key.comment_ = line.substr(start);
  return key;
}

std::string PublicKey::fingerprint() const {
  std::string text = "SHA256:";
  text += base64_encode(sha256(blob_));
  text.pop_back();  // 32 bytes always end in one '='
  return text;
}

std::string PublicKey::text() const { return type_ + ' ' + base64_encode(blob_); }

bool is_fingerprint(std::string_view text) {
  constexpr std::string_view kPrefix = "SHA256:";
  return text.starts_with(kPrefix) && text.size() == kPrefix.size() + 43 &&
         base64_decode(std::string(text.substr(kPrefix.size())) + "=").ok();
}

}  // namespace agentbox

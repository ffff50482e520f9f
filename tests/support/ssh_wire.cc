// edge: see ssh_wire.h.
#include "support/ssh_wire.h"

#include <openssl/evp.h>

#include <array>
#include <utility>

namespace agentbox::test {
namespace {

constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kIvBytes = 12;
constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kSignatureBytes = 64;
constexpr std::size_t kMaxPacketBytes = 1U << 18U;
constexpr unsigned kKexInit = 20;
constexpr unsigned kNewKeys = 21;
constexpr unsigned kEcdhInit = 30;
constexpr unsigned kEcdhReply = 31;
constexpr const char* kClientVersion = "SSH-2.0-test";

template <typename T, void (*Free)(T*)>
struct Freer {
  void operator()(T* value) const { Free(value); }
};
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freer<EVP_PKEY_CTX, EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freer<EVP_MD_CTX, EVP_MD_CTX_free>>;
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, Freer<EVP_CIPHER_CTX, EVP_CIPHER_CTX_free>>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

Key private_key(int type, std::string_view secret) {
  return Key(EVP_PKEY_new_raw_private_key(type, nullptr, bytes_of(secret), secret.size()));
}

std::string public_half(const Key& key) {
  std::string half(kKeyBytes, '\0');
  std::size_t size = half.size();
  EVP_PKEY_get_raw_public_key(key.get(), bytes_of(half), &size);
  return half;
}

std::string sha256_of(std::string_view data) {
  std::string digest(kKeyBytes, '\0');
  EVP_Digest(data.data(), data.size(), bytes_of(digest), nullptr, EVP_sha256(), nullptr);
  return digest;
}

std::uint32_t number_at(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(0, 4)) {
    value = value << 8U | static_cast<unsigned char>(byte);
  }
  return value;
}

// The string at the front of BYTES, taken off; empty where it is cut short.
std::string_view take_string(std::string_view& bytes) {
  const std::size_t size = bytes.size() < 4 ? 0 : number_at(bytes);
  bytes.remove_prefix(std::min<std::size_t>(bytes.size(), 4));
  const std::string_view taken = bytes.substr(0, size);
  bytes.remove_prefix(taken.size());
  return taken;
}

std::string mpint(std::string_view bytes) {
  while (!bytes.empty() && bytes.front() == '\0') {
    bytes.remove_prefix(1);
  }
  const bool negative = !bytes.empty() && (static_cast<unsigned char>(bytes.front()) & 0x80U) != 0;
  return ssh_string((negative ? std::string(1, '\0') : std::string()) + std::string(bytes));
}

// The last eight of the twelve bytes count the packets (RFC 5647, 7.1).
void count_up(std::string& iv) {
  for (std::size_t at = iv.size(); at > 4; --at) {
    if (++iv[at - 1] != '\0') {
      return;
    }
  }
}

std::string agreed_secret(std::string_view own, std::string_view theirs) {
  const Key mine = private_key(EVP_PKEY_X25519, own);
  const Key other(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, bytes_of(theirs), theirs.size()));
  const KeyContext context(EVP_PKEY_CTX_new(mine.get(), nullptr));
  std::string secret(kKeyBytes, '\0');
  std::size_t size = secret.size();
  const bool good = other && context && EVP_PKEY_derive_init(context.get()) == 1 &&
                    EVP_PKEY_derive_set_peer(context.get(), other.get()) == 1 &&
                    EVP_PKEY_derive(context.get(), bytes_of(secret), &size) == 1;
  return good ? secret : std::string();
}

}  // namespace

std::string ssh_byte(unsigned value) { return std::string(1, static_cast<char>(value)); }

std::string ssh_number(std::uint32_t value) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    bytes.push_back(static_cast<char>(value >> shift));
  }
  return bytes;
}

std::string ssh_string(std::string_view bytes) {
  return ssh_number(static_cast<std::uint32_t>(bytes.size())) + std::string(bytes);
}

SigningKey::SigningKey(unsigned char seed) : seed_(kKeyBytes, static_cast<char>(seed)) {
  blob_ = ssh_string("ssh-ed25519") + ssh_string(public_half(private_key(EVP_PKEY_ED25519, seed_)));
}

std::string SigningKey::sign(std::string_view data) const {
  const Key key = private_key(EVP_PKEY_ED25519, seed_);
  const DigestContext context(EVP_MD_CTX_new());
  std::string signature(kSignatureBytes, '\0');
  std::size_t size = signature.size();
  EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get());
  EVP_DigestSign(context.get(), bytes_of(signature), &size, bytes_of(data), data.size());
  return ssh_string("ssh-ed25519") + ssh_string(signature);
}

SshWire::SshWire() = default;
SshWire::~SshWire() = default;

void SshWire::put_raw(std::string_view bytes) { output_ += bytes; }

void SshWire::put_packet(std::string_view payload, unsigned padding) {
  const bool keyed = !out_.key.empty();
  const std::size_t block = keyed ? 16 : 8;
  const std::size_t counted = keyed ? 1 : 5;  // the length is in the clear under GCM
  std::size_t pad = block - (counted + payload.size()) % block;
  pad += pad < 4 ? block : 0;
  pad += std::min<std::size_t>(padding, (255 - pad) / block) * block;
  const std::string length = ssh_number(static_cast<std::uint32_t>(1 + payload.size() + pad));
  std::string body =
      ssh_byte(static_cast<unsigned>(pad)) + std::string(payload) + std::string(pad, '\0');
  if (!keyed) {
    output_ += length + body;
    return;
  }
  const CipherContext context(EVP_CIPHER_CTX_new());
  int size = 0;
  std::string sealed(body.size(), '\0');
  std::string tag(kTagBytes, '\0');
  EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, bytes_of(std::as_const(out_.key)),
                     bytes_of(std::as_const(out_.iv)));
  EVP_EncryptUpdate(context.get(), nullptr, &size, bytes_of(std::as_const(length)), 4);
  EVP_EncryptUpdate(context.get(), bytes_of(sealed), &size, bytes_of(std::as_const(body)),
                    static_cast<int>(body.size()));
  EVP_EncryptFinal_ex(context.get(), bytes_of(tag), &size);
  EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, tag.data());
  count_up(out_.iv);
  output_ += length + sealed + tag;
}

void SshWire::begin_exchange(bool strict) {
  own_init_ = ssh_byte(kKexInit) + std::string(16, 'c');
  const std::string methods =
      std::string("curve25519-sha256,ext-info-c") + (strict ? ",kex-strict-c-v00@openssh.com" : "");
  const std::string cipher = "aes256-gcm@openssh.com";
  const std::string mac = "hmac-sha2-256-etm@openssh.com";
  for (const std::string& list :
       {methods, std::string("ssh-ed25519"), cipher, cipher, mac, mac, std::string("none"),
        std::string("none"), std::string(), std::string()}) {
    own_init_ += ssh_string(list);
  }
  own_init_ += std::string(5, '\0');
  own_secret_ = std::string(kKeyBytes, static_cast<char>(exchanges_ + 1));
  own_public_ = public_half(private_key(EVP_PKEY_X25519, own_secret_));
  put_packet(own_init_);
  put_packet(ssh_byte(kEcdhInit) + ssh_string(own_public_));
}

void SshWire::feed(std::string_view bytes) {
  input_ += bytes;
  if (!version_seen_) {
    const std::size_t end = input_.find("\r\n");
    if (end == std::string::npos) {
      return;
    }
    version_seen_ = true;
    server_version_ = input_.substr(0, end);
    input_.erase(0, end + 2);
  }
  while (!lost_ && take_packet()) {
  }
}

bool SshWire::take_packet() {
  const bool keyed = !in_.key.empty();
  if (input_.size() < 4) {
    return false;
  }
  const std::size_t length = number_at(input_);
  lost_ = length < 2 || length > kMaxPacketBytes;
  const std::size_t whole = 4 + length + (keyed ? kTagBytes : 0);
  if (lost_ || input_.size() < whole) {
    return false;
  }
  std::string body = input_.substr(4, length);
  if (keyed) {
    const CipherContext context(EVP_CIPHER_CTX_new());
    int size = 0;
    std::string tag = input_.substr(4 + length, kTagBytes);
    std::string plain(length, '\0');
    EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, bytes_of(std::as_const(in_.key)),
                       bytes_of(std::as_const(in_.iv)));
    EVP_DecryptUpdate(context.get(), nullptr, &size, bytes_of(std::as_const(input_)), 4);
    EVP_DecryptUpdate(context.get(), bytes_of(plain), &size, bytes_of(std::as_const(body)),
                      static_cast<int>(length));
    EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data());
    lost_ = EVP_DecryptFinal_ex(context.get(), bytes_of(tag), &size) != 1;
    count_up(in_.iv);
    body = std::move(plain);
  }
  input_.erase(0, whole);
  const std::size_t padding = static_cast<unsigned char>(body.front());
  lost_ = lost_ || padding + 1 >= length;
  if (!lost_) {
    take_payload(body.substr(1, length - 1 - padding));
  }
  return !lost_;
}

void SshWire::take_payload(std::string payload) {
  const unsigned kind = static_cast<unsigned char>(payload.front());
  if (kind == kKexInit) {
    server_init_ = payload;
  } else if (kind == kEcdhReply && !own_secret_.empty()) {
    finish_exchange(payload);
  } else if (kind == kNewKeys && !next_in_.key.empty()) {
    in_ = std::exchange(next_in_, {});
  }
  received_.push_back(std::move(payload));
}

void SshWire::finish_exchange(std::string_view reply) {
  reply.remove_prefix(1);
  const std::string host_key(take_string(reply));
  const std::string theirs(take_string(reply));
  const std::string secret = agreed_secret(std::exchange(own_secret_, {}), theirs);
  lost_ = secret.empty();
  if (lost_) {
    return;
  }
  shared_ = mpint(secret);
  hash_ = sha256_of(ssh_string(kClientVersion) + ssh_string(server_version_) +
                    ssh_string(own_init_) + ssh_string(server_init_) + ssh_string(host_key) +
                    ssh_string(own_public_) + ssh_string(theirs) + shared_);
  session_id_ = session_id_.empty() ? hash_ : session_id_;
  put_packet(ssh_byte(kNewKeys));
  out_ = {derive('C', kKeyBytes), derive('A', kIvBytes)};
  next_in_ = {derive('D', kKeyBytes), derive('B', kIvBytes)};
  ++exchanges_;
}

std::string SshWire::derive(char letter, std::size_t bytes) const {
  return sha256_of(shared_ + hash_ + letter + session_id_).substr(0, bytes);
}

std::string SshWire::take_output() { return std::exchange(output_, {}); }

}  // namespace agentbox::test

// edge: the least of an SSH client that can say anything: packets of its owner's own making, before
// and after the keys, and nothing that it is not told to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agentbox::test {

/// The parts of a message (RFC 4251, 5).
[[nodiscard]] std::string ssh_byte(unsigned value);
[[nodiscard]] std::string ssh_number(std::uint32_t value);
[[nodiscard]] std::string ssh_string(std::string_view bytes);

/// An Ed25519 key made of SEED, so that each run has the same one.
class SigningKey {
 public:
  explicit SigningKey(unsigned char seed);
  /// The blob of its public half (RFC 8709).
  [[nodiscard]] const std::string& blob() const { return blob_; }
  /// The blob of a signature of DATA.
  [[nodiscard]] std::string sign(std::string_view data) const;

 private:
  std::string seed_;
  std::string blob_;
};

/// One client's side of RFC 4253 with curve25519-sha256 and aes256-gcm@openssh.com; it believes
/// whatever host it is given. It does no input and no output: bytes to send come out of
/// take_output(), received ones go into feed().
class SshWire {
 public:
  SshWire();
  ~SshWire();
  SshWire(const SshWire&) = delete;
  SshWire& operator=(const SshWire&) = delete;

  /// Bytes as they are, under no key.
  void put_raw(std::string_view bytes);
  void put_version() { put_raw("SSH-2.0-test\r\n"); }
  /// One packet, under the keys that hold now. PADDING more bytes than needed, in eights.
  void put_packet(std::string_view payload, unsigned padding = 0);
  /// KEXINIT and ECDH_INIT at once, which is polite as there is one method alone. STRICT asks for
  /// strict ordering.
  void begin_exchange(bool strict);

  /// Takes what the server sent; the payloads of whole packets are then in received(). A server's
  /// KEXINIT and reply change the keys by themselves, once an exchange was begun.
  void feed(std::string_view bytes);
  [[nodiscard]] std::vector<std::string>& received() { return received_; }
  /// Exchanges of keys that were finished.
  [[nodiscard]] unsigned exchanges() const { return exchanges_; }
  /// Nothing can be read any more: something came that is no packet, or is under no key of ours.
  [[nodiscard]] bool is_lost() const { return lost_; }
  /// Empty before the first exchange.
  [[nodiscard]] const std::string& session_id() const { return session_id_; }

  [[nodiscard]] std::string take_output();

 private:
  struct Direction {
    std::string key;  // empty: none yet
    std::string iv;
  };

  void take_payload(std::string payload);
  void finish_exchange(std::string_view reply);
  [[nodiscard]] bool take_packet();
  [[nodiscard]] std::string derive(char letter, std::size_t bytes) const;

  std::string output_;
  std::string input_;
  std::vector<std::string> received_;
  bool version_seen_ = false;
  bool lost_ = false;
  std::string server_version_;
  std::string own_init_;  // KEXINIT payloads of the exchange that is going on
  std::string server_init_;
  std::string own_secret_;  // raw X25519 private key
  std::string own_public_;
  std::string shared_;  // as mpint
  std::string hash_;
  std::string session_id_;
  unsigned exchanges_ = 0;
  Direction out_;
  Direction in_;
  Direction next_in_;
};

}  // namespace agentbox::test

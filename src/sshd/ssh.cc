// edge: see ssh.h.
#include "sshd/ssh.h"

#include <dlfcn.h>
#include <openssl/crypto.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <string_view>

#include "base/deadline.h"
#include "base/public_key.h"
#include "base/text.h"
#include "sshd/algorithms.h"
#include "sshd/offer.h"
#include "sshd/package.h"

namespace agentbox::sshd {
namespace {

constexpr std::size_t kMaxHostKeyBytes = 65536;
/// Far below the limits of RFC 4344 and of GCM's counter.
constexpr std::uint64_t kRekeyBytes = 1ULL << 30U;
constexpr std::uint32_t kRekeySeconds = 3600;
/// A handshake with ourselves takes a millisecond; past this something is wrong with it.
constexpr std::chrono::seconds kReadBackLimit{5};
constexpr int kReadBackStepMs = 10;

Error bind_error(ssh_bind bind, const char* what) {
  return Error{Code::kSystem, std::string(what) + ": " + ssh_get_error(bind)};
}

// ecdsa host keys bring nistp256 along; RSA is for clients that know nothing newer.
Status check_host_key(ssh_key key) {
  switch (ssh_key_type(key)) {
    case SSH_KEYTYPE_ED25519:
      return {};
    case SSH_KEYTYPE_RSA:
      break;
    default:
      return Error{Code::kDenied, "host keys must be ed25519 or RSA"};
  }
  char* text = nullptr;
  if (ssh_pki_export_pubkey_base64(key, &text) != SSH_OK) {
    return Error{Code::kInvalid, "the host key has no public half"};
  }
  const SshString owned(text);
  const auto blob = base64_decode(text);
  // An RSA blob holds little beside the modulus: 3072 bits are 384 bytes.
  const bool long_enough =
      blob.ok() && blob->size() >= static_cast<std::size_t>(kMinRsaHostBits) / 8;
  return long_enough ? Status{}
                     : Status{Error{Code::kDenied, "an RSA host key needs at least 3072 bits"}};
}

const char* host_algorithms(ssh_keytypes_e type) {
  return type == SSH_KEYTYPE_RSA ? kRsaHostKeyAlgorithms : kEd25519HostKeyAlgorithms;
}

// What a session of BIND sends first to a client that has only said its version.
Result<Offer> read_back_offer(ssh_bind bind) {
  AB_TRY(ends, make_socketpair(SOCK_STREAM));
  AB_CHECK(set_nonblocking(ends.second.get(), true));
  AB_CHECK(write_all(ends.second.get(), "SSH-2.0-readback\r\n"));
  AB_TRY(session, accept_session(bind, std::move(ends.first)));
  const SshEvent event(ssh_event_new());
  ssh_set_blocking(session.get(), 0);
  const int rc = ssh_handle_key_exchange(session.get());
  if (!event || (rc != SSH_AGAIN && rc != SSH_OK) ||
      ssh_event_add_session(event.get(), session.get()) != SSH_OK) {
    return Error{Code::kSystem, "libssh: no handshake could be started"};
  }
  const auto deadline = std::chrono::steady_clock::now() + kReadBackLimit;
  std::string received;
  Result<Offer> offer(Error{Code::kUnavailable, "libssh: no offer came"});
  while (!offer.ok() && offer.error().code == Code::kUnavailable &&
         std::chrono::steady_clock::now() < deadline) {
    ssh_event_dopoll(event.get(), kReadBackStepMs);
    std::array<char, 4096> piece{};
    const ssize_t got = ::recv(ends.second.get(), piece.data(), piece.size(), 0);
    received.append(piece.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    offer = parse_offer(received);
  }
  ssh_event_remove_session(event.get(), session.get());
  return offer;
}

}  // namespace

Status check_kept_algorithms(ssh_bind bind, ssh_keytypes_e host_key_type) {
  AB_TRY(offer, read_back_offer(bind));
  Offer wanted;
  wanted.key_exchanges = split_names(key_exchanges());
  wanted.host_keys = split_names(host_algorithms(host_key_type));
  wanted.ciphers_in = wanted.ciphers_out = split_names(kCiphers);
  wanted.macs_in = wanted.macs_out = split_names(kMacs);
  wanted.compression_in = wanted.compression_out = {"none"};
  AB_CHECK(check_offer(offer, wanted));
  return check_user_key_types(kUserKeyAlgorithms);
}

Status check_user_key_types(const char* list) {
  const SshSession scratch(ssh_new());
  for (const std::string& name : split_names(list)) {
    // One by one: of a list it would take what it knows and drop the rest.
    if (!scratch || ssh_options_set(scratch.get(), SSH_OPTIONS_PUBLICKEY_ACCEPTED_TYPES,
                                    name.c_str()) != SSH_OK) {
      return Error{Code::kDenied, "user keys: the SSH library does not know " + escape_text(name)};
    }
  }
  return {};
}

Result<SshKey> load_host_key(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && (info.st_mode & 07) != 0) {
    return Error{Code::kDenied, path + ": the host key is open to everybody (mode " +
                                    std::to_string((info.st_mode & 0700) >> 6U) +
                                    std::to_string((info.st_mode & 070) >> 3U) +
                                    std::to_string(info.st_mode & 07) + "); chmod o= it"};
  }
  AB_TRY(text, read_file_capped(path, kMaxHostKeyBytes));
  ssh_key raw = nullptr;
  const int rc = ssh_pki_import_privkey_base64(text.c_str(), nullptr, nullptr, nullptr, &raw);
  OPENSSL_cleanse(text.data(), text.size());
  if (rc != SSH_OK || raw == nullptr) {
    return Error{Code::kInvalid, path + ": not an unencrypted private key"};
  }
  SshKey key(raw);
  if (auto good = check_host_key(key.get()); !good.ok()) {
    return std::move(good).error().in(path);
  }
  return key;
}

std::string library_package() {
  Dl_info from{};
  // A build of the operator's own lies elsewhere, and no package says anything about it.
  const bool is_the_systems = ::dladdr(reinterpret_cast<const void*>(&ssh_version), &from) != 0 &&
                              from.dli_fname != nullptr &&
                              (std::string_view(from.dli_fname).starts_with("/usr/lib/") ||
                               std::string_view(from.dli_fname).starts_with("/lib/"));
  const auto status = is_the_systems ? read_file_capped("/var/lib/dpkg/status", kMaxPackagesBytes)
                                     : Result<std::string>(Error{});
  if (!status.ok()) {
    return {};
  }
  const std::string version = installed_version(*status, "libssh-4");
  return version.empty() ? installed_version(*status, "libssh-4t64") : version;
}

std::string post_quantum_key_exchanges() {
  const SshSession scratch(ssh_new());
  return names_kept(kPostQuantumKeyExchanges, [&](const std::string& name) {
    return scratch &&
           ssh_options_set(scratch.get(), SSH_OPTIONS_KEY_EXCHANGE, name.c_str()) == SSH_OK;
  });
}

std::string key_exchanges() {
  const std::string first = post_quantum_key_exchanges();
  return first + (first.empty() ? "" : ",") + kKeyExchanges;
}

Result<std::string> fingerprint_of(ssh_key key) {
  AB_TRY(text, public_text_of(key));
  AB_TRY(blob, base64_decode(text.substr(text.find(' ') + 1)));
  std::string fingerprint = "SHA256:" + base64_encode(sha256(blob));
  fingerprint.pop_back();
  return fingerprint;
}

Result<std::string> public_text_of(ssh_key key) {
  char* text = nullptr;
  if (ssh_pki_export_pubkey_base64(key, &text) != SSH_OK) {
    return Error{Code::kInvalid, "no public key"};
  }
  const SshString owned(text);
  return std::string(ssh_key_type_to_char(ssh_key_type(key))) + ' ' + text;
}

Result<SshBind> make_bind(SshKey host_key) {
  SshBind bind(ssh_bind_new());
  if (!bind) {
    return Error{Code::kSystem, "libssh: out of memory"};
  }
  const bool no_config = false;
  const ssh_keytypes_e key_type = ssh_key_type(host_key.get());
  const auto set = [&](ssh_bind_options_e option, const void* value) {
    return ssh_bind_options_set(bind.get(), option, value) == SSH_OK;
  };
  const bool good =
      set(SSH_BIND_OPTIONS_PROCESS_CONFIG, &no_config) &&
      set(SSH_BIND_OPTIONS_BANNER, "agentbox") &&
      set(SSH_BIND_OPTIONS_KEY_EXCHANGE, key_exchanges().c_str()) &&
      set(SSH_BIND_OPTIONS_CIPHERS_C_S, kCiphers) && set(SSH_BIND_OPTIONS_CIPHERS_S_C, kCiphers) &&
      set(SSH_BIND_OPTIONS_HMAC_C_S, kMacs) && set(SSH_BIND_OPTIONS_HMAC_S_C, kMacs) &&
      set(SSH_BIND_OPTIONS_PUBKEY_ACCEPTED_KEY_TYPES, kUserKeyAlgorithms) &&
      set(SSH_BIND_OPTIONS_RSA_MIN_SIZE, &kMinRsaUserBits);
  if (!good) {
    return bind_error(bind.get(), "setting the algorithms");
  }
  // The bind owns the key from here on.
  if (ssh_bind_options_set(bind.get(), SSH_BIND_OPTIONS_IMPORT_KEY, host_key.get()) != SSH_OK) {
    return bind_error(bind.get(), "using the host key");
  }
  static_cast<void>(host_key.release());
  if (!set(SSH_BIND_OPTIONS_HOSTKEY_ALGORITHMS, host_algorithms(key_type))) {
    return bind_error(bind.get(), "setting the host key's algorithms");
  }
  AB_CHECK(check_kept_algorithms(bind.get(), key_type));
  return bind;
}

Result<SshSession> accept_session(ssh_bind bind, UniqueFd socket) {
  SshSession session(ssh_new());
  if (!session) {
    return Error{Code::kSystem, "libssh: out of memory"};
  }
  const bool no_config = false;
  ssh_options_set(session.get(), SSH_OPTIONS_PROCESS_CONFIG, &no_config);
  // There is no option of the bind's for this, and the default offers zlib.
  if (ssh_options_set(session.get(), SSH_OPTIONS_COMPRESSION, "none") != SSH_OK ||
      ssh_bind_accept_fd(bind, session.get(), socket.get()) != SSH_OK) {
    return bind_error(bind, "accepting");
  }
  const int fd = socket.release();
  AB_CHECK(set_nonblocking(fd, true));
  ssh_options_set(session.get(), SSH_OPTIONS_REKEY_DATA, &kRekeyBytes);
  ssh_options_set(session.get(), SSH_OPTIONS_REKEY_TIME, &kRekeySeconds);
  return session;
}

}  // namespace agentbox::sshd

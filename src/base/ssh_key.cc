// edge: see ssh_key.h.
#include "base/ssh_key.h"

#include <libssh/libssh.h>
#include <string.h>

#include "base/handle.h"
#include "base/text.h"
#include "base/version.h"

namespace agentbox {
namespace {

using KeyHandle = CHandle<ssh_key_struct, ssh_key_free>;
using TextHandle = CHandle<char, ssh_string_free_char>;

Result<PublicKey> public_key_of(ssh_key key) {
  char* text = nullptr;
  if (ssh_pki_export_pubkey_base64(key, &text) != SSH_OK) {
    return Error{Code::kInvalid, "the key's public half cannot be read"};
  }
  const TextHandle holder(text);
  AB_TRY(blob, base64_decode(text));
  return PublicKey::from_blob(blob);
}

}  // namespace

void SecretText::wipe() noexcept {
  text_.resize(text_.capacity());  // never reallocates: what an earlier, longer text left goes too
  ::explicit_bzero(text_.data(), text_.size());
  text_.clear();
}

Result<KeyPair> generate_ed25519() {
  ssh_key raw = nullptr;
  if (ssh_pki_generate(SSH_KEYTYPE_ED25519, 0, &raw) != SSH_OK) {
    return Error{Code::kSystem, "cannot make an ed25519 key"};
  }
  const KeyHandle key(raw);
  char* text = nullptr;
  if (ssh_pki_export_privkey_base64(key.get(), nullptr, nullptr, nullptr, &text) != SSH_OK) {
    return Error{Code::kSystem, "cannot write an ed25519 key"};
  }
  const TextHandle holder(text);
  SecretText private_key{std::string(text)};
  ::explicit_bzero(text, ::strlen(text));
  AB_TRY(public_key, public_key_of(key.get()));
  return KeyPair{std::move(private_key), std::move(public_key)};
}

Result<PublicKey> public_half(const SecretText& private_key) {
  // With an empty passphrase and no callback libssh never asks a terminal.
  ssh_key raw = nullptr;
  if (ssh_pki_import_privkey_base64(private_key.reveal().c_str(), "", nullptr, nullptr, &raw) !=
      SSH_OK) {
    return Error{Code::kInvalid,
                 "not a private key that can be used without a passphrase (OpenSSH or PEM format)"};
  }
  const KeyHandle key(raw);
  return public_key_of(key.get());
}

bool looks_like_private_key(std::string_view text) {
  return text.find("PRIVATE KEY") != std::string_view::npos ||
         text.find("PuTTY-User-Key-File") != std::string_view::npos;
}

LibraryVersion ssh_library() {
  const std::string running = ::ssh_version(0);  // 0.10.6/openssl/zlib
  return {"libssh", SSH_STRINGIFY(LIBSSH_VERSION), running.substr(0, running.find('/'))};
}

}  // namespace agentbox

// pure: tests of base/public_key.
#include "base/public_key.h"

#include "base/text.h"
#include "support/catch.h"

using namespace agentbox;

namespace {

std::string ssh_string(std::string_view text) {
  const auto size = static_cast<unsigned>(text.size());
  return std::string{static_cast<char>(size >> 24U), static_cast<char>(size >> 16U),
                     static_cast<char>(size >> 8U), static_cast<char>(size)} +
         std::string(text);
}

std::string ed25519_blob() {
  return ssh_string("ssh-ed25519") + ssh_string(std::string(32, '\x11'));
}

std::string rsa_blob(std::size_t bytes) {
  return ssh_string("ssh-rsa") + ssh_string("\x01\x01\x01") +
         ssh_string('\x00' + std::string(bytes, '\x81'));
}

}  // namespace

TEST_CASE("a plain key line gives type, comment and ssh-keygen's fingerprint") {
  const std::string line =
      "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAy/3BNb7lmiKewfn7Uh2MlKRM10RFEjwUnz/MaLnVwv ops on "
      "duty\r\n";
  const auto key = PublicKey::parse(line);
  REQUIRE(key.ok());
  CHECK(key->type() == "ssh-ed25519");
  CHECK(key->comment() == "ops on duty");
  CHECK(key->fingerprint() == "SHA256:OO5e4vcx0c2d+lcUN9CjuxXNbJGeyAH5R61AihvbHYE");
  CHECK(key->text() == line.substr(0, line.find(" ops")));
  CHECK(is_fingerprint(key->fingerprint()));
}

TEST_CASE("a private key given by mistake is named as one") {
  const auto key = PublicKey::parse("-----BEGIN OPENSSH PRIVATE KEY-----");
  REQUIRE_FALSE(key.ok());
  CHECK(key.error().what.find("private key") != std::string::npos);
}

TEST_CASE("a key whose inside is another type than its line says is refused") {
  CHECK_FALSE(PublicKey::parse("ssh-rsa " + base64_encode(ed25519_blob())).ok());
  CHECK(PublicKey::parse("ssh-ed25519 " + base64_encode(ed25519_blob())).ok());
}

TEST_CASE("blobs cut short or with bytes left over are refused") {
  const std::string blob = ed25519_blob();
  for (std::size_t length = 0; length < blob.size(); ++length) {
    CHECK_FALSE(PublicKey::from_blob(blob.substr(0, length)).ok());
  }
  CHECK_FALSE(PublicKey::from_blob(blob + "x").ok());
}

TEST_CASE("RSA keys under 2048 bits, certificates and security-key types are refused") {
  CHECK_FALSE(PublicKey::from_blob(rsa_blob(128)).ok());
  CHECK(PublicKey::from_blob(rsa_blob(256)).ok());
  CHECK_FALSE(
      PublicKey::from_blob(ssh_string("ssh-ed25519-cert-v01@openssh.com") + ssh_string("x")).ok());
  CHECK_FALSE(PublicKey::from_blob(ssh_string("sk-ssh-ed25519@openssh.com") +
                                   ssh_string(std::string(32, 'a')))
                  .ok());
  CHECK_FALSE(PublicKey::from_blob(ssh_string("ssh-dss") + ssh_string("x")).ok());
}

TEST_CASE("fingerprints have one form") {
  CHECK_FALSE(is_fingerprint("SHA256:short"));
  CHECK_FALSE(is_fingerprint("MD5:aa:bb"));
  CHECK_FALSE(is_fingerprint("SHA256:" + std::string(42, 'A') + "!"));
}

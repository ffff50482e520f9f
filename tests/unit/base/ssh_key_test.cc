// edge: SSH private keys.
#include "base/ssh_key.h"

#include <string>
#include <utility>

#include "support/catch.h"

using namespace agentbox;

TEST_CASE("a made key is ed25519 in OpenSSH's format, and its public half reads back") {
  const auto pair = generate_ed25519();
  REQUIRE(pair.ok());
  CHECK(pair->public_key.type() == "ssh-ed25519");
  CHECK(pair->private_key.reveal().starts_with("-----BEGIN OPENSSH PRIVATE KEY-----\n"));
  const auto half = public_half(pair->private_key);
  REQUIRE(half.ok());
  CHECK(half->blob() == pair->public_key.blob());
}

TEST_CASE("two made keys are two keys") {
  CHECK(generate_ed25519()->public_key.blob() != generate_ed25519()->public_key.blob());
}

TEST_CASE("what is no private key, or needs a passphrase, has no public half") {
  CHECK_FALSE(public_half(SecretText("")).ok());
  CHECK_FALSE(public_half(SecretText("ssh-ed25519 AAAA")).ok());
  CHECK_FALSE(public_half(SecretText("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"
                                     "-----END OPENSSH PRIVATE KEY-----\n"))
                  .ok());
}

TEST_CASE("private keys are known by their look") {
  CHECK(looks_like_private_key("-----BEGIN OPENSSH PRIVATE KEY-----\n"));
  CHECK(looks_like_private_key("\n\n-----BEGIN RSA PRIVATE KEY-----\n"));
  CHECK(looks_like_private_key("-----BEGIN ENCRYPTED PRIVATE KEY-----"));
  CHECK(looks_like_private_key("PuTTY-User-Key-File-3: ssh-ed25519"));
  CHECK_FALSE(looks_like_private_key("ssh-ed25519 AAAA private"));
}

TEST_CASE("a secret that was handed on is gone where it was") {
  SecretText first(std::string(100, 'x'));
  const SecretText second(std::move(first));
  CHECK(second.reveal().size() == 100);
  CHECK(first.empty());  // NOLINT(bugprone-use-after-move): that is what is tested
}

// edge: tests of sshd/offer, and of what the library really keeps of our lists.
#include "sshd/offer.h"

#include <cstdio>

#include "base/ssh_key.h"
#include "base/version.h"
#include "sshd/algorithms.h"
#include "sshd/ssh.h"
#include "support/catch.h"

using namespace agentbox;
using namespace agentbox::sshd;

namespace {

std::string number(std::size_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(value >> static_cast<unsigned>(shift) & 0xffU);
  }
  return bytes;
}

std::string stream_of(const std::vector<std::string>& lists) {
  std::string payload = '\x14' + std::string(16, 'c');
  for (const std::string& list : lists) {
    payload += number(list.size()) + list;
  }
  payload += std::string(5, '\0');
  return "SSH-2.0-agentbox\r\n" + number(payload.size() + 5) + '\x04' + payload +
         std::string(4, 'p');
}

const std::vector<std::string> kLists = {"curve25519-sha256,kex-strict-s-v00@openssh.com",
                                         "ssh-ed25519",
                                         "aes256-ctr",
                                         "aes256-ctr",
                                         "hmac-sha2-256",
                                         "hmac-sha2-256",
                                         "none",
                                         "none",
                                         "",
                                         ""};

Offer plain_offer() {
  return {{"curve25519-sha256"}, {"ssh-ed25519"},   {"aes256-ctr"}, {"aes256-ctr"},
          {"hmac-sha2-256"},     {"hmac-sha2-256"}, {"none"},       {"none"}};
}

}  // namespace

TEST_CASE("an offer is read list by list") {
  const auto offer = parse_offer(stream_of(kLists));
  REQUIRE(offer.ok());
  CHECK(offer->host_keys == std::vector<std::string>{"ssh-ed25519"});
  CHECK(check_offer(*offer, plain_offer()).ok());
}

TEST_CASE("an offer that is cut anywhere is not complete") {
  const std::string whole = stream_of(kLists);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto offer = parse_offer(std::string_view(whole).substr(0, length));
    REQUIRE_FALSE(offer.ok());
    CHECK(offer.error().code == Code::kUnavailable);
  }
}

TEST_CASE("what is no offer is told from one that is not complete") {
  std::string other = stream_of(kLists);
  other[other.find('\x14')] = '\x15';
  for (const std::string& stream : {std::string("HTTP/1.1 200\r\n....."), std::string(300, 'x'),
                                    "SSH-2.0-x\r\n" + number(1U << 31U) + "\x04",
                                    "SSH-2.0-x\r\n" + number(3) + "\x04xxxx", other}) {
    const auto offer = parse_offer(stream);
    REQUIRE_FALSE(offer.ok());
    CHECK(offer.error().code == Code::kProtocol);
  }
}

TEST_CASE("a name more, a name less or an empty one is seen") {
  for (std::size_t list = 0; list < 8; ++list) {
    for (const char* change : {",3des-cbc", ","}) {
      auto lists = kLists;
      lists[list] += change;
      const auto offer = parse_offer(stream_of(lists));
      REQUIRE(offer.ok());
      CHECK_FALSE(check_offer(*offer, plain_offer()).ok());
    }
    auto lists = kLists;
    lists[list] = list == 0 ? "kex-strict-s-v00@openssh.com" : "";
    const auto offer = parse_offer(stream_of(lists));
    REQUIRE(offer.ok());
    CHECK_FALSE(check_offer(*offer, plain_offer()).ok());
  }
}

TEST_CASE("an offer without strict ordering is refused") {
  auto lists = kLists;
  lists[0] = "curve25519-sha256,ext-info-s";
  CHECK_FALSE(check_offer(parse_offer(stream_of(lists)).value(), plain_offer()).ok());
}

TEST_CASE("the library knows each type of user key, and drops none unseen") {
  CHECK(check_user_key_types(kUserKeyAlgorithms).ok());
  const auto unknown = check_user_key_types("ssh-ed25519,ssh-nonesuch");
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().what.find("ssh-nonesuch") != std::string::npos);
}

TEST_CASE("a bind that keeps less than was set is not used") {
  auto pair = generate_ed25519();
  REQUIRE(pair.ok());
  ssh_key raw = nullptr;
  REQUIRE(ssh_pki_import_privkey_base64(pair->private_key.reveal().c_str(), nullptr, nullptr,
                                        nullptr, &raw) == SSH_OK);
  auto bind = make_bind(SshKey(raw));
  REQUIRE(bind.ok());
  CHECK(check_kept_algorithms(bind->get(), SSH_KEYTYPE_ED25519).ok());
  // As if the library did not know the others.
  REQUIRE(ssh_bind_options_set(bind->get(), SSH_BIND_OPTIONS_CIPHERS_S_C,
                               "aes256-ctr,no-such-cipher") == SSH_OK);
  const auto less = check_kept_algorithms(bind->get(), SSH_KEYTYPE_ED25519);
  REQUIRE_FALSE(less.ok());
  CHECK(less.error().what.find("ciphers: the SSH library offers aes256-ctr where") == 0);
}

TEST_CASE(
    "of the post-quantum key exchanges those are offered that the library has, before the others") {
  const auto kept = [](const char* known) {
    return names_kept("new,newer,old", [&](const std::string& name) { return name == known; });
  };
  CHECK(kept("new") == "new");
  CHECK(kept("old") == "old");
  CHECK(kept("none").empty());
  CHECK(names_kept("new,newer,old", [](const std::string&) { return true; }) == "new,newer,old");

  const std::string post_quantum = post_quantum_key_exchanges();
  for (const std::string& name : split_names(post_quantum)) {
    CHECK(std::string(kPostQuantumKeyExchanges).find(name) != std::string::npos);
  }
  CHECK(key_exchanges().starts_with(post_quantum));
  CHECK(key_exchanges().ends_with(kKeyExchanges));
  // Which library has them is known: a filter that drops them all would not be seen otherwise.
  int major = 0;
  int minor = 0;
  REQUIRE(std::sscanf(ssh_library().running.c_str(), "%d.%d", &major, &minor) == 2);
  const bool has_none = major == 0 && minor <= 10;
  const bool has_some = major > 0 || minor >= 12;
  CHECK((post_quantum.empty() ? !has_some : !has_none));
}

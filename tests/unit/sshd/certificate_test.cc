// pure: tests of sshd/certificate, sshd/signature and what the policy makes of them.
#include "sshd/certificate.h"

#include "base/text.h"
#include "sshd/offered_key.h"
#include "sshd/signature.h"
#include "support/catch.h"
#include "tests/unit/sshd/certificates.h"
#include "tests/unit/sshd/keys.h"

using namespace agentbox;
using namespace agentbox::sshd;

namespace {

constexpr std::int64_t kDay = 1893456000;  // 2030-01-01T00:00:00Z

std::string blob_of(const char* base64) { return base64_decode(base64).value(); }

Certificate certificate(const char* base64) { return parse_certificate(blob_of(base64)).value(); }

KeySet trusting(const std::string& authorities = kCaLine) {
  KeySet keys;
  keys.authorities = parse_authorities(authorities).value();
  keys.box_name = "testbox";
  return keys;
}

AuthVerdict decide(const Certificate& offered, const KeySet& keys, std::int64_t now = kDay,
                   const char* address = "10.1.2.3", std::string_view user = "agent") {
  return decide_auth(
      {user, offered.key.fingerprint(), Address::parse(address).value(), now, &offered}, keys);
}

}  // namespace

TEST_CASE("certificate: every field comes out as ssh-keygen put it in") {
  const Certificate one = certificate(kOneDayCertificate);
  CHECK(one.type == "ssh-ed25519-cert-v01@openssh.com");
  CHECK(one.key.text() == kCertifiedLine);
  CHECK(one.authority.text() == kCaLine);
  CHECK(one.serial == 7);
  CHECK(one.kind == Certificate::kUser);
  CHECK(one.key_id == "anna");
  CHECK(one.principals == std::vector<std::string>{"testbox", "other"});
  CHECK(one.valid_after == kDay);
  CHECK(one.valid_before == kDay + 86400);
  CHECK_FALSE(one.has_unknown_option);
  const Certificate options = certificate(kOptionsCertificate);
  CHECK(options.key_id == "n\xc3\xa9");
  CHECK(options.serial == UINT64_MAX);
  CHECK(options.valid_before == kNoExpiry);
  REQUIRE(options.source_address.has_value());
  CHECK(options.source_address->allows(Address::parse("10.1.2.3").value()));
  CHECK_FALSE(options.source_address->allows(Address::parse("192.0.2.1").value()));
  CHECK_FALSE(options.has_unknown_option);
  CHECK(certificate(kUnknownCertificate).has_unknown_option);
  CHECK(certificate(kHostCertificate).kind == 2);
}

TEST_CASE("certificate: each that holds lets in with role agent, whatever kind its keys are") {
  for (const auto& [offered, authority] :
       {std::pair(kOneDayCertificate, kCaLine), std::pair(kForeverCertificate, kCaLine),
        std::pair(kOptionsCertificate, kCaLine), std::pair(kEcdsaCertificate, kEcdsaCaLine),
        std::pair(kRsaCertificate, kRsaCaLine)}) {
    const AuthVerdict verdict = decide(certificate(offered), trusting(authority));
    CHECK(verdict.reason == "authorised by a certificate");
    CHECK(verdict.granted);
    CHECK(verdict.role == Role::kAgent);
  }
}

TEST_CASE("certificate: each way not to hold has its own reason") {
  const Certificate day = certificate(kOneDayCertificate);
  const KeySet keys = trusting();
  CHECK(decide(day, keys, kDay, "10.1.2.3", "root").reason == "the login name is not agent");
  CHECK(decide(day, KeySet{}).reason == "certificates are not taken: the box has no name");
  CHECK(decide(day, trusting(kRsaCaLine)).reason == "certificate of a CA that is not trusted");
  KeySet elsewhere = keys;
  elsewhere.box_name = "testbox2";
  CHECK(decide(day, elsewhere).reason == "certificate for another box");
  elsewhere.box_name = "other";
  CHECK(decide(day, elsewhere).granted);
  CHECK(decide(certificate(kAnybodyCertificate), keys).reason == "certificate without principals");
  CHECK(decide(certificate(kHostCertificate), keys).reason == "not a user's certificate");
  CHECK(decide(certificate(kUnknownCertificate), keys).reason ==
        "certificate with a critical option that is not known");
  CHECK(decide(certificate(kOptionsCertificate), keys, kDay, "192.0.2.1").reason ==
        "address not allowed for this certificate");
  CHECK(decide(certificate(kRsaSha1Certificate), trusting(kRsaCaLine)).reason ==
        "certificate's signature is wrong");
}

TEST_CASE("certificate: the beginning is kept but for a skew of clocks, the end to the second") {
  const Certificate day = certificate(kOneDayCertificate);
  const KeySet keys = trusting();
  const auto skew = static_cast<std::int64_t>(kClockSkewSeconds);
  CHECK(decide(day, keys, kDay - skew - 1).reason == "certificate not valid yet");
  CHECK(decide(day, keys, kDay - skew).granted);
  CHECK(decide(day, keys, kDay + 86399).granted);
  CHECK(decide(day, keys, kDay + 86400).reason == "certificate expired");
  CHECK(decide(certificate(kForeverCertificate), keys, INT64_MAX).granted);
}

TEST_CASE("certificate: its key, its CA, its serial and its id can each lock it out") {
  const Certificate day = certificate(kOneDayCertificate);
  const Credential credential = credential_of(day);
  for (const std::string& line : {day.key.fingerprint(), day.authority.fingerprint(),
                                  std::string("serial:7"), std::string("id:anna")}) {
    KeySet keys = trusting();
    CHECK(is_in_force(credential, kDay, keys));
    keys.revoked = parse_revoked(line).value();
    CAPTURE(line);
    CHECK(decide(day, keys).reason == "certificate revoked");
    CHECK_FALSE(is_in_force(credential, kDay, keys));
    CHECK_FALSE(decide_still(credential, Address(), kDay, keys).granted);
  }
  KeySet keys = trusting();
  keys.revoked = parse_revoked("serial:8\nid:ann\n" + key_fingerprint('a')).value();
  CHECK(decide(day, keys).granted);
  const Certificate accented = certificate(kOptionsCertificate);
  keys.revoked = parse_revoked("id:n\xc3\xa9").value();
  CHECK(decide(accented, keys).reason == "certificate revoked");
}

TEST_CASE("certificate: a login goes on while the CA is trusted and the end has not come") {
  const Credential credential = credential_of(certificate(kOneDayCertificate));
  CHECK(decide_still(credential, Address(), kDay + 86399, trusting()).role == Role::kAgent);
  CHECK_FALSE(decide_still(credential, Address(), kDay + 86400, trusting()).granted);
  CHECK_FALSE(decide_still(credential, Address(), kDay, trusting(kRsaCaLine)).granted);
  CHECK_FALSE(decide_still(credential, Address(), kDay, KeySet{}).granted);
}

TEST_CASE("certificate: a line for its key neither helps it nor counts for it") {
  KeySet keys;
  keys.entries = parse_authorized_keys(kCertifiedLine).entries;
  const Certificate day = certificate(kOneDayCertificate);
  CHECK_FALSE(decide(day, keys).granted);
  keys = trusting();
  keys.entries = parse_authorized_keys(kCertifiedLine).entries;
  CHECK(decide(day, keys, kDay + 86400).reason == "certificate expired");
  CHECK(decide_auth({"agent", day.key.fingerprint(), Address(), kDay + 86400}, keys).granted);
}

TEST_CASE("certificate: a change of any one byte is refused, and so is every shorter one") {
  const KeySet keys = trusting();
  const std::string good = blob_of(kOneDayCertificate);
  REQUIRE(decide(parse_certificate(good).value(), keys).granted);
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(static_cast<unsigned char>(bad[at]) ^ 1U);
    const auto parsed = parse_certificate(bad);
    CAPTURE(at);
    CHECK_FALSE((parsed.ok() && decide(*parsed, keys).granted));
    CHECK_FALSE(parse_certificate(good.substr(0, at)).ok());
  }
  CHECK_FALSE(parse_certificate(good + '\0').ok());
  CHECK_FALSE(parse_certificate(std::string(kMaxCertificateBytes + 1, 'x')).ok());
}

TEST_CASE("certificate: one that does not parse is not taken for a key") {
  const std::string good = blob_of(kOneDayCertificate);
  for (const std::string& blob : {good.substr(0, good.size() - 1), good.substr(0, 36)}) {
    const OfferedKey offered = read_offered_key(blob);
    CHECK_FALSE(offered.certificate.has_value());
    CHECK_FALSE(offered.problem.empty());
    CHECK(offered.credential.key.empty());
  }
  const OfferedKey plain = read_offered_key(PublicKey::parse(kCertifiedLine)->blob());
  CHECK(plain.credential.key == PublicKey::parse(kCertifiedLine)->fingerprint());
  CHECK_FALSE(plain.credential.is_certified());
}

namespace {

std::string ssh_string(std::string_view text) {
  std::string out(4, '\0');
  out[2] = static_cast<char>(text.size() >> 8U);
  out[3] = static_cast<char>(text.size() & 0xffU);
  return out.append(text);
}

// A certificate of a key and with options of the test's own; nobody signed it.
std::string built(const std::string& type, const std::string& key, const std::string& options,
                  const std::string& key_id = "id") {
  std::string blob = ssh_string(type + "-cert-v01@openssh.com") + ssh_string("nonce") + key;
  blob += std::string(8, '\0') + std::string("\0\0\0\1", 4) + ssh_string(key_id);
  blob += ssh_string(ssh_string("testbox")) + std::string(16, '\0') + ssh_string(options);
  blob += ssh_string("") + ssh_string("");
  return blob + ssh_string(PublicKey::parse(kCaLine)->blob()) + ssh_string("no signature");
}

const std::string& raw_key() {
  static const std::string key = ssh_string(std::string(32, 'k'));
  return key;
}

std::string option(const std::string& name, const std::string& value) {
  return ssh_string(name) + ssh_string(ssh_string(value));
}

}  // namespace

TEST_CASE("certificate: a key in a second spelling has no second fingerprint") {
  const std::string modulus = '\0' + std::string(256, '\xff');
  CHECK(parse_certificate(
            built("ssh-rsa", ssh_string(std::string("\1\0\1", 3)) + ssh_string(modulus), ""))
            .ok());
  CHECK_FALSE(
      parse_certificate(
          built("ssh-rsa", ssh_string(std::string("\0\1\0\1", 4)) + ssh_string(modulus), ""))
          .ok());
  CHECK_FALSE(
      parse_certificate(
          built("ssh-rsa", ssh_string(std::string("\1\0\1", 3)) + ssh_string('\0' + modulus), ""))
          .ok());
  CHECK_FALSE(parse_certificate(
                  built("ssh-rsa",
                        ssh_string(std::string("\1\0\1", 3)) + ssh_string(modulus.substr(1)), ""))
                  .ok());
  const std::string curve = ssh_string("nistp256");
  const auto ecdsa = [&](const std::string& point) {
    return parse_certificate(built("ecdsa-sha2-nistp256", curve + ssh_string(point), "")).ok();
  };
  CHECK(ecdsa('\4' + std::string(64, 'x')));
  CHECK_FALSE(ecdsa('\2' + std::string(32, 'x')));
  CHECK_FALSE(ecdsa('\4' + std::string(63, 'x')));
  CHECK_FALSE(parse_certificate(
                  built("ecdsa-sha2-nistp384", curve + ssh_string('\4' + std::string(64, 'x')), ""))
                  .ok());
  CHECK_FALSE(parse_certificate(built("sk-ssh-ed25519", raw_key() + ssh_string("ssh:"), "")).ok());
}

TEST_CASE("certificate: options that OpenSSH would not take, and ids that no list can name") {
  const auto takes = [](const std::string& options, const std::string& key_id = "id") {
    return parse_certificate(built("ssh-ed25519", raw_key(), options, key_id)).ok();
  };
  CHECK(takes(""));
  CHECK(takes(option("source-address", "10.0.0.0/8,::1")));
  for (const char* list :
       {"", "*", "!10.0.0.1,10.0.0.0/8", "10.0.0.0/33", "host.example", ",", "10.*"}) {
    CAPTURE(list);
    CHECK_FALSE(takes(option("source-address", list)));
  }
  CHECK_FALSE(takes(option("source-address", "::1") + option("source-address", "10.0.0.1")));
  CHECK_FALSE(takes(ssh_string("source-address") + ssh_string("10.0.0.1")));
  CHECK_FALSE(takes(ssh_string("half")));
  CHECK(takes("", std::string(kMaxKeyIdBytes, 'x')));
  CHECK_FALSE(takes("", std::string(kMaxKeyIdBytes + 1, 'x')));
  CHECK_FALSE(takes("", "two\nlines"));
  CHECK_FALSE(takes("", "\xff"));
}

TEST_CASE("user_ca: one key a line; any other line is an error that names it") {
  const std::string text =
      std::string("\xef\xbb\xbf# ours\r\n\n ") + kCaLine + " comment\r\n" + kRsaCaLine;
  REQUIRE(parse_authorities(text).ok());
  CHECK(parse_authorities(text)->size() == 2);
  CHECK(parse_authorities("")->empty());
  for (const std::string& line :
       {std::string("nonsense"), std::string("cert-authority ") + kCaLine,
        std::string("ssh-ed25519 AAAA"),
        "ssh-ed25519-cert-v01@openssh.com " + std::string(kForeverCertificate)}) {
    const auto parsed = parse_authorities(std::string(kCaLine) + "\n" + line);
    CAPTURE(line);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().what.starts_with("user_ca: line 2: "));
  }
}

TEST_CASE("box_name: one word") {
  CHECK(parse_box_name("demo-1.x_y\n").value() == "demo-1.x_y");
  for (const std::string& text : {std::string(), std::string("\n"), std::string("two words"),
                                  std::string("a\nb"), std::string("*"), std::string(254, 'a')}) {
    CHECK_FALSE(parse_box_name(text).ok());
  }
}

TEST_CASE("a signature of another kind than its key's, or half of one, is none") {
  const PublicKey key = PublicKey::parse(kCaLine).value();
  const Certificate day = certificate(kOneDayCertificate);
  CHECK(is_signed_by(key, day.signed_bytes, day.signature));
  CHECK_FALSE(is_signed_by(PublicKey::parse(kRsaCaLine).value(), day.signed_bytes, day.signature));
  CHECK_FALSE(
      is_signed_by(PublicKey::parse(kEcdsaCaLine).value(), day.signed_bytes, day.signature));
  CHECK_FALSE(is_signed_by(key, day.signed_bytes, day.signature + '\0'));
  CHECK_FALSE(is_signed_by(key, day.signed_bytes, ""));
  CHECK_FALSE(is_signed_by(key, day.signed_bytes, ssh_string("ssh-ed25519") + ssh_string("")));
  CHECK_FALSE(is_signed_by(key, day.signed_bytes + "x", day.signature));
}

// edge: the parsers of certificates and of the files that say which ones count.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sshd/offered_key.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agentbox::sshd;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const OfferedKey offered = read_offered_key(text);
  if (offered.certificate) {
    const Certificate& certificate = *offered.certificate;
    if (!is_certificate(text) || !text.starts_with(certificate.signed_bytes)) {
      std::abort();
    }
    KeySet keys;
    keys.authorities.push_back(certificate.authority);
    keys.box_name = certificate.principals.empty() ? "box" : certificate.principals.front();
    const auto now = static_cast<std::int64_t>(certificate.valid_after & INT64_MAX);
    static_cast<void>(decide_auth(
        {kLoginUser, offered.credential.key, Address::parse("10.0.0.1").value(), now, &certificate},
        keys));
  } else if (is_certificate(text) && (offered.problem.empty() || !offered.credential.key.empty())) {
    std::abort();  // it must never pass for a key
  }
  if (const auto name = parse_box_name(text); name.ok() && !text.starts_with(*name)) {
    std::abort();
  }
  static_cast<void>(parse_authorities(text));
  return 0;
}

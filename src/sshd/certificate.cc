// pure: see certificate.h.
#include "sshd/certificate.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/wire.h"
#include "sshd/listed_lines.h"

namespace agentbox::sshd {
namespace {

constexpr std::string_view kSuffix = "-cert-v01@openssh.com";
constexpr std::size_t kMaxBoxNameBytes = 253;

const Error& malformed() {
  static const Error error{Code::kInvalid, "malformed certificate"};
  return error;
}

void put_string(std::string& out, std::string_view text) {
  for (unsigned shift = 32; shift > 0; shift -= 8) {
    out += static_cast<char>(text.size() >> (shift - 8) & 0xffU);
  }
  out += text;
}

// RFC 4251: a positive number has no byte more than it needs.
bool is_shortest_positive(std::string_view number) {
  const auto has_top_bit = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0x80U) != 0;
  };
  if (number.empty() || has_top_bit(number.front())) {
    return false;
  }
  return number.front() != '\0' || (number.size() > 1 && has_top_bit(number[1]));
}

bool is_plain_point(std::string_view curve, std::string_view point) {
  const std::size_t field = curve == "nistp256" ? 32 : curve == "nistp384" ? 48 : 66;
  return point.size() == 1 + 2 * field && point.front() == '\x04';
}

// The certified key's own fields follow the nonce; the key as it would be without a certificate.
Result<PublicKey> take_key(std::string_view type, WireReader& reader) {
  std::string blob;
  put_string(blob, type);
  const auto first = reader.take_string();
  if (!first) {
    return malformed();
  }
  put_string(blob, *first);
  if (type != "ssh-ed25519") {
    const auto second = reader.take_string();
    if (!second) {
      return malformed();
    }
    const bool good =
        type == "ssh-rsa"
            ? is_shortest_positive(*first) && is_shortest_positive(*second)
            : type == "ecdsa-sha2-" + std::string(*first) && is_plain_point(*first, *second);
    if (!good) {
      return malformed();
    }
    put_string(blob, *second);
  }
  return PublicKey::from_blob(blob);
}

Result<std::vector<std::string>> read_principals(std::string_view packed) {
  std::vector<std::string> principals;
  for (WireReader reader(packed); !reader.at_end();) {
    const auto name = reader.take_string();
    if (!name || principals.size() >= kMaxPrincipals) {
      return malformed();
    }
    principals.emplace_back(*name);
  }
  return principals;
}

// OpenSSH takes addresses and networks here, no patterns: what it would refuse must not let in.
Result<FromList> read_source_address(std::string_view data) {
  WireReader reader(data);
  const auto list = reader.take_string();
  if (!list || !reader.at_end() ||
      list->find_first_not_of("0123456789abcdefABCDEF.:/,") != std::string_view::npos) {
    return malformed();
  }
  auto parsed = FromList::parse(*list);
  return parsed.ok() ? std::move(parsed) : Result<FromList>(malformed());
}

Status read_options(std::string_view packed, Certificate& certificate) {
  std::vector<std::string_view> seen;
  for (WireReader reader(packed); !reader.at_end();) {
    const auto name = reader.take_string();
    const auto data = reader.take_string();
    if (!name || !data || std::find(seen.begin(), seen.end(), *name) != seen.end()) {
      return malformed();
    }
    seen.push_back(*name);
    if (*name == "source-address") {
      AB_TRY(list, read_source_address(*data));
      certificate.source_address = std::move(list);
    } else if (*name != "force-command") {
      certificate.has_unknown_option = true;
    }
  }
  return {};
}

}  // namespace

bool is_certificate(std::string_view blob) {
  const auto type = WireReader(blob).take_string();
  return type && type->find("-cert-") != std::string_view::npos;
}

bool is_key_id(std::string_view text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return text.size() <= kMaxKeyIdBytes && is_utf8(text) &&
         std::none_of(text.begin(), text.end(), is_control);
}

Result<Certificate> parse_certificate(std::string_view blob) {
  if (blob.size() > kMaxCertificateBytes) {
    return Error{Code::kLimit,
                 "certificate longer than " + std::to_string(kMaxCertificateBytes) + " bytes"};
  }
  WireReader reader(blob);
  const auto type = reader.take_string();
  const auto nonce = reader.take_string();
  if (!type || !type->ends_with(kSuffix) || !nonce) {
    return malformed();
  }
  AB_TRY(key, take_key(type->substr(0, type->size() - kSuffix.size()), reader));
  const auto serial = reader.take_u64();
  const auto kind = reader.take_u32();
  const auto key_id = reader.take_string();
  const auto principals = reader.take_string();
  const auto valid_after = reader.take_u64();
  const auto valid_before = reader.take_u64();
  const auto options = reader.take_string();
  const auto extensions = reader.take_string();
  const auto reserved = reader.take_string();
  const auto authority = reader.take_string();
  const std::size_t signed_length = blob.size() - reader.rest().size();
  const auto signature = reader.take_string();
  if (!serial || !kind || !key_id || !principals || !valid_after || !valid_before || !options ||
      !extensions || !reserved || !authority || !signature || !reader.at_end()) {
    return malformed();
  }
  if (!is_key_id(*key_id)) {
    return Error{Code::kInvalid, "the certificate's key id is too long or no text"};
  }
  AB_TRY(names, read_principals(*principals));
  AB_TRY(signer, PublicKey::from_blob(*authority));
  Certificate certificate{std::string(*type),
                          std::move(key),
                          *serial,
                          *kind,
                          std::string(*key_id),
                          std::move(names),
                          *valid_after,
                          *valid_before,
                          std::nullopt,
                          false,
                          std::move(signer),
                          std::string(blob.substr(0, signed_length)),
                          std::string(*signature)};
  AB_CHECK(read_options(*options, certificate));
  return certificate;
}

Result<std::vector<PublicKey>> parse_authorities(std::string_view text) {
  std::vector<PublicKey> authorities;
  AB_CHECK(for_each_listed(text, [&](std::string_view line, std::size_t number) -> Status {
    if (authorities.size() >= kMaxAuthorities) {
      return Error{Code::kLimit, "user_ca: more than " + std::to_string(kMaxAuthorities) + " keys"};
    }
    auto key = PublicKey::parse(line);
    if (!key.ok()) {
      return std::move(key).error().in("user_ca: line " + std::to_string(number));
    }
    authorities.push_back(std::move(key).value());
    return {};
  }));
  return authorities;
}

Result<std::string> parse_box_name(std::string_view text) {
  text.remove_suffix(text.ends_with('\n') ? 1 : 0);
  const auto is_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  };
  if (text.empty() || text.size() > kMaxBoxNameBytes ||
      !std::all_of(text.begin(), text.end(), is_name)) {
    return Error{Code::kInvalid, "box_name: not one word of letters, digits, '-', '.' and '_'"};
  }
  return std::string(text);
}

}  // namespace agentbox::sshd

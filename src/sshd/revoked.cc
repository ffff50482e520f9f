// pure: see revoked.h.
#include "sshd/revoked.h"

#include <algorithm>

#include "base/defence.h"
#include "base/public_key.h"
#include "base/text.h"
#include "sshd/certificate.h"
#include "sshd/listed_lines.h"

namespace agentbox::sshd {
namespace {

constexpr std::string_view kSerial = "serial:";
constexpr std::string_view kId = "id:";

Status take_line(std::string_view line, Revoked& revoked) {
  if (is_fingerprint(line)) {
    revoked.fingerprints.emplace_back(line);
    return {};
  }
  if (line.starts_with(kSerial)) {
    AB_TRY(serial, parse_decimal(line.substr(kSerial.size())));
    revoked.serials.push_back(serial);
    return {};
  }
  if (line.starts_with(kId) && line != kId && is_key_id(line.substr(kId.size()))) {
    revoked.ids.push_back(escape_text(line.substr(kId.size())));
    return {};
  }
  return Error{Code::kInvalid,
               "neither SHA256:FINGERPRINT, serial:NUMBER nor id:KEY-ID: " + escape_text(line, 80)};
}

}  // namespace

bool Revoked::names_key(std::string_view fingerprint) const {
  return defended("key-revoked") &&
         std::find(fingerprints.begin(), fingerprints.end(), fingerprint) != fingerprints.end();
}

bool Revoked::names_serial(std::uint64_t serial) const {
  return std::find(serials.begin(), serials.end(), serial) != serials.end();
}

bool Revoked::names_id(std::string_view escaped) const {
  return std::find(ids.begin(), ids.end(), escaped) != ids.end();
}

Result<Revoked> parse_revoked(std::string_view text) {
  Revoked revoked;
  AB_CHECK(for_each_listed(text, [&](std::string_view line, std::size_t number) -> Status {
    if (revoked.size() >= kMaxRevokedLines) {
      return Error{Code::kLimit,
                   "revoked: more than " + std::to_string(kMaxRevokedLines) + " entries"};
    }
    auto taken = take_line(line, revoked);
    return taken.ok() ? Status{}
                      : std::move(taken).error().in("revoked: line " + std::to_string(number));
  }));
  return revoked;
}

}  // namespace agentbox::sshd

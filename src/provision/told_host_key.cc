// pure: see told_host_key.h.
#include "provision/told_host_key.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "provision/audit_line.h"

namespace agentbox::provision {
namespace {

constexpr std::string_view kAuditStart = R"({"stream":"audit",)";

Error strange(const std::string& what) { return Error{Code::kDenied, "the door's log: " + what}; }

bool is_zero(const Json& line, std::string_view name) {
  const Json* value = find_member(line, name);
  return value != nullptr && value->is_number_unsigned() && *value == Json(0U);
}

// The key of one keys_loaded line.
Result<PublicKey> key_of(const AuditLine& line) {
  const std::string* text = find_string(line.json, "host_key");
  auto key = PublicKey::parse(text == nullptr ? "" : *text);
  if (!key.ok() || key->type() != "ssh-ed25519" || key->text() != *text) {
    return strange("its host key is no ed25519 key");
  }
  for (const char* count : {"generation", "keys", "authorities"}) {
    if (!is_zero(line.json, count)) {
      return strange("it was given keys before its host key was known here");
    }
  }
  return key;
}

}  // namespace

Result<std::optional<PublicKey>> host_key_told(std::string_view log) {
  std::optional<PublicKey> told;
  for (auto end = log.find('\n'); end != std::string_view::npos; end = log.find('\n')) {
    const std::string_view text = log.substr(0, end);
    log.remove_prefix(end + 1);
    if (!text.starts_with(kAuditStart)) {
      continue;
    }
    const auto line = parse_audit_line(text);
    if (!line.ok()) {
      return strange("a line of its audit is none: " + line.error().what);
    }
    // What says why keys were refused has no host key in it.
    if (line->event != "keys_loaded" || find_member(line->json, "refused") != nullptr) {
      continue;
    }
    AB_TRY(key, key_of(*line));
    if (told && told->text() != key.text()) {
      return strange("it tells two host keys");
    }
    told = std::move(key);
  }
  return told;
}

}  // namespace agentbox::provision

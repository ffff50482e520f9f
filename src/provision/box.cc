// pure: see box.h.
#include "provision/box.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace agentbox::provision {
namespace {

constexpr std::string_view kRoleOption = "agentbox-role=\"";
constexpr std::string_view kRoleEnd = "\" ";

constexpr std::array<std::pair<Phase, std::string_view>, 3> kPhases = {{
    {Phase::kCreating, "creating"},
    {Phase::kRunning, "running"},
    {Phase::kSuspended, "suspended"},
}};

std::string_view text_of(Phase phase) {
  const auto* found = std::find_if(kPhases.begin(), kPhases.end(),
                                   [&](const auto& entry) { return entry.first == phase; });
  return found->second;
}

Error broken(std::string_view what) {
  return Error{Code::kInvalid, "box.json: " + std::string(what)};
}

OrderedJson keys_json(const std::vector<NamedKey>& keys) {
  OrderedJson list = OrderedJson::array();
  for (const NamedKey& entry : keys) {
    OrderedJson one;
    one["key"] = entry.key.text();
    one["label"] = entry.label;
    one["role"] = role_name(entry.role);
    list.push_back(std::move(one));
  }
  return list;
}

Result<std::vector<NamedKey>> parse_keys(const Json& object, std::string_view member) {
  const Json* list = find_member(object, member);
  if (list == nullptr || !list->is_array() || list->size() > kMaxKeys) {
    return broken(std::string(member) + " must be a list of keys");
  }
  std::vector<NamedKey> keys;
  for (const Json& entry : *list) {
    const std::string* text = find_string(entry, "key");
    const std::string* label = find_string(entry, "label");
    const std::string* role_text = find_string(entry, "role");
    const auto role = role_text == nullptr ? Role::kAgent : find_role(*role_text);
    if (text == nullptr || label == nullptr || !is_printable_ascii(*label) || !role) {
      return broken(std::string(member) + " holds something that is no key");
    }
    AB_TRY(key, PublicKey::parse(*text));
    keys.push_back(NamedKey{std::move(key), *label, *role});
  }
  return keys;
}

// A path, or an empty text where there is none.
Result<std::string> parse_path(const Json& object, std::string_view member) {
  const std::string* text = find_string(object, member);
  if (text == nullptr) {
    return broken(std::string(member) + " is missing");
  }
  if (!text->empty()) {
    if (auto good = check_path(*text); !good.ok()) {
      return broken(std::string(member) + ": " + good.error().what);
    }
  }
  return *text;
}

Result<std::uint64_t> parse_number(const Json& object, std::string_view member,
                                   std::uint64_t most) {
  const Json* value = find_member(object, member);
  if (value == nullptr || !value->is_number_unsigned() || value->get<std::uint64_t>() > most) {
    return broken(std::string(member) + " is no number in its range");
  }
  return value->get<std::uint64_t>();
}

Result<BoxSpec> parse_spec(const Json& object) {
  BoxSpec spec;
  AB_TRY(keys, parse_keys(object, "keys"));
  AB_TRY(identity, parse_path(object, "identity"));
  AB_TRY(workspace, parse_path(object, "workspace"));
  const std::string* isolation = find_string(object, "isolation");
  if (isolation == nullptr || (*isolation != "bubblewrap" && *isolation != "none")) {
    return broken("isolation must be bubblewrap or none");
  }
  spec.keys = std::move(keys);
  spec.identity = std::move(identity);
  spec.workspace = std::move(workspace);
  spec.isolation = *isolation == "none" ? Isolation::kNone : Isolation::kBubblewrap;
  return spec;
}

Result<Phase> parse_phase(const Json& object) {
  const std::string* text = find_string(object, "phase");
  for (const auto& [phase, name] : kPhases) {
    if (text != nullptr && *text == name) {
      return phase;
    }
  }
  return broken("phase is unknown");
}

// Empty (not made yet) or an ed25519 key without comment.
Result<std::string> parse_host_key(const Json& object) {
  const std::string* text = find_string(object, "host_key");
  if (text == nullptr) {
    return broken("host_key is missing");
  }
  if (text->empty()) {
    return *text;
  }
  AB_TRY(key, PublicKey::parse(*text));
  if (key.type() != "ssh-ed25519" || key.text() != *text) {
    return broken("host_key must be one ed25519 key without comment");
  }
  return *text;
}

Result<std::vector<std::uint64_t>> parse_serials(const Json& object) {
  const Json* list = find_member(object, "revoked_serials");
  if (list == nullptr || !list->is_array() || list->size() > kMaxRevokedSerials) {
    return broken("revoked_serials must be a list of numbers");
  }
  std::vector<std::uint64_t> serials;
  for (const Json& item : *list) {
    if (!item.is_number_unsigned()) {
      return broken("revoked_serials must be a list of numbers");
    }
    serials.push_back(item.get<std::uint64_t>());
  }
  return serials;
}

Result<std::vector<std::string>> parse_prints(const Json& object) {
  const Json* list = find_member(object, "revoked_prints");
  if (list == nullptr || !list->is_array() || list->size() > kMaxKeys) {
    return broken("revoked_prints must be a list of fingerprints");
  }
  std::vector<std::string> prints;
  for (const Json& item : *list) {
    if (!item.is_string() || !is_fingerprint(item.get_ref<const std::string&>())) {
      return broken("revoked_prints must be a list of fingerprints");
    }
    prints.push_back(item.get<std::string>());
  }
  return prints;
}

std::string joined(const std::vector<std::string>& texts, std::string_view none) {
  std::string all;
  for (const std::string& text : texts) {
    all += (all.empty() ? "" : " ") + text;
  }
  return all.empty() ? std::string(none) : all;
}

std::string or_none(const std::string& path, std::string_view none) {
  return path.empty() ? std::string(none) : path;
}

}  // namespace

NamedKey named(PublicKey key) {
  constexpr std::size_t kMaxLabelBytes = 200;  // a comment is a name, not a letter
  std::string label = escape_text(key.comment(), kMaxLabelBytes);
  return NamedKey{std::move(key), std::move(label)};
}

Result<NamedKey> parse_key_line(std::string_view line) {
  Role role = Role::kAgent;
  if (line.starts_with(kRoleOption)) {
    line.remove_prefix(kRoleOption.size());
    const std::string_view given = line.substr(0, line.find(kRoleEnd));
    const auto known = find_role(given);
    if (!known) {
      return Error{Code::kInvalid,
                   "agentbox-role=\"...\" must be reader, agent, admin or operator"};
    }
    role = *known;
    line.remove_prefix(std::min(given.size() + kRoleEnd.size(), line.size()));
  }
  AB_TRY(key, PublicKey::parse(line));
  NamedKey entry = named(std::move(key));
  entry.role = role;
  return entry;
}

std::string key_line(const NamedKey& entry) {
  std::string line;
  if (entry.role != Role::kAgent) {
    line.append(kRoleOption).append(role_name(entry.role)).append(kRoleEnd);
  }
  return line + entry.key.text() + (entry.label.empty() ? "" : " " + entry.label);
}

std::vector<std::string> described(const std::vector<NamedKey>& keys) {
  std::vector<std::string> all;
  for (const NamedKey& entry : keys) {
    all.push_back(
        entry.key.fingerprint() +
        (entry.role == Role::kAgent ? "" : " (" + std::string(role_name(entry.role)) + ")"));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::string_view text_of(Isolation isolation) {
  return isolation == Isolation::kNone ? "none" : "bubblewrap";
}

std::vector<std::string> differences(const BoxSpec& existing, const BoxSpec& wanted) {
  std::vector<std::string> found;
  const auto compare = [&](std::string_view what, const std::string& is, const std::string& asked) {
    if (is != asked) {
      found.push_back(std::string(what) + " is " + is + ", asked for is " + asked);
    }
  };
  compare("keys", joined(described(existing.keys), "one made here"),
          joined(described(wanted.keys), "one made here"));
  compare("identity", or_none(existing.identity, "none given"),
          or_none(wanted.identity, "none given"));
  compare("workspace", or_none(existing.workspace, "one made here"),
          or_none(wanted.workspace, "one made here"));
  if (!wanted.authorities.empty()) {
    compare("user CAs", joined(described(existing.authorities), "none"),
            joined(described(wanted.authorities), "none"));
  }
  compare("isolation", std::string(text_of(existing.isolation)),
          std::string(text_of(wanted.isolation)));
  compare("profile", std::string(profile_name(existing.profile)),
          std::string(profile_name(wanted.profile)));
  return found;
}

std::string render_record(const BoxRecord& record) {
  OrderedJson spec;
  spec["keys"] = keys_json(record.spec.keys);
  spec["identity"] = record.spec.identity;
  spec["workspace"] = record.spec.workspace;
  spec["isolation"] = text_of(record.spec.isolation);
  spec["profile"] = profile_name(record.spec.profile);
  spec["authorities"] = keys_json(record.spec.authorities);
  OrderedJson json;
  json["version"] = kRecordVersion;
  json["name"] = record.name.text();
  json["phase"] = text_of(record.phase);
  json["spec"] = std::move(spec);
  json["keys"] = keys_json(record.keys);
  json["former"] = keys_json(record.former);
  json["revoked"] = keys_json(record.revoked);
  json["revoked_serials"] = record.revoked_serials;
  json["revoked_prints"] = record.revoked_prints;
  json["identity_file"] = record.identity_file;
  json["host_key"] = record.host_key;
  json["generation"] = record.generation;
  json["port"] = record.port;
  return dump_json(json, 2) + "\n";
}

BoxRecord new_record(BoxName name) {
  return BoxRecord{std::move(name), Phase::kCreating, {}, {}, {}, {}, {}, {}, 1, 0};
}

Result<BoxRecord> parse_record(std::string_view text) {
  if (text.size() > kMaxRecordBytes) {
    return Error{Code::kLimit, "box.json is longer than 1 MiB"};
  }
  auto parsed = parse_json(text);
  if (!parsed.ok()) {
    return std::move(parsed).error().in("box.json");
  }
  const Json& json = *parsed;
  AB_TRY(version, parse_number(json, "version", UINT64_MAX));
  if (version == 0 || version > kRecordVersion) {
    return Error{Code::kUnavailable, "box.json was written by another version of agentbox"};
  }
  const std::string* name_text = find_string(json, "name");
  AB_TRY(name, BoxName::parse(name_text == nullptr ? "" : *name_text));
  BoxRecord record = new_record(std::move(name));
  AB_TRY(phase, parse_phase(json));
  const Json* spec_json = find_member(json, "spec");
  AB_TRY(spec, parse_spec(spec_json == nullptr ? Json() : *spec_json));
  AB_TRY(keys, parse_keys(json, "keys"));
  AB_TRY(identity_file, parse_path(json, "identity_file"));
  AB_TRY(host_key, parse_host_key(json));
  AB_TRY(generation, parse_number(json, "generation", INT64_MAX));
  AB_TRY(port, parse_number(json, "port", UINT16_MAX));
  record.phase = phase;
  record.spec = std::move(spec);
  record.keys = std::move(keys);
  if (version > 1) {
    AB_TRY(former, parse_keys(json, "former"));
    AB_TRY(revoked, parse_keys(json, "revoked"));
    record.former = std::move(former);
    record.revoked = std::move(revoked);
  }
  if (version > 2) {
    AB_TRY(authorities, parse_keys(*spec_json, "authorities"));
    AB_TRY(serials, parse_serials(json));
    record.spec.authorities = std::move(authorities);
    record.revoked_serials = std::move(serials);
  }
  if (version > 3) {
    AB_TRY(prints, parse_prints(json));
    record.revoked_prints = std::move(prints);
  }
  if (version > 4) {
    const std::string* profile = find_string(*spec_json, "profile");
    const auto known = find_profile(profile == nullptr ? "" : *profile);
    if (!known) {
      return broken("profile is unknown");
    }
    record.spec.profile = *known;
  }
  record.identity_file = std::move(identity_file);
  record.host_key = std::move(host_key);
  record.generation = generation;
  record.port = static_cast<std::uint16_t>(port);
  return record;
}

Status check_path(std::string_view path) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (path.empty() || path.front() != '/') {
    return Error{Code::kInvalid, "not an absolute path: '" + escape_text(path, 200) + "'"};
  }
  if (!is_utf8(path) || std::any_of(path.begin(), path.end(), is_control)) {
    return Error{Code::kInvalid,
                 "a path with control characters or without valid UTF-8 cannot be "
                 "printed safely: '" +
                     escape_text(path, 200) + "'"};
  }
  if (path.find("${") != std::string_view::npos) {
    return Error{Code::kInvalid,
                 "ssh would replace the ${...} in the path '" + std::string(path) + "'"};
  }
  return {};
}

}  // namespace agentbox::provision

// pure: see authorized_keys.h.
#include "sshd/authorized_keys.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/text.h"

namespace agentbox::sshd {
namespace {

constexpr std::size_t kMaxLineBytes = 16384;  // an RSA-16384 key with options is under 4 KiB
constexpr std::size_t kMaxLabelBytes = 200;

// Options that take a right away which nobody has here, or give one that nobody gets: both change
// nothing. `command=` belongs here: every session is forced into the tool server already.
constexpr std::array<std::string_view, 12> kPlainOptions = {"restrict",
                                                            "no-pty",
                                                            "no-port-forwarding",
                                                            "no-agent-forwarding",
                                                            "no-x11-forwarding",
                                                            "no-user-rc",
                                                            "pty",
                                                            "port-forwarding",
                                                            "agent-forwarding",
                                                            "x11-forwarding",
                                                            "user-rc",
                                                            "no-touch-required"};
constexpr std::array<std::string_view, 5> kValuedOptions = {"command", "environment", "permitopen",
                                                            "permitlisten", "tunnel"};

struct Option {
  std::string name;  // lower case
  std::optional<std::string> value;
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Takes the options off the front of LINE, up to the blank that ends them. Blanks and commas inside
// double quotes belong to the value; \" is a quote inside one.
Result<std::vector<Option>> take_options(std::string_view& line) {
  std::vector<Option> options;
  for (;;) {
    const auto end = std::min(line.find_first_of("=, \t"), line.size());
    Option option{lower(line.substr(0, end)), std::nullopt};
    line.remove_prefix(end);
    if (line.starts_with('=')) {
      line.remove_prefix(1);
      if (!line.starts_with('"')) {
        return Error{Code::kInvalid,
                     "option " + escape_text(option.name, 64) + "= needs a value in double quotes"};
      }
      line.remove_prefix(1);
      std::string value;
      while (!line.empty() && line.front() != '"') {
        const bool quoted = line.starts_with("\\\"");
        value += quoted ? '"' : line.front();
        line.remove_prefix(quoted ? 2 : 1);
      }
      if (line.empty()) {
        return Error{Code::kInvalid, "a double quote is not closed"};
      }
      line.remove_prefix(1);
      option.value = std::move(value);
    }
    options.push_back(std::move(option));
    if (line.empty() || is_blank(line.front())) {
      return options;
    }
    if (line.front() != ',') {
      return Error{Code::kInvalid, "a comma or blank is missing after an option"};
    }
    line.remove_prefix(1);
  }
}

template <std::size_t Size>
bool is_one_of(std::string_view name, const std::array<std::string_view, Size>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status apply_role(std::string_view value, KeyEntry& entry) {
  if (const auto role = find_role(value)) {
    entry.role = *role;
    return {};
  }
  return Error{Code::kInvalid, "agentbox-role must be reader, agent, admin or operator"};
}

Status apply_profile(std::string_view value, KeyEntry& entry) {
  if (const auto profile = find_profile(value)) {
    entry.profile = *profile;
    return {};
  }
  return Error{Code::kInvalid, "agentbox-profile must be core, standard or full"};
}

Status apply_option(const Option& option, KeyEntry& entry) {
  if (!option.value) {
    return is_one_of(option.name, kPlainOptions)
               ? Status{}
               : Error{Code::kInvalid, "unknown option " + escape_text(option.name, 64)};
  }
  if (option.name == "from") {
    AB_TRY(from, FromList::parse(*option.value));
    entry.from = std::move(from);
    return {};
  }
  if (option.name == "expiry-time") {
    AB_TRY(expires, parse_expiry_time(*option.value));
    entry.expires = std::min(expires, entry.expires.value_or(expires));  // the sooner of two holds
    return {};
  }
  if (option.name == "agentbox-role") {
    return apply_role(*option.value, entry);
  }
  if (option.name == "agentbox-profile") {
    return apply_profile(*option.value, entry);
  }
  return is_one_of(option.name, kValuedOptions)
             ? Status{}
             : Error{Code::kInvalid, "unknown option " + escape_text(option.name, 64)};
}

Result<KeyEntry> parse_line(std::string_view line) {
  if (line.size() > kMaxLineBytes) {
    return Error{Code::kLimit, "longer than " + std::to_string(kMaxLineBytes) + " bytes"};
  }
  auto plain = PublicKey::parse(line);
  if (plain.ok()) {
    const std::string label = escape_text(plain->comment(), kMaxLabelBytes);
    return KeyEntry{std::move(plain).value(), label, Role::kAgent, {}, {}, {}, 0};
  }
  // The first word is no key type: it must be options, or the key itself is what is wrong.
  const std::string_view first = line.substr(0, line.find_first_of(" \t"));
  const bool typed =
      first.starts_with("ssh-") || first.starts_with("ecdsa-") || first.starts_with("sk-");
  if (typed || first.size() == line.size()) {
    return std::move(plain).error();
  }
  AB_TRY(options, take_options(line));
  AB_TRY(key, PublicKey::parse(line));
  const std::string label = escape_text(key.comment(), kMaxLabelBytes);
  KeyEntry entry{std::move(key), label, Role::kAgent, {}, {}, {}, 0};
  for (const Option& option : options) {
    AB_CHECK(apply_option(option, entry));
  }
  return entry;
}

}  // namespace

Result<std::int64_t> parse_expiry_time(std::string_view text) {
  const Error bad{Code::kInvalid, "expiry-time must be YYYYMMDD[HHMM[SS]][Z]"};
  if (text.ends_with('Z')) {
    text.remove_suffix(1);
  }
  const bool digits =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || (text.size() != 8 && text.size() != 12 && text.size() != 14)) {
    return bad;
  }
  const auto field = [&](std::size_t at, std::size_t length) {
    int value = 0;
    for (std::size_t i = at; i < at + length && i < text.size(); ++i) {
      value = value * 10 + (text[i] - '0');
    }
    return value;
  };
  const std::chrono::year_month_day day(std::chrono::year(field(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(field(4, 2))),
                                        std::chrono::day(static_cast<unsigned>(field(6, 2))));
  const int hour = field(8, 2);
  const int minute = field(10, 2);
  const int second = field(12, 2);
  if (!day.ok() || hour > 23 || minute > 59 || second > 60) {
    return bad;
  }
  const auto days = std::chrono::sys_days(day).time_since_epoch().count();
  return static_cast<std::int64_t>(days) * 86400 + hour * 3600 + minute * 60 + second;
}

AuthorizedKeys parse_authorized_keys(std::string_view text) {
  AuthorizedKeys keys;
  constexpr std::string_view kBom = "\xef\xbb\xbf";
  text.remove_prefix(text.starts_with(kBom) ? kBom.size() : 0);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && (is_blank(line.back()) || line.back() == '\r')) {
      line.remove_suffix(1);
    }
    while (!line.empty() && is_blank(line.front())) {
      line.remove_prefix(1);
    }
    if (line.empty() || line.front() == '#') {
      continue;
    }
    if (keys.entries.size() >= kMaxKeys) {
      keys.problems.push_back({number, "more than " + std::to_string(kMaxKeys) + " keys"});
      break;
    }
    auto entry = parse_line(line);
    if (!entry.ok()) {
      keys.problems.push_back({number, entry.error().what});
      continue;
    }
    entry->line = number;
    const bool known =
        std::any_of(keys.entries.begin(), keys.entries.end(),
                    [&](const KeyEntry& other) { return other.key.blob() == entry->key.blob(); });
    if (!known) {
      keys.entries.push_back(std::move(entry).value());
    }
  }
  return keys;
}

}  // namespace agentbox::sshd

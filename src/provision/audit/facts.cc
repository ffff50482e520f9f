// pure: see facts.h.
#include "provision/audit/facts.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace agentbox::provision::audit {
namespace {

/// More of anything in one report is none of the door's.
constexpr std::size_t kMaxItems = 2000;

// Reads members of one object; the first that is not as it should be is kept.
class Members {
 public:
  Members(const Json& object, std::string where, Status& status)
      : object_(object), where_(std::move(where)), status_(status) {
    if (!object.is_object()) {
      fail("");
    }
  }

  void text(const char* name, std::string& out) {
    if (const Json* value = find(name); value != nullptr && value->is_string()) {
      out = value->get<std::string>();
    } else {
      fail(name);
    }
  }
  void number(const char* name, std::uint64_t& out) {
    if (const Json* value = find(name); value != nullptr && value->is_number_unsigned()) {
      out = value->get<std::uint64_t>();
    } else {
      fail(name);
    }
  }
  void flag(const char* name, bool& out) {
    if (const Json* value = find(name); value != nullptr && value->is_boolean()) {
      out = value->get<bool>();
    } else {
      fail(name);
    }
  }
  void texts(const char* name, std::vector<std::string>& out) {
    for (const Json& item : list(name)) {
      if (!item.is_string()) {
        fail(name);
        return;
      }
      out.push_back(item.get<std::string>());
    }
  }
  const Json& list(const char* name) {
    static const Json kNone = Json::array();
    const Json* value = find(name);
    if (value == nullptr || !value->is_array() || value->size() > kMaxItems) {
      fail(name);
      return kNone;
    }
    return *value;
  }
  Members inner(const char* name) {
    static const Json kNone = Json::object();
    const Json* value = find(name);
    if (value == nullptr) {
      fail(name);
    }
    return {value == nullptr ? kNone : *value, where_ + name + ".", status_};
  }
  Members item(const Json& value, const char* name) {
    return {value, where_ + name + "[].", status_};
  }
  const Json* find(const char* name) const { return find_member(object_, name); }
  void fail(const char* name) {
    if (status_.ok()) {
      status_ = Error{Code::kInvalid, "not as it should be: " + where_ + name};
    }
  }
  [[nodiscard]] const Json& object() const { return object_; }

 private:
  const Json& object_;
  std::string where_;
  Status& status_;
};

void read_lines(Members root, Policy& out) {
  for (const Json& each : root.list("policy")) {
    Members item = root.item(each, "policy");
    std::string section;
    Line line;
    item.text("section", section);
    item.text("what", line.what);
    item.text("gets", line.gets);
    if (section == "request") {
      out.requests.push_back(std::move(line));
    } else if (section == "login") {
      out.logins.push_back(std::move(line));
    } else if (section == "algorithms") {
      out.algorithms.push_back(std::move(line));
    } else if (section == "limit") {
      // `512 at once`: the unit is what follows the number.
      const auto space = line.gets.find(' ');
      out.limits.push_back(
          {line.what, 0, 0, space == std::string::npos ? "" : line.gets.substr(space + 1)});
    }
  }
}

void read_limits(Members limits, Policy& out) {
  for (LimitFact& limit : out.limits) {
    Members each = limits.inner(limit.name.c_str());
    each.number("value", limit.value);
    each.number("default", limit.usual);
  }
}

void read_library(Members library, LibraryFact& out) {
  library.text("version", out.version);
  library.text("package", out.package);
  library.text("acknowledged", out.acknowledged);
  library.flag("acknowledged_holds", out.acknowledged_holds);
  library.text("floor", out.floor);
  library.flag("below_floor", out.below_floor);
  for (const Json& each : library.list("open")) {
    Members item = library.item(each, "open");
    Line& hole = out.open.emplace_back();
    item.text("cve", hole.what);
    item.text("what", hole.gets);
  }
}

void read_keys(Members effective, Policy& out) {
  for (const Json& each : effective.list("keys")) {
    Members item = effective.item(each, "keys");
    ListedKey& key = out.keys.emplace_back();
    item.text("fingerprint", key.fingerprint);
    item.text("key", key.key);
    item.text("label", key.label);
    item.text("role", key.role);
    item.flag("from", key.from);
    const Json* expires = item.find("expires");
    if (expires != nullptr && expires->is_number_integer()) {
      key.expires = expires->get<std::int64_t>();
    } else if (expires == nullptr || !expires->is_null()) {
      item.fail("expires");
    }
  }
  for (const Json& each : effective.list("key_problems")) {
    Members item = effective.item(each, "key_problems");
    std::uint64_t line = 0;
    Line& problem = out.key_problems.emplace_back();
    item.number("line", line);
    item.text("what", problem.gets);
    problem.what = std::to_string(line);
  }
}

void read_effective(Members effective, Policy& out) {
  Members listen = effective.inner("listen");
  listen.text("address", out.address);
  listen.number("port", out.port);
  effective.text("keys_trust", out.keys_trust);
  effective.texts("pass_env", out.pass_env);
  effective.flag("sanitizer", out.sanitizer);
  read_limits(effective.inner("limits"), out);
  read_library(effective.inner("library"), out.library);
  Members host_key = effective.inner("host_key");
  host_key.text("fingerprint", out.host_fingerprint);
  host_key.text("error", out.host_key_error);
  effective.number("generation", out.generation);
  effective.number("revoked", out.revoked);
  effective.text("keys_error", out.keys_error);
  read_keys(effective, out);
}

// A list that lacks what every door tells was not written by one.
Status check_whole(const Policy& policy) {
  for (const auto& [lines, name] :
       {std::pair(&policy.requests, "request"), std::pair(&policy.algorithms, "algorithms"),
        std::pair(&policy.logins, "login")}) {
    if (lines->empty()) {
      return Error{Code::kInvalid,
                   "not as it should be: policy without section " + std::string(name)};
    }
  }
  return policy.limits.empty()
             ? Status{Error{Code::kInvalid, "not as it should be: policy without limits"}}
             : Status{};
}

void read_process(Members item, ProcessFact& out) {
  std::uint64_t pid = 0;
  item.text("role", out.role);
  item.number("pid", pid);
  out.pid = static_cast<std::int64_t>(pid);
  item.number("uid", out.uid);
  item.number("gid", out.gid);
  item.text("effective", out.effective);
  item.text("bounding", out.bounding);
  item.flag("no_new_privileges", out.no_new_privileges);
  item.number("filter", out.filter);
  item.number("pid_depth", out.pid_depth);
  item.texts("descriptors", out.descriptors);
  if (const Json* value = item.find("inspectable"); value != nullptr && value->is_boolean()) {
    out.inspectable = value->get<bool>();
  } else if (value == nullptr || !value->is_null()) {
    item.fail("inspectable");
  }
}

// What follows `NAME:` and blanks on a line of TEXT.
std::string_view status_field(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.starts_with(name) && line.substr(name.size()).starts_with(":")) {
      line.remove_prefix(name.size() + 1);
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
      return line;
    }
    at = end + 1;
  }
  return {};
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(" \t"); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(" \t", end);
  }
  return words;
}

}  // namespace

Result<Policy> read_policy(std::string_view text) {
  AB_TRY(json, parse_json(text));
  Policy policy;
  Status status;
  Members root(json, "", status);
  read_lines(root, policy);
  read_effective(root.inner("effective"), policy);
  AB_CHECK(std::move(status));
  AB_CHECK(check_whole(policy));
  return policy;
}

Result<Isolation> read_isolation(std::string_view text) {
  if (text.size() > kMaxIsolationBytes) {
    return Error{Code::kLimit, "longer than any that a door writes"};
  }
  AB_TRY(json, parse_json(text));
  Isolation isolation;
  Status status;
  Members root(json, "", status);
  root.text("written", isolation.written);
  for (const Json& each : root.list("processes")) {
    read_process(root.item(each, "processes"), isolation.processes.emplace_back());
  }
  AB_CHECK(std::move(status));
  return isolation;
}

Result<ProcessFact> read_process_status(std::string_view text) {
  const auto uids = words_of(status_field(text, "Uid"));
  const auto gids = words_of(status_field(text, "Gid"));
  const auto pids = words_of(status_field(text, "NSpid"));
  const auto pid = parse_decimal(status_field(text, "Pid"));
  const auto filter = parse_decimal(status_field(text, "Seccomp"));
  if (uids.size() != 4 || gids.size() != 4 || !pid.ok()) {
    return Error{Code::kInvalid, "no status of a process"};
  }
  ProcessFact fact;
  fact.pid = static_cast<std::int64_t>(*pid);
  // The effective one; where they differ the highest right counts.
  for (const auto& [words, out] : {std::pair(&uids, &fact.uid), std::pair(&gids, &fact.gid)}) {
    const auto number = parse_decimal((*words)[1]);
    if (!number.ok()) {
      return Error{Code::kInvalid, "no status of a process"};
    }
    *out = *number;
  }
  fact.effective = status_field(text, "CapEff");
  fact.bounding = status_field(text, "CapBnd");
  fact.no_new_privileges = status_field(text, "NoNewPrivs") == "1";
  fact.filter = filter.ok() ? *filter : 0;
  fact.pid_depth = std::max<std::size_t>(pids.size(), 1);
  return fact;
}

}  // namespace agentbox::provision::audit

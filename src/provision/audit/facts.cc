// pure: see facts.h.
#include "provision/audit/facts.h"

#include <algorithm>

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
    } else if (section == "weakening" && line.what != "none") {
      out.weakenings.push_back(std::move(line));
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

}  // namespace agentbox::provision::audit

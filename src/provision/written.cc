// edge: see written.h.
#include "provision/written.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/handle.h"
#include "provision/door_config.h"
#include "provision/handoff.h"
#include "provision/keys.h"

namespace agentbox::provision {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxFileBytes = 1U << 20U;
/// Of a line that is quoted: enough to know it again.
constexpr std::size_t kMaxQuotedBytes = 120;
/// A command writes the record first and the door's files right after it.
constexpr std::chrono::seconds kSettleTime{1};
constexpr int kPauseMs = 50;
/// The one option that an operator sets by hand; see docs/audit.md.
constexpr std::string_view kOperatorsOption = "libssh_backports_acknowledged:";

std::vector<std::string_view> lines_of(std::string_view text, std::string_view ignored) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    // Empty lines at the end, and none, are two things.
    const auto whole = std::min(end + 1, text.size());
    if (ignored.empty() || !text.starts_with(ignored)) {
      lines.push_back(text.substr(0, whole));
    }
    text.remove_prefix(whole);
  }
  return lines;
}

std::string quoted(std::string_view line) {
  const bool ended = line.ends_with('\n');
  line.remove_suffix(ended ? 1 : 0);
  return "\"" + std::string(line.substr(0, kMaxQuotedBytes)) +
         (line.size() > kMaxQuotedBytes ? "...\"" : "\"") + (ended ? "" : " without an end");
}

template <typename Difference>
std::optional<Altered> compare(const std::string& path, const Difference& difference) {
  const auto found = read_file_capped(path, kMaxFileBytes);
  if (!found.ok()) {
    return Altered{path,
                   found.error().code == Code::kNotFound ? "it is not there" : found.error().what};
  }
  std::string how = difference(*found);
  return how.empty() ? std::nullopt : std::optional(Altered{path, std::move(how)});
}

std::vector<Altered> compare_key_files(const BoxPaths& paths, const BoxRecord& record) {
  std::vector<Altered> all;
  for (const auto& [name, wanted] : key_files(record)) {
    if (name == "authorized_keys") {
      continue;
    }
    const std::string path = paths.keys + "/..data/" + name;
    // One that says nothing may be missing: earlier versions did not write it.
    const bool idle = wanted.empty() || (name == "box_name" && record.spec.authorities.empty());
    if (idle && ::access(path.c_str(), F_OK) != 0) {
      continue;
    }
    // Who locks out more than the record knows opens nothing.
    const auto difference = [&, &text = wanted](std::string_view found) {
      return path.ends_with("/revoked") ? first_missing(text, found)
                                        : first_difference(text, found);
    };
    if (auto altered = compare(path, difference)) {
      all.push_back(std::move(*altered));
    }
  }
  return all;
}

}  // namespace

std::string first_difference(std::string_view wanted, std::string_view found,
                             std::string_view ignored) {
  const auto should = lines_of(wanted, {});
  const auto is = lines_of(found, ignored);
  for (std::size_t i = 0; i < std::max(should.size(), is.size()); ++i) {
    const std::string line = "line " + std::to_string(i + 1);
    if (i >= is.size()) {
      return line + " is missing: " + quoted(should[i]);
    }
    if (i >= should.size()) {
      return line + " was added: " + quoted(is[i]);
    }
    if (should[i] != is[i]) {
      return line + " is " + quoted(is[i]) + "; written was " + quoted(should[i]);
    }
  }
  return {};
}

std::string first_missing(std::string_view wanted, std::string_view found) {
  const auto is = lines_of(found, {});
  for (const std::string_view line : lines_of(wanted, {})) {
    if (std::find(is.begin(), is.end(), line) == is.end()) {
      return "it lacks " + quoted(line);
    }
  }
  return {};
}

std::vector<Altered> altered_key_files(const Store& store, const BoxName& name) {
  const auto deadline = Clock::now() + kSettleTime;
  for (;;) {
    const auto record = store.load(name);
    if (!record.ok() || !*record) {
      return {};  // told by whoever needs the record
    }
    auto altered = compare_key_files(store.paths(name), **record);
    if (altered.empty() || Clock::now() >= deadline) {
      return altered;
    }
    ::poll(nullptr, 0, kPauseMs);  // no command tells when it has written both
  }
}

std::optional<Altered> altered_config(const BoxPaths& paths, const BoxRecord& record,
                                      const Accounts& accounts) {
  const std::string wanted =
      render_door_config(paths, record.port, accounts.box.uid, record.spec.profile);
  return compare(paths.config, [&](std::string_view found) {
    return first_difference(wanted, found, kOperatorsOption);
  });
}

std::optional<Altered> altered_pin(const BoxPaths& paths, const BoxRecord& record) {
  const std::string wanted = known_hosts_text(record.name.text(), record.host_key);
  return compare(paths.known_hosts,
                 [&](std::string_view found) { return first_difference(wanted, found); });
}

}  // namespace agentbox::provision

// pure: what an audit knows of a box, as values; edges gather them, judge.h and paper.h read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/process_status.h"
#include "base/result.h"

namespace agentbox::provision::audit {

/// What something is, and what it gets; of the door's own report.
struct Line {
  std::string what;
  std::string gets;
};

struct LimitFact {
  std::string name;
  std::uint64_t value = 0;
  std::uint64_t usual = 0;
  std::string unit;
};

struct ListedKey {
  std::string fingerprint;
  std::string key;  ///< `TYPE BASE64`
  std::string label;
  std::string role;
  bool from = false;                    ///< its addresses are limited
  std::optional<std::int64_t> expires;  ///< Unix seconds
};

struct LibraryFact {
  std::string version;
  std::string package;
  std::string acknowledged;
  bool acknowledged_holds = false;
  std::string floor;
  bool below_floor = false;
  std::vector<Line> open;  ///< CVE, what it is
};

/// `agentbox-sshd --check FILE --output json`.
struct Policy {
  std::string address;
  std::uint64_t port = 0;
  std::string keys_trust;
  std::vector<std::string> pass_env;
  bool sanitizer = false;
  std::vector<LimitFact> limits;
  std::vector<Line> logins;
  std::vector<Line> requests;
  std::vector<Line> algorithms;
  std::vector<Line> weakenings;  ///< those that the door itself names
  LibraryFact library;
  std::string host_fingerprint;
  std::string host_key_error;
  std::uint64_t generation = 0;
  std::uint64_t revoked = 0;
  std::vector<ListedKey> keys;
  std::vector<Line> key_problems;  ///< line number, what
  std::string keys_error;
};
/// Strict: a member that is missing or of another kind is an Error that names it.
[[nodiscard]] Result<Policy> read_policy(std::string_view text);

/// One process of a box.
struct ProcessFact : ProcessStatus {
  std::string role;  ///< monitor, listener, network, box
  std::optional<bool> inspectable;
  std::vector<std::string> descriptors;  ///< of a network child: `NUMBER WHAT`
};

/// isolation.json, as the door wrote it.
struct Isolation {
  std::string written;
  std::vector<ProcessFact> processes;
};
inline constexpr std::size_t kMaxIsolationBytes = 64U << 10U;
[[nodiscard]] Result<Isolation> read_isolation(std::string_view text);

/// A file or folder and how it should be.
struct Place {
  std::string path;
  std::string holds;  ///< in words
  bool there = false;
  std::uint64_t owner = 0;
  std::uint64_t mode = 0;
  std::uint64_t wanted_owner = 0;
  std::uint64_t closed = 0;  ///< bits that it must not have
  bool program = false;
  std::uint64_t wanted_mode = 0;  ///< as it was made
  std::string unusable;           ///< who needs it and cannot have it; empty: nobody
  std::string strange;  ///< of a program: how it differs from the installed one; empty: it does not
};

/// A namespace of the box's side, and whether the door is in the same.
struct NamespaceFact {
  std::string name;
  bool same = false;
};

/// A key that may enter, with what only the operator's side knows.
struct KeyFact {
  ListedKey listed;
  std::string type;
  std::uint64_t bits = 0;
  std::optional<std::uint64_t> age_days;
  std::vector<std::string> also_in;  ///< other boxes that it opens
  bool known = true;                 ///< to the box's record
};

/// A CA whose certificates are taken.
struct AuthorityFact {
  std::string fingerprint;
  std::string type;
  std::string label;
  std::vector<std::string> also_in;  ///< other boxes that trust it
};

/// One thing that the live door was asked for.
struct Trial {
  std::string what;
  std::string got;
  bool tried = false;  ///< false: GOT says why not
  bool held = false;   ///< it was refused, or came out as it must
};

struct BoxFacts {
  std::string name;
  std::string state;
  bool isolated = true;         ///< made with bubblewrap
  bool separate_users = false;  ///< root: door and box must be two users
  std::int64_t now = 0;         ///< Unix seconds
  std::string config;           ///< path of the door's configuration
  std::optional<Policy> policy;
  std::string policy_error;
  std::vector<KeyFact> keys;
  std::string pinned;  ///< the host key's fingerprint that clients are pinned to
  std::vector<std::string> host_key_also_in;
  std::vector<AuthorityFact> authorities;
  std::string keys_file;               ///< path of authorized_keys
  std::vector<Line> altered_keys;      ///< path, how it differs from what was written
  std::optional<Line> altered_config;  ///< the same
  std::optional<Line> altered_pin;     ///< the same
  std::vector<Place> places;
  std::optional<Isolation> isolation;
  std::string isolation_error;
  bool running = false;
  std::vector<ProcessFact> seen;  ///< by the audit itself
  std::vector<NamespaceFact> namespaces;
  std::string not_seen;  ///< why the audit could not look
  bool live = false;
  std::vector<Trial> trials;
  std::vector<std::string> behind_wall;  ///< places that the box sees and must not
  std::string wall;                      ///< what was looked at, or why not
  std::string audit_log;                 ///< what is wrong with it; empty: nothing
  std::uint64_t audit_lines = 0;
};

}  // namespace agentbox::provision::audit

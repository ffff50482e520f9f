// pure: what can be asked of agentbox-provision, as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "provision/kube/connection.h"
#include "provision/name.h"

namespace agentbox::provision {

enum class Output : std::uint8_t { kText, kJson };

enum class Format : std::uint8_t {
  kClaude,
  kCodex,
  kCursor,
  kVscode,
  kGemini,
  kOpencode,
  kJson,
  kSshConfig,
};

/// A tool may run for an hour; the default leaves the server's own default (120 s) time to speak.
inline constexpr std::uint64_t kDefaultCallSeconds = 130;
inline constexpr std::uint64_t kMaxCallSeconds = 3700;
inline constexpr std::uint64_t kDefaultLogLines = 50;
inline constexpr std::uint64_t kMaxLogLines = 10'000;
/// An image may have to be pulled, a volume made.
inline constexpr std::uint64_t kDefaultWaitSeconds = 300;
inline constexpr std::uint64_t kMaxWaitSeconds = 3600;
/// Events of the audit log in one answer.
inline constexpr std::uint64_t kMaxAuditLines = 100'000;

/// What a box shall be, as asked for on the command line.
struct CreateOptions {
  std::string spec_file;               ///< -f; the flags win over it
  std::vector<std::string> key_files;  ///< --key
  std::string identity_file;           ///< --identity
  std::string workspace;               ///< --workspace
  bool no_isolation = false;
  std::string image;                            ///< --image: what the agent works in, in a cluster
  std::string size;                             ///< --size: of the volume, in a cluster
  std::string profile = {};                     ///< --profile: of the tools that are offered
  std::string gateway = {};                     ///< --gateway, in a cluster
  std::string gateway_address = {};             ///< --gateway-address
  std::string gateway_host_key = {};            ///< --gateway-host-key: a file, or the key itself
  std::vector<std::string> user_ca_files = {};  ///< --user-ca: CAs whose certificates are taken
  std::string pool = {};                        ///< --from-pool, in a cluster
  std::uint64_t wait_seconds = kDefaultWaitSeconds;  ///< --wait, with a pool
  // In a cluster.
  std::string runtime_class = {};             ///< --runtime-class
  std::string egress = {};                    ///< --egress
  std::vector<std::string> egress_to = {};    ///< --egress-to
  bool retain_data = false;                   ///< --retain-data
  std::vector<std::string> labels = {};       ///< --label
  std::vector<std::string> annotations = {};  ///< --annotation
};

struct Create {
  BoxName name;
  CreateOptions options;
  bool dry_run = false;
};
struct ShowStatus {
  BoxName name;
};
struct List {};
struct Handoff {
  BoxName name;
  Format format = Format::kClaude;
  std::string bundle;  ///< a file to write instead of printing a format
  bool with_identity = false;
};
struct Suspend {
  BoxName name;
};
struct Resume {
  BoxName name;
};
struct Verify {
  BoxName name;
  bool keep = false;
  bool suspend = false;
  CreateOptions options;  ///< for a box that does not exist yet
};
struct Delete {
  BoxName name;
  bool keep_workspace = false;
};
struct Call {
  BoxName name;
  std::string tool;
  std::string arguments;  ///< a JSON object, or "-": it is on standard input
  std::uint64_t timeout_seconds = kDefaultCallSeconds;
};
struct Logs {
  BoxName name;
  std::uint64_t lines = kDefaultLogLines;
};
struct Rotate {
  BoxName name;
  std::vector<std::string> key_files;  ///< empty: a new key is made
};
struct Revoke {
  BoxName name;
  std::string key;  ///< SHA256:..., or a file with the public half; empty: SERIAL is meant
  bool evict = false;
  std::uint64_t serial = 0;  ///< of certificates
};
/// The longest life of a certificate (s): what lives longer is better listed as a key.
inline constexpr std::int64_t kMaxTtlSeconds = 366LL * 86400;
struct CaInit {
  std::string ca;  ///< the private key's file; empty: the one in the state folder
};
struct CaSign {
  std::string ca;
  BoxName box;
  std::string ttl;  ///< 90s, 10m, 2h, 7d
  std::optional<std::uint64_t> serial;
  std::string key_id;
  std::string source_address;
  std::string key_file;  ///< a public key; empty: one is made for the box
};
struct CaTrust {
  std::string ca;  ///< as above, or a file of public keys
  BoxName box;
};
struct Pull {
  BoxName name;
  std::string remote;
  std::string local;  ///< "-": standard output
};
struct Push {
  BoxName name;
  std::string local;  ///< "-": standard input
  std::string remote;
};
struct Doctor {
  BoxName name;
};
enum class AuditFormat : std::uint8_t { kText, kJson, kSarif, kHtml };
/// The lowest severity that makes an audit fail.
enum class AuditFailOn : std::uint8_t { kNothing, kError, kWarning };
struct Audit {
  std::optional<BoxName> name;  ///< nothing: every box of this machine
  bool live = false;            ///< also connects, and tries what must be refused
  AuditFormat format = AuditFormat::kText;
  AuditFailOn fail_on = AuditFailOn::kNothing;
  std::string out;  ///< a file to write instead of standard output
};
enum class AuditLogAction : std::uint8_t { kVerify, kShow, kTimeline };
enum class TimelineForm : std::uint8_t { kText, kSvg, kHtml };
struct AuditLog {
  AuditLogAction action = AuditLogAction::kShow;
  std::string file;            ///< the newest file of a log; "-": standard input
  std::optional<BoxName> box;  ///< or a box of this machine, and its log
  std::string head;            ///< HASH or SEQ:HASH, as somebody else knows it
  std::string since;           ///< a time or an age; empty: all
  std::string event;
  std::string key;
  std::uint64_t lines = 0;  ///< the newest so many; 0: all
  TimelineForm form = TimelineForm::kText;
};
enum class Shell : std::uint8_t { kBash, kZsh, kFish };
struct Completion {
  Shell shell = Shell::kBash;
};
/// The manual page, as troff.
struct Manual {};
struct Supervise {
  BoxName name;
};

/// The objects that create --kubernetes would apply; no cluster is asked.
struct Render {
  BoxName name;
  CreateOptions options;
};
/// The admission policy that lets ACCOUNTS alone change who may enter boxes; no cluster is asked.
struct RenderGuard {
  std::vector<std::string> accounts;
  std::string controller;
};
/// Removes what half-made or half-removed boxes of a cluster have left.
struct Gc {
  std::string older_than;  ///< 90s, 10m, 2h, 7d
  bool dry_run = false;
};
/// What a cluster lacks for boxes.
struct Preflight {};
/// What a cluster's warm pools are made from, and how many pods wait.
enum class PoolAction : std::uint8_t { kApply, kStatus, kList, kDelete, kRender };
struct TemplateCommand {
  PoolAction action = PoolAction::kList;
  std::optional<BoxName> name;  ///< nothing with kList
  CreateOptions options;        ///< what its boxes shall be
};
struct PoolCommand {
  PoolAction action = PoolAction::kList;
  std::optional<BoxName> name;  ///< nothing with kList
  std::optional<BoxName> from_template;
  std::optional<std::uint64_t> replicas;  ///< nothing: somebody else's, or as it is
};
/// A pool asks for as many pods at once; more is a mistake.
inline constexpr std::uint64_t kMaxReplicas = 10'000;

/// The Role that commands need in a cluster.
struct ShowRole {
  std::vector<std::string> commands;
  std::vector<BoxName> boxes = {};  ///< whose Secrets the Role of a gateway is about
};

using Command = std::variant<Create, ShowStatus, List, Handoff, Suspend, Resume, Verify, Delete,
                             Call, Logs, Rotate, Revoke, CaInit, CaSign, CaTrust, Pull, Push,
                             Doctor, Audit, AuditLog, Completion, Manual, Supervise, Render,
                             RenderGuard, Gc, Preflight, ShowRole, TemplateCommand, PoolCommand>;

struct Invocation {
  Command command;
  Output output = Output::kText;
  std::string programs;  ///< folder of the other programs; empty: beside this one
  std::optional<kube::AccessOptions> cluster = {};  ///< nothing: boxes on this machine
};

}  // namespace agentbox::provision

// pure: see cli.h.
#include "provision/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "provision/kube/guard.h"

namespace agentbox::provision {
namespace {

constexpr const char* kProgram = "agentbox-provision";
constexpr const char* kAbout =
    "Makes a box for an AI agent, reached over SSH with one key and nothing else, and proves it.\n"
    "A box is a place on this machine (--local), or a pod of a cluster (--kubernetes).";

constexpr const char* kFooter =
    "Exit codes: 0 ok, 1 failed, 2 usage, 3 no such box, 4 refused, 5 unreachable or timed out,\n"
    "            6 a check failed, 7 no rights\n"
    "Results go to standard output, progress and errors to standard error; with --output json an\n"
    "error is {\"error\":{\"code\",\"message\",\"next\"}} on standard output.\n"
    "Environment: AGENTBOX_STATE_DIR   where boxes are kept (default: $XDG_STATE_HOME/agentbox or\n"
    "                                  ~/.local/state/agentbox; as root /var/lib/agentbox)\n"
    "             AGENTBOX_PROGRAMS    folder of agentbox-sshd and agent-box (default: beside "
    "this)\n"
    "             KUBECONFIG           as kubectl has it\n"
    "With --kubernetes there are create, status, list, handoff, verify, call, pull, push, logs,\n"
    "doctor, audit, suspend, resume, rotate, revoke, ca trust, delete, gc, template and pool.\n"
    "A local box has no CPU, memory, disk or network limit of its own.";

struct FormatName {
  const char* name;
  Format format;
};
constexpr std::array<FormatName, 8> kFormats = {{
    {"claude", Format::kClaude},
    {"codex", Format::kCodex},
    {"cursor", Format::kCursor},
    {"vscode", Format::kVscode},
    {"gemini", Format::kGemini},
    {"opencode", Format::kOpencode},
    {"json", Format::kJson},
    {"ssh-config", Format::kSshConfig},
}};

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  names.reserve(kFormats.size());
  for (const FormatName& entry : kFormats) {
    names.emplace_back(entry.name);
  }
  return names;
}

Format format_called(const std::string& name) {
  return std::find_if(kFormats.begin(), kFormats.end(),
                      [&](const FormatName& entry) { return name == entry.name; })
      ->format;
}

// What the words on the command line are stored in while CLI11 parses.
struct Words {
  std::string name;
  std::string output = "text";
  std::string programs;
  CreateOptions create;
  std::string format;
  std::string bundle;
  bool with_identity = false;
  bool keep = false;
  bool suspend = false;
  bool keep_workspace = false;
  bool yes = false;
  bool local = false;
  std::string tool;
  std::string arguments;
  std::uint64_t timeout_seconds = kDefaultCallSeconds;
  std::uint64_t lines = kDefaultLogLines;
  std::vector<std::string> new_keys;
  std::string key;
  bool evict = false;
  std::string remote;
  std::string local_file;
  std::string since;
  std::string event;
  std::uint64_t audit_lines = 0;
  bool live = false;
  std::string audit_format;
  std::string fail_on;
  std::string out;
  std::string audit_action;
  std::string audit_file;
  std::string audit_head;
  std::string named_box;  ///< --box
  std::string action;
  std::string ca;
  std::string ttl = "1h";
  std::optional<std::uint64_t> serial;
  std::string key_id;
  std::string source_address;
  std::string shell;
  std::optional<BoxName> box;  ///< NAME, once it has passed its grammar
  bool cluster_flag = false;
  kube::AccessOptions cluster;
  std::vector<std::string> commands;
  std::vector<std::string> role_boxes;
  std::string pool_template;
  std::optional<BoxName> from_template;  ///< that, once it has passed its grammar
  std::optional<std::uint64_t> replicas;
  bool dry_run = false;
  std::vector<std::string> guards;
  std::string controller = kube::kControllerAccount;
  std::string older_than = "1h";
};

Misused misuse(std::string message, Output output, std::string next = {}) {
  if (next.empty()) {
    next = "agentbox-provision --help lists the commands; COMMAND --help their options";
  }
  return Misused{Failure{Exit::kUsage, std::move(message), std::move(next)}, output};
}

// One command: its line in --help, its options, and how its words become a Command.
struct Entry {
  const char* name;
  const char* about;
  bool hidden;
  void (*declare)(CLI::App&, Words&);
  Command (*build)(const Words&);
};

// --output json alone asks for the report as JSON too.
AuditFormat audit_format_called(const Words& words) {
  if (words.audit_format == "sarif") {
    return AuditFormat::kSarif;
  }
  if (words.audit_format == "html") {
    return AuditFormat::kHtml;
  }
  const bool json =
      words.audit_format.empty() ? words.output == "json" : words.audit_format == "json";
  return json ? AuditFormat::kJson : AuditFormat::kText;
}

AuditFailOn fail_on_called(const std::string& name) {
  return name == "warning" ? AuditFailOn::kWarning
         : name == "error" ? AuditFailOn::kError
                           : AuditFailOn::kNothing;
}

void add_name(CLI::App& app, Words& words) {
  app.add_option("NAME", words.name, "The box: a small letter, then small letters, digits, hyphens")
      ->required();
}

void add_create_options(CLI::App& app, Words& words) {
  app.add_option("-f,--file", words.create.spec_file,
                 "What the box shall be, as YAML: keys, identity, workspace, isolation")
      ->type_name("FILE");
  app.add_option(
         "--key", words.create.key_files,
         "A public key that may enter; may be repeated. `agentbox-role=\"reader\"` before it (or "
         "\"admin\") gives it that role. Without --key a new ed25519 key is made")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option(
         "--identity", words.create.identity_file,
         "The private key that the client uses; its public half may enter. It is not copied")
      ->type_name("FILE");
  app.add_option("--workspace", words.create.workspace,
                 "Work in this folder instead of one made for the box; it is never deleted")
      ->type_name("DIR")
      ->check([](const std::string& given) {
        return given.empty() ? std::string("the name of a folder is empty") : std::string();
      });
  app.add_flag("--no-isolation", words.create.no_isolation,
               "Run the box without bubblewrap: the agent can then do all that its user can");
  app.add_option("--profile", words.create.profile,
                 "How many tools are offered: core, standard (default) or full. verify, pull and "
                 "push need more than core")
      ->type_name("PROFILE")
      ->check(CLI::IsMember({"core", "standard", "full"}));
  app.add_option("--user-ca", words.create.user_ca_files,
                 "The public key of a CA whose certificates may enter; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option("--image", words.create.image,
                 "In a cluster: what the agent works in, any Linux image (default: the door's)")
      ->type_name("IMAGE");
  app.add_option(
         "--gateway", words.create.gateway,
         "In a cluster: clients come through this jump host (jump:[USER@]HOST[:PORT]), which "
         "sees no call, or through the sshpiper whose Pipes lie in this namespace "
         "(sshpiper:NAMESPACE), which sees all of them")
      ->type_name("GATEWAY");
  app.add_option("--gateway-address", words.create.gateway_address,
                 "With sshpiper: where clients reach it, HOST[:PORT]")
      ->type_name("ADDRESS");
  app.add_option(
         "--gateway-host-key", words.create.gateway_host_key,
         "With --gateway: its public host key, or a file with it (a .pub, a known_hosts that "
         "names it); whoever answers is never taken at its word")
      ->type_name("KEY");
  app.add_option("--from-pool", words.create.pool,
                 "In a cluster: take a pod that waits in this pool instead of making one")
      ->type_name("POOL");
  app.add_option("--wait", words.create.wait_seconds,
                 "With --from-pool: seconds to wait for the pod")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1}, kMaxWaitSeconds));
  app.add_option("--size", words.create.size,
                 "In a cluster: size of the volume with workspace, home and /tmp (default: 1Gi)")
      ->type_name("AMOUNT");
  app.add_option("--runtime-class", words.create.runtime_class,
                 "In a cluster: what runs the pod, such as gvisor (default: the cluster's own)")
      ->type_name("CLASS");
  app.add_option("--egress", words.create.egress,
                 "In a cluster: what the box may reach: none (default), dns, internet or list")
      ->type_name("CHOICE")
      ->check(CLI::IsMember({"none", "dns", "internet", "list"}));
  app.add_option("--egress-to", words.create.egress_to,
                 "In a cluster: an address range that the box may reach (list); may be repeated")
      ->allow_extra_args(false)
      ->type_name("RANGE");
  app.add_flag("--retain-data", words.create.retain_data,
               "In a cluster: the volume is an object of its own and outlives the box");
  app.add_option("--label", words.create.labels,
                 "In a cluster: KEY=VALUE for the Sandbox and its pod; may be repeated")
      ->allow_extra_args(false)
      ->type_name("PAIR");
  app.add_option("--annotation", words.create.annotations,
                 "In a cluster: KEY=VALUE for the Sandbox and its pod; may be repeated")
      ->allow_extra_args(false)
      ->type_name("PAIR");
}

const std::vector<std::pair<std::string, PoolAction>> kPoolActions = {
    {"apply", PoolAction::kApply},   {"status", PoolAction::kStatus}, {"list", PoolAction::kList},
    {"delete", PoolAction::kDelete}, {"render", PoolAction::kRender},
};

void add_pool_action(CLI::App& app, Words& words) {
  app.add_option("ACTION", words.action,
                 "apply (make or change it), status, list, delete; render prints what apply makes")
      ->required()
      ->check(CLI::IsMember({"apply", "status", "list", "delete", "render"}));
  app.add_option("NAME", words.name, "Its name, as a box's; not with list");
}

PoolAction pool_action(const Words& words) {
  return std::find_if(kPoolActions.begin(), kPoolActions.end(),
                      [&](const auto& entry) { return entry.first == words.action; })
      ->second;
}

// The option library would read -1 and what is too high as the highest number there is, and 010 as
// eight: another certificate than the one that was meant.
std::string is_serial(const std::string& number) {
  return parse_decimal(number).ok() ? "" : "a serial is a decimal number below 2^64";
}

constexpr std::array<Entry, 27> kEntries = {{
    {"create", "Make a box, start it and prove its key; an equal box that exists is reported",
     false,
     [](CLI::App& app, Words& words) {
       add_name(app, words);
       add_create_options(app, words);
       app.add_flag("--dry-run", words.dry_run,
                    "Change nothing: refuse what would be refused, in a cluster by its own checks, "
                    "and print what would be made");
     },
     [](const Words& words) -> Command {
       return Create{*words.box, words.create, words.dry_run};
     }},
    {"status", "Show one box", false, add_name,
     [](const Words& words) -> Command { return ShowStatus{*words.box}; }},
    {"handoff", "Print how a client connects to the box", false,
     [](CLI::App& app, Words& words) {
       add_name(app, words);
       app.add_option("--format", words.format,
                      "claude, codex, cursor, vscode, gemini, opencode, json or ssh-config")
           ->check(CLI::IsMember(format_names()));
       app.add_option("--bundle", words.bundle,
                      "Write one file that opens a session when it is run, with the host key in it")
           ->type_name("FILE");
       app.add_flag("--with-identity", words.with_identity,
                    "Put the private key into the bundle too: whoever reads it can use the box");
     },
     [](const Words& words) -> Command {
       const Format format = words.format.empty() ? Format::kClaude : format_called(words.format);
       return Handoff{*words.box, format, words.bundle, words.with_identity};
     }},
    {"suspend", "Stop the box; workspace, home, keys and port are kept", false, add_name,
     [](const Words& words) -> Command { return Suspend{*words.box}; }},
    {"resume", "Start a suspended or stopped box; port, host key and keys are as before", false,
     add_name, [](const Words& words) -> Command { return Resume{*words.box}; }},
    {"verify",
     "Prove over SSH that the box works. Absent: create, use, suspend, resume, use, delete. "
     "Present: nothing is created or deleted, and it is suspended only with --suspend",
     false,
     [](CLI::App& app, Words& words) {
       add_name(app, words);
       add_create_options(app, words);
       app.add_flag("--keep", words.keep, "Keep the box that was made for this");
       app.add_flag("--suspend", words.suspend,
                    "Also suspend and resume a box that was there before");
     },
     [](const Words& words) -> Command {
       return Verify{*words.box, words.keep, words.suspend, words.create};
     }},
    {"delete", "Remove the box and the workspace made for it; an absent box is no error", false,
     [](CLI::App& app, Words& words) {
       add_name(app, words);
       app.add_flag("--yes", words.yes, "Accepted; nothing is ever asked");
       app.add_flag("--keep-workspace", words.keep_workspace,
                    "Keep the workspace and say where it is");
     },
     [](const Words& words) -> Command {
       return Delete{*words.box, words.keep_workspace};
     }},
    {"call", "Call one tool of the box and print its result", false,
     [](CLI::App& app, Words& words) {
       add_name(app, words);
       app.add_option("TOOL", words.tool, "The tool's name")->required();
       app.add_option("JSON", words.arguments,
                      "Its arguments as a JSON object; - reads them from standard input");
       app.add_option("--timeout", words.timeout_seconds, "Seconds to wait for the result")
           ->capture_default_str()
           ->check(CLI::Range(std::uint64_t{1}, kMaxCallSeconds));
     },
     [](const Words& words) -> Command {
       return Call{*words.box, words.tool, words.arguments.empty() ? "{}" : words.arguments,
                   words.timeout_seconds};
     }},
    {"logs", "Show the last lines of the door's log, the box's log and the audit log", false,
     [](CLI::App& app, Words& words) {
       add_name(app, words);
       app.add_option("--lines", words.lines, "Lines of each log")
           ->capture_default_str()
           ->check(CLI::Range(std::uint64_t{1}, kMaxLogLines));
     },
     [](const Words& words) -> Command {
       return Logs{*words.box, words.lines};
     }},
    {"rotate",
     "Give the box new keys: the new ones are added and proven, then the old are dropped, proven "
     "refused, and their sessions ended. May be run again where it was cut short",
     false,
     [](CLI::App& app, Words& words) {
       add_name(app, words);
       app.add_option("--key", words.new_keys,
                      "A public key that may enter from now on; may be repeated. Without it a new "
                      "ed25519 key is made in the place of the old one")
           ->allow_extra_args(false)
           ->type_name("FILE");
     },
     [](const Words& words) -> Command {
       return Rotate{*words.box, words.new_keys};
     }},
    {"revoke",
     "Lock a key, a certificate or a CA out for good and end its sessions. What it changed in the "
     "box stays: after a leak use --evict",
     false,
     [](CLI::App& app, Words& words) {
       add_name(app, words);
       app.add_option(
              "--key", words.key,
              "SHA256:..., or a file with the public half; a CA goes with all that it signed")
           ->type_name("KEY");
       app.add_option("--serial", words.serial, "The certificate with this serial, in KEY's place")
           ->type_name("N")
           ->check(is_serial);
       app.add_flag("--evict", words.evict,
                    "Also end everything that runs in the box and make a new host key; the port "
                    "and the workspace are kept");
     },
     [](const Words& words) -> Command {
       return Revoke{*words.box, words.key, words.evict, words.serial.value_or(0)};
     }},
    {"ca",
     "Short-lived access: make a CA (init), sign a certificate for a box (sign), have a box take "
     "certificates of a CA (trust)",
     false,
     [](CLI::App& app, Words& words) {
       app.add_option("ACTION", words.action, "init, sign or trust")
           ->required()
           ->check(CLI::IsMember({"init", "sign", "trust"}));
       app.add_option("--ca", words.ca,
                      "The CA's private key (default: user_ca in the state folder); for trust its "
                      "public half is enough")
           ->type_name("FILE");
       app.add_option("--box", words.named_box, "The box, for sign and trust")->type_name("BOX");
       app.add_option("--ttl", words.ttl, "sign: how long it holds from now on: 90s, 10m, 2h, 7d")
           ->capture_default_str()
           ->type_name("AGE");
       app.add_option("--serial", words.serial,
                      "sign: what revoke --serial names (default: a random number)")
           ->type_name("N")
           ->check(is_serial);
       app.add_option("--key-id", words.key_id, "sign: a name for the audit (default: the box's)")
           ->type_name("TEXT");
       app.add_option("--source-address", words.source_address,
                      "sign: only from these addresses and networks: 10.0.0.0/8,2001:db8::1")
           ->type_name("LIST");
       app.add_option(
              "--key", words.key,
              "sign: the public key (default: one that is kept for this box, made at first)")
           ->type_name("FILE");
     },
     [](const Words& words) -> Command {
       if (words.action == "sign") {
         return CaSign{words.ca,     *words.box,           words.ttl, words.serial,
                       words.key_id, words.source_address, words.key};
       }
       return words.action == "trust" ? Command(CaTrust{words.ca, *words.box})
                                      : Command(CaInit{words.ca});
     }},
    {"pull", "Copy a file out of the box, hashed on both sides", false,
     [](CLI::App& app, Words& words) {
       add_name(app, words);
       app.add_option("REMOTE", words.remote, "The file in the box")->required();
       app.add_option("LOCAL", words.local_file, "The file here; - is standard output")
           ->required()
           ->type_name("FILE");
     },
     [](const Words& words) -> Command {
       return Pull{*words.box, words.remote, words.local_file};
     }},
    {"push", "Copy a file into the box, hashed on both sides", false,
     [](CLI::App& app, Words& words) {
       add_name(app, words);
       app.add_option("LOCAL", words.local_file, "The file here; - is standard input")
           ->required()
           ->type_name("FILE");
       app.add_option("REMOTE", words.remote, "The file in the box")->required();
     },
     [](const Words& words) -> Command {
       return Push{*words.box, words.local_file, words.remote};
     }},
    {"doctor",
     "Look for what is wrong with a box and say what to do; exit code 6 where something is", false,
     add_name, [](const Words& words) -> Command { return Doctor{*words.box}; }},
    {"audit",
     "Report every claim on a box, and what is weak, with why it matters and the fix; without NAME "
     "on every box of this machine, with --kubernetes on a namespace",
     false,
     [](CLI::App& app, Words& words) {
       app.add_option("NAME", words.name, "The box; without it all of them");
       app.add_flag("--live", words.live,
                    "Also connect, and try each thing that must be refused; the box's audit log "
                    "tells of it");
       app.add_option("--format", words.audit_format, "text, json, sarif or html")
           ->check(CLI::IsMember({"text", "json", "sarif", "html"}));
       app.add_option("--fail-on", words.fail_on,
                      "End with exit code 6 where something of this severity or above is found")
           ->check(CLI::IsMember({"warning", "error"}));
       app.add_option("--out", words.out, "Write the report to this file, mode 0600")
           ->type_name("FILE");
     },
     [](const Words& words) -> Command {
       return Audit{words.box, words.live, audit_format_called(words),
                    fail_on_called(words.fail_on), words.out};
     }},
    {"audit-log",
     "Prove that an audit log is what the door wrote (verify), show its lines (show), or draw its "
     "sessions (timeline); exit code 6 where a line was forged, moved, doubled or taken out",
     false,
     [](CLI::App& app, Words& words) {
       app.add_option("ACTION", words.audit_action, "verify, show or timeline")
           ->required()
           ->check(CLI::IsMember({"verify", "show", "timeline"}));
       app.add_option("FILE", words.audit_file,
                      "The log: a local door's newest file (FILE.1 and up, which the door has "
                      "turned over, are read before it), what `kubectl logs` has of a pod's door, "
                      "or - for standard input")
           ->type_name("FILE");
       app.add_option("--box", words.named_box,
                      "In FILE's place, the log of this box of this machine; its head is then read "
                      "from the door's state folder")
           ->type_name("BOX");
       app.add_option("--head", words.audit_head,
                      "HASH or SEQ:HASH of the newest line, as `status` shows it or the door's log "
                      "says ('audit head'). Without it lines taken off the end cannot be missed, "
                      "and nothing tells a log that was forged as a whole")
           ->type_name("HEAD");
       app.add_option("--since", words.since,
                      "show, timeline: from this moment on (UTC): 2026-11-30, 2026-11-30T06:31Z, "
                      "or an age: 90s, 10m, 2h, 7d");
       app.add_option("--event", words.event,
                      "show: only this event: auth, session_start, tool_call, keys_loaded, ...");
       app.add_option("--key", words.key, "show, timeline: only what this key did: SHA256:...")
           ->type_name("KEY");
       app.add_option("--lines", words.audit_lines, "show: only the newest so many; 0 is all")
           ->capture_default_str()
           ->check(CLI::Range(std::uint64_t{0}, kMaxAuditLines));
       app.add_option("--format", words.format, "timeline: text, svg, html or json")
           ->check(CLI::IsMember({"text", "svg", "html", "json"}));
     },
     [](const Words& words) -> Command {
       AuditLog log;
       log.action = words.audit_action == "verify" ? AuditLogAction::kVerify
                    : words.audit_action == "show" ? AuditLogAction::kShow
                                                   : AuditLogAction::kTimeline;
       log.file = words.audit_file;
       log.box = words.box;
       log.head = words.audit_head;
       log.since = words.since;
       log.event = words.event;
       log.key = words.key;
       log.lines = words.audit_lines;
       log.form = words.format == "svg"    ? TimelineForm::kSvg
                  : words.format == "html" ? TimelineForm::kHtml
                                           : TimelineForm::kText;
       return log;
     }},
    {"list", "List all boxes", false, [](CLI::App&, Words&) {},
     [](const Words&) -> Command { return List{}; }},
    {"completion", "Print what makes a shell complete these commands", false,
     [](CLI::App& app, Words& words) {
       app.add_option("SHELL", words.shell, "bash, zsh or fish")
           ->required()
           ->check(CLI::IsMember({"bash", "zsh", "fish"}));
     },
     [](const Words& words) -> Command {
       return Completion{words.shell == "bash"  ? Shell::kBash
                         : words.shell == "zsh" ? Shell::kZsh
                                                : Shell::kFish};
     }},
    {"render",
     "Print the objects that create --kubernetes makes, without the private key; or with --guard "
     "the admission policy that lets nobody else change who may enter boxes",
     false,
     [](CLI::App& app, Words& words) {
       app.add_option("NAME", words.name, "The box; left out with --guard");
       add_create_options(app, words);
       app.add_option("--guard", words.guards,
                      "An account that may change who may enter boxes, as the cluster names it: "
                      "NAMESPACE:NAME of a service account, or a user; may be repeated")
           ->allow_extra_args(false)
           ->type_name("ACCOUNT");
       app.add_option("--controller", words.controller,
                      "With --guard: the agent-sandbox controller's account")
           ->capture_default_str()
           ->type_name("ACCOUNT");
     },
     [](const Words& words) -> Command {
       return words.guards.empty() ? Command(Render{*words.box, words.create})
                                   : Command(RenderGuard{words.guards, words.controller});
     }},
    {"gc",
     "Remove what half-made or half-removed boxes have left in a cluster: policies and host keys "
     "without a Sandbox. Volumes that outlive their box are kept",
     false,
     [](CLI::App& app, Words& words) {
       app.add_option("--older-than", words.older_than,
                      "Only what is older: 90s, 10m, 2h, 7d. Younger, it may be just being made")
           ->capture_default_str()
           ->type_name("AGE");
       app.add_flag("--dry-run", words.dry_run, "Say what would be removed, and remove nothing");
     },
     [](const Words& words) -> Command {
       return Gc{words.older_than, words.dry_run};
     }},
    {"preflight", "Find out what a cluster lacks for boxes; nothing is changed", false,
     [](CLI::App&, Words&) {}, [](const Words&) -> Command { return Preflight{}; }},
    {"rbac", "Print the Role that commands need in a cluster", false,
     [](CLI::App& app, Words& words) {
       app.add_option(
              "COMMAND", words.commands,
              "create, status, list, suspend, ...; create-from-pool, rotate-from-pool, ...: for "
              "boxes of pools; sshpiper: what those need besides in a "
              "gateway's namespace; gateway: what sshpiper itself needs there")
           ->required();
       app.add_option("--box", words.role_boxes,
                      "gateway: a box behind it, whose Secret alone it may read; may be repeated")
           ->allow_extra_args(false)
           ->type_name("BOX");
     },
     [](const Words& words) -> Command {
       ShowRole role{words.commands, {}};
       for (const std::string& box : words.role_boxes) {
         if (auto name = BoxName::parse(box); name.ok()) {  // checked in role_problem()
           role.boxes.push_back(std::move(name).value());
         }
       }
       return role;
     }},
    {"template", "In a cluster: what the pods of a warm pool are made from", false,
     [](CLI::App& app, Words& words) {
       add_pool_action(app, words);
       app.add_option("-f,--file", words.create.spec_file,
                      "apply: what its boxes shall be, the map kubernetes: of a box's YAML")
           ->type_name("FILE");
       app.add_option("--image", words.create.image, "apply: what the agent works in")
           ->type_name("IMAGE");
       app.add_option("--size", words.create.size, "apply: size of each box's volume")
           ->type_name("AMOUNT");
     },
     [](const Words& words) -> Command {
       return TemplateCommand{pool_action(words), words.box, words.create};
     }},
    {"pool",
     "In a cluster: pods that wait, without keys, until `create --from-pool` takes one. One that "
     "boxes with keys are from is not deleted: their keys could not be taken away any more",
     false,
     [](CLI::App& app, Words& words) {
       add_pool_action(app, words);
       app.add_option("--template", words.pool_template, "apply: what its pods are made from")
           ->type_name("TEMPLATE");
       app.add_option("--replicas", words.replicas,
                      "apply: how many wait. Without it the number is left as it is, or to an "
                      "autoscaler (a new pool: 1)")
           ->type_name("N")
           ->check(CLI::Range(std::uint64_t{0}, kMaxReplicas));
     },
     [](const Words& words) -> Command {
       return PoolCommand{pool_action(words), words.box, words.from_template, words.replicas};
     }},
    {"manual", "Print the manual page", true, [](CLI::App&, Words&) {},
     [](const Words&) -> Command { return Manual{}; }},
    {"supervise", "Keep the door and the box side of a local box running", true, add_name,
     [](const Words& words) -> Command { return Supervise{*words.box}; }},
}};

void add_cluster_options(CLI::App& app, Words& words) {
  app.add_flag("--kubernetes", words.cluster_flag,
               "A box in a cluster; implied by each of the following");
  app.add_option("--context", words.cluster.overrides.context, "Context of the kubeconfig")
      ->type_name("NAME");
  app.add_option("--namespace", words.cluster.overrides.ns, "Namespace of the boxes")
      ->type_name("NAME");
  app.add_option("--kubeconfig", words.cluster.kubeconfig,
                 "The kubeconfig (default: $KUBECONFIG or ~/.kube/config). Others must not be able "
                 "to write it")
      ->type_name("FILE");
  app.add_option("--exec-plugins", words.cluster.exec_plugins,
                 "deny, or allow=NAME,...: the programs that a kubeconfig may run (default: all)")
      ->type_name("RULE");
  app.add_flag(
      "--port-forward", words.cluster.port_forward,
      "Reach the box through the cluster's port-forward, from outside the cluster (needs the "
      "rights of `rbac port-forward`)");
}

void declare(CLI::App& app, Words& words) {
  app.fallthrough();
  app.require_subcommand(1);
  app.footer(kFooter);
  app.add_option("--output", words.output, "text or json")
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "json"}));
  app.add_option("--programs", words.programs, "Folder of agentbox-sshd and agent-box")
      ->type_name("DIR");
  app.add_flag("--local", words.local, "A box on this machine (the default)");
  add_cluster_options(app, words);
  for (const Entry& entry : kEntries) {
    CLI::App* sub = app.add_subcommand(entry.name, entry.about);
    entry.declare(*sub, words);
    if (entry.hidden) {
      sub->group("");
    }
  }
}

// Errors before --output is parsed are due in the form it asks for all the same.
Output wanted_output(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--output=json" ||
        (arguments[i] == "--output" && i + 1 < arguments.size() && arguments[i + 1] == "json")) {
      return Output::kJson;
    }
  }
  return Output::kText;
}

bool is_of_pools(const std::string& command) { return command == "template" || command == "pool"; }

// Those that go to a cluster, or are about one.
bool is_for_cluster(const std::string& command, const Words& words) {
  const kube::AccessOptions& asked = words.cluster;
  return words.cluster_flag || !asked.overrides.context.empty() || !asked.overrides.ns.empty() ||
         !asked.kubeconfig.empty() || !asked.exec_plugins.empty() || asked.port_forward ||
         !words.create.pool.empty() || command == "preflight" || command == "rbac" ||
         command == "render" || command == "gc" || is_of_pools(command);
}

// The first option given that only a box in a cluster has; empty: none was.
std::string first_cluster_option(const CLI::App& command) {
  for (const char* name : {"--image", "--size", "--runtime-class", "--egress", "--egress-to",
                           "--retain-data", "--label", "--annotation"}) {
    const CLI::Option* option = command.get_option_no_throw(name);
    if (option != nullptr && option->count() != 0) {
      return name;
    }
  }
  return {};
}

// Words that do not go together.
std::optional<std::string> audit_log_problem(const Words& words) {
  const std::string& action = words.audit_action;
  if (words.audit_file.empty() == words.named_box.empty()) {
    return "audit-log " + action + " wants either a FILE or --box NAME";
  }
  if (action != "timeline" && !words.format.empty()) {
    return "--format goes with timeline";
  }
  if (action != "show" && (!words.event.empty() || words.audit_lines != 0)) {
    return "--event and --lines go with show";
  }
  return action == "verify" && !(words.since.empty() && words.key.empty())
             ? std::optional<std::string>("verify takes no filter: all lines count")
             : std::nullopt;
}

// An option given without a value would count as one not given, and what it was to restrict would
// be left open.
std::optional<std::string> empty_option(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const auto& given = option->results();
    if (std::find(given.begin(), given.end(), "") != given.end()) {
      return option->get_name() + " must not be empty";
    }
  }
  return std::nullopt;
}

std::optional<std::string> certificate_problem(const CLI::App& chosen, const Words& words) {
  const std::string& command = chosen.get_name();
  if (command != "ca" && command != "revoke") {
    return std::nullopt;
  }
  if (auto problem = empty_option(chosen)) {
    return problem;
  }
  if (command == "ca" && words.named_box.empty() != (words.action == "init")) {
    return "ca sign and ca trust want --box NAME, ca init does not";
  }
  if (command == "ca" && words.action != "sign") {
    for (const char* name : {"--ttl", "--serial", "--key-id", "--source-address", "--key"}) {
      if (chosen.get_option(name)->count() != 0) {
        return std::string(name) + " goes with ca sign";
      }
    }
  }
  if (command == "revoke" && words.key.empty() != words.serial.has_value()) {
    return "revoke wants either --key or --serial";
  }
  return std::nullopt;
}

std::optional<std::string> role_problem(const Words& words) {
  const auto& commands = words.commands;
  const bool gateway = std::find(commands.begin(), commands.end(), "gateway") != commands.end();
  if (gateway && (commands.size() != 1 || words.role_boxes.empty())) {
    return "rbac gateway stands alone and wants --box NAME for each box behind the gateway";
  }
  if (!gateway && !words.role_boxes.empty()) {
    return "--box goes with rbac gateway";
  }
  for (const std::string& box : words.role_boxes) {
    if (auto name = BoxName::parse(box); !name.ok()) {
      return name.error().what;
    }
  }
  return std::nullopt;
}

std::optional<std::string> pool_problem(const CLI::App& chosen, Words& words) {
  const std::string& command = chosen.get_name();
  if (!is_of_pools(command)) {
    const auto is_given = [&](const char* name) {
      const CLI::Option* option = chosen.get_option_no_throw(name);
      return option != nullptr && option->count() != 0;
    };
    if (is_given("--from-pool") && !BoxName::parse(words.create.pool).ok()) {
      return "--from-pool: no name of a pool";
    }
    return is_given("--wait") && !is_given("--from-pool")
               ? std::optional<std::string>("--wait goes with --from-pool")
               : std::nullopt;
  }
  if (auto problem = empty_option(chosen)) {
    return problem;
  }
  if (words.name.empty() != (words.action == "list")) {
    return command + " " + words.action +
           (words.name.empty() ? " wants a NAME" : " takes no NAME: it shows them all");
  }
  const bool makes = words.action == "apply" || words.action == "render";
  for (const CLI::Option* option : chosen.get_options()) {
    const std::string name = option->get_name();
    if (!makes && name.starts_with("-") && name != "--help" && option->count() != 0) {
      return name + " goes with " + command + " apply";
    }
  }
  if (command == "template" || !makes) {
    return std::nullopt;
  }
  auto parsed = BoxName::parse(words.pool_template);
  if (!parsed.ok()) {
    return "pool " + words.action + " wants --template NAME";
  }
  words.from_template = std::move(parsed).value();
  return std::nullopt;
}

std::variant<Invocation, Shown, Misused> build(const CLI::App& app, Words& words, Output output) {
  const CLI::App& chosen = *app.get_subcommands().front();
  const bool in_cluster = is_for_cluster(chosen.get_name(), words);
  if (in_cluster && words.local) {
    return misuse("--local is for a box on this machine, the other options are for a cluster",
                  output, "leave one of them out");
  }
  if (auto problem = pool_problem(chosen, words)) {
    return misuse(*problem, output);
  }
  if (const std::string given = first_cluster_option(chosen); !in_cluster && !given.empty()) {
    return misuse(given + " is for a box in a cluster", output,
                  "add --kubernetes, or leave it out");
  }
  if (!in_cluster && !words.create.gateway.empty()) {
    return misuse("--gateway is for a box in a cluster", output,
                  "add --kubernetes, or leave it out");
  }
  if (in_cluster && !words.create.profile.empty()) {
    return misuse("--profile is for a box on this machine", output,
                  "leave it out: in a cluster every box has the profile standard");
  }
  if (chosen.get_name() == "audit-log") {
    auto problem = empty_option(chosen);
    if (problem || (problem = audit_log_problem(words))) {
      return misuse(*problem, output, "for example: audit-log verify --box demo");
    }
    output = words.format == "json" ? Output::kJson : output;
  }
  if (auto problem = role_problem(words)) {
    return misuse(*problem, output);
  }
  if (auto problem = certificate_problem(chosen, words)) {
    return misuse(*problem, output);
  }
  const std::string& given = words.named_box.empty() ? words.name : words.named_box;
  const bool guards = chosen.get_name() == "render" && !words.guards.empty();
  if (guards && !given.empty()) {
    return misuse("render --guard is for all boxes, and takes no NAME", output);
  }
  const bool all_boxes =
      guards || ((chosen.get_name() == "audit" || is_of_pools(chosen.get_name())) && given.empty());
  if (!all_boxes && (chosen.get_option_no_throw("NAME") != nullptr || !words.named_box.empty())) {
    auto name = BoxName::parse(given);
    if (!name.ok()) {
      return misuse(name.error().what, output, "choose a name such as demo or build-1");
    }
    words.box = std::move(name).value();
  }
  const bool for_people = words.audit_format == "html" || words.audit_format == "text";
  if (for_people && words.output == "json" && words.out.empty()) {
    return misuse("--output json and --format " + words.audit_format + " do not go together",
                  output, "leave --output out, or add --out FILE");
  }
  if (chosen.get_name() == "handoff" && words.format.empty() == words.bundle.empty()) {
    return misuse("handoff wants either --format or --bundle", output);
  }
  if (words.with_identity && words.bundle.empty()) {
    return misuse("--with-identity goes with --bundle", output);
  }
  const auto* entry = std::find_if(kEntries.begin(), kEntries.end(), [&](const Entry& candidate) {
    return candidate.name == chosen.get_name();
  });
  Invocation invocation{entry->build(words), output, words.programs};
  if (in_cluster) {
    invocation.cluster = words.cluster;
  }
  return invocation;
}

// `TEXT:{a,b}` where the library has been told the choices, else `TEXT`.
void take_type(const std::string& type, OptionShape& shape) {
  const auto open = type.find('{');
  shape.value = type.substr(0, std::min(open, type.find(':')));
  if (open == std::string::npos) {
    return;
  }
  std::string choice;
  for (const char c : type.substr(open + 1)) {
    if (c == ',' || c == '}') {
      shape.choices.push_back(std::exchange(choice, {}));
    } else {
      choice += c;
    }
  }
}

OptionShape shape_of(const CLI::Option& option) {
  OptionShape shape;
  for (const std::string& name : option.get_snames()) {
    shape.names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    shape.names.push_back("--" + name);
  }
  if (shape.names.empty()) {
    shape.names.push_back(option.get_name(true));
  }
  if (option.get_items_expected_max() > 0) {
    take_type(option.get_type_name(), shape);
  }
  shape.about = option.get_description();
  shape.fallback = option.get_default_str();
  shape.required = option.get_required();
  return shape;
}

void add_shapes(const CLI::App& app, std::vector<OptionShape>* positionals,
                std::vector<OptionShape>& options) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() && positionals != nullptr) {
      positionals->push_back(shape_of(*option));
    } else if (!option->get_group().empty()) {
      options.push_back(shape_of(*option));
    }
  }
}

// Whether WORD is an option of APP whose value is the next word.
bool takes_next(const CLI::App& app, const std::string& word) {
  const CLI::Option* option = app.get_option_no_throw(word);
  return option != nullptr && option->get_items_expected_max() > 0;
}

// The first word that is no option, where it is no command either.
std::optional<std::string> unknown_command(const CLI::App& app,
                                           const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word.starts_with('-')) {
      i += takes_next(app, word) ? 1U : 0U;
      continue;
    }
    const bool known = std::any_of(kEntries.begin(), kEntries.end(),
                                   [&](const Entry& entry) { return word == entry.name; });
    return known ? std::nullopt : std::optional(word);
  }
  return std::nullopt;
}

// Letters to add, drop or change to make B of A.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t corner = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = corner + (a[i - 1] == b[j - 1] ? 0U : 1U);
      corner = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

std::string nearest_words(std::string_view word) {
  constexpr std::size_t kMaxWord = 40;
  const Entry* nearest = nullptr;
  std::size_t least = word.size() > kMaxWord ? 0 : word.size() / 2 + 1;
  for (const Entry& entry : kEntries) {
    const std::size_t away = entry.hidden || least == 0 ? least : distance(word, entry.name);
    if (away < least) {
      least = away;
      nearest = &entry;
    }
  }
  const std::string all = "agentbox-provision --help lists the commands";
  return nearest == nullptr ? all : "did you mean " + std::string(nearest->name) + "? " + all;
}

}  // namespace

std::variant<Invocation, Shown, Misused> parse_command_line(
    const std::vector<std::string>& arguments, const std::string& about_version) {
  const Output output = wanted_output(arguments);
  Words words;
  CLI::App app(kAbout, kProgram);
  declare(app, words);
  app.set_version_flag("--version", about_version);
  if (auto unknown = unknown_command(app, arguments)) {
    return misuse("there is no command '" + escape_text(*unknown, 60) + "'", output,
                  nearest_words(*unknown));
  }
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    return Shown{chosen.empty() ? app.help() : chosen.front()->help(app.get_name())};
  } catch (const CLI::CallForAllHelp&) {
    return Shown{app.help("", CLI::AppFormatMode::All)};
  } catch (const CLI::CallForVersion& asked) {
    return Shown{asked.what()};
  } catch (const CLI::ParseError& problem) {
    return misuse(escape_text(problem.what(), 300), output);
  }
  return build(app, words, output);
}

ProgramShape command_line_shape(const std::string& version) {
  Words words;
  CLI::App app(kAbout, kProgram);
  declare(app, words);
  ProgramShape shape{kProgram, version, kAbout, kFooter, {}, {}};
  add_shapes(app, nullptr, shape.options);
  for (const Entry& entry : kEntries) {
    if (entry.hidden) {
      continue;
    }
    CommandShape command{entry.name, entry.about, {}, {}};
    add_shapes(*app.get_subcommand(entry.name), &command.positionals, command.options);
    shape.commands.push_back(std::move(command));
  }
  return shape;
}

}  // namespace agentbox::provision

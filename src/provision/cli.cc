// pure: see cli.h.
#include "provision/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"

namespace agentbox::provision {
namespace {

constexpr const char* kProgram = "agentbox-provision";
constexpr const char* kAbout =
    "Makes a box for an AI agent, reached over SSH with one key and nothing else, and proves it.\n"
    "A box is a place on this machine (--local). Boxes in a cluster (--kubernetes) are not "
    "available "
    "in this build yet.";

constexpr const char* kFooter =
    "Exit codes: 0 ok, 1 failed, 2 usage, 3 no such box, 4 refused, 5 unreachable or timed out,\n"
    "            6 a check failed, 7 no rights\n"
    "Results go to standard output, progress and errors to standard error; with --output json an\n"
    "error is {\"error\":{\"code\",\"message\",\"next\"}} on standard output.\n"
    "Environment: AGENTBOX_STATE_DIR   where boxes are kept (default: $XDG_STATE_HOME/agentbox or\n"
    "                                  ~/.local/state/agentbox; as root /var/lib/agentbox)\n"
    "             AGENTBOX_PROGRAMS    folder of agentbox-sshd and agent-box (default: beside "
    "this)\n"
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
  std::string shell;
  std::optional<BoxName> box;  ///< NAME, once it has passed its grammar
  bool cluster_flag = false;
  std::string cluster_word;
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

void add_name(CLI::App& app, Words& words) {
  app.add_option("NAME", words.name, "The box: a small letter, then small letters, digits, hyphens")
      ->required();
}

void add_cluster_word(CLI::App& app, Words& words, const char* flag) {
  app.add_option(flag, words.cluster_word, "Only with --kubernetes (not in this build yet)")
      ->group("");
}

void add_create_options(CLI::App& app, Words& words) {
  app.add_option("-f,--file", words.create.spec_file,
                 "What the box shall be, as YAML: keys, identity, workspace, isolation")
      ->type_name("FILE");
  app.add_option(
         "--key", words.create.key_files,
         "A public key that may enter; may be repeated. Without it a new ed25519 key is made")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option(
         "--identity", words.create.identity_file,
         "The private key that the client uses; its public half may enter. It is not copied")
      ->type_name("FILE");
  app.add_option("--workspace", words.create.workspace,
                 "Work in this folder instead of one made for the box; it is never deleted")
      ->type_name("DIR");
  app.add_flag("--no-isolation", words.create.no_isolation,
               "Run the box without bubblewrap: the agent can then do all that its user can");
  for (const char* flag : {"--from-pool", "--image", "--size", "--gateway"}) {
    add_cluster_word(app, words, flag);
  }
}

constexpr std::array<Entry, 19> kEntries = {{
    {"create", "Make a box, start it and prove its key; an equal box that exists is reported",
     false,
     [](CLI::App& app, Words& words) {
       add_name(app, words);
       add_create_options(app, words);
     },
     [](const Words& words) -> Command {
       return Create{*words.box, words.create};
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
     "Lock a key out for good and end its sessions. What it changed in the box stays: after a "
     "leak use --evict",
     false,
     [](CLI::App& app, Words& words) {
       add_name(app, words);
       app.add_option("--key", words.key, "SHA256:..., or a file with the public half")
           ->required()
           ->type_name("KEY");
       app.add_flag("--evict", words.evict,
                    "Also end everything that runs in the box and make a new host key; the port "
                    "and the workspace are kept");
     },
     [](const Words& words) -> Command {
       return Revoke{*words.box, words.key, words.evict};
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
    {"audit", "Show the audit log of a box and whether it is whole", false,
     [](CLI::App& app, Words& words) {
       add_name(app, words);
       app.add_option("--since", words.since,
                      "From this moment on (UTC): 2026-11-30, 2026-11-30T06:31Z, or an age: 90s, "
                      "10m, 2h, 7d");
       app.add_option("--event", words.event,
                      "Only this event: auth, session_start, tool_call, keys_loaded, limit, ...");
       app.add_option("--key", words.key, "Only what this key did: SHA256:...")->type_name("KEY");
       app.add_option("--lines", words.audit_lines, "Only the newest so many; 0 is all")
           ->capture_default_str();
     },
     [](const Words& words) -> Command {
       return Audit{*words.box, words.since, words.event, words.key, words.audit_lines};
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
    {"manual", "Print the manual page", true, [](CLI::App&, Words&) {},
     [](const Words&) -> Command { return Manual{}; }},
    {"supervise", "Keep the door and the box side of a local box running", true, add_name,
     [](const Words& words) -> Command { return Supervise{*words.box}; }},
}};

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
  app.add_flag("--kubernetes", words.cluster_flag,
               "A box in a cluster (not available in this build yet)");
  for (const char* flag : {"--context", "--namespace"}) {
    add_cluster_word(app, words, flag);
  }
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

std::variant<Invocation, Shown, Misused> build(const CLI::App& app, Words& words, Output output) {
  if (words.cluster_flag || !words.cluster_word.empty()) {
    return misuse("boxes in a cluster are not available in this build yet", output,
                  "leave out the options for clusters; the box is then made on this machine");
  }
  const CLI::App& chosen = *app.get_subcommands().front();
  if (chosen.get_option_no_throw("NAME") != nullptr) {
    auto name = BoxName::parse(words.name);
    if (!name.ok()) {
      return misuse(name.error().what, output, "choose a name such as demo or build-1");
    }
    words.box = std::move(name).value();
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
  return Invocation{entry->build(words), output, words.programs};
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

}  // namespace

std::variant<Invocation, Shown, Misused> parse_command_line(
    const std::vector<std::string>& arguments, const std::string& version) {
  const Output output = wanted_output(arguments);
  Words words;
  CLI::App app(kAbout, kProgram);
  declare(app, words);
  app.set_version_flag("--version", "agentbox-provision " + version);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    return Shown{chosen.empty() ? app.help() : chosen.front()->help(app.get_name())};
  } catch (const CLI::CallForAllHelp&) {
    return Shown{app.help("", CLI::AppFormatMode::All)};
  } catch (const CLI::CallForVersion& asked) {
    return Shown{std::string(asked.what()) + "\n"};
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

// pure: see cli.h.
#include "provision/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "base/text.h"

namespace agentbox::provision {
namespace {

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
  bool keep = false;
  bool suspend = false;
  bool keep_workspace = false;
  bool yes = false;
  bool local = false;
  std::string tool;
  std::string arguments;
  std::uint64_t timeout_seconds = kDefaultCallSeconds;
  std::uint64_t lines = kDefaultLogLines;
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
  Command (*build)(BoxName, const Words&);
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
                 "What the box shall be, as YAML: keys, identity, workspace, isolation");
  app.add_option(
         "--key", words.create.key_files,
         "A public key that may enter; may be repeated. Without it a new ed25519 key is made")
      ->allow_extra_args(false);
  app.add_option(
      "--identity", words.create.identity_file,
      "The private key that the client uses; its public half may enter. It is not copied");
  app.add_option("--workspace", words.create.workspace,
                 "Work in this folder instead of one made for the box; it is never deleted");
  app.add_flag("--no-isolation", words.create.no_isolation,
               "Run the box without bubblewrap: the agent can then do all that its user can");
  for (const char* flag : {"--from-pool", "--image", "--size", "--gateway"}) {
    add_cluster_word(app, words, flag);
  }
}

constexpr std::array<Entry, 10> kEntries = {{
    {"create", "Make a box, start it and prove its key; an equal box that exists is reported",
     false,
     [](CLI::App& app, Words& words) {
       add_name(app, words);
       add_create_options(app, words);
     },
     [](BoxName name, const Words& words) -> Command {
       return Create{std::move(name), words.create};
     }},
    {"status", "Show one box", false, add_name,
     [](BoxName name, const Words&) -> Command { return ShowStatus{std::move(name)}; }},
    {"handoff", "Print how a client connects to the box", false,
     [](CLI::App& app, Words& words) {
       add_name(app, words);
       app.add_option("--format", words.format,
                      "claude, codex, cursor, vscode, gemini, opencode, json or ssh-config")
           ->required()
           ->check(CLI::IsMember(format_names()));
     },
     [](BoxName name, const Words& words) -> Command {
       return Handoff{std::move(name), format_called(words.format)};
     }},
    {"suspend", "Stop the box; workspace, home, keys and port are kept", false, add_name,
     [](BoxName name, const Words&) -> Command { return Suspend{std::move(name)}; }},
    {"resume", "Start a suspended or stopped box; port, host key and keys are as before", false,
     add_name, [](BoxName name, const Words&) -> Command { return Resume{std::move(name)}; }},
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
     [](BoxName name, const Words& words) -> Command {
       return Verify{std::move(name), words.keep, words.suspend, words.create};
     }},
    {"delete", "Remove the box and the workspace made for it; an absent box is no error", false,
     [](CLI::App& app, Words& words) {
       add_name(app, words);
       app.add_flag("--yes", words.yes, "Accepted; nothing is ever asked");
       app.add_flag("--keep-workspace", words.keep_workspace,
                    "Keep the workspace and say where it is");
     },
     [](BoxName name, const Words& words) -> Command {
       return Delete{std::move(name), words.keep_workspace};
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
     [](BoxName name, const Words& words) -> Command {
       return Call{std::move(name), words.tool, words.arguments.empty() ? "{}" : words.arguments,
                   words.timeout_seconds};
     }},
    {"logs", "Show the last lines of the door's log, the box's log and the audit log", false,
     [](CLI::App& app, Words& words) {
       add_name(app, words);
       app.add_option("--lines", words.lines, "Lines of each log")
           ->capture_default_str()
           ->check(CLI::Range(std::uint64_t{1}, kMaxLogLines));
     },
     [](BoxName name, const Words& words) -> Command {
       return Logs{std::move(name), words.lines};
     }},
    {"supervise", "Keep the door and the box side of a local box running", true, add_name,
     [](BoxName name, const Words&) -> Command { return Supervise{std::move(name)}; }},
}};

void declare(CLI::App& app, Words& words) {
  app.fallthrough();
  app.require_subcommand(1);
  app.footer(kFooter);
  app.add_option("--output", words.output, "text or json")
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "json"}));
  app.add_option("--programs", words.programs, "Folder of agentbox-sshd and agent-box");
  app.add_flag("--local", words.local, "A box on this machine (the default)");
  app.add_flag("--kubernetes", words.cluster_flag,
               "A box in a cluster (not available in this build yet)");
  for (const char* flag : {"--context", "--namespace"}) {
    add_cluster_word(app, words, flag);
  }
  app.add_subcommand("list", "List all boxes");
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

std::variant<Invocation, Shown, Misused> build(const CLI::App& app, const Words& words,
                                               Output output) {
  if (words.cluster_flag || !words.cluster_word.empty()) {
    return misuse("boxes in a cluster are not available in this build yet", output,
                  "leave out the options for clusters; the box is then made on this machine");
  }
  Invocation invocation{List{}, output, words.programs};
  const std::string chosen = app.get_subcommands().front()->get_name();
  if (chosen == "list") {
    return invocation;
  }
  auto name = BoxName::parse(words.name);
  if (!name.ok()) {
    return misuse(name.error().what, output, "choose a name such as demo or build-1");
  }
  const auto* entry = std::find_if(kEntries.begin(), kEntries.end(), [&](const Entry& candidate) {
    return candidate.name == chosen;
  });
  invocation.command = entry->build(std::move(name).value(), words);
  return invocation;
}

}  // namespace

std::variant<Invocation, Shown, Misused> parse_command_line(
    const std::vector<std::string>& arguments, const std::string& version) {
  const Output output = wanted_output(arguments);
  Words words;
  CLI::App app(kAbout, "agentbox-provision");
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

}  // namespace agentbox::provision

// pure: see manual.h.
#include "provision/manual.h"

namespace agentbox::provision {
namespace {

// TEXT as running text: nothing in it is a request or an escape of troff's.
std::string troff(const std::string& text) {
  std::string escaped;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) {
      escaped += "\\&";
    }
    line_start = c == '\n';
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string bold(const std::string& text) { return "\\fB" + troff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + troff(text) + "\\fR"; }

std::string option_entry(const OptionShape& option) {
  std::string text = ".TP\n";
  for (std::size_t i = 0; i < option.names.size(); ++i) {
    text += (i == 0 ? "" : ", ") + bold(option.names[i]);
  }
  if (!option.value.empty()) {
    text += " " + italic(option.value);
  }
  text += "\n" + troff(option.about);
  if (!option.fallback.empty()) {
    text += " (default: " + troff(option.fallback) + ")";
  }
  return text + "\n";
}

std::string positional_entry(const OptionShape& option) {
  return ".TP\n" + italic(option.names.front()) + "\n" + troff(option.about) + "\n";
}

std::string command_section(const ProgramShape& shape, const CommandShape& command) {
  std::string text = ".SS " + troff(command.name) + "\n" + bold(shape.name + " " + command.name);
  for (const OptionShape& option : command.positionals) {
    text += option.required ? " " + italic(option.names.front())
                            : " [" + italic(option.names.front()) + "]";
  }
  text += " [" + italic("options") + "]\n.PP\n" + troff(command.about) + ".\n";
  for (const OptionShape& option : command.positionals) {
    text += positional_entry(option);
  }
  for (const OptionShape& option : command.options) {
    text += option.names.back() == "--help" ? "" : option_entry(option);
  }
  return text;
}

}  // namespace

std::string render_manual(const ProgramShape& shape) {
  // Not justified (.ad l): a long word, such as an account's name, leaves its line ragged.
  std::string text = ".TH AGENTBOX\\-PROVISION 1 \"\" \"agentbox " + troff(shape.version) +
                     "\" \"agentbox\"\n.ad l\n.SH NAME\n" + troff(shape.name) +
                     " \\- makes, proves and looks after boxes for AI agents\n.SH SYNOPSIS\n" +
                     bold(shape.name) + " " + italic("command") + " [" + italic("name") + "] [" +
                     italic("options") + "]\n.SH DESCRIPTION\n" + troff(shape.about) +
                     "\n.SH OPTIONS\nThese go with every command.\n";
  for (const OptionShape& option : shape.options) {
    text += option_entry(option);
  }
  text += ".SH COMMANDS\n";
  for (const CommandShape& command : shape.commands) {
    text += command_section(shape, command);
  }
  return text + ".SH EXIT CODES, OUTPUT, ENVIRONMENT\n.nf\n" + troff(shape.footer) + "\n.fi\n";
}

}  // namespace agentbox::provision

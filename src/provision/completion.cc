// pure: see completion.h.
#include "provision/completion.h"

#include <algorithm>

#include "provision/quote.h"

namespace agentbox::provision {
namespace {

using Options = std::vector<OptionShape>;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

std::vector<std::string> names_of(const Options& options) {
  std::vector<std::string> names;
  for (const OptionShape& option : options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

std::vector<std::string> command_names(const ProgramShape& shape) {
  std::vector<std::string> names;
  for (const CommandShape& command : shape.commands) {
    names.push_back(command.name);
  }
  return names;
}

Options all_options(const ProgramShape& shape, const CommandShape& command) {
  Options options = command.options;
  for (const OptionShape& option : shape.options) {
    const bool known = std::any_of(options.begin(), options.end(), [&](const OptionShape& other) {
      return other.names == option.names;
    });
    if (!known) {
      options.push_back(option);
    }
  }
  return options;
}

bool takes_box(const OptionShape& option) {
  return option.names.front() == "NAME" || option.value == "BOX";
}

bool takes_file(const OptionShape& option) {
  return option.value == "FILE" || option.value == "KEY";
}

// The first sentence: a list of candidates has no room for more.
std::string brief(const std::string& about) {
  const auto end = std::min(about.find(". "), about.find(';'));
  return about.substr(0, end);
}

// A function that prints the names of the boxes there are, one a line.
std::string boxes_function(const std::string& program) {
  return "_agentbox_boxes() { " + program +
         " list 2>/dev/null | sed -n 's/^\\([a-z][-a-z0-9]*\\) .*/\\1/p'; }\n";
}

// bash

std::string bash_values(const OptionShape& option) {
  if (!option.choices.empty()) {
    return "COMPREPLY=($(compgen -W '" + joined(option.choices) + "' -- \"$word\"))";
  }
  if (takes_box(option)) {
    return "COMPREPLY=($(compgen -W \"$(_agentbox_boxes)\" -- \"$word\"))";
  }
  if (takes_file(option)) {
    return "COMPREPLY=($(compgen -f -- \"$word\"))";
  }
  return option.value == "DIR" ? "COMPREPLY=($(compgen -d -- \"$word\"))" : "COMPREPLY=()";
}

std::string bash_command(const ProgramShape& shape, const CommandShape& command) {
  const Options options = all_options(shape, command);
  std::string text = "    " + command.name + ")\n      case $previous in\n";
  for (const OptionShape& option : options) {
    if (!option.value.empty()) {
      std::string pattern;
      for (const std::string& name : option.names) {
        pattern += (pattern.empty() ? "" : "|") + name;
      }
      text += "        " + pattern + ") " + bash_values(option) + "; return ;;\n";
    }
  }
  text += "      esac\n      case $word in\n        -*) COMPREPLY=($(compgen -W '" +
          joined(names_of(options)) +
          "' -- \"$word\")); return ;;\n      esac\n      case $place in\n";
  for (std::size_t i = 0; i < command.positionals.size(); ++i) {
    text += "        " + std::to_string(i) + ") " + bash_values(command.positionals[i]) + " ;;\n";
  }
  return text + "      esac ;;\n";
}

std::string valued_pattern(const ProgramShape& shape) {
  std::vector<std::string> names;
  for (const CommandShape& command : shape.commands) {
    for (const OptionShape& option : all_options(shape, command)) {
      if (!option.value.empty()) {
        names.insert(names.end(), option.names.begin(), option.names.end());
      }
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string pattern;
  for (const std::string& name : names) {
    pattern += (pattern.empty() ? "" : "|") + name;
  }
  return pattern;
}

std::string render_bash(const ProgramShape& shape) {
  std::string text = boxes_function(shape.name) +
                     "_agentbox_provision() {\n"
                     "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
                     "  local command='' place=-1 i\n"
                     "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
                     "    case ${COMP_WORDS[i]} in\n"
                     "      " +
                     valued_pattern(shape) +
                     ") ((++i)) ;;\n"
                     "      -*) ;;\n"
                     "      *) [ -n \"$command\" ] || command=${COMP_WORDS[i]}; ((++place)) ;;\n"
                     "    esac\n"
                     "  done\n"
                     "  case $command in\n"
                     "    '') COMPREPLY=($(compgen -W '" +
                     joined(command_names(shape)) + " " + joined(names_of(shape.options)) +
                     "' -- \"$word\")) ;;\n";
  for (const CommandShape& command : shape.commands) {
    text += bash_command(shape, command);
  }
  return text + "  esac\n}\ncomplete -F _agentbox_provision " + shape.name + "\n";
}

// zsh

// Text inside a specification of _arguments, whose own characters are escaped.
std::string zsh_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') {
      escaped += '\\';
    }
    escaped += c;
  }
  return escaped;
}

std::string zsh_action(const OptionShape& option) {
  if (!option.choices.empty()) {
    return "(" + joined(option.choices) + ")";
  }
  if (takes_box(option)) {
    return "{compadd -- $(_agentbox_boxes)}";
  }
  return takes_file(option) ? "_files" : option.value == "DIR" ? "_files -/" : " ";
}

std::string zsh_specification(const OptionShape& option, const std::string& name) {
  std::string text = "*" + name + "[" + zsh_text(brief(option.about)) + "]";
  if (!option.value.empty()) {
    text += ":" + zsh_text(option.value) + ":" + zsh_action(option);
  }
  return shell_quote(text);
}

std::string render_zsh(const ProgramShape& shape) {
  std::string text = "#compdef " + shape.name + "\n" + boxes_function(shape.name) +
                     "_agentbox_provision() {\n  local -a commands\n  commands=(\n";
  for (const CommandShape& command : shape.commands) {
    text += "    " + shell_quote(command.name + ":" + zsh_text(brief(command.about))) + "\n";
  }
  text += "  )\n  local command=${words[(r)(";
  std::string pattern;
  for (const std::string& name : command_names(shape)) {
    pattern += (pattern.empty() ? "" : "|") + name;
  }
  text += pattern + ")]}\n  case $command in\n    '') _describe command commands ;;\n";
  for (const CommandShape& command : shape.commands) {
    text += "    " + command.name + ") _arguments -s '1: :'";
    for (const OptionShape& option : all_options(shape, command)) {
      for (const std::string& name : option.names) {
        text += " \\\n      " + zsh_specification(option, name);
      }
    }
    for (const OptionShape& option : command.positionals) {
      text += " \\\n      " +
              shell_quote(":" + zsh_text(option.names.front()) + ":" + zsh_action(option));
    }
    text += " ;;\n";
  }
  // Read from the folder of completions this is the function itself; sourced it has to be
  // announced.
  return text + "  esac\n}\nif [ \"${funcstack[1]}\" = _" + shape.name +
         " ]; then\n  _agentbox_provision \"$@\"\nelse\n  compdef _agentbox_provision " +
         shape.name + "\nfi\n";
}

// fish

// A single-quoted word of fish: only the backslash and the quote have a meaning in it.
std::string fish_quote(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') {
      quoted += '\\';
    }
    quoted += c;
  }
  return quoted + "'";
}

std::string fish_option(const std::string& condition, const std::string& program,
                        const OptionShape& option) {
  std::string text = "complete -c " + program + " -n " + fish_quote(condition);
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.value.empty()) {
    text += takes_file(option) ? " -r -F" : " -x";
    text += option.value == "DIR" ? " -a '(__fish_complete_directories)'" : "";
    text += takes_box(option) ? " -a '(__agentbox_boxes)'" : "";
    text += option.choices.empty() ? "" : " -a " + fish_quote(joined(option.choices));
  }
  return text + " -d " + fish_quote(brief(option.about)) + "\n";
}

std::string render_fish(const ProgramShape& shape) {
  const std::string all = joined(command_names(shape));
  const std::string none = "not __fish_seen_subcommand_from " + all;
  std::string text = "function __agentbox_boxes\n  " + shape.name +
                     " list 2>/dev/null | string match -r '^[a-z][-a-z0-9]*(?= )'\nend\n"
                     "complete -c " +
                     shape.name + " -f\n";
  for (const CommandShape& command : shape.commands) {
    text += "complete -c " + shape.name + " -n " + fish_quote(none) + " -a " + command.name +
            " -d " + fish_quote(brief(command.about)) + "\n";
  }
  for (const OptionShape& option : shape.options) {
    text += fish_option("true", shape.name, option);
  }
  for (const CommandShape& command : shape.commands) {
    const std::string seen = "__fish_seen_subcommand_from " + command.name;
    for (const OptionShape& option : command.options) {
      text += fish_option(seen, shape.name, option);
    }
    for (const OptionShape& option : command.positionals) {
      const std::string head = "complete -c " + shape.name + " -n " + fish_quote(seen);
      if (takes_box(option)) {
        text += head + " -a '(__agentbox_boxes)'\n";
      } else if (!option.choices.empty()) {
        text += head + " -a " + fish_quote(joined(option.choices)) + "\n";
      } else if (takes_file(option)) {
        text += head + " -F\n";
      }
    }
  }
  return text;
}

}  // namespace

std::string render_completion(const ProgramShape& shape, Shell shell) {
  switch (shell) {
    case Shell::kBash:
      return render_bash(shape);
    case Shell::kZsh:
      return render_zsh(shape);
    case Shell::kFish:
      return render_fish(shape);
  }
  return {};
}

}  // namespace agentbox::provision

// pure: the prompts: fixed texts, with arguments put in as data.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agentbox/method.h"

namespace agentbox::mcp {

/// One argument of a prompt.
inline constexpr std::size_t kMaxPromptArgumentBytes = 16UL << 10;

/// What an argument is the name of: what completes it.
enum class PromptValue { kWords, kPath, kPathOrProcess, kRevision };

struct PromptArgument {
  std::string_view name;
  std::string_view description;
  bool required = false;
  PromptValue value = PromptValue::kWords;
};

struct Prompt {
  std::string_view name;
  std::string_view title;
  std::string_view description;
  std::vector<PromptArgument> arguments;
  std::string_view text;       ///< before the arguments
  std::string_view rest = {};  ///< after them
};

[[nodiscard]] const std::vector<Prompt>& all_prompts();
/// Null where there is none of that name.
[[nodiscard]] const Prompt* find_prompt(std::string_view name);

/// How to work on a failed CI run; Markdown.
[[nodiscard]] std::string_view ci_playbook();

/// prompts/list and prompts/get.
[[nodiscard]] std::vector<Method> prompt_methods();

}  // namespace agentbox::mcp

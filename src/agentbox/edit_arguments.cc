// pure: see edit_arguments.h.
#include "agentbox/edit_arguments.h"

#include <cstddef>
#include <cstdint>

namespace agentbox::mcp {
namespace {

constexpr std::size_t kMaxTextBytes = 4UL << 20;
constexpr std::size_t kMaxEdits = 200;

}  // namespace

std::vector<Argument> edit_fields(bool required) {
  return {
      {.name = "old_string",
       .description = required ? "" : "Exact text to find (no line-number prefixes).",
       .required = required,
       .max_length = kMaxTextBytes},
      {.name = "new_string",
       .description = required ? "" : "Replacement.",
       .required = required,
       .max_length = kMaxTextBytes},
      {.name = "replace_all",
       .type = ArgumentType::kBoolean,
       .description = required ? "" : "Replace every occurrence.",
       .fallback = false},
      {.name = "expected_count",
       .type = ArgumentType::kInteger,
       .description = required ? "" : "Exactly how many occurrences must exist; all are replaced.",
       .minimum = 1},
  };
}

Argument edits_argument(std::string_view description) {
  return {.name = "edits",
          .type = ArgumentType::kObjectList,
          .description = description,
          .max_items = kMaxEdits,
          .fields = edit_fields(true)};
}

TextEdit edit_of(const Arguments& arguments) {
  TextEdit edit{.old_text = arguments.text("old_string"),
                .new_text = arguments.text("new_string"),
                .replace_all = arguments.flag("replace_all")};
  if (arguments.has("expected_count")) {
    edit.expected_count = static_cast<std::uint64_t>(arguments.integer("expected_count"));
  }
  return edit;
}

}  // namespace agentbox::mcp

// pure: see door_state.h.
#include "sshd/door_state.h"

#include "base/text.h"

namespace agentbox::sshd {
std::string render_generation(std::uint64_t generation) {
  return std::to_string(generation) + '\n';
}

Result<std::uint64_t> parse_generation(std::string_view text) {
  if (!text.ends_with('\n')) {
    return Error{Code::kInvalid, "not a generation: its line has no end"};
  }
  text.remove_suffix(1);
  return parse_decimal(text);
}

}  // namespace agentbox::sshd

// pure: see door_state.h.
#include "sshd/door_state.h"

#include <algorithm>

#include "base/text.h"

namespace agentbox::sshd {
namespace {

constexpr std::size_t kDigits = 20;  // of the largest 64-bit number
constexpr std::size_t kHashBytes = 64;
constexpr std::size_t kHeadBytes = kDigits + 1 + kHashBytes + 1;

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

AuditHead next_head(const AuditHead& head, std::string_view line) {
  Sha256 sum;
  sum.update(head.hash);
  sum.update(line);
  return AuditHead{head.sequence + 1, sum.hex_digest()};
}

std::string render_head(const AuditHead& head) {
  const std::string number = std::to_string(head.sequence);
  return std::string(kDigits - number.size(), '0') + number + ' ' + head.hash + '\n';
}

Result<AuditHead> parse_head(std::string_view text) {
  const Error bad{Code::kInvalid, "not an audit head"};
  if (text.size() != kHeadBytes || text[kDigits] != ' ' || text.back() != '\n') {
    return bad;
  }
  std::string_view number = text.substr(0, kDigits);
  const std::string_view hash = text.substr(kDigits + 1, kHashBytes);
  if (!std::all_of(hash.begin(), hash.end(), is_hex)) {
    return bad;
  }
  number.remove_prefix(std::min(number.find_first_not_of('0'), kDigits - 1));
  AB_TRY(sequence, parse_decimal(number));
  return AuditHead{sequence, std::string(hash)};
}

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

// pure: see audit_chain.h.
#include "base/audit_chain.h"

#include <algorithm>

#include "base/text.h"

namespace agentbox {
namespace {

constexpr std::size_t kDigits = 20;  // of the largest 64-bit number
constexpr std::size_t kHashBytes = 64;
constexpr std::size_t kHeadBytes = kDigits + 1 + kHashBytes + 1;
constexpr std::string_view kOpening = R"(,"chain":")";
constexpr std::string_view kClosing = R"("})";

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

std::string chain_hash(std::string_view before, std::string_view body) {
  Sha256 sum;
  sum.update(before);
  sum.update(body);
  return sum.hex_digest();
}

AuditHead add_chain(const AuditHead& head, std::string& line) {
  line.pop_back();  // the brace
  AuditHead next{head.sequence + 1, chain_hash(head.hash, line)};
  line.append(kOpening).append(next.hash).append(kClosing);
  return next;
}

std::optional<ChainedLine> split_chain(std::string_view line) {
  if (!line.ends_with(kClosing)) {
    return std::nullopt;
  }
  line.remove_suffix(kClosing.size());
  const std::string_view hash = line.substr(line.size() - std::min(line.size(), kHashBytes));
  line.remove_suffix(hash.size());
  if (!is_chain_hash(hash) || !line.ends_with(kOpening)) {
    return std::nullopt;
  }
  line.remove_suffix(kOpening.size());
  return ChainedLine{line, hash};
}

bool is_chain_hash(std::string_view text) {
  return text.size() == kHashBytes && std::all_of(text.begin(), text.end(), is_hex);
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
  if (!is_chain_hash(hash)) {
    return bad;
  }
  number.remove_prefix(std::min(number.find_first_not_of('0'), kDigits - 1));
  AB_TRY(sequence, parse_decimal(number));
  return AuditHead{sequence, std::string(hash)};
}

}  // namespace agentbox

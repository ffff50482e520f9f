// edge: the reader of a box's audit lines: the door's user could have written anything there.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "provision/audit_line.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace agentbox::provision;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  OpenSessions open;
  AuditChain chain;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    static_cast<void>(parse_since(text, 1'709'209'845'006));
    const auto line = parse_audit_line(text);
    if (!line.ok()) {
      continue;
    }
    open.take(*line);
    chain.take(*line, text);
    if (!agentbox::is_printable_ascii(describe(*line))) {
      std::abort();
    }
  }
  if (chain.complaints().size() > kMaxComplaints) {
    std::abort();
  }
  return 0;
}

// pure: see json_lines.h.
#include "provision/kube/json_lines.h"

namespace agentbox::provision::kube {

Result<std::vector<Json>> JsonLines::feed(std::string_view bytes) {
  std::vector<Json> values;
  for (;;) {
    const auto end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (rest_.size() + part.size() > max_) {
      return Error{Code::kLimit, "a line of more than " + std::to_string(max_) + " bytes"};
    }
    rest_.append(part);
    if (end == std::string_view::npos) {
      return values;
    }
    bytes.remove_prefix(end + 1);
    if (rest_.find_first_not_of(" \t\r") != std::string::npos) {
      AB_TRY(value, parse_json(rest_));
      values.push_back(std::move(value));
    }
    rest_.clear();
  }
}

}  // namespace agentbox::provision::kube

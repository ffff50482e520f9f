// pure: JSON as YAML that people can read.
#pragma once

#include <string>

#include "base/json.h"

namespace agentbox::provision::kube {

/// VALUE as one YAML document, without `---`. Every text that a reader of YAML might take for
/// something else is quoted.
[[nodiscard]] std::string yaml_text(const OrderedJson& value);

}  // namespace agentbox::provision::kube

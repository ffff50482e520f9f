// pure: a stream of JSON values, one a line, as a watch sends them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace agentbox::provision::kube {

/// One object of a cluster is at most 1.5 MiB in its store, and a little longer as JSON.
inline constexpr std::size_t kMaxWatchLineBytes = 8U << 20U;

class JsonLines {
 public:
  explicit JsonLines(std::size_t max_line_bytes = kMaxWatchLineBytes) : max_(max_line_bytes) {}

  /// The values that BYTES complete; the rest waits for more. Blank lines are passed over. After an
  /// Error (a line that is no JSON, or too long) the stream is of no use any more.
  [[nodiscard]] Result<std::vector<Json>> feed(std::string_view bytes);

 private:
  std::size_t max_;
  std::string rest_;
};

}  // namespace agentbox::provision::kube

// pure: the name of a box, checked once; whoever holds a BoxName may use it in a path or a command.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace agentbox::provision {

/// A name of a Kubernetes object must leave room for what controllers append to it (63 bytes).
inline constexpr std::size_t kMaxNameBytes = 52;

/// `^[a-z]([-a-z0-9]*[a-z0-9])?$`, at most 52 bytes.
class BoxName {
 public:
  [[nodiscard]] static Result<BoxName> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }
  bool operator==(const BoxName&) const = default;

 private:
  explicit BoxName(std::string_view text) : text_(text) {}
  std::string text_;
};

}  // namespace agentbox::provision

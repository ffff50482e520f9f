// pure: the fields of SSH's own encoding (RFC 4251 section 5), read off the front of a text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace agentbox {

/// Each take_ returns nothing, and leaves the text as it was, where the text is too short. What is
/// returned points into the text.
class WireReader {
 public:
  explicit WireReader(std::string_view text) : rest_(text) {}

  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  [[nodiscard]] std::optional<std::uint32_t> take_u32() {
    const auto value = take_number(4);
    return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::uint64_t> take_u64() { return take_number(8); }
  /// A length of four bytes and that many bytes.
  [[nodiscard]] std::optional<std::string_view> take_string() {
    WireReader ahead = *this;
    const auto length = ahead.take_u32();
    if (!length || *length > ahead.rest_.size()) {
      return std::nullopt;
    }
    rest_ = ahead.rest_.substr(*length);
    return ahead.rest_.substr(0, *length);
  }

 private:
  std::optional<std::uint64_t> take_number(std::size_t bytes) {
    if (rest_.size() < bytes) {
      return std::nullopt;
    }
    std::uint64_t value = 0;
    for (const char byte : rest_.substr(0, bytes)) {
      value = value << 8U | static_cast<unsigned char>(byte);
    }
    rest_.remove_prefix(bytes);
    return value;
  }

  std::string_view rest_;
};

}  // namespace agentbox

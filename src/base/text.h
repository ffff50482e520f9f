// pure: bytes to text and back: escaping, UTF-8, hex, base64, SHA-256.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agentbox {

/// True where every byte is printable ASCII (0x20 to 0x7e).
[[nodiscard]] bool is_printable_ascii(std::string_view text);

/// Printable ASCII for any bytes: backslash becomes \\, others \n \t \r or \xHH. At most LIMIT
/// bytes come out; what is cut off shows as "...". unescape_text() undoes it where nothing was cut.
[[nodiscard]] std::string escape_text(std::string_view bytes, std::size_t limit = SIZE_MAX);

/// TEXT itself where it is printable ASCII of at most LIMIT bytes, else escape_text() of it: for
/// what its sender has escaped already.
[[nodiscard]] std::string printable_text(std::string_view text, std::size_t limit);

/// The bytes that escape_text() was given; anything it could not have written is an Error.
[[nodiscard]] Result<std::string> unescape_text(std::string_view text);

/// Length of the longest prefix that is valid UTF-8 (RFC 3629: no surrogates, shortest form).
[[nodiscard]] std::size_t valid_utf8_prefix(std::string_view bytes);
[[nodiscard]] inline bool is_utf8(std::string_view bytes) {
  return valid_utf8_prefix(bytes) == bytes.size();
}

/// BYTES with each maximal invalid piece replaced by U+FFFD (Unicode's recommended practice).
[[nodiscard]] std::string replace_invalid_utf8(std::string_view bytes);

[[nodiscard]] std::string to_hex(std::string_view bytes);

/// Standard alphabet with padding (RFC 4648 section 4).
[[nodiscard]] std::string base64_encode(std::string_view bytes);

/// Strict: the standard alphabet, right padding, no white space, no stray bits.
[[nodiscard]] Result<std::string> base64_decode(std::string_view text);

/// SHA-256 of growing data.
class Sha256 {
 public:
  Sha256();
  void update(std::string_view bytes);
  /// 32 raw bytes; the object must not be used after it.
  [[nodiscard]] std::string digest();
  [[nodiscard]] std::string hex_digest() { return to_hex(digest()); }

 private:
  static constexpr std::size_t kStateBytes = 128;  // SHA256_CTX is 112 bytes; checked in text.cc
  alignas(8) unsigned char state_[kStateBytes] = {};
};
[[nodiscard]] std::string sha256(std::string_view bytes);
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

/// A whole decimal number without sign, space or leading zeros; else nothing is returned.
[[nodiscard]] Result<std::uint64_t> parse_decimal(std::string_view text);

}  // namespace agentbox

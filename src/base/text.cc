// pure: see text.h.
#define OPENSSL_SUPPRESS_DEPRECATED  // the plain SHA256_* calls keep the static agent-box free of
                                     // OpenSSL's provider machinery

#include "base/text.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/version.h"

namespace agentbox {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
static_assert(sizeof(SHA256_CTX) <= 128);

SHA256_CTX* context_of(unsigned char* state) { return reinterpret_cast<SHA256_CTX*>(state); }

int hex_value(char digit) {
  const auto at = kHexDigits.find(digit);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

// One sequence at the start of BYTES: its length where it is valid, else 0; STUMP is then how
// many bytes belong to the broken piece.
std::size_t sequence_length(std::string_view bytes, std::size_t& stump) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned lead = at(0);
  stump = 1;
  if (lead < 0x80) {
    return 1;
  }
  const std::size_t want = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) {
    return 0;
  }
  for (std::size_t i = 1; i < want; ++i) {
    if (i >= bytes.size()) {
      return 0;
    }
    unsigned low = 0x80;
    unsigned high = 0xbf;
    if (i == 1) {  // RFC 3629 table: no overlong forms, no surrogates, nothing above U+10FFFF
      low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
      high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    }
    if (at(i) < low || at(i) > high) {
      return 0;
    }
    stump = i + 1;
  }
  return want;
}

}  // namespace

bool is_printable_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

std::string escape_text(std::string_view bytes, std::size_t limit) {
  std::string out;
  for (const char c : bytes) {
    std::string piece;
    switch (c) {
      case '\\':
        piece = "\\\\";
        break;
      case '\n':
        piece = "\\n";
        break;
      case '\r':
        piece = "\\r";
        break;
      case '\t':
        piece = "\\t";
        break;
      default:
        if (c >= 0x20 && c <= 0x7e) {
          piece = c;
        } else {
          const auto byte = static_cast<unsigned char>(c);
          piece = {'\\', 'x', kHexDigits[byte >> 4U], kHexDigits[byte & 15U]};
        }
    }
    if (out.size() + piece.size() > limit) {
      constexpr std::string_view kCut = "...";
      out.resize(std::min(out.size(), limit > kCut.size() ? limit - kCut.size() : 0));
      return out.append(kCut.substr(0, limit));
    }
    out += piece;
  }
  return out;
}

std::string printable_text(std::string_view text, std::size_t limit) {
  return is_printable_ascii(text) && text.size() <= limit ? std::string(text)
                                                          : escape_text(text, limit);
}

Result<std::string> unescape_text(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char kind = i + 1 < text.size() ? text[++i] : '\0';
    if (kind == '\\' || kind == 'n' || kind == 'r' || kind == 't') {
      out += kind == 'n' ? '\n' : kind == 'r' ? '\r' : kind == 't' ? '\t' : '\\';
      continue;
    }
    const int high = kind == 'x' && i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    if (low < 0) {
      return Error{Code::kInvalid, "not an escaped text"};
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::size_t valid_utf8_prefix(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    // Eight ASCII bytes at once: nearly all text is that.
    std::uint64_t word = 0;
    while (at + sizeof word <= bytes.size()) {
      std::memcpy(&word, bytes.data() + at, sizeof word);
      if ((word & 0x8080808080808080ULL) != 0) {
        break;
      }
      at += sizeof word;
    }
    if (at == bytes.size()) {
      break;
    }
    std::size_t stump = 0;
    const std::size_t length = sequence_length(bytes.substr(at), stump);
    if (length == 0) {
      return at;
    }
    at += length;
  }
  return at;
}

std::string replace_invalid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t good = valid_utf8_prefix(bytes);
    out.append(bytes.substr(0, good));
    bytes.remove_prefix(good);
    if (!bytes.empty()) {
      std::size_t stump = 0;
      static_cast<void>(sequence_length(bytes, stump));
      out.append("\xef\xbf\xbd");
      bytes.remove_prefix(stump);
    }
  }
  return out;
}

std::string to_hex(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kHexDigits[byte >> 4U];
    out += kHexDigits[byte & 15U];
  }
  return out;
}

std::string base64_encode(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

Result<std::string> base64_decode(std::string_view text) {
  const Error bad{Code::kInvalid, "not base64 (standard alphabet with padding, no white space)"};
  if (text.size() % 4 != 0) {
    return bad;
  }
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  const auto in_alphabet = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
  };
  const std::string_view body = text.substr(0, text.size() - padding);
  if (!std::all_of(body.begin(), body.end(), in_alphabet)) {
    return bad;
  }
  std::string out(text.size() / 4 * 3, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  if (length < 0) {
    return bad;
  }
  out.resize(static_cast<std::size_t>(length) - padding);
  // Two texts for the same bytes would be two names for one key; only the canonical one is taken.
  if (padding > 0 &&
      base64_encode(out.substr(out.size() / 3 * 3)) != text.substr(text.size() - 4)) {
    return bad;
  }
  return out;
}

Sha256::Sha256() { SHA256_Init(context_of(state_)); }

void Sha256::update(std::string_view bytes) {
  SHA256_Update(context_of(state_), bytes.data(), bytes.size());
}

std::string Sha256::digest() {
  std::string out(SHA256_DIGEST_LENGTH, '\0');
  SHA256_Final(reinterpret_cast<unsigned char*>(out.data()), context_of(state_));
  return out;
}

LibraryVersion crypto_library() {
  return {"OpenSSL", OPENSSL_VERSION_STR, ::OpenSSL_version(OPENSSL_VERSION_STRING)};
}

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.digest();
}

std::string sha256_hex(std::string_view bytes) { return to_hex(sha256(bytes)); }

Result<std::uint64_t> parse_decimal(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (text.empty() || code != std::errc{} || stop != end ||
      (text.size() > 1 && text.front() == '0')) {
    return Error{Code::kInvalid, "not a decimal number"};
  }
  return value;
}

}  // namespace agentbox

// pure: tests of base/text.
#include "base/text.h"

#include "support/catch.h"

using namespace agentbox;

TEST_CASE("what is printable stays as it is, and is escaped once where it is not") {
  CHECK(printable_text(R"(a\\b)", 80) == R"(a\\b)");
  CHECK(printable_text("a\nb", 80) == R"(a\nb)");
  CHECK(printable_text("abcdef", 5) == "ab...");
}

TEST_CASE("escaping leaves printable text alone and can be undone") {
  const std::string bytes = std::string("a\\b\n\r\t\x01\xff") + '\0' + "z";
  const std::string text = escape_text(bytes);
  CHECK(text == "a\\\\b\\n\\r\\t\\x01\\xff\\x00z");
  CHECK(is_printable_ascii(text));
  CHECK(unescape_text(text).value() == bytes);
  CHECK(escape_text("plain text 1.5") == "plain text 1.5");
}

TEST_CASE("an escaped text never passes its limit and never ends inside an escape") {
  CHECK(escape_text("abcdefgh", 8) == "abcdefgh");
  CHECK(escape_text("abcdefghi", 8) == "abcde...");
  CHECK(escape_text("\n\n\n\n\n", 8).size() <= 8);
  CHECK(escape_text("abc", 2) == "..");
}

TEST_CASE("what escaping could not have written is refused") {
  CHECK_FALSE(unescape_text("\\").ok());
  CHECK_FALSE(unescape_text("\\q").ok());
  CHECK_FALSE(unescape_text("\\x4").ok());
  CHECK_FALSE(unescape_text("\\xZZ").ok());
}

TEST_CASE("UTF-8 is judged by RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF") {
  CHECK(is_utf8("plain, and longer than eight bytes"));
  CHECK(is_utf8("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
  CHECK(is_utf8(""));
  for (const char* bad : {"\xff", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                          "\xf5\x80\x80\x80", "abcdefgh\x80", "\xe2\x82", "\xc3"}) {
    CHECK_FALSE(is_utf8(bad));
  }
  CHECK(valid_utf8_prefix("12345678ab\xffzz") == 10);
}

TEST_CASE("each broken piece of UTF-8 becomes one replacement character") {
  CHECK(replace_invalid_utf8("a\xff\xfe"
                             "b") ==
        "a\xef\xbf\xbd\xef\xbf\xbd"
        "b");
  CHECK(replace_invalid_utf8("\xe2\x82") == "\xef\xbf\xbd");
  CHECK(replace_invalid_utf8("\xc0\x80") == "\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(replace_invalid_utf8("fine") == "fine");
}

TEST_CASE("base64 decoding takes the canonical form and nothing else") {
  CHECK(base64_encode("") == "");
  CHECK(base64_encode("fo") == "Zm8=");
  CHECK(base64_decode("Zm9vYg==").value() == "foob");
  CHECK(base64_decode("").value() == "");
  for (const char* bad :
       {"Zm8", "Zm8=\n", "Zm_8", "Zm-8", "====", "Zh==", "Z===", "Zm8=Zm8=", " Zm8"}) {
    CHECK_FALSE(base64_decode(bad).ok());
  }
  const std::string all = [] {
    std::string bytes;
    for (int i = 0; i < 256; ++i) {
      bytes += static_cast<char>(i);
    }
    return bytes;
  }();
  CHECK(base64_decode(base64_encode(all)).value() == all);
}

TEST_CASE("SHA-256 agrees with the standard's examples, whole and in pieces") {
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 hash;
  hash.update("a");
  hash.update("");
  hash.update("bc");
  CHECK(hash.hex_digest() == sha256_hex("abc"));
}

TEST_CASE("decimal numbers have no sign, blank, leading zero or overflow") {
  CHECK(parse_decimal("0").value() == 0);
  CHECK(parse_decimal("18446744073709551615").value() == UINT64_MAX);
  for (const char* bad : {"", "+1", "-1", " 1", "1 ", "01", "1.0", "18446744073709551616", "x"}) {
    CHECK_FALSE(parse_decimal(bad).ok());
  }
}

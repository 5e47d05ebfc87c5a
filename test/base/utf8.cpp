// test/base/utf8.cpp — characters of UTF-8: every code point, and every form that is not one; texts in JSON.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/base/utf8.hpp>

#include <cstdint>
#include <string>

namespace {

/// A number in the form of `length` bytes, whether or not UTF-8 allows it.
std::string in_bytes(std::uint32_t code, std::size_t length) {
  if (length == 1) return std::string(1, static_cast<char>(code));
  std::string s;
  for (std::size_t i = 1; i < length; ++i, code >>= 6) s.insert(s.begin(), static_cast<char>(0x80 | (code & 0x3f)));
  const unsigned marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
  return s.insert(s.begin(), static_cast<char>(marks[length] | code)), s;
}

}  // namespace

TEST_CASE("the length of a character is that of its only form, and 0 for all other forms") {
  std::uint32_t wrong = 0, cut = 0;
  const std::uint32_t end[] = {0, 0x80, 0x800, 0x10000, 0x200000};
  for (std::size_t length = 1; length <= 4; ++length)
    for (std::uint32_t code = 0; code < end[length]; ++code) {
      const bool allowed = code >= end[length - 1] && code < 0x110000 && (code < 0xd800 || code >= 0xe000);
      const std::string s = in_bytes(code, length);
      wrong += ebb::detail::utf8_length(s + "x") != (allowed ? length : 0);
      cut += length > 1 && ebb::detail::utf8_length(s.substr(0, length - 1)) != 0;
    }
  CHECK(wrong == 0);
  CHECK(cut == 0);
  for (const char* s : {"\x80", "\xbf", "\xf8\x88\x80\x80\x80", "\xff", "\xc3(", "a\xc3\xa4\xff"}) CHECK_FALSE(ebb::detail::is_utf8(s));
  CHECK(ebb::detail::is_utf8("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"));
  CHECK(ebb::detail::is_utf8(""));
}

TEST_CASE("a text in JSON escapes quotes, backslashes and control characters") {
  CHECK(ebb::detail::json_text("") == "\"\"");
  CHECK(ebb::detail::json_text("a\"b\\c\t\n\r\b\f") == "\"a\\\"b\\\\c\\t\\n\\r\\b\\f\"");
  CHECK(ebb::detail::json_text("\x01\x1f\x7f") == "\"\\u0001\\u001f\x7f\"");
  CHECK(ebb::detail::json_text("\xc3\xa4") == "\"\xc3\xa4\"");
}

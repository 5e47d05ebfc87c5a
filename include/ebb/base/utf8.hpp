// ebb/base/utf8.hpp — texts in UTF-8, and texts as JSON writes them.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "config.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace ebb::inline EBB_ABI::detail {

/// How many bytes the character at the front has; 0 if it is not UTF-8: too long a form, a surrogate, or beyond U+10FFFF.
EBB_COLD std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0u) != 0x80) return 0;
  const unsigned second = byte(1);
  const bool bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
                   (first == 0xf4 && second > 0x8f);
  return bad ? 0 : length;
}
EBB_COLD bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

/// A text as JSON writes it, in quotes. Also for messages: no name from a file can pretend to be a line of its own.
EBB_COLD std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    constexpr std::string_view special = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt";
    if (const std::size_t at = special.find(c); at != std::string_view::npos) (out += '\\') += letters[at];
    else if (code < 0x20) (((out += "\\u00") += code < 0x10 ? '0' : '1')) += "0123456789abcdef"[code % 16];
    else out += c;
  }
  return out += '"';
}

}  // namespace ebb::inline EBB_ABI::detail

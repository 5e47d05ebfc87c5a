// ebb/io/safetensors_header.hpp — the header of a .safetensors file: arrays with their types, extents and places, read strictly.
// SPDX-License-Identifier: BSL-1.0
//
// [note: what a safetensors file is]
// u64 length of the header, little endian; the header, which is JSON padded with spaces to a multiple of 8; the elements. The header:
//   {"__metadata__": {"key": "text"}, "fc.weight": {"dtype": "F32", "shape": [10, 64], "data_offsets": [0, 2560]}, ...}
// Offsets count from the end of the header. The arrays cover what follows it completely: without holes, and without overlaps.
// Source: https://github.com/huggingface/safetensors, README.md, "Format".
// The file may come from anywhere, so nothing in it is believed: not a length, not an offset, not a product of extents. The grammar has
// two levels and no recursion. Memory is taken for what is there, never for what a number announces.
#pragma once

#include "../base/utf8.hpp"
#include "../num/dtype.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ebb::inline EBB_ABI {

/// An element type of the format. ebb has seven of them.
struct stored_type {
  std::string_view name;
  int bits;
  int own = -1;  // a dtype, if it is one

  constexpr bool is(dtype d) const { return own == static_cast<int>(d); }
};

namespace detail {

/// In the order of the format: arrays are written from the last type to the first, so that elements are aligned.
inline constexpr stored_type stored_types[] = {
    {"BOOL", 8, static_cast<int>(dtype::boolean)}, {"F4", 4}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8}, {"I8", 8}, {"F8_E5M2", 8},
    {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16}, {"U16", 16},
    {"F16", 16, static_cast<int>(dtype::f16)}, {"BF16", 16, static_cast<int>(dtype::bf16)}, {"I32", 32, static_cast<int>(dtype::i32)},
    {"U32", 32}, {"F32", 32, static_cast<int>(dtype::f32)}, {"C64", 64}, {"F64", 64, static_cast<int>(dtype::f64)},
    {"I64", 64, static_cast<int>(dtype::i64)}, {"U64", 64}};

constexpr const stored_type* stored_type_called(std::string_view name) {
  for (const stored_type& t : stored_types)
    if (t.name == name) return &t;
  return nullptr;
}
constexpr const stored_type& stored_type_of(dtype d) {
  const stored_type* t = stored_types;
  while (!t->is(d)) ++t;
  return *t;
}

/// Reads the parts of JSON that a header consists of. The first problem is kept, and everything after it fails.
class json_reader {
 public:
  explicit json_reader(std::string_view text) : text_(text) {}

  /// "byte 17: a string was expected", or nothing.
  std::string problem;

  EBB_COLD bool fail(const std::string& why) {
    if (problem.empty()) problem = "byte " + std::to_string(at_) + ": " + why;
    return false;
  }
  /// Whether the next character is c, which is then taken.
  EBB_COLD bool next_is(char c) {
    blank();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  EBB_COLD bool expect(char c) { return next_is(c) || fail(std::string("'") + c + "' was expected"); }
  bool ends() { return blank(), at_ == text_.size() || fail("something follows the header"); }

  /// item() for each of the items between the brackets.
  bool list(char open, char close, auto&& item) {
    if (!expect(open)) return false;
    if (next_is(close)) return true;
    do {
      if (!item()) return false;
    } while (next_is(','));
    return expect(close);
  }
  /// member(key), which reads the value, for each member of an object.
  bool object(auto&& member) {
    return list('{', '}', [&] {
      std::string key;
      return string(key) && expect(':') && member(key);
    });
  }
  EBB_COLD bool string(std::string& out) {
    if (!next_is('"')) return fail("a string was expected");
    out.clear();
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') return ++at_, true;
      if (static_cast<unsigned char>(c) < 0x20) return fail("a control character stands in a string");
      if (c == '\\') {
        if (!escape(out)) return false;
        continue;
      }
      const std::size_t length = utf8_length(text_.substr(at_));
      if (length == 0) return fail("this is not UTF-8");
      out += text_.substr(at_, length);
      at_ += length;
    }
    return fail("a string does not end");
  }
  /// A whole number from 0 to 2^64 - 1.
  EBB_COLD bool number(std::uint64_t& out) {
    blank();
    const std::size_t first = at_;
    out = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const auto digit = static_cast<std::uint64_t>(text_[at_] - '0');
      if (out > (UINT64_MAX - digit) / 10) return fail("a number is too large");
      out = 10 * out + digit;
    }
    if (at_ == first || (text_[first] == '0' && at_ != first + 1)) return fail("a number without a sign was expected");
    if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E')) return fail("a whole number was expected");
    return true;
  }

 private:
  void blank() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) ++at_;
  }
  EBB_COLD bool hexadecimal(std::uint32_t& code) {
    code = 0;
    if (text_.size() - at_ < 6 || text_[at_] != '\\' || text_[at_ + 1] != 'u') return false;
    for (std::size_t i = at_ + 2; i < at_ + 6; ++i) {
      const char c = text_[i];
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (digit < 0) return false;
      code = 16 * code + static_cast<std::uint32_t>(digit);
    }
    at_ += 6;
    return true;
  }
  EBB_COLD bool escape(std::string& out) {
    constexpr std::string_view letters = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
    const char c = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (const std::size_t i = letters.find(c); i != std::string_view::npos) {
      out += meant[i];
      at_ += 2;
      return true;
    }
    std::uint32_t code = 0, low = 0;
    if (!hexadecimal(code)) return fail("an escape was expected");
    if (code >= 0xd800 && code < 0xe000) {
      if (code >= 0xdc00 || !hexadecimal(low) || low < 0xdc00 || low >= 0xe000) return fail("half of a surrogate pair stands in a string");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (code < 0x80) return put(code), true;
    if (code < 0x800) put(0xc0 | (code >> 6));
    else {
      if (code < 0x10000) put(0xe0 | (code >> 12));
      else put(0xf0 | (code >> 18)), put(0x80 | ((code >> 12) & 0x3f));
      put(0x80 | ((code >> 6) & 0x3f));
    }
    put(0x80 | (code & 0x3f));
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace detail

/// One array of a file: its name, type and extents, and the place of its bytes after the header.
struct stored_array {
  std::string name;
  const stored_type* type = nullptr;
  std::vector<std::size_t> shape;
  std::uint64_t first = 0, last = 0;
};

using texts_by_name = std::map<std::string, std::string>;

/// The contents of a header. See [note: what a safetensors file is].
class safetensors_header {
 public:
  static constexpr std::uint64_t max_bytes = 100'000'000;  // as in the reference implementation

  std::vector<stored_array> arrays;  // in the order of their bytes
  texts_by_name metadata;

  /// Reads a header in front of `bytes` bytes of elements. Returns nothing, or what is wrong with it.
  EBB_COLD std::string parse(std::string_view text, std::uint64_t bytes) {
    detail::json_reader in(text);
    bool has_metadata = false;
    const auto member = [&](const std::string& name) {
      if (name != "__metadata__") return array(in, name);
      return (!std::exchange(has_metadata, true) || in.fail("__metadata__ is there twice")) && texts(in);
    };
    if (!in.object(member) || !in.ends()) return "the header is not one of a .safetensors file: " + in.problem;
    return check(bytes);
  }
  EBB_COLD const stored_array* find(std::string_view name) const {
    const auto is_less = [&](std::size_t i, std::string_view n) { return arrays[i].name < n; };
    const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), name, is_less);
    return at != by_name_.end() && arrays[*at].name == name ? &arrays[*at] : nullptr;
  }

 private:
  EBB_COLD bool texts(detail::json_reader& in) {
    return in.object([&](const std::string& key) {
      std::string value;
      return in.string(value) && (metadata.emplace(key, value).second || in.fail("a key of __metadata__ is there twice"));
    });
  }
  EBB_COLD bool array(detail::json_reader& in, const std::string& name) {
    stored_array a;
    a.name = name;
    int found = 0;
    const auto once = [&](int bit) {
      const bool is_new = !(found & bit);
      found |= bit;
      return is_new || in.fail("a key is there twice");
    };
    const bool good = in.object([&](const std::string& key) {
      if (key == "dtype") {
        std::string type;
        if (!once(1) || !in.string(type)) return false;
        a.type = detail::stored_type_called(type);
        return a.type || in.fail("no dtype of the format is called " + detail::json_text(type));
      }
      if (key == "shape")
        return once(2) && in.list('[', ']', [&] {
          std::uint64_t extent = 0;
          if (!in.number(extent)) return false;
          if (extent > PTRDIFF_MAX) return in.fail("an extent is too large");
          a.shape.push_back(static_cast<std::size_t>(extent));
          return true;
        });
      if (key == "data_offsets")
        return once(4) && in.expect('[') && in.number(a.first) && in.expect(',') && in.number(a.last) && in.expect(']');
      return in.fail("dtype, shape or data_offsets was expected");
    });
    if (!good) return false;
    if (found != 7) return in.fail("dtype, shape or data_offsets is missing");
    arrays.push_back(std::move(a));
    return true;
  }

  /// Whether the arrays have different names, have as many bytes as their extents say, and cover the elements.
  EBB_COLD std::string check(std::uint64_t bytes) {
    for (const stored_array& a : arrays) {
      std::uint64_t count = 1;
      bool none = false;
      for (const std::size_t extent : a.shape) {
        none = none || extent == 0;
        if (extent > 1 && count > static_cast<std::uint64_t>(PTRDIFF_MAX) / 8 / extent) return detail::json_text(a.name) + " is too large";
        count *= extent > 1 ? extent : 1;
      }
      if (none) count = 0;
      const auto bits = static_cast<std::uint64_t>(a.type->bits);
      if (count > PTRDIFF_MAX / bits) return detail::json_text(a.name) + " is too large";
      if (count * bits % 8 != 0) return detail::json_text(a.name) + " does not end with a whole byte";
      if (a.last < a.first || a.last - a.first != count * bits / 8)
        return detail::json_text(a.name) + " has " + std::to_string(count * bits / 8) + " bytes by its shape, other offsets are given";
    }
    std::sort(arrays.begin(), arrays.end(), [](const stored_array& a, const stored_array& b) {
      return a.first != b.first ? a.first < b.first : a.last != b.last ? a.last < b.last : a.name < b.name;
    });
    std::uint64_t at = 0;
    for (const stored_array& a : arrays) {
      if (a.first != at) return detail::json_text(a.name) + (a.first < at ? " overlaps another array" : " begins after a hole");
      at = a.last;
    }
    if (at != bytes)
      return "the arrays have " + std::to_string(at) + " bytes, there are " + std::to_string(bytes) + " after the header";

    by_name_.resize(arrays.size());
    for (std::size_t i = 0; i < arrays.size(); ++i) by_name_[i] = i;
    std::sort(by_name_.begin(), by_name_.end(), [&](std::size_t i, std::size_t j) { return arrays[i].name < arrays[j].name; });
    for (std::size_t i = 1; i < arrays.size(); ++i)
      if (arrays[by_name_[i - 1]].name == arrays[by_name_[i]].name) return detail::json_text(arrays[by_name_[i]].name) + " is there twice";
    return {};
  }

  std::vector<std::size_t> by_name_;
};

}  // namespace ebb::inline EBB_ABI

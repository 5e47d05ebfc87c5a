// ebb/io/inflate.hpp — unpacks deflated bytes, which a .npz file of numpy.savez_compressed consists of.
// SPDX-License-Identifier: BSL-1.0
//
// Source: P. Deutsch, DEFLATE Compressed Data Format Specification, RFC 1951. The checksum is that of RFC 1952, section 8.
#pragma once

#include "../base/config.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace ebb::inline EBB_ABI::detail {

/// crc32_table[k][b]: what the byte b does to a checksum, followed by k bytes of 0.
inline constexpr auto crc32_table = [] {
  std::array<std::array<std::uint32_t, 256>, 8> t{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    t[0][b] = b;
    for (int k = 0; k < 8; ++k) t[0][b] = (t[0][b] >> 1) ^ (t[0][b] & 1 ? 0xedb88320u : 0);
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t b = 0; b < 256; ++b) t[k][b] = (t[k - 1][b] >> 8) ^ t[0][t[k - 1][b] & 0xff];
  return t;
}();

/// The CRC-32 of RFC 1952, eight bytes at a time.
EBB_ONCE std::uint32_t crc32_of(std::span<const std::byte> bytes) {
  const auto& t = crc32_table;
  std::uint32_t crc = ~0u;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::uint32_t low, high;
    std::memcpy(&low, bytes.data(), 4);
    std::memcpy(&high, bytes.data() + 4, 4);
    low ^= crc;
    crc = t[7][low & 0xff] ^ t[6][low >> 8 & 0xff] ^ t[5][low >> 16 & 0xff] ^ t[4][low >> 24] ^ t[3][high & 0xff] ^ t[2][high >> 8 & 0xff] ^
          t[1][high >> 16 & 0xff] ^ t[0][high >> 24];
  }
  for (const std::byte b : bytes) crc = (crc >> 8) ^ t[0][(crc ^ static_cast<std::uint32_t>(b)) & 0xff];
  return ~crc;
}

/// A canonical Huffman code: lengths of up to 15 bits, of up to 288 symbols.
class huffman_code {
 public:
  /// Whether these lengths are a code: a complete one, or, where `may_have_gaps`, one of a single bit. A code without symbols has none.
  EBB_ONCE bool make(const std::uint8_t* lengths, int symbols, bool may_have_gaps) {
    std::uint16_t next[17] = {}, place[17] = {};
    std::fill_n(count_, 16, std::uint16_t{0});
    for (int s = 0; s < symbols; ++s)
      if (lengths[s]) ++count_[lengths[s]];
    int left = 1, used = 0;
    for (int bits = 1; bits <= 15; ++bits) {
      left = 2 * left - count_[bits];
      if (left < 0) return false;
      used += count_[bits];
      next[bits + 1] = static_cast<std::uint16_t>((next[bits] + count_[bits]) << 1);
      place[bits + 1] = static_cast<std::uint16_t>(place[bits] + count_[bits]);
    }
    if (left > 0 && used > 0 && !(may_have_gaps && used == count_[1])) return false;
    table_.fill(0);
    for (int s = 0; s < symbols; ++s) {
      const int bits = lengths[s];
      if (bits == 0) continue;
      sorted_[place[bits]++] = static_cast<std::uint16_t>(s);
      const std::uint32_t code = next[bits]++;
      if (bits > table_bits) continue;
      std::uint32_t reversed = 0;
      for (int k = 0; k < bits; ++k) reversed |= ((code >> k) & 1) << (bits - 1 - k);
      for (std::uint32_t at = reversed; at < table_.size(); at += 1u << bits) table_[at] = static_cast<std::uint16_t>(s << 4 | bits);
    }
    return true;
  }
  /// The symbol at the front of the bits, and its length; a length of 0 if there is none.
  int look_up(std::uint32_t bits, int& length) const {
    const std::uint16_t entry = table_[bits & (table_.size() - 1)];
    length = entry & 15;
    return length ? entry >> 4 : long_code(bits, length);
  }

 private:
  static constexpr int table_bits = 10;

  /// Bit by bit: of the codes of one length the first, and how many there are, are enough.
  EBB_ONCE int long_code(std::uint32_t bits, int& length) const {
    int code = 0, first = 0, index = 0;
    for (length = 1; length <= 15; ++length) {
      code |= static_cast<int>(bits & 1);
      bits >>= 1;
      const int count = count_[length];
      if (code - count < first) return sorted_[index + code - first];
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    length = 0;
    return 0;
  }

  std::array<std::uint16_t, 1 << table_bits> table_;  // symbol << 4 | length
  std::uint16_t count_[16], sorted_[288];
};

/// Unpacks one stream.
class inflater {
 public:
  inflater(std::span<const std::byte> from, std::span<std::byte> to) : in_(from), out_(to) {}

  /// Nothing, or what is wrong. The stream must fill `to`, and end where `from` ends.
  EBB_ONCE std::string run() {
    static constexpr const char* truncated = "the packed bytes are truncated";
    for (bool last = false; !last;) {
      last = take(1);
      const std::uint32_t kind = take(2);
      const char* const problem = kind == 0   ? stored()
                                  : kind == 1 ? fixed()
                                  : kind == 2 ? dynamic()
                                              : "a block has a kind that does not exist";
      if (is_over_) return truncated;
      if (problem) return problem;
    }
    if (done_ != out_.size()) return "there are " + std::to_string(done_) + " bytes, " + std::to_string(out_.size()) + " were announced";
    return at_ - static_cast<std::size_t>(held_ / 8) == in_.size() ? "" : "something follows the packed bytes";
  }

 private:
  static constexpr const char* too_much = "there are more bytes than were announced";

  void fill() {
    for (; held_ <= 56 && at_ < in_.size(); held_ += 8) bits_ |= static_cast<std::uint64_t>(in_[at_++]) << held_;
  }
  std::uint32_t take(int n) {
    fill();
    if (held_ < n) return is_over_ = true, 0;
    const auto value = static_cast<std::uint32_t>(bits_ & ((std::uint64_t{1} << n) - 1));
    bits_ >>= n;
    held_ -= n;
    return value;
  }
  /// A symbol, or -1.
  int take(const huffman_code& code) {
    fill();
    int length = 0;
    const int symbol = code.look_up(static_cast<std::uint32_t>(bits_), length);
    if (length == 0) return -1;
    if (length > held_) return is_over_ = true, -1;
    bits_ >>= length;
    held_ -= length;
    return symbol;
  }

  EBB_ONCE const char* stored() {
    take(held_ % 8);
    const std::uint32_t length = take(16), inverted = take(16);
    if (is_over_) return nullptr;
    if (length != (~inverted & 0xffff)) return "a block has two different lengths";
    at_ -= static_cast<std::size_t>(held_ / 8);
    held_ = 0, bits_ = 0;
    if (in_.size() - at_ < length) return is_over_ = true, nullptr;
    if (out_.size() - done_ < length) return too_much;
    if (length) std::memcpy(out_.data() + done_, in_.data() + at_, length);
    at_ += length;
    done_ += length;
    return nullptr;
  }
  EBB_ONCE const char* fixed() {
    std::uint8_t lengths[288];
    for (int s = 0; s < 288; ++s) lengths[s] = static_cast<std::uint8_t>(s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : 8);
    literals_.make(lengths, 288, false);
    std::fill_n(lengths, 32, std::uint8_t{5});
    distances_.make(lengths, 32, false);
    return symbols();
  }
  EBB_ONCE const char* dynamic() {
    const auto literals = static_cast<int>(take(5)) + 257, distances = static_cast<int>(take(5)) + 1, codes = static_cast<int>(take(4)) + 4;
    if (literals > 286 || distances > 30) return "a block has too many symbols";
    static constexpr std::uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    std::uint8_t lengths[286 + 30] = {};
    for (int i = 0; i < codes; ++i) lengths[order[i]] = static_cast<std::uint8_t>(take(3));
    if (is_over_) return nullptr;
    static constexpr const char* no_code = "the lengths of a block are no code";
    if (!literals_.make(lengths, 19, false)) return no_code;
    std::fill_n(lengths, 19, std::uint8_t{0});
    for (int i = 0; i < literals + distances;) {
      const int symbol = take(literals_);
      if (symbol < 0) return no_code;
      if (symbol < 16) {
        lengths[i++] = static_cast<std::uint8_t>(symbol);
        continue;
      }
      if (symbol == 16 && i == 0) return no_code;
      const std::uint8_t again = symbol == 16 ? lengths[i - 1] : std::uint8_t{0};
      const int times = static_cast<int>(symbol == 16 ? 3 + take(2) : symbol == 17 ? 3 + take(3) : 11 + take(7));
      if (is_over_) return nullptr;
      if (i + times > literals + distances) return no_code;
      std::fill_n(lengths + i, times, again);
      i += times;
    }
    if (lengths[256] == 0) return "a block has no end";
    if (!literals_.make(lengths, literals, true) || !distances_.make(lengths + literals, distances, true)) return no_code;
    return symbols();
  }
  EBB_ONCE const char* symbols() {
    static constexpr std::uint16_t length_base[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                                    31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static constexpr std::uint8_t length_bits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static constexpr std::uint16_t distance_base[] = {1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
                                                      193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385,
                                                      24577};
    for (;;) {
      const int symbol = take(literals_);
      if (symbol < 0) return "the packed bytes hold no symbol of their block";
      if (symbol < 256) {
        if (done_ == out_.size()) return too_much;
        out_[done_++] = static_cast<std::byte>(symbol);
        continue;
      }
      if (symbol == 256) return nullptr;
      if (symbol > 285) return "a length does not exist";
      const std::size_t length = length_base[symbol - 257] + take(length_bits[symbol - 257]);
      const int far = take(distances_);
      if (far < 0 || far > 29) return "a distance does not exist";
      const std::size_t distance = distance_base[far] + take(far < 2 ? 0 : far / 2 - 1);
      if (is_over_) return nullptr;
      if (distance > done_) return "a distance reaches before the beginning";
      if (length > out_.size() - done_) return too_much;
      std::byte* const to = out_.data() + done_;
      for (std::size_t i = 0; i < length; ++i) to[i] = *(to + i - distance);  // may overlap: the same bytes again
      done_ += length;
    }
  }

  std::span<const std::byte> in_;
  std::span<std::byte> out_;
  std::size_t at_ = 0, done_ = 0;
  std::uint64_t bits_ = 0;
  int held_ = 0;
  bool is_over_ = false;
  huffman_code literals_, distances_;
};

}  // namespace ebb::inline EBB_ABI::detail

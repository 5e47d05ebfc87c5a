// ebb/nn/sliding.hpp — windows that slide over the last axes of an array: stride, padding, dilation, and their number.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../op/axes.hpp"

namespace ebb::inline EBB_ABI {

/// A number for each of the axes that a window slides along: {rows, columns}, or {planes, rows, columns}. With one axis, the first number
/// counts. One number is taken for all.
struct per_axis {
  int first = 0, second = 0, third = 0;
  constexpr per_axis(int all = 0) : first(all), second(all), third(all) {}
  constexpr per_axis(int of_rows, int of_columns) : first(of_rows), second(of_columns) {}
  constexpr per_axis(int of_planes, int of_rows, int of_columns) : first(of_planes), second(of_rows), third(of_columns) {}
  constexpr bool operator==(const per_axis&) const = default;
  constexpr int operator[](int axis) const { return axis == 0 ? first : axis == 1 ? second : third; }
};

/// Padding with which a stride of 1 keeps the extents. If an axis needs an odd number of zeros, the larger part is after the elements.
struct same_padding_tag {};
inline constexpr same_padding_tag same_padding{};

/// Zeros before the elements of an axis and after them.
struct pads {
  per_axis before, after;
  bool same = false;
  constexpr pads(int all = 0) : before(all), after(all) {}
  constexpr pads(int of_rows, int of_columns) : before(of_rows, of_columns), after(of_rows, of_columns) {}
  constexpr pads(int of_planes, int of_rows, int of_columns) : before(of_planes, of_rows, of_columns), after(before) {}
  constexpr pads(per_axis in_front, per_axis at_the_end) : before(in_front), after(at_the_end) {}
  constexpr pads(same_padding_tag) : same(true) {}
};

/// Numbers side by side in the two attributes of an equation. Those who read take them in the order in which they were put.
struct packed_numbers {
  std::uint64_t word[2] = {};
  int at = 0;

  constexpr void put(std::int64_t x, int bits) {
    const auto u = static_cast<std::uint64_t>(x);
    word[at / 64] |= u << at % 64;
    if (at % 64 + bits > 64) word[1] |= u >> (64 - at % 64);
    at += bits;
  }
  constexpr int take(int bits) {
    std::uint64_t u = word[at / 64] >> at % 64;
    if (at % 64 + bits > 64) u |= word[1] << (64 - at % 64);
    at += bits;
    return static_cast<int>(u & ((std::uint64_t{1} << bits) - 1));
  }
  constexpr attributes packed() const { return {static_cast<std::int64_t>(word[0]), static_cast<std::int64_t>(word[1])}; }
  static constexpr packed_numbers of(const std::int64_t* attr) {
    return {{static_cast<std::uint64_t>(attr[0]), static_cast<std::uint64_t>(attr[1])}};
  }
};

/// One axis of a window. Its numbers are known; the extents of the array and of the window may be symbols.
struct sliding_axis {
  int stride = 1, dilation = 1, before = 0, after = 0;

  /// Whether the numbers are allowed, and a stride fits into so many bits, the others into so many.
  constexpr bool is_valid(int stride_bits, int bits) const {
    const auto within = [](int x, int least, int bits_of) { return x >= least && x < 1 << bits_of; };
    return within(stride, 1, stride_bits) && within(dilation, 1, bits) && within(before, 0, bits) && within(after, 0, bits);
  }
  constexpr void put(packed_numbers& to, int stride_bits, int bits) const {
    to.put(stride, stride_bits);
    to.put(dilation, bits);
    to.put(before, bits);
  }
  static constexpr sliding_axis taken(packed_numbers& from, int stride_bits, int bits) {
    sliding_axis r;
    r.stride = from.take(stride_bits);
    r.dilation = from.take(bits);
    r.before = from.take(bits);
    return r;
  }

  /// The number of windows of `size` elements: floor((in + before + after - dilation (size - 1) - 1) / stride) + 1. -1 if it is
  /// known that there is none; else the call requires one. An extent that keeps its value keeps its symbol.
  constexpr int windows(symbols& s, int in, int size) const {
    const auto with = [&s](int extent, int more) {
      if (more == 0) return extent;
      return more > 0 ? s.derive(extent_rule::sum, extent, more) : s.derive(extent_rule::difference, extent, -more);
    };
    in = s.find(in);
    size = s.find(size);
    int starts = in;  // with a stride of 1
    if (size >= 0) {
      const int left = before + after - dilation * (size - 1);
      if (in >= 0 && in + left < 1) return -1;
      // If the place of the last window may be negative, it is an extent of its own, which the call checks.
      starts = in >= 0 || left >= 0 ? with(in, left) : with(with(in, left - 1), 1);
    } else {
      const int last = s.derive(extent_rule::difference, with(in, before + after + dilation - 1),
                                s.derive(extent_rule::product, size, dilation));
      starts = with(last, 1);
    }
    return s.derive(extent_rule::quotient, starts, stride);
  }
};

}  // namespace ebb::inline EBB_ABI

// ebb/nn/sliding.hpp — how a window slides over the last axes of an array: stride, padding, dilation, and how many windows there are.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../op/axes.hpp"

namespace ebb::inline EBB_ABI {

/// A number for each of the last two axes, of rows and of columns. With one axis, the first number counts. One number is taken for both.
struct per_axis {
  int first = 0, second = 0;
  constexpr per_axis(int both = 0) : first(both), second(both) {}
  constexpr per_axis(int of_rows, int of_columns) : first(of_rows), second(of_columns) {}
  constexpr int operator[](int axis) const { return axis == 0 ? first : second; }
};

/// Padding with which a stride of 1 keeps the extents. If an axis needs an odd number of zeros, the larger part is after the elements.
struct same_padding_tag {};
inline constexpr same_padding_tag same_padding{};

/// Zeros before the elements of an axis and after them.
struct pads {
  per_axis before, behind;
  bool same = false;
  constexpr pads(int all = 0) : before(all), behind(all) {}
  constexpr pads(int of_rows, int of_columns) : before(of_rows, of_columns), behind(of_rows, of_columns) {}
  constexpr pads(per_axis in_front, per_axis at_the_end) : before(in_front), behind(at_the_end) {}
  constexpr pads(same_padding_tag) : same(true) {}
};

/// One axis of a window. Its numbers are known; the extents of the array and of the window may be symbols.
struct sliding_axis {
  int stride = 1, dilation = 1, before = 0, behind = 0;

  /// Whether the numbers are allowed, and fit into an attribute.
  constexpr bool is_valid() const {
    const auto within = [](int x, int least, int most) { return x >= least && x <= most; };
    return within(stride, 1, 4095) && within(dilation, 1, 65535) && within(before, 0, 65535) && within(behind, 0, 65535);
  }
  constexpr std::int64_t packed() const {
    return stride | static_cast<std::int64_t>(dilation) << 12 | static_cast<std::int64_t>(before) << 28;
  }
  static constexpr sliding_axis unpacked(std::int64_t a) {
    return {static_cast<int>(a & 4095), static_cast<int>(a >> 12 & 65535), static_cast<int>(a >> 28 & 65535), 0};
  }

  /// The number of windows of `size` elements: floor((in + before + behind - dilation (size - 1) - 1) / stride) + 1. -1 if it is
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
      const int left = before + behind - dilation * (size - 1);
      if (in >= 0 && in + left < 1) return -1;
      // If the place of the last window may be negative, it is an extent of its own, which the call checks.
      starts = in >= 0 || left >= 0 ? with(in, left) : with(with(in, left - 1), 1);
    } else {
      const int last = s.derive(extent_rule::difference, with(in, before + behind + dilation - 1),
                                s.derive(extent_rule::product, size, dilation));
      starts = with(last, 1);
    }
    return s.derive(extent_rule::quotient, starts, stride);
  }
};

}  // namespace ebb::inline EBB_ABI

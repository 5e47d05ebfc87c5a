// ebb/nn/convolution_op.hpp — the ops of convolutions: the result, its gradient by the array, and its gradient by the weight.
// SPDX-License-Identifier: BSL-1.0
//
// [note: three forms of a convolution]
// The sum of x(n, c, place) w(o, c, tap) g(n, o, window), over all windows and taps that meet at a place, is linear in each of the three
// arrays. Each op is the derivative of this sum by one array, as a function of the other two: conv by g, conv_back by x, conv_weights by w.
// So the pull of each op consists of the other two, and there are derivatives of every order. The shapes of results are given, not
// inferred: with a stride, several extents of x have the same number of windows. All three ops take leading axes in front of their own;
// both operands have the same ones.
#pragma once

#include "convolve.hpp"
#include "sliding.hpp"

#include "../op/context.hpp"
#include "../op/whole.hpp"

namespace ebb::inline EBB_ABI::detail {

/// The attributes of a convolution. With three axes, strides, dilations and padding are smaller, so that they fit.
struct conv_attributes {
  sliding_axis axis[3];
  int groups = 1, axes = 1;

  static constexpr int bits(int axes) { return axes == 3 ? 12 : 16; }
  constexpr bool is_valid() const {
    for (int i = 0; i < axes; ++i)
      if (!axis[i].is_valid(12, bits(axes))) return false;
    return groups >= 1 && groups <= 65535;
  }
  constexpr attributes packed() const {
    packed_numbers to;
    to.put(axes, 2);
    to.put(groups, 16);
    for (int i = 0; i < axes; ++i) axis[i].put(to, 12, bits(axes));
    return to.packed();
  }
  static constexpr conv_attributes unpacked(const std::int64_t* attr) {
    packed_numbers from = packed_numbers::of(attr);
    conv_attributes r;
    r.axes = from.take(2);
    r.groups = from.take(16);
    for (int i = 0; i < r.axes; ++i) r.axis[i] = sliding_axis::taken(from, 12, bits(r.axes));
    return r;
  }
};

/// The convolution of arrays with these extents, `batch` times.
struct conv_call : kernel::conv_extents {
  std::ptrdiff_t batch = 1;

  constexpr conv_call(const std::int64_t* attr, const extent_list& x, const extent_list& w, const extent_list& r) {
    const conv_attributes a = conv_attributes::unpacked(attr);
    const int lead = x.rank - 2 - a.axes;
    const auto extent = [](const extent_list& e, int i) { return static_cast<std::ptrdiff_t>(e.e[i]); };
    batch = static_cast<std::ptrdiff_t>(x.volume(0, lead));
    n = extent(x, lead);
    groups = a.groups;
    from = extent(w, lead + 1);
    to = extent(w, lead) / groups;
    const auto axis_at = [&](int i, const sliding_axis& s) {
      return kernel::conv_axis{extent(x, i), extent(w, i), extent(r, i), s.stride, s.dilation, s.before};
    };
    kernel::conv_axis* const own[] = {&column, &row, &deep};
    for (int i = 0; i < a.axes; ++i) *own[i] = axis_at(lead + 1 + a.axes - i, a.axis[a.axes - 1 - i]);
  }
  constexpr std::ptrdiff_t x_size() const { return n * groups * from * places(); }
  constexpr std::ptrdiff_t w_size() const { return groups * to * from * taps(); }
  constexpr std::ptrdiff_t r_size() const { return n * groups * to * windows(); }

  /// Calls f(x, w, r) for each tap of each window, with the indices of the elements that meet there; x is -1 beyond the edge. For one place
  /// of the result, the taps are in rising order; for one tap, the batch and its places are.
  constexpr void each_link(auto&& f) const {
    const std::ptrdiff_t count = batch * n * groups * to * windows();
    for (std::ptrdiff_t r = 0; r < count; ++r) {
      const cell_at window(r, deep.windows, row.windows, column.windows);
      const std::ptrdiff_t o = r / windows() % (groups * to), image = r / windows() / (groups * to);
      const std::ptrdiff_t own = image / n * w_size() / taps() + o * from;
      for (std::ptrdiff_t c = 0; c < from; ++c)
        for (std::ptrdiff_t k = 0; k < taps(); ++k) {
          const cell_at tap(k, deep.taps, row.taps, column.taps);
          const auto place = [](const kernel::conv_axis& a, std::ptrdiff_t i, std::ptrdiff_t j) {
            return i * a.stride + j * a.dilation - a.before;
          };
          const std::ptrdiff_t h = place(deep, window.z, tap.z), i = place(row, window.y, tap.y), j = place(column, window.x, tap.x);
          const bool inside = h >= 0 && h < deep.places && i >= 0 && i < row.places && j >= 0 && j < column.places;
          const std::ptrdiff_t plane = image * groups * from + o / to * from + c;
          f(inside ? plane * places() + (h * row.places + i) * column.places + j : -1, (own + c) * taps() + k, r);
        }
    }
  }
  /// Calls f(w, r) for each channel of the result and each tap through which a window can meet element x; r is -1 if there is none.
  constexpr void each_window(std::ptrdiff_t x, auto&& f) const {
    const cell_at place(x, deep.places, row.places, column.places);
    const std::ptrdiff_t plane = x / places(), image = plane / (groups * from);
    const std::ptrdiff_t group = plane / from % groups, own = image / n * w_size() + plane % from * taps();
    for (std::ptrdiff_t o = group * to; o < (group + 1) * to; ++o)
      for (std::ptrdiff_t k = 0; k < taps(); ++k) {
        const cell_at tap(k, deep.taps, row.taps, column.taps);
        const auto start = [](const kernel::conv_axis& a, std::ptrdiff_t i, std::ptrdiff_t j) { return i + a.before - j * a.dilation; };
        const std::ptrdiff_t h = start(deep, place.z, tap.z), i = start(row, place.y, tap.y), j = start(column, place.x, tap.x);
        if (h % deep.stride != 0 || i % row.stride != 0 || j % column.stride != 0) continue;
        const auto inside = [](const kernel::conv_axis& a, std::ptrdiff_t first) { return first >= 0 && first / a.stride < a.windows; };
        const std::ptrdiff_t window = (h / deep.stride * row.windows + i / row.stride) * column.windows + j / column.stride;
        const bool is_there = inside(deep, h) && inside(row, i) && inside(column, j);
        f(own + o * from * taps() + k, is_there ? (image * groups * to + o) * windows() + window : -1);
      }
  }

 private:
  /// The plane, the row and the column of element i of a row-major array.
  struct cell_at {
    std::ptrdiff_t z, y, x;
    constexpr cell_at(std::ptrdiff_t i, std::ptrdiff_t planes, std::ptrdiff_t rows, std::ptrdiff_t columns)
        : z(i / columns / rows % planes), y(i / columns % rows), x(i % columns) {}
  };
};

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

struct convolving : op_base {
  static constexpr kind what = kind::own;
  static constexpr int arity = 2;
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr precision autocast = precision::low;
  static constexpr int show(const std::int64_t* attr, int, std::int64_t* numbers) {
    const auto a = ebb::detail::conv_attributes::unpacked(attr);
    int count = 0;
    for (int i = 0; i < a.axes; ++i) numbers[count++] = a.axis[i].stride;
    for (int i = 0; i < a.axes; ++i) numbers[count++] = a.axis[i].before;
    for (int i = 0; i < a.axes; ++i) numbers[count++] = a.axis[i].dilation;
    numbers[count++] = a.groups;
    return count;
  }
};

/// The convolution of x [n, groups c, places] with w [groups o, c, taps]: [n, groups o, windows].   Saves: x, w.
struct conv : convolving {
  static constexpr std::string_view name = "conv";
  static constexpr int folded(const std::int64_t* attr, int rank) {
    return rank == 2 + ebb::detail::conv_attributes::unpacked(attr).axes ? 0 : -1;
  }
  template <class T>
  static void whole(const whole_call& c) {
    const ebb::detail::conv_call k(c.attr, c.shapes[0], c.shapes[1], c.result);
    void* const scratch = thread_scratch().take(kernel::convolve_scratch_bytes<T>(k));
    for (std::ptrdiff_t i = 0; i < k.batch; ++i)
      kernel::convolve<T>(k, static_cast<const T*>(c.in[0]) + i * k.x_size(), static_cast<const T*>(c.in[1]) + i * k.w_size(),
                          static_cast<T*>(c.out) + i * k.r_size(), scratch);
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    const ebb::detail::conv_call k(c.attr, c.in[0], c.in[1], c.out);
    vec<S> sum(static_cast<int>(c.out.volume()), S(0));
    k.each_link([&](std::ptrdiff_t x, std::ptrdiff_t w, std::ptrdiff_t r) {
      S& to = sum[static_cast<int>(r)];
      to = lane::fma(in(1, static_cast<std::size_t>(w)), x < 0 ? S(0) : in(0, static_cast<std::size_t>(x)), to);
    });
    for (int i = 0; i < sum.size(); ++i) put(static_cast<std::size_t>(i), sum[i]);
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T> w, operand<T> out);
};

/// The gradient of conv by x, from g [n, groups o, windows] and w. The shape is given, not inferred.   Saves: g, w.
struct conv_back : convolving {
  static constexpr std::string_view name = "conv_back";
  static constexpr int folded(const std::int64_t* attr, int rank) { return conv::folded(attr, rank); }
  template <class T>
  static void whole(const whole_call& c) {
    const ebb::detail::conv_call k(c.attr, c.result, c.shapes[1], c.shapes[0]);
    void* const scratch = thread_scratch().take(kernel::convolve_scratch_bytes<T>(k));
    for (std::ptrdiff_t i = 0; i < k.batch; ++i)
      kernel::convolve_back<T>(k, static_cast<const T*>(c.in[0]) + i * k.r_size(), static_cast<const T*>(c.in[1]) + i * k.w_size(),
                               static_cast<T*>(c.out) + i * k.x_size(), scratch);
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    const ebb::detail::conv_call k(c.attr, c.out, c.in[1], c.in[0]);
    const auto count = static_cast<std::ptrdiff_t>(c.out.volume());
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      S sum = 0;
      k.each_window(i, [&](std::ptrdiff_t w, std::ptrdiff_t r) {
        sum = lane::fma(in(1, static_cast<std::size_t>(w)), r < 0 ? S(0) : in(0, static_cast<std::size_t>(r)), sum);
      });
      put(static_cast<std::size_t>(i), sum);
    }
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> of, operand<T> w, operand<T> out);
};

/// The gradient of conv by w, from x and g. The shape is given, not inferred.   Saves: x, g.
struct conv_weights : convolving {
  static constexpr std::string_view name = "conv_weights";
  template <class T>
  static void whole(const whole_call& c) {
    const ebb::detail::conv_call k(c.attr, c.shapes[0], c.result, c.shapes[1]);
    void* const scratch = thread_scratch().take(kernel::convolve_scratch_bytes<T>(k));
    for (std::ptrdiff_t i = 0; i < k.batch; ++i)
      kernel::convolve_weights<T>(k, static_cast<const T*>(c.in[0]) + i * k.x_size(), static_cast<const T*>(c.in[1]) + i * k.r_size(),
                                  static_cast<T*>(c.out) + i * k.w_size(), scratch);
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    const ebb::detail::conv_call k(c.attr, c.in[0], c.out, c.in[1]);
    vec<S> sum(static_cast<int>(c.out.volume()), S(0));
    k.each_link([&](std::ptrdiff_t x, std::ptrdiff_t w, std::ptrdiff_t r) {
      S& to = sum[static_cast<int>(w)];
      to = lane::fma(x < 0 ? S(0) : in(0, static_cast<std::size_t>(x)), in(1, static_cast<std::size_t>(r)), to);
    });
    for (int i = 0; i < sum.size(); ++i) put(static_cast<std::size_t>(i), sum[i]);
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T> of, operand<T> out);
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::detail {

/// Op on x and y, with the attributes of `of` and the shape of `like`.
template <class Op, class T>
constexpr operand<T> conv_form(operand<T> of, operand<T> like, operand<T> x, operand<T> y) {
  return {of.g, emit_as<Op, T>(*of.g, like.shape_number(), {x.id, y.id}, {of.attribute(0), of.attribute(1)})};
}

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

template <class T>
constexpr auto conv::pull(operand<T> g, operand<T> x, operand<T> w, operand<T> out) {
  return grads(ebb::detail::conv_form<conv_back>(out, x, g, w), ebb::detail::conv_form<conv_weights>(out, w, x, g));
}
template <class T>
constexpr auto conv_back::pull(operand<T> g, operand<T> of, operand<T> w, operand<T> out) {
  return grads(ebb::detail::conv_form<conv>(out, of, g, w), ebb::detail::conv_form<conv_weights>(out, w, g, of));
}
template <class T>
constexpr auto conv_weights::pull(operand<T> g, operand<T> x, operand<T> of, operand<T> out) {
  return grads(ebb::detail::conv_form<conv_back>(out, x, of, g), ebb::detail::conv_form<conv>(out, of, x, g));
}

}  // namespace ebb::inline EBB_ABI::op

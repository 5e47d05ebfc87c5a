// ebb/nn/pool_op.hpp — the ops of pools: the largest element of each window and its place, the mean or the sum, and their pulls.
// SPDX-License-Identifier: BSL-1.0
//
// [note: forms of a pool]
// pool_pick(u, x) takes from u the element at the place where the window of x has its largest one, and pool_place(g, x) adds g there.
// max_pool(x) is pool_pick(x, x), and pool_at(x) has its places. pool_mean averages windows, and pool_spread adds parts of g to the places
// of windows. The two ops of a pair are the pulls of each other, so there are derivatives of every order.
// Sums run over planes, rows, then columns of a window, and over windows in rising order where several add to one place. bf16 and f16 are
// summed in float and rounded once.
#pragma once

#include "pool_call.hpp"

#include "../op/reduce.hpp"
#include "../op/whole.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

namespace ebb::inline EBB_ABI::detail {

/// Whether an element is NaN.
template <class T>
bool has_nan(const T* x, std::size_t size) {
  bool any = false;
  std::size_t i = 0;
  if constexpr (std::is_same_v<T, computed_in<T>>) {
    constexpr auto width = static_cast<std::size_t>(simd::count_of<T>);
    simd::mask<T> found{}, other{};
    const auto see = [x](simd::mask<T>& to, std::size_t first, std::size_t second) EBB_LAMBDA {
      to = static_cast<simd::mask<T>>(to | simd::unordered(simd::load(x + first), simd::load(x + second)));
    };
    for (; i + 4 * width <= size; i += 4 * width) {
      see(found, i, i + width);
      see(other, i + 2 * width, i + 3 * width);
    }
    for (; i + width <= size; i += width) see(found, i, i);
    any = simd::any_lane(static_cast<simd::mask<T>>(found | other));
  }
  for (; i < size; ++i) any |= static_cast<computed_in<T>>(x[i]) != static_cast<computed_in<T>>(x[i]);
  return any;
}
/// Whether an element is 0; or -0, as it lies in memory.
template <class T>
bool has_zero(const T* x, std::size_t size) {
  bool any = false;
  std::size_t i = 0;
  if constexpr (std::is_same_v<T, computed_in<T>>) {
    simd::mask<T> found{};
    for (constexpr auto width = static_cast<std::size_t>(simd::count_of<T>); i + width <= size; i += width)
      found = static_cast<simd::mask<T>>(found | simd::equal<T>(simd::load(x + i), simd::vector<T>{}));
    any = simd::any_lane(found);
  }
  for (; i < size; ++i) any |= static_cast<computed_in<T>>(x[i]) == 0;
  return any;
}
template <class T>
bool has_negative_zero(const T* x, std::size_t size) {
  using B = std::conditional_t<sizeof(T) == 2, std::uint16_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  constexpr B sign = static_cast<B>(B{1} << (8 * sizeof(T) - 1));
  B most = 0;  // of the numbers by which -0 is the largest one
  for (std::size_t i = 0; i < size; ++i) most = std::max(most, static_cast<B>(~(std::bit_cast<B>(x[i]) ^ sign)));
  return most == static_cast<B>(~B{0});
}

/// Op::plane<S>(call, in, put, sums) computes one plane: in(j, i) is element i of operand j there. Op::in_lanes<T>(call, in, out) does the
/// same in lanes, or gives false.
template <class Op>
struct pooling : op_base {
  static constexpr kind what = kind::own;
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr int show(const std::int64_t* attr, int, std::int64_t* numbers) {
    const auto a = pool_attributes::unpacked(attr);
    int count = 0;
    for (int i = 0; i < a.axes && !a.adaptive; ++i) numbers[count++] = a.axis[i].size;
    for (int i = 0; i < a.axes && !a.adaptive; ++i) numbers[count++] = a.axis[i].by.stride;
    return count;
  }
  template <class T>
  static void whole(const whole_call& c) {
    using S = computed_in<T>;
    pool_call p = call(c.shapes, c.result, c.attr);
    constexpr bool is_in_lanes = requires(const T* const* in, T* out) { Op::template in_lanes<T>(p, in, out); };
    if constexpr (is_in_lanes && !Op::adds) p.join_rows();  // scratch memory for sums would grow with the rows
    S* const sums = Op::adds ? reinterpret_cast<S*>(thread_scratch().take(p.places() * sizeof(S))) : nullptr;
    const std::size_t size[] = {c.shapes[0].volume() / std::max<std::size_t>(p.planes, 1), p.places()};
    using R = typename Op::template result<T>;
    R* out = static_cast<R*>(c.out);
    const std::size_t step = c.result.volume() / std::max<std::size_t>(p.planes, 1);
    for (std::size_t i = 0; i < p.planes; ++i, out += step) {
      if constexpr (is_in_lanes) {
        constexpr int last = Op::arity - 1;
        const T* const in[] = {static_cast<const T*>(c.in[0]) + i * size[0], static_cast<const T*>(c.in[last]) + i * size[last]};
        if (Op::template in_lanes<T>(p, in, out)) continue;
      }
      Op::template plane<S>(
          p, [&](int j, std::size_t k) { return static_cast<S>(static_cast<const T*>(c.in[j])[i * size[j] + k]); },
          [&](std::size_t k, auto x) { out[k] = static_cast<R>(x); }, sums);
    }
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    const pool_call p = call(c.in, c.out, c.attr);
    vec<S> sums(static_cast<int>(p.places()), S(0));
    const std::size_t size[] = {c.in[0].volume() / std::max<std::size_t>(p.planes, 1), p.places()};
    for (std::size_t i = 0; i < p.planes; ++i)
      Op::template plane<S>(
          p, [&](int j, std::size_t k) { return in(j, i * size[j] + k); },
          [&](std::size_t k, S x) { put(i * c.out.volume() / p.planes + k, x); }, sums.data());
  }

 private:
  static constexpr pool_call call(const extent_list* in, const extent_list& out, const std::int64_t* attr) {
    return Op::adds ? pool_call(attr, out, in[0]) : pool_call(attr, in[0], out);
  }
};

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

/// The element of u at the place where x has the largest one of a window; 0 if a window has no place.   Saves: x.   Error: exact.
struct pool_pick : ebb::detail::pooling<pool_pick> {
  static constexpr std::string_view name = "pool_pick";
  static constexpr int arity = 2;
  static constexpr bool adds = false;
  /// The largest elements themselves, side by side: if none is NaN, the larger of two numbers is one instruction, and the order in which
  /// elements are taken decides about nothing but the sign of 0.
  template <class T>
  static bool in_lanes(const ebb::detail::pool_call& p, const T* const* in, T* out) {
    using S = ebb::detail::computed_in<T>;
    const std::size_t size = p.places(), windows = static_cast<std::size_t>(p.deep.windows * p.row.windows * p.column.windows);
    if (!p.largest || in[0] != in[1] || ebb::detail::has_nan(in[0], size)) return false;
    const auto itself = [](const auto&) { return [](auto best) EBB_LAMBDA { return best; }; };
    const auto larger = [](auto best, auto x) EBB_LAMBDA { return x > best ? x : best; };
    p.template pool_plane<true>(in[0], out, larger, -std::numeric_limits<S>::infinity(), itself);
    return !ebb::detail::has_zero(out, windows) || !ebb::detail::has_negative_zero(in[0], size);
  }
  template <class S>
  static constexpr void plane(const ebb::detail::pool_call& p, auto in, auto put, S*) {
    p.each_window([&](std::size_t window, const auto& w) {
      const std::ptrdiff_t at = p.template largest_in<S>(w, [&](std::size_t i) { return in(1, i); });
      put(window, at >= 0 ? in(0, static_cast<std::size_t>(at)) : p.largest ? -std::numeric_limits<S>::infinity() : S(0));
    });
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> u, operand<T> x, operand<T> out);
};

/// The place of the largest element of each window in its image, or -1 if a window has no place.   Saves: nothing, no gradient.
struct pool_at : ebb::detail::pooling<pool_at> {
  static constexpr std::string_view name = "pool_at";
  static constexpr int arity = 1;
  static constexpr bool adds = false;
  template <class T>
  using result = std::int64_t;
  template <class S>
  static constexpr void plane(const ebb::detail::pool_call& p, auto in, auto put, S*) {
    p.each_window([&](std::size_t window, const auto& w) {
      using X = decltype(in(0, std::size_t{0}));  // the reference's S is the result's dtype
      put(window, static_cast<std::int64_t>(p.template largest_in<X>(w, [&](std::size_t i) { return in(0, i); })));
    });
  }
};

/// Adds g of each window to the place of the largest element of x. The shape is given, not inferred.   Saves: x.
struct pool_place : ebb::detail::pooling<pool_place> {
  static constexpr std::string_view name = "pool_place";
  static constexpr int arity = 2;
  static constexpr bool adds = true;
  /// Windows of pairs in lanes, if no place is in two windows.
  template <class T>
  static bool in_lanes(const ebb::detail::pool_call& p, const T* const* in, T* out) {
    if constexpr (!std::is_same_v<T, ebb::detail::computed_in<T>>) return false;
    else {
      if (!p.pairs_apart) return false;
      const T* g = in[0];
      std::fill_n(out, p.places(), T(0));  // there may be places without a window
      for (std::ptrdiff_t h = 0; h < p.deep.windows; ++h)
        for (std::ptrdiff_t y = 0; y < p.row.windows; ++y, g += p.column.windows)
          place_pairs<T, simd::register_bytes>(p, {p.deep.inside(h, p.adaptive), p.row.inside(y, p.adaptive), {}}, 0, g, in[1], out);
      return true;
    }
  }
  template <class S>
  static constexpr void plane(const ebb::detail::pool_call& p, auto in, auto put, S* sums) {
    for (std::size_t i = 0; i < p.places(); ++i) sums[i] = S(0);
    p.each_window([&](std::size_t window, const auto& w) {
      const std::ptrdiff_t at = p.template largest_in<S>(w, [&](std::size_t i) { return in(1, i); });
      if (at >= 0) sums[at] += in(0, window);
    });
    for (std::size_t i = 0; i < p.places(); ++i) put(i, sums[i]);
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> of, operand<T> x, operand<T> out);

 private:
  /// A row of windows, from number z on: as many at a time as a register of so many bytes has lanes, the last ones in shorter registers.
  template <class T, std::size_t Bytes>
  static void place_pairs(const ebb::detail::pool_call& p, const ebb::detail::pool_call::window& w, std::ptrdiff_t z, const T* g,
                          const T* x, T* out) {
    using V = simd::vector<T, Bytes>;
    constexpr std::ptrdiff_t n = Bytes / sizeof(T);
    const auto each_row = [&](auto&& f) EBB_LAMBDA {
      std::ptrdiff_t tap = 0;
      for (std::ptrdiff_t h = w.deep.first; h < w.deep.last; ++h)
        for (std::ptrdiff_t y = w.row.first; y < w.row.last; ++y, tap += 2) f((h * p.row.places + y) * p.column.places + 2 * z, tap);
    };
    for (; z + n <= p.column.windows; z += n) {
      V best{}, at = V{} - 1;
      each_row([&](std::ptrdiff_t first, std::ptrdiff_t tap) EBB_LAMBDA {
        const V both[] = {simd::load_bytes<T, Bytes>(x + first), simd::load_bytes<T, Bytes>(x + first + n)};
        const auto take = [&](V e, std::ptrdiff_t number) EBB_LAMBDA {
          const auto better = (e > best) | (e != e) | (at < 0);
          best = better ? e : best;
          at = better ? V{} + static_cast<T>(number) : at;
        };
        take(simd::chosen<2, 0, 0, T, Bytes>(both), tap);
        take(simd::chosen<2, 1, 0, T, Bytes>(both), tap + 1);
      });
      const V given = simd::load_bytes<T, Bytes>(g + z) + 0;  // a sum from 0 on: -0 becomes 0
      each_row([&](std::ptrdiff_t first, std::ptrdiff_t tap) EBB_LAMBDA {
        V left = at == static_cast<T>(tap) ? given : V{}, right = at == static_cast<T>(tap + 1) ? given : V{};
        simd::mix_pairs<T, Bytes>(left, right);
        std::memcpy(out + first, &left, Bytes);
        std::memcpy(out + first + n, &right, Bytes);
      });
    }
    if constexpr (Bytes > 16) return place_pairs<T, Bytes / 2>(p, w, z, g, x, out);
    for (; z < p.column.windows; ++z) {
      const std::ptrdiff_t at = p.template largest_in<T>({w.deep, w.row, {2 * z, 2 * z + 2}}, [x](std::size_t i) { return x[i]; });
      out[at] = T(0) + g[z];
    }
  }
};

/// The mean of each window, or its sum.   Saves: nothing.   Error: that of a chain of additions, and of a division.
struct pool_mean : ebb::detail::pooling<pool_mean> {
  static constexpr std::string_view name = "pool_mean";
  static constexpr int arity = 1;
  static constexpr bool adds = false;
  template <class T>
  static bool in_lanes(const ebb::detail::pool_call& p, const T* const* in, T* out) {
    using S = ebb::detail::computed_in<T>;
    const auto plus = [](auto sum, auto x) EBB_LAMBDA { return sum + x; };
    p.template pool_plane<false>(in[0], out, plus, S(0), [&p](const auto& w) {
      return [count = p.template count<S>(w)](auto sum) EBB_LAMBDA { return sum / count; };
    });
    return true;
  }
  template <class S>
  static constexpr void plane(const ebb::detail::pool_call& p, auto in, auto put, S*) {
    p.each_window([&](std::size_t window, const auto& w) {
      S sum = 0;
      p.each_place(w, [&](std::size_t i) { sum += in(0, i); });
      put(window, sum / p.template count<S>(w));
    });
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T> out);
};

/// Adds g of each window, divided by its count, to all its places. The shape is given, not inferred.   Saves: nothing.
struct pool_spread : ebb::detail::pooling<pool_spread> {
  static constexpr std::string_view name = "pool_spread";
  static constexpr int arity = 1;
  static constexpr bool adds = true;
  template <class S>
  static constexpr void plane(const ebb::detail::pool_call& p, auto in, auto put, S* sums) {
    for (std::size_t i = 0; i < p.places(); ++i) sums[i] = S(0);
    p.each_window([&](std::size_t window, const auto& w) {
      const S part = in(0, window) / p.template count<S>(w);
      p.each_place(w, [&](std::size_t i) { sums[i] += part; });
    });
    for (std::size_t i = 0; i < p.places(); ++i) put(i, sums[i]);
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> of, operand<T> out);
};

template <class T>
constexpr auto pool_pick::pull(operand<T> g, operand<T> u, operand<T> x, operand<T> out) {
  const std::int64_t own[] = {out.attribute(0), out.attribute(1)};
  auto attr = ebb::detail::pool_attributes::unpacked(own);
  attr.largest = false;
  return grads(operand<T>{g.g, emit_as<pool_place, T>(*g.g, u.shape_number(), {g.id, x.id}, attr.packed())}, nothing);
}
template <class T>
constexpr auto pool_place::pull(operand<T> g, operand<T> of, operand<T> x, operand<T> out) {
  const attributes attr{out.attribute(0), out.attribute(1)};
  return grads(operand<T>{g.g, emit_as<pool_pick, T>(*g.g, of.shape_number(), {g.id, x.id}, attr)}, nothing);
}
template <class T>
constexpr auto pool_mean::pull(operand<T> g, operand<T> x, operand<T> out) {
  return grads(operand<T>{g.g, emit_as<pool_spread, T>(*g.g, x.shape_number(), {g.id}, {out.attribute(0), out.attribute(1)})});
}
template <class T>
constexpr auto pool_spread::pull(operand<T> g, operand<T> of, operand<T> out) {
  return grads(operand<T>{g.g, emit_as<pool_mean, T>(*g.g, of.shape_number(), {g.id}, {out.attribute(0), out.attribute(1)})});
}

}  // namespace ebb::inline EBB_ABI::op

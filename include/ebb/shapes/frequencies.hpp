// ebb/shapes/frequencies.hpp — the frequencies of Fourier transforms, and their order: fftfreq, rfftfreq, fftshift, ifftshift.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../op/arrange.hpp"
#include "../op/compare.hpp"
#include "../op/whole.hpp"
#include "construct.hpp"

namespace ebb::inline EBB_ABI::op {

/// The halves of some axes in the opposite order. attr 0: the mask of these axes, of which bit 0 is the last one. attr 1: 0 if
/// the first half is the longer one of an odd number of elements, 1 if the second. One step moves all axes, of any extents of a call.
/// Saves: nothing.   Error: exact.
struct swap_halves : op_base {
  static constexpr std::string_view name = "swap_halves", asker = "fftshift";
  static constexpr kind what = kind::own;
  static constexpr int arity = 1;
  static constexpr domain accepts = domain::any;
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t*) { return s.find(in[0]); }

  template <class T>
  static void whole(const whole_call& c) {
    each_box(c.result, c.attr, [&](const strided_copy& box) { kernel::copy(box, c.in[0], c.out, sizeof(T)); });
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    each_box(c.out, c.attr, [&](const strided_copy& box) {
      each_element(box, [&](std::ptrdiff_t from, std::ptrdiff_t to) {
        put(static_cast<std::size_t>(to), in(0, static_cast<std::size_t>(from)));
      });
    });
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T>, operand<T> out) {
    return grads(emit_on<swap_halves>({out.attribute(0), 1 - out.attribute(1)}, g));
  }

 private:
  /// Each half of an axis with each half of the others.
  static constexpr void each_box(const extent_list& x, const std::int64_t* attr, auto&& f) {
    std::ptrdiff_t strides[max_rank] = {};
    row_major_strides(x, strides);
    for (std::int64_t second = 0; second < std::int64_t{1} << x.rank; ++second) {
      if (second & ~attr[0]) continue;
      strided_copy box;
      box.rank = x.rank;
      for (int i = 0; i < x.rank; ++i) {
        const int bit = x.rank - 1 - i;
        const std::size_t n = x.e[i];
        box.extent[i] = n;
        box.from[i] = box.to[i] = strides[i];
        if (!(attr[0] >> bit & 1)) continue;
        const std::size_t left = (n + 1 - static_cast<std::size_t>(attr[1])) / 2, right = n - left;
        const auto after = [&](std::size_t count) { return static_cast<std::ptrdiff_t>(count) * strides[i]; };
        box.extent[i] = second >> bit & 1 ? right : left;
        (second >> bit & 1 ? box.from_offset : box.to_offset) += second >> bit & 1 ? after(left) : after(right);
      }
      f(box);
    }
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

/// The numbers of the frequencies, divided by n and by the spacing. Those of rfft end at n / 2; of fft, the second half is negative.
template <int N, bool IsHalf>
struct fftfreq {
  static constexpr std::string_view name = IsHalf ? "rfftfreq" : "fftfreq";
  static constexpr auto apply(auto spacing) {
    using T = promoted_to_real<dtype_of_scalars<decltype(spacing), decltype(spacing)>>;
    constexpr int count = IsHalf ? N / 2 + 1 : N;
    return cast_to<T>(from_scalars<count, detail::computed_in<T>>(*spacing.g, [](auto i, auto step) {
      const auto length = literal_like(i, N);
      if constexpr (IsHalf) return i / (length * step);
      else return emit_on<op::where>({}, emit_on<op::less>({}, i, literal_like(i, (N + 1) / 2)), i, i - length) / (length * step);
    }, spacing));
  }
};

template <bool IsInverse, int... Axes>
struct fftshift {
  static constexpr std::string_view name = IsInverse ? "ifftshift" : "fftshift";
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    if (x.is_refused()) return x;
    const std::int64_t mask = axes_mask<Axes...>(x.rank());
    if (mask < 0) return refuse<T>(*x.g, 103);
    std::int64_t from_last = 0;
    for (int axis = 0; axis < x.rank(); ++axis)
      if (mask >> axis & 1) from_last |= std::int64_t{1} << (x.rank() - 1 - axis);
    return from_last == 0 ? x : emit_on<op::swap_halves>({from_last, IsInverse}, x);
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The frequencies of fft of n elements, the negative ones last, for samples at this distance: a number or a scalar.   fftfreq<8>(0.5)
/// Shape: [n].   Dtype: spacing's; integers give float, a number double.   Saves: spacing.   Error: 1 ulp.
template <int N, class Spacing = double>
constexpr auto fftfreq(const Spacing& spacing = 1) {
  static_assert(N >= 0, "[ebb E0500] irfft<n>, irfft2<n>, fftfreq<n>, rfftfreq<n>: a number of elements is not negative");
  using along = functions::fftfreq<(N < 0 ? 0 : N), false>;
  if constexpr (number<Spacing>) return apply_function(along{}, tensor<double>(static_cast<double>(spacing)));
  else return apply_function(along{}, spacing);
}
/// The frequencies 0 to n / 2 of rfft.   Shape: [n / 2 + 1].   All other fields as fftfreq.
template <int N, class Spacing = double>
constexpr auto rfftfreq(const Spacing& spacing = 1) {
  static_assert(N >= 0, "[ebb E0500] irfft<n>, irfft2<n>, fftfreq<n>, rfftfreq<n>: a number of elements is not negative");
  using along = functions::fftfreq<(N < 0 ? 0 : N), true>;
  if constexpr (number<Spacing>) return apply_function(along{}, tensor<double>(static_cast<double>(spacing)));
  else return apply_function(along{}, spacing);
}
/// x with the frequency 0 moved from the beginning to the middle, n / 2, of these axes; of all axes if none is named.   fftshift<-1>(x)
/// Shape, Dtype: x's.   Saves: nothing.   Error: exact.
template <int... Axes, class X>
constexpr auto fftshift(X&& x) {
  return apply_function(functions::fftshift<false, Axes...>{}, std::forward<X>(x));
}
/// The order before fftshift.   All fields as fftshift.
template <int... Axes, class X>
constexpr auto ifftshift(X&& x) {
  return apply_function(functions::fftshift<true, Axes...>{}, std::forward<X>(x));
}

}  // namespace ebb::inline EBB_ABI

// ebb/shapes/frequencies.hpp — the frequencies of Fourier transforms, and their order: fftfreq, rfftfreq, fftshift, ifftshift.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../op/arrange.hpp"
#include "../op/compare.hpp"
#include "../op/remainder.hpp"
#include "construct.hpp"

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
    const std::int64_t mask = axes_mask<Axes...>(x.rank());
    if (mask < 0) return refuse<T>(*x.g, 103);
    for (int axis = 0; axis < x.rank() && !x.is_refused(); ++axis)
      if (mask >> axis & 1) x = moved_by_half(x, axis);
    return x;
  }

 private:
  /// n / 2 steps, or n - n / 2.
  template <class T>
  static constexpr operand<T> moved_by_half(operand<T> x, int axis) {
    constexpr int up = IsInverse ? 1 : 0;
    if (x.extent(axis) >= 0) return roll<0>::along(x, (x.extent(axis) + up) / 2, axis);
    const auto n = count_along<std::int64_t>(x, std::int64_t{1} << axis);
    return roll<0>::by_index(x, emit_on<op::floor_divide>({}, n + literal_like(n, up), literal_like(n, 2)), axis);
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

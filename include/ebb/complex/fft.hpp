// ebb/complex/fft.hpp — Fourier transforms of complex arrays: fft, ifft, fft2, ifft2, irfft, irfft2, fftshift and ifftshift.
// SPDX-License-Identifier: BSL-1.0
//
//   const auto w = ebb::fft(z);            a complex array, as z is
//   const auto x = ebb::irfft<n>(w);       a real array
//   const auto [re, im] = ebb::rfft(x);    of a real array: complex{re, im} makes one array of them
// The functions are those of shapes/fft.hpp and shapes/frequencies.hpp on both parts. The gradient by z follows [note: complex numbers].
#pragma once

#include "../shapes/fft.hpp"
#include "../shapes/frequencies.hpp"
#include "complex.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

template <class Z>
concept pair_of_parts = is_complex<std::remove_cvref_t<Z>>;

inline constexpr auto complex_of = [](const auto& re, const auto& im) { return complex{re, im}; };

}  // namespace detail

/// The transform of z along the last axis, and its inverse, which divides by n.
/// Shape: z's.   Dtype: promoted; integers give float.   Saves: nothing.   Error: as ebb::fft of two arrays.
template <class Z>
  requires detail::pair_of_parts<Z>
constexpr auto fft(Z&& z) {
  return std::apply(detail::complex_of, fft(z.re, z.im));
}
template <class Z>
  requires detail::pair_of_parts<Z>
constexpr auto ifft(Z&& z) {
  return std::apply(detail::complex_of, ifft(z.re, z.im));
}
/// The same along the last two axes.   Shape, Dtype: z's.   Saves: nothing.   Error: as ebb::fft2 of two arrays.
template <class Z>
  requires detail::pair_of_parts<Z>
constexpr auto fft2(Z&& z) {
  return std::apply(detail::complex_of, fft2(z.re, z.im));
}
template <class Z>
  requires detail::pair_of_parts<Z>
constexpr auto ifft2(Z&& z) {
  return std::apply(detail::complex_of, ifft2(z.re, z.im));
}
/// The real array with this transform: irfft<n>(z), along the last two axes irfft2<n>(z).
/// Shape: z [..., n / 2 + 1]: [..., n].   Dtype: promoted.   Saves: nothing.   Error: as ebb::irfft of two arrays.
template <int N = 0, class Z>
  requires detail::pair_of_parts<Z>
constexpr auto irfft(Z&& z) {
  return irfft<N>(z.re, z.im);
}
template <int N = 0, class Z>
  requires detail::pair_of_parts<Z>
constexpr auto irfft2(Z&& z) {
  return irfft2<N>(z.re, z.im);
}
/// Frequencies in the order of their numbers, and back: see shapes/frequencies.hpp.   Shape, Dtype: z's.   Saves: nothing.   Error: exact.
template <int... Axes, class Z>
  requires detail::pair_of_parts<Z>
constexpr auto fftshift(Z&& z) {
  return complex{fftshift<Axes...>(z.re), fftshift<Axes...>(z.im)};
}
template <int... Axes, class Z>
  requires detail::pair_of_parts<Z>
constexpr auto ifftshift(Z&& z) {
  return complex{ifftshift<Axes...>(z.re), ifftshift<Axes...>(z.im)};
}

}  // namespace ebb::inline EBB_ABI

// ebb/complex/complex.hpp — a complex number or array as its real and imaginary parts, as an argument, a result, a member and a gradient.
// SPDX-License-Identifier: BSL-1.0
//
// [note: complex numbers]
// There is no complex element type: each op, pull and kernel would need a second form. complex<Re, Im> is a pair of ordinary arrays or
// numbers instead. Traced functions, gradients and structures take it as they take a tuple of the two:
//
//   ebb::complex z{ebb::tensor<double, 3>{1, 2, 3}, ebb::tensor<double, 3>{0, 1, 0}};
//   auto f = ebb::compile([](auto z) { return ebb::abs(ebb::exp(z) / (z + 1.0)); });
//
// Both parts of an argument have the same extents. A sum with a real array of more extents broadcasts the real part only: the parts are
// broadcast where they meet. A std::complex beside a complex of arrays is a constant: std::complex<double>(0, 1) * z.
//
// The gradient of a real loss by z is the pair of the derivatives by the two parts: complex{dL/dre, dL/dim}. This is PyTorch's convention:
// z - rate * gradient descends. JAX gives the conjugate.
#pragma once

#include "../trace/form.hpp"

#include <complex>
#include <cstddef>
#include <type_traits>

namespace ebb::inline EBB_ABI {

/// A complex number, or an array of complex numbers, as its parts: see [note: complex numbers].
template <class Re, class Im = Re>
struct complex {
  Re re;
  Im im;

  /// Element or part i along the first axis.
  template <class I>
  constexpr auto operator[](const I& i) const {
    return ebb::complex<decltype(re[i]), decltype(im[i])>{re[i], im[i]};
  }
};
template <class Re, class Im>
complex(Re, Im) -> complex<Re, Im>;

namespace detail {

template <class Re, class Im>
struct form<complex<Re, Im>> {
  static constexpr bool is_leaf = false, is_loop = false, is_fixed = true;
  static constexpr int count = 2;
  using parts = types<Re, Im>;
  template <std::size_t I>
  static constexpr auto& get(auto& z) {
    if constexpr (I == 0) return z.re;
    else return z.im;
  }
  template <class Map>
  using with = complex<typename Map::template of<Re>, typename Map::template of<Im>>;
};

template <class Z>
inline constexpr bool is_complex = false;
template <class Re, class Im>
inline constexpr bool is_complex<complex<Re, Im>> = true;
template <class Z>
inline constexpr bool is_std_complex = false;
template <class T>
inline constexpr bool is_std_complex<std::complex<T>> = true;

/// A constant as a pair; everything else as it is.
template <class Z>
constexpr const Z& as_pair(const Z& z) {
  return z;
}
template <class T>
constexpr complex<T> as_pair(const std::complex<T>& z) {
  return {z.real(), z.imag()};
}

}  // namespace detail

/// A complex number, a complex array, or a std::complex.
template <class Z>
concept complex_like = detail::is_complex<std::remove_cvref_t<Z>> || detail::is_std_complex<std::remove_cvref_t<Z>>;

/// f(part...) for the real parts and for the imaginary parts: a function that is linear in a complex array acts on each part by itself.
///   parts([](auto x) { return reshape<2, 3>(x); }, z)   parts([](auto x, auto y) { return concat<0>(x, y); }, z, w)
/// Shape, Dtype, Saves, Error: as f.
template <class F, class... Z>
  requires(detail::is_complex<Z> && ...)
constexpr auto parts(F&& f, const Z&... z) {
  return complex{f(z.re...), f(z.im...)};
}

/// re - i im.   Shape, Dtype: z's.   Saves: nothing.   Error: exact.
template <class Re, class Im>
constexpr auto conj(const complex<Re, Im>& z) {
  return complex{z.re, -z.im};
}

}  // namespace ebb::inline EBB_ABI

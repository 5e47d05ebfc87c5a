// ebb/linalg/rotations.hpp — sequences of rotations of rows, and the order of QR steps that make them.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "reflection.hpp"

#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI::detail {

/// The rotation that turns (a, b) into (size, 0). If both are tiny, it is none.
template <class T>
struct angle {
  T c, s, size;

  static constexpr angle of(T a, T b) {
    constexpr T least = least_square<T>, up = 1 / (std::numeric_limits<T>::digits > 24 ? static_cast<T>(0x1p-300) : T(0x1p-40));
    T power = T(1);
    if (lane::fma(a, a, b * b) < least) {
      a = a * up;
      b = b * up;
      power = up;
    }
    const T square = lane::fma(a, a, b * b);
    if (square < least) return {T(1), T(0), a / power};
    const T length = lane::sqrt(square), inverse = 1 / length;
    return {a * inverse, b * inverse, length / power};
  }
};

/// QR steps on a matrix with the diagonal d and the elements f beside it. Calls step(first, last, negligible) for the last part whose f are
/// all larger than `negligible`, epsilon times the norm, until there is no such part. False if that takes more than 60 steps for a value.
template <class T>
constexpr bool each_coupled_part(std::ptrdiff_t n, const T* d, const T* f, auto&& step) {
  T norm = T(0);
  for (std::ptrdiff_t i = 0; i < n; ++i)
    for (const T size : {lane::abs(d[i]), lane::abs(f[i])})
      if (size > norm) norm = size;
  const T negligible = std::numeric_limits<T>::epsilon() * norm;
  for (std::ptrdiff_t last = n - 1, steps = 0; last > 0;) {
    if (lane::abs(f[last - 1]) <= negligible) {
      --last;
      steps = 0;
      continue;
    }
    std::ptrdiff_t first = last - 1;
    while (first > 0 && lane::abs(f[first - 1]) > negligible) --first;
    if (++steps > 60) return false;
    step(first, last, negligible);
  }
  return true;
}

/// A sequence of rotations: number i turns x and y, rows i and i + 1, into c x + s y and c y - s x.
template <class T>
struct rotations {
  const T *c, *s;

  /// Turns `rows` rows of n elements.
  constexpr void turn(std::ptrdiff_t rows, std::ptrdiff_t n, T* x) const {
    std::ptrdiff_t j = 0;
    if (!__builtin_is_constant_evaluated()) {
      constexpr int lanes = simd::count_of<T>;
      for (; j + 4 * lanes <= n; j += 4 * lanes) turn_columns<4>(rows, n, x + j, 0);
      for (; j + lanes <= n; j += lanes) turn_columns<1>(rows, n, x + j, 0);
      if (j < n) turn_columns<0>(rows, n, x + j, static_cast<int>(n - j));
      return;
    }
    for (; j < n; ++j)
      for (std::ptrdiff_t i = 0; i + 1 < rows; ++i) {
        T &first = x[i * n + j], &second = x[(i + 1) * n + j];
        const T old = first;
        first = lane::fma(c[i], old, s[i] * second);
        second = lane::fma(c[i], second, -(s[i] * old));
      }
  }

 private:
  /// The last row of a pair stays in registers, since it is the first one of the next.
  template <int Registers>
  inline void turn_columns(std::ptrdiff_t rows, std::ptrdiff_t n, T* x, int last) const {
    using V = simd::vector<T>;
    constexpr int lanes = simd::count_of<T>;
    [&]<int... J>(std::integer_sequence<int, J...>) EBB_LAMBDA {
      const auto load = [=](const T* from) EBB_LAMBDA { return Registers ? simd::load(from) : simd::load_first(from, last); };
      const auto store = [=](T* to, V v) EBB_LAMBDA {
        if constexpr (Registers > 0) simd::store(to, v);
        else simd::store_first(to, v, last);
      };
      V first[] = {load(x + J * lanes)...};
      for (std::ptrdiff_t i = 0; i + 1 < rows; ++i, x += n) {
        const V cosine = simd::all(c[i]), sine = simd::all(s[i]);
        const auto part = [&](int k) EBB_LAMBDA {
          const V second = load(x + n + k * lanes), old = first[k];
          store(x + k * lanes, simd::fma(cosine, old, sine * second));
          first[k] = simd::fma(cosine, second, -(sine * old));
        };
        (part(J), ...);
      }
      (store(x + J * lanes, first[J]), ...);
    }(std::make_integer_sequence<int, Registers ? Registers : 1>{});
  }
};

}  // namespace ebb::inline EBB_ABI::detail

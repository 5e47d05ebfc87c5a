// ebb/kernel/fours.hpp — products of 4 x 4 matrices, which are whole registers: a link of all their chains is two shuffles and one fma.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/repeat.hpp"
#include "product.hpp"

namespace ebb::inline EBB_ABI::kernel::fours {

/// The registers that hold a matrix.
template <class T>
inline constexpr int registers = std::is_floating_point_v<T> ? 16 / simd::count_of<T> : 16;

/// Whether p is a product of compact 4 x 4 matrices that these registers serve. Shuffles have two sources: that is not enough for a
/// transposed matrix in four registers.
template <class T>
constexpr bool serves(bool left_transposed, bool right_transposed) {
  return registers<T> <= 2 || (registers<T> <= 4 && !left_transposed && !right_transposed);
}
template <class T>
constexpr bool serves(const product& p) {
  return p.m == 4 && p.k == 4 && p.n == 4 && p.lda == 4 && p.ldb == 4 && p.ldc == 4 && !p.lanes && serves<T>(p.transpose_a, p.transpose_b);
}

/// The factors of link p of the chains in a register of the result, whose first element is number `first`: element i of the result is
/// element number left(i), or right(i), of the operand.
struct factors {
  int p, first;
  bool transposed;

  constexpr int left(int i) const { return transposed ? p * 4 + (first + i) / 4 : (first + i) / 4 * 4 + p; }
  constexpr int right(int i) const { return transposed ? i % 4 * 4 + p : p * 4 + i % 4; }
};

/// Those elements of x. They lie in two neighbouring registers.
template <class T, int P, int First, bool Left, bool Transposed>
EBB_INLINE simd::vector<T> pick(const simd::vector<T>* x) {
  constexpr int n = simd::count_of<T>;
  constexpr factors f{P, First, Transposed};
  constexpr int low = registers<T> == 2 ? 0 : (Left ? f.left(0) : f.right(0)) / n, high = low + 1 < registers<T> ? low + 1 : low;
  return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    return __builtin_shufflevector(x[low], x[high], ((Left ? f.left(I) : f.right(I)) - low * n)...);
  }(std::make_integer_sequence<int, n>{});
}

template <bool Left, bool Right, class T>
EBB_INLINE void multiply_one(const T* a, const T* b, T* c) {
  using V = simd::vector<T>;
  constexpr int n = simd::count_of<T>;
  V x[registers<T>], y[registers<T>];
  repeat<registers<T>>([&]<int R>() EBB_LAMBDA { x[R] = simd::load(a + R * n), y[R] = simd::load(b + R * n); });
  repeat<registers<T>>([&]<int R>() EBB_LAMBDA {
    V acc = {};
    repeat<4>([&]<int P>() EBB_LAMBDA {
      acc = simd::fma(pick<T, P, R * n, true, Left>(x), pick<T, P, R * n, false, Right>(y), acc);
    });
    simd::store(c + R * n, acc);
  });
}
template <bool Left, bool Right, class T>
[[gnu::noinline]] void multiply_each(const product& shape, const T* a, const T* b, T* c) {
  for (std::ptrdiff_t i = 0; i < shape.batch; ++i, a += shape.stride_a, b += shape.stride_b, c += shape.stride_c)
    multiply_one<Left, Right>(a, b, c);
}

/// Calls f<Left, Right>() with what is transposed as constants.
template <class T>
EBB_INLINE void with_sides(bool left_transposed, bool right_transposed, auto f) {
  if constexpr (registers<T> <= 4) {
    if constexpr (registers<T> <= 2) {
      if (left_transposed) return right_transposed ? f.template operator()<true, true>() : f.template operator()<true, false>();
      if (right_transposed) return f.template operator()<false, true>();
    }
    f.template operator()<false, false>();
  }
}
/// The product, which is one that these registers serve.
template <class T>
inline void multiply(const product& p, const T* a, const T* b, T* c) {
  with_sides<T>(p.transpose_a, p.transpose_b, [&]<bool Left, bool Right>() EBB_LAMBDA { multiply_each<Left, Right>(p, a, b, c); });
}
/// One product of compact matrices.
template <class T>
inline void multiply_one(bool left_transposed, bool right_transposed, const T* a, const T* b, T* c) {
  with_sides<T>(left_transposed, right_transposed, [&]<bool Left, bool Right>() EBB_LAMBDA { multiply_one<Left, Right>(a, b, c); });
}

}  // namespace ebb::inline EBB_ABI::kernel::fours

// ebb/kernel/fours.hpp — products of 4 x 4 matrices, which are whole registers: a link of all their chains is two shuffles and one fma.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/repeat.hpp"
#include "product.hpp"

#include <cstring>

namespace ebb::inline EBB_ABI::kernel::fours {

/// The registers that hold a matrix.
template <class T>
inline constexpr int registers = std::is_floating_point_v<T> ? 16 / simd::count_of<T> : 16;

/// Whether p is a product of 4 x 4 matrices that these registers serve. Shuffles have two sources: that is not enough for a
/// transposed matrix in four registers.
template <class T>
constexpr bool serves(bool left_transposed, bool right_transposed) {
  return registers<T> <= 2 || (registers<T> <= 4 && !left_transposed && !right_transposed);
}
template <class T>
constexpr bool serves(const product& p) {
  return p.m == 4 && p.k == 4 && p.n == 4 && !p.lanes && serves<T>(p.transpose_a, p.transpose_b);
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

/// A register of rows that are `row` elements apart.
template <class T, std::size_t Bytes = simd::register_bytes>
EBB_INLINE simd::vector<T, Bytes> load_rows(const T* p, std::ptrdiff_t row) {
  constexpr std::size_t rows = Bytes / (4 * sizeof(T));
  if constexpr (rows <= 1) return simd::load_bytes<T, Bytes>(p);
  else {
    const auto low = load_rows<T, Bytes / 2>(p, row), high = load_rows<T, Bytes / 2>(p + static_cast<std::ptrdiff_t>(rows / 2) * row, row);
    return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA { return __builtin_shufflevector(low, high, I...); }
    (std::make_integer_sequence<int, static_cast<int>(Bytes / sizeof(T))>{});
  }
}

template <bool Left, bool Right, class T>
EBB_INLINE void multiply_registers(const simd::vector<T>* x, const simd::vector<T>* y, T* c) {
  constexpr int n = simd::count_of<T>;
  repeat<registers<T>>([&]<int R>() EBB_LAMBDA {
    simd::vector<T> acc = {};
    repeat<4>([&]<int P>() EBB_LAMBDA {
      acc = simd::fma(pick<T, P, R * n, true, Left>(x), pick<T, P, R * n, false, Right>(y), acc);
    });
    simd::store(c + R * n, acc);
  });
}
template <bool Left, bool Right, class T>
EBB_INLINE void multiply_one(const T* a, const T* b, T* c) {
  constexpr int n = simd::count_of<T>;
  simd::vector<T> x[registers<T>], y[registers<T>];
  repeat<registers<T>>([&]<int R>() EBB_LAMBDA { x[R] = simd::load(a + R * n), y[R] = simd::load(b + R * n); });
  multiply_registers<Left, Right, T>(x, y, c);
}
template <bool Left, bool Right, class T>
[[gnu::noinline]] void multiply_each(const product& shape, const T* a, const T* b, T* c) {
  for (std::ptrdiff_t i = 0; i < shape.batch; ++i, a += shape.stride_a, b += shape.stride_b, c += shape.stride_c)
    multiply_one<Left, Right>(a, b, c);
}
/// The same for matrices that lie in others.
template <bool Left, bool Right, class T>
[[gnu::noinline]] void multiply_each_apart(const product& shape, const T* a, const T* b, T* c) {
  constexpr int rows = simd::count_of<T> / 4;
  for (std::ptrdiff_t i = 0; i < shape.batch; ++i, a += shape.stride_a, b += shape.stride_b, c += shape.stride_c) {
    simd::vector<T> x[registers<T>], y[registers<T>];
    T z[16];
    repeat<registers<T>>([&]<int R>() EBB_LAMBDA {
      x[R] = load_rows<T>(a + R * rows * shape.lda, shape.lda), y[R] = load_rows<T>(b + R * rows * shape.ldb, shape.ldb);
    });
    multiply_registers<Left, Right, T>(x, y, z);
    repeat<4>([&]<int I>() EBB_LAMBDA { std::memcpy(c + I * shape.ldc, z + I * 4, 4 * sizeof(T)); });
  }
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
  if (p.lda != 4 || p.ldb != 4 || p.ldc != 4)
    return with_sides<T>(p.transpose_a, p.transpose_b,
                         [&]<bool Left, bool Right>() EBB_LAMBDA { multiply_each_apart<Left, Right>(p, a, b, c); });
  with_sides<T>(p.transpose_a, p.transpose_b, [&]<bool Left, bool Right>() EBB_LAMBDA { multiply_each<Left, Right>(p, a, b, c); });
}
/// One product of compact matrices.
template <class T>
inline void multiply_one(bool left_transposed, bool right_transposed, const T* a, const T* b, T* c) {
  with_sides<T>(left_transposed, right_transposed, [&]<bool Left, bool Right>() EBB_LAMBDA { multiply_one<Left, Right>(a, b, c); });
}

/// A product with a triangle of a 4 x 4 matrix t: op(t) x, or x op(t).
struct triangle_sides {
  bool right, transposed, upper;

  /// Whether element `i` of the result has link p.
  constexpr bool has(int p, int i) const {
    const int own = right ? i % 4 : i / 4;
    return own == p || (p > own) == (upper != right);
  }
};

/// The lanes of x that have link P, and those of y in the others.
template <triangle_sides S, int P, int First, class T>
EBB_INLINE simd::vector<T> where_linked(simd::vector<T> x, simd::vector<T> y) {
  constexpr int n = simd::count_of<T>;
  return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    return __builtin_shufflevector(x, y, (S.has(P, First + I) ? I : n + I)...);
  }(std::make_integer_sequence<int, n>{});
}

/// One such product. Lanes without a link are multiplied as 0 * -0: to add -0 changes no number.
template <triangle_sides S, class T>
EBB_INLINE void multiply_triangle(const T* t, const T* x, T* c) {
  constexpr int n = simd::count_of<T>;
  simd::vector<T> a[registers<T>], b[registers<T>];
  repeat<registers<T>>([&]<int R>() EBB_LAMBDA { a[R] = simd::load(t + R * n), b[R] = simd::load(x + R * n); });
  repeat<registers<T>>([&]<int R>() EBB_LAMBDA {
    simd::vector<T> acc = {};
    repeat<4>([&]<int P>() EBB_LAMBDA {
      const auto of_t = pick<T, P, R * n, !S.right, S.transposed>(a), of_x = pick<T, P, R * n, S.right, false>(b);
      acc = simd::fma(where_linked<S, P, R * n, T>(of_t, simd::sign_bits<T>()), where_linked<S, P, R * n, T>(of_x, simd::vector<T>{}), acc);
    });
    simd::store(c + R * n, acc);
  });
}
/// The same, with its sides at run time; false for a transposed one that the registers do not serve. `upper`: whether op(t) is.
template <class T>
inline bool multiply_triangle(bool right, bool transposed, bool upper, const T* t, const T* x, T* c) {
  [[maybe_unused]] const auto with = [&]<bool Transposed>() EBB_LAMBDA {
    if (right)
      return upper ? multiply_triangle<triangle_sides{true, Transposed, true}>(t, x, c)
                   : multiply_triangle<triangle_sides{true, Transposed, false}>(t, x, c);
    return upper ? multiply_triangle<triangle_sides{false, Transposed, true}>(t, x, c)
                 : multiply_triangle<triangle_sides{false, Transposed, false}>(t, x, c);
  };
  if constexpr (serves<T>(false, false))
    if (!transposed) return with.template operator()<false>(), true;
  if constexpr (serves<T>(true, true))
    if (transposed) return with.template operator()<true>(), true;
  return false;
}

}  // namespace ebb::inline EBB_ABI::kernel::fours

// ebb/kernel/matvec.hpp — rows of a matrix, or one row, times a vector: summed in lanes, see [note: order of a product].
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../tensor/reduction_tree.hpp"
#include "tile.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI {

namespace simd {

/// The even blocks of x, then the even blocks of y; or the odd ones. Each run of Within elements is cut separately.
template <int Block, int Within, bool Odd, class T>
EBB_INLINE vector<T> unzip_blocks(vector<T> x, vector<T> y) {
  constexpr auto from = [](int i) {
    const int place = i % Within, of_y = place / (Within / 2), block = place % (Within / 2) / Block;
    return i / Within * Within + (2 * block + Odd) * Block + i % Block + of_y * count_of<T>;
  };
  return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA { return __builtin_shufflevector(x, y, from(I)...); }
  (std::make_integer_sequence<int, count_of<T>>{});
}

}  // namespace simd

namespace kernel::tile {

template <class T>
EBB_INLINE simd::vector<T> add(simd::vector<T> x, simd::vector<T> y) {
  return simd::unwrap<T>(simd::wrap<T>(x) + simd::wrap<T>(y));
}

/// The registers of a row's logical lanes, and the number of rows that are summed at a time: their accumulators fill half of all registers.
template <class T>
inline constexpr int row_registers = logical_lanes / simd::count_of<T>;
template <class T>
inline constexpr int rows_at_once = std::max((simd::register_bytes == 64 ? 16 : 8) / row_registers<T>, 1);

/// x[I] holds lane i and x[I + Count / 2] lane i + 16, i + 8...: down to one register.
template <int Count, class T>
EBB_INLINE simd::vector<T> fold_registers(const simd::vector<T>* x) {
  if constexpr (Count == 1) return x[0];
  else
    return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
      const simd::vector<T> half[] = {add<T>(x[I], x[I + Count / 2])...};
      return fold_registers<Count / 2, T>(half);
    }(std::make_integer_sequence<int, Count / 2>{});
}

/// Element r of the result is the sum of all elements of row r, whose register is at<place_of_row(r)>(). Two registers are folded into one
/// until one is left: first whole lanes of 16 bytes, then elements within them, which are x86's cheap shuffles. The order is depth first,
/// so that few registers are alive.
template <class T>
constexpr int row_at(int place) {
  constexpr int lanes_of_16 = simd::count_of<T> / simd::per_lane<T>;
  return place % lanes_of_16 * simd::per_lane<T> + place / lanes_of_16;
}
template <class T, int Count = simd::count_of<T>, int First = 0>
EBB_INLINE simd::vector<T> fold_rows(auto&& at) {
  if constexpr (Count == 1) return at.template operator()<First>();
  else {
    constexpr int block = simd::count_of<T> / Count, e = simd::per_lane<T>, within = block >= e ? simd::count_of<T> : e;
    const simd::vector<T> x = fold_rows<T, Count / 2, First>(at), y = fold_rows<T, Count / 2, First + Count / 2>(at);
    return add<T>(simd::unzip_blocks<block, within, false, T>(x, y), simd::unzip_blocks<block, within, true, T>(x, y));
  }
}

/// Rows row_at(First)... from `a` on, times b: the lanes of each row, folded to one register.
template <int First, int Rows, class T>
EBB_INLINE void sum_rows(std::ptrdiff_t k, const T* a, std::ptrdiff_t row, const T* b, simd::vector<T>* sum) {
  using V = simd::vector<T>;
  constexpr int n = simd::count_of<T>, registers = row_registers<T>;
  [&]<int... R, int... U>(std::integer_sequence<int, R...>, std::integer_sequence<int, U...>) EBB_LAMBDA {
    const T* const from[] = {a + row_at<T>(First + R) * row...};
    V acc[Rows * registers] = {};
    const auto add_part = [&](int u, std::ptrdiff_t p, auto load) EBB_LAMBDA {
      const V right = load(b + p);
      ((acc[R * registers + u] = link<T>(load(from[R] + p), right, acc[R * registers + u])), ...);
    };
    const auto whole = [](const T* p) EBB_LAMBDA { return simd::load(p); };
    std::ptrdiff_t p = 0;
    for (; p + logical_lanes <= k; p += logical_lanes) (add_part(U, p + U * n, whole), ...);
    const int rest = static_cast<int>(k - p);
    const auto add_rest = [&](int u) EBB_LAMBDA {
      const int count = rest - u * n;
      if (count >= n) add_part(u, p + u * n, whole);
      else if (count > simd::per_lane<T>) add_part(u, p + u * n, [count](const T* q) EBB_LAMBDA { return simd::load_first(q, count); });
      else if (count > 0) add_part(u, p + u * n, [count](const T* q) EBB_LAMBDA { return simd::load_first_lane(q, count); });
    };
    if (rest > 0) (add_rest(U), ...);
    ((sum[R] = fold_registers<registers, T>(acc + R * registers)), ...);
  }(std::make_integer_sequence<int, Rows>{}, std::make_integer_sequence<int, registers>{});
}

/// The product for as many rows from `a` on as a register has elements.
template <class T>
inline simd::vector<T> multiply_rows(std::ptrdiff_t k, const T* a, std::ptrdiff_t row, const T* b) {
  constexpr int n = simd::count_of<T>, rows = std::min(rows_at_once<T>, n);
  simd::vector<T> sum[n];
  [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA { (sum_rows<I * rows, rows>(k, a, row, b, sum + I * rows), ...); }
  (std::make_integer_sequence<int, n / rows>{});
  return add<T>(fold_rows<T>([&]<int I>() EBB_LAMBDA { return sum[I]; }), simd::vector<T>{});
}

/// A row of K elements, a constant: there are no branches, and b stays in registers.
template <int K, class T>
class known_row {
  static constexpr int n = simd::count_of<T>, registers = row_registers<T>;
  using parts = std::make_integer_sequence<int, (K + n - 1) / n>;
  simd::vector<T> b_[parts::size()];

  template <int I>
  static EBB_INLINE simd::vector<T> part(const T* p) {
    constexpr int rest = K - I * n;
    if constexpr (rest >= n) return simd::load(p + I * n);
    else if constexpr (rest > simd::per_lane<T>) return simd::load_first(p + I * n, rest);
    else return simd::load_first_lane(p + I * n, rest);
  }

 public:
  EBB_INLINE explicit known_row(const T* b) {
    [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA { ((b_[I] = part<I>(b)), ...); }(parts{});
  }
  /// The lanes of a times b, folded to one register.
  EBB_INLINE simd::vector<T> times(const T* a) const {
    simd::vector<T> acc[registers] = {};
    [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
      ((acc[I % registers] = link<T>(part<I>(a), b_[I], acc[I % registers])), ...);
    }(parts{});
    return fold_registers<registers, T>(acc);
  }
};

/// The product of two vectors.
template <class T>
inline T dot(std::ptrdiff_t k, const T* a, std::ptrdiff_t a_step, const T* b, std::ptrdiff_t b_step) {
  using V = simd::vector<T>;
  constexpr int n = simd::count_of<T>, registers = row_registers<T>;
  V sum;
  if (a_step == 1 && b_step == 1) sum_rows<0, 1>(k, a, 0, b, &sum);
  else {
    V acc[registers] = {};
    for (; k > 0; k -= logical_lanes, a += logical_lanes * a_step, b += logical_lanes * b_step) {
      T left[logical_lanes] = {}, right[logical_lanes] = {};
      for (std::ptrdiff_t i = 0; i < logical_lanes && i < k; ++i) left[i] = a[i * a_step], right[i] = b[i * b_step];
      for (int u = 0; u < registers; ++u) acc[u] = link<T>(simd::load(left + u * n), simd::load(right + u * n), acc[u]);
    }
    sum = fold_registers<registers, T>(acc);
  }
  T x[n];
  simd::store(x, sum);
  for (int half = n / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) x[i] = simd::unwrap<T>(add<T>(simd::all(x[i]), simd::all(x[i + half])))[0];
  return add<T>(simd::all(x[0]), V{})[0];
}

/// c(i) = sum over p of a(i, p) * b(p). last_rows_first: afterwards the cache holds the first rows.
template <class T>
inline void multiply_in_lanes(std::ptrdiff_t m, std::ptrdiff_t k, const matrix<T>& a, const T* b, std::ptrdiff_t b_step, T* c,
                              std::ptrdiff_t c_step, bool last_rows_first = false) {
  constexpr int n = simd::count_of<T>;
  if (m < n || a.col != 1 || b_step != 1 || c_step != 1) {
    for (std::ptrdiff_t i = 0; i < m; ++i) c[i * c_step] = dot(k, a.at(i, 0), a.col, b, b_step);
    return;
  }
  for (std::ptrdiff_t i = 0; i < m; i += n) {
    const std::ptrdiff_t turn = std::min(i, m - n), first = last_rows_first ? m - n - turn : turn;  // some rows may be computed twice
    simd::store(c + first, multiply_rows(k, a.at(first, 0), a.row, b));
  }
}

/// The same for a compact a of K columns. b of more columns does not fit into registers.
inline constexpr int longest_known_row = 4 * logical_lanes;

template <int K, class T>
inline void multiply_known_rows(std::ptrdiff_t m, const T* a, const T* b, T* c) {
  constexpr int n = simd::count_of<T>;
  if (m < n) return multiply_in_lanes(m, K, matrix<T>{a, K, 1}, b, 1, c, 1);
  const known_row<K, T> row(b);
  for (std::ptrdiff_t i = 0; i < m; i += n) {
    const std::ptrdiff_t first = m - n - std::min(i, m - n);
    const auto sum = [top = a + first * K, &row]<int I>() EBB_LAMBDA { return row.times(top + row_at<T>(I) * K); };
    simd::store(c + first, add<T>(fold_rows<T>(sum), simd::vector<T>{}));
  }
}

}  // namespace kernel::tile
}  // namespace ebb::inline EBB_ABI

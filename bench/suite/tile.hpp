// bench/suite/tile.hpp — a tile of a product of matrices in registers, for the references that are written by hand.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/kernel/instructions.hpp>

#include <utility>

namespace suite {

namespace simd = ebb::simd;

/// A tile of R rows and C registers of a product: starts with from(r, c) and ends with to(r, c, register). Element (r, p) of the left
/// factor is a[r * a_row + p * a_step]; rows of the right factor are b_row apart.
template <int R, int C, class T>
EBB_INLINE void tile(int depth, const T* a, int a_row, int a_step, const T* b, int b_row, auto from, auto to) {
  using V = simd::vector<T>;
  constexpr int width = simd::count_of<T>;
  [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    V acc[] = {from(I / C, I % C)...};
    for (int p = 0; p < depth; ++p, a += a_step, b += b_row) {
      [&]<int... J>(std::integer_sequence<int, J...>) EBB_LAMBDA {
        const V right[] = {simd::load(b + J * width)...};
        ((acc[I] = simd::fma(simd::all(a[I / C * a_row]), right[I % C], acc[I])), ...);
      }(std::make_integer_sequence<int, C>{});
    }
    (to(I / C, I % C, acc[I]), ...);
  }(std::make_integer_sequence<int, R * C>{});
}

}  // namespace suite

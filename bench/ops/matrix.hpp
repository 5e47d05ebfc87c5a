// bench/ops/matrix.hpp — ebb's kernels of functions of one matrix: 64 rows, and the columns that the elements fill.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "table.hpp"

#include <ebb/functional.hpp>

#include <span>

namespace ops {

inline constexpr std::size_t rows_of_matrix = 64;

/// Rank and rows of the result say where it is written: a number, a vector, or a matrix with so many rows.
template <int Rank, std::size_t Rows, class F>
struct on_matrix {
  template <class T>
  using in_view = ebb::view<const T, ebb::dyn, ebb::dyn>;
  template <class T>
  using out_view = ebb::view<T, ebb::dyn, ebb::dyn>;

  template <class T>
  static void value(const T* const* in, void* const* out, std::size_t n) {
    static constexpr auto f = ebb::compile(F{});
    const in_view<T> x(in[0], rows_of_matrix, n / rows_of_matrix);
    T* const to = static_cast<T*>(out[0]);
    if constexpr (Rank == 0) f(ebb::into(*to), x);
    else if constexpr (Rank == 1) f(ebb::into(std::span<T>(to, Rows)), x);
    else f(ebb::into(out_view<T>(to, Rows, n / rows_of_matrix)), x);
  }
  template <class T>
  static void gradient(const T* const* in, void* const* out, std::size_t n) {
    static constexpr auto f = ebb::grad([](auto x) { return ebb::sum(ebb::square(F{}(x))); });
    f(ebb::into(out_view<T>(static_cast<T*>(out[0]), rows_of_matrix, n / rows_of_matrix)),
      in_view<T>(in[0], rows_of_matrix, n / rows_of_matrix));
  }
};

/// Adds a row. The gradient is that of the sum of squares of the results.
template <int Rank, std::size_t Rows = rows_of_matrix, class F>
void add_matrix(table& t, const char* name, range operand, F) {
  using k = on_matrix<Rank, Rows, F>;
  t.ops.push_back({name,
                   {operand},
                   false,
                   &k::template value<float>,
                   &k::template gradient<float>,
                   &k::template value<double>,
                   &k::template gradient<double>});
}

}  // namespace ops

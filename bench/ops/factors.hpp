// bench/ops/factors.hpp — functions of large matrices by ebb. Two files compile them: with the target ebb::lapack, and without it.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "linalg.hpp"

#include <ebb/functional.hpp>
#include <ebb/linalg.hpp>

#include <tuple>

namespace {

/// F of Arity matrices. Its results, one after the other, have one axis or two: Rank.
template <class F, int Arity, int... Rank>
struct of_matrices {
  template <class T>
  static void run(const T* a, const T* b, T* out, std::size_t n, std::size_t) {
    static constexpr auto f = ebb::compile(F{});
    const auto part = [&]<int R>(std::integral_constant<int, R>) {
      T* const begin = out;
      out += R == 1 ? n : n * n;
      if constexpr (R == 1) return ebb::view<T, ebb::dyn>(begin, n);
      else return ebb::view<T, ebb::dyn, ebb::dyn>(begin, n, n);
    };
    const std::tuple results{part(std::integral_constant<int, Rank>{})...};
    using square = ebb::view<const T, ebb::dyn, ebb::dyn>;
    std::apply([&](auto... r) {
      if constexpr (Arity == 1) f(ebb::into(r...), square(a, n, n));
      else f(ebb::into(r...), square(a, n, n), square(b, n, n));
    }, results);
  }
};

/// A row. `values_only`: the first n elements of the results are compared, since vectors that belong to close values may differ.
template <int Arity, int... Rank, class F>
ops::factor_row factor_row_of(const char* name, std::vector<std::size_t> sizes, bool values_only, F) {
  using kernels = of_matrices<F, Arity, Rank...>;
  return {name, std::move(sizes), values_only, &kernels::template run<float>, &kernels::template run<double>};
}

std::vector<ops::factor_row> all_factors() {
  return {
      factor_row_of<2, 2>("solve_triangular", {64, 256}, false, [](auto a, auto b) { return ebb::solve_triangular(a, b); }),
      factor_row_of<1, 2>("inverse", {256}, false, [](auto a) { return ebb::inverse(a); }),
      factor_row_of<1, 2>("cholesky", {64, 256}, false, [](auto a) { return ebb::cholesky(a); }),
      factor_row_of<1, 2, 2>("qr", {64, 256}, false, [](auto a) { return ebb::qr(a); }),
      factor_row_of<1, 1, 2>("eigh", {64, 256}, true, [](auto a) { return ebb::eigh(a); }),
      factor_row_of<1, 1, 2, 2>("svd", {64, 256}, true, [](auto a) {
        const auto [u, s, v] = ebb::svd(a);
        return std::tuple(s, u, v);
      }),
  };
}

}  // namespace

// test/exec/small_matrix_step.cpp — one small matrix of known extents has the bits of a matrix in a batch, and the same errors.
// SPDX-License-Identifier: BSL-1.0
// covers: op/small_matrix.hpp kernel/known.hpp kernel/fours.hpp
#include <ebb/functional.hpp>
#include <ebb/linalg.hpp>

#include "../catch.hpp"
#include "../random_array.hpp"
#include "../same_bits.hpp"

#include <cstring>
#include <string>
#include <tuple>

namespace {

using ebb::dyn;

/// Products, systems, factors and determinants of the matrices a and b, side by side in one result for each matrix.
constexpr auto all_of_small_matrices = [](auto a, auto b) {
  const auto ta = ebb::transpose(a), tb = ebb::transpose(b);
  const auto spd = ebb::matmul(a, ta);
  const auto factor = ebb::cholesky(spd);
  const auto [p, l, u] = ebb::lu(a);
  return std::tuple(ebb::matmul(a, b), ebb::matmul(ta, b), ebb::matmul(a, tb), ebb::matmul(ta, tb), ebb::solve(a, b), ebb::solve(ta, b),
                    ebb::inverse(a), factor, ebb::solve_triangular(factor, b), ebb::solve_triangular(factor, b, ebb::taken_transposed),
                    ebb::solve_triangular(a, b, ebb::upper, ebb::unit_diagonal), p, l + u, ebb::det(a), ebb::det(spd),
                    ebb::matmul(ebb::lower(a), b), ebb::matmul(ebb::upper(a, ebb::unit_diagonal), b));
};

constexpr auto some_of_small_matrices = [](auto a, auto b) {
  return std::tuple(ebb::matmul(ebb::transpose(a), b), ebb::solve(a, b), ebb::det(a));
};

/// The batch is known only at the call: one matrix takes the short way, two take the long one.
template <class T, std::size_t N>
void one_or_many(auto f) {
  using squares = ebb::tensor<T, dyn, N, N>;
  for (std::size_t seed = 1; seed < 6; ++seed) {
    CAPTURE(N, seed);
    const squares a = test::random_array<squares>(2 * seed, 2u), b = test::random_array<squares>(2 * seed + 1, 2u);
    const auto many = ebb::compile(f)(a, b);
    for (std::size_t k = 0; k < 2; ++k) {
      const ebb::view<const T, dyn, N, N> one_a(a.data() + k * N * N, 1u), one_b(b.data() + k * N * N, 1u);
      const auto one = ebb::compile(f)(one_a, one_b);
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        const auto same = [&](const auto& x, const auto& all) {
          std::size_t wrong = 0;
          for (std::size_t e = 0; e < x.size(); ++e) wrong += std::memcmp(x.data() + e, all.data() + k * x.size() + e, sizeof(T)) != 0;
          return wrong;
        };
        const std::size_t wrong[] = {same(std::get<I>(one), std::get<I>(many))...};
        for (std::size_t i = 0; i < sizeof...(I); ++i) {
          CAPTURE(i, k);
          CHECK(wrong[i] == 0);
        }
      }(std::make_index_sequence<std::tuple_size_v<decltype(many)>>{});
    }
  }
}

TEST_CASE("one small matrix of known extents has the bits of the same matrix in a batch") {
  one_or_many<double, 4>(all_of_small_matrices);
  one_or_many<float, 3>(some_of_small_matrices);
}

TEST_CASE("one small matrix of known extents may be in place") {
  using squares = ebb::tensor<double, dyn, 4, 4>;
  const squares a = test::random_array<squares>(3, 1u);
  const auto want = ebb::inverse(a);
  squares x = a;
  ebb::compile([](auto y) { return ebb::inverse(y); })(ebb::into(x), x);
  CHECK(test::same_bits(x, want));
}

TEST_CASE("one small matrix of known extents without a factor is named, or NaN") {
  const ebb::tensor<double, 2, 2> negative{1.0, 2.0, 2.0, 1.0};
  const std::string sentence = test::raised([&] { static_cast<void>(ebb::cholesky(negative)); });
  CHECK(sentence.find("cholesky: the matrix is not positive definite: its leading minor of order 2 is not positive") + 1 != 0);
  const auto none = ebb::cholesky(negative, ebb::nan_if_not);
  for (const std::size_t e : {0u, 2u, 3u}) CHECK(none.data()[e] != none.data()[e]);
  CHECK(none.data()[1] == 0);
}

}  // namespace

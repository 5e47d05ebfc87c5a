// test/exec/small_matrix_step.cpp — one small matrix of known extents has the bits of a matrix in a batch, and the same errors.
// SPDX-License-Identifier: BSL-1.0
// covers: copied_row.hpp op/small_matrix.hpp kernel/known.hpp kernel/fours.hpp
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
  const auto [sign, size] = ebb::slogdet(a);
  return std::tuple(ebb::matmul(a, b), ebb::matmul(ta, b), ebb::matmul(a, tb), ebb::matmul(ta, tb), ebb::solve(a, b), ebb::solve(ta, b),
                    ebb::inverse(a), factor, ebb::solve_triangular(factor, b), ebb::solve_triangular(factor, b, ebb::taken_transposed),
                    ebb::solve_triangular(a, b, ebb::upper, ebb::unit_diagonal), p, l + u, ebb::det(a), ebb::det(spd),
                    ebb::matmul(ebb::lower(a), b), ebb::matmul(ebb::upper(a, ebb::unit_diagonal), b), sign, size);
};

constexpr auto some_of_small_matrices = [](auto a, auto b) {
  const auto [sign, size] = ebb::slogdet(a);
  return std::tuple(ebb::matmul(ebb::transpose(a), b), ebb::solve(a, b), ebb::det(a), sign, size);
};

constexpr auto products_of_small_matrices = [](auto a, auto b) {
  const auto ta = ebb::transpose(a), tb = ebb::transpose(b);
  return std::tuple(ebb::matmul(a, b), ebb::matmul(ta, b), ebb::matmul(a, tb), ebb::matmul(ta, tb));
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
  one_or_many<float, 4>(products_of_small_matrices);
}

/// A product of matrices without a batch is none of components.
template <class T, std::size_t N>
void single_products() {
  using square = ebb::tensor<T, N, N>;
  using squares = ebb::tensor<T, dyn, N, N>;
  for (std::size_t seed = 1; seed < 4; ++seed) {
    const square a = test::random_array<square>(2 * seed), b = test::random_array<square>(2 * seed + 1);
    const auto many = [](const square& x) {
      squares r(3u);
      for (std::size_t i = 0; i < r.size(); ++i) r.mutable_data()[i] = x.data()[i % (N * N)];
      return r;
    };
    const auto one = ebb::compile(products_of_small_matrices)(a, b);
    const auto all = ebb::compile(products_of_small_matrices)(many(a), many(b));
    const auto same = [](const square& x, const squares& y) { return std::memcmp(x.data(), y.data() + N * N, N * N * sizeof(T)) == 0; };
    CAPTURE(N, seed, sizeof(T));
    CHECK(same(std::get<0>(one), std::get<0>(all)));
    CHECK(same(std::get<1>(one), std::get<1>(all)));
    CHECK(same(std::get<2>(one), std::get<2>(all)));
    CHECK(same(std::get<3>(one), std::get<3>(all)));
  }
}

TEST_CASE("a product of two matrices of one to four rows has the bits of the same product in a batch, transposed or not") {
  single_products<float, 1>();
  single_products<float, 2>();
  single_products<float, 3>();
  single_products<float, 4>();
  single_products<double, 2>();
  single_products<double, 3>();
  single_products<double, 4>();
}

/// Axes of static extents keep their order in the first three results: of one row they are copies.
TEST_CASE("permutations of one row and of several have the elements of the operand, whether they turn static axes or not") {
  const auto f = [](auto x) {
    const auto y = x + x;
    return std::tuple(ebb::permute<1, 0, 2>(y), ebb::permute<1, 2, 0>(y), ebb::permute<0, 1, 2>(y), ebb::permute<2, 0, 1>(y),
                      ebb::permute<0, 2, 1>(y), ebb::permute<2, 1, 0>(y));
  };
  const auto check = [&]<class T>(T, std::size_t rows) {
    CAPTURE(rows, sizeof(T));
    using array = ebb::tensor<T, dyn, 3, 4>;
    const array x = test::random_array<array>(rows + 1, rows);
    const auto [first, second, third, fourth, fifth, sixth] = ebb::compile(f)(x);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        for (std::size_t k = 0; k < 4; ++k) {
          const T want = x(i, j, k) + x(i, j, k);
          for (const T got : {first(j, i, k), second(j, k, i), third(i, j, k), fourth(k, i, j), fifth(i, k, j), sixth(k, j, i)})
            wrong += got != want;
        }
    CHECK(wrong == 0);
  };
  for (const std::size_t rows : {0u, 1u, 2u, 17u}) {
    check(0.0, rows);
    check(0.0f, rows);
  }
  // Two axes that are known only at the call, and an axis of one element.
  const auto two = [](auto x) { return ebb::permute<3, 1, 0, 2>(ebb::exp(x)); };
  for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{1, 1}, {1, 3}, {3, 1}, {2, 2}}) {
    using array = ebb::tensor<float, dyn, 1, dyn, 4>;
    const array x = test::random_array<array>(m + n, m, n);
    const auto y = ebb::compile(two)(x);
    const auto e = ebb::exp(x);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t k = 0; k < 4; ++k) wrong += y(k, 0, i, j) != e(i, 0, j, k);
    CHECK(wrong == 0);
  }
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

TEMPLATE_TEST_CASE("products without rows or columns", "", float, double) {
  constexpr auto layer = ebb::compile([](auto x, auto w) { return ebb::matmul(x, ebb::transpose(w)) * 2; });
  constexpr auto both = ebb::grad<0, 1>([](auto x, auto w) { return ebb::sum(ebb::square(ebb::matmul(x, ebb::transpose(w)))); });
  using matrix = ebb::tensor<TestType, ebb::dyn, ebb::dyn>;
  for (const auto& [m, k, n] : {std::tuple(0u, 4u, 16u), {0u, 64u, 32u}, {16u, 4u, 0u}, {16u, 0u, 0u}, {40u, 2u, 0u}, {0u, 0u, 0u}}) {
    CAPTURE(m, k, n);
    const matrix x = matrix::ones(m, k), w = matrix::ones(n, k);
    CHECK(layer(x, w).size() == 0);
    const auto [by_x, by_w] = both(x, w);
    CHECK(by_x.size() == std::size_t{m} * k);
    for (std::size_t i = 0; i < by_w.size(); ++i) REQUIRE(by_w.data()[i] == 0);
  }
}

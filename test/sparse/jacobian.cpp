// test/sparse/jacobian.cpp — sparse Jacobians and Hessians of known structure: patterns, number of colors, values against dense ones.
// SPDX-License-Identifier: BSL-1.0
// covers: pattern.hpp
#include <ebb/functional.hpp>
#include <ebb/sparse.hpp>

#include "../build.hpp"
#include "../catch.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

using ebb::tensor;
using vector = tensor<double, ebb::dyn>;

/// A step of a reaction with diffusion: three neighbours in each row.
constexpr auto diffusion = [](auto u) {
  const auto inner = ebb::slice<0, 1, -1>(u);
  const auto change = ebb::slice<0, 0, -2>(u) - 2 * inner + ebb::slice<0, 2>(u) + ebb::sin(inner) * inner;
  return ebb::concat<0>(ebb::slice<0, 0, 1>(u), change, ebb::slice<0, -1>(u));
};
constexpr auto chain = [](auto x) {
  const auto a = ebb::slice<0, 0, -1>(x), b = ebb::slice<0, 1>(x);
  return ebb::sum(100 * ebb::square(b - a * a) + ebb::square(1 - a));
};
/// The first row and the first column are full.
constexpr auto arrow = [](auto x) {
  return ebb::concat<0>(ebb::reshape<1>(ebb::sum(ebb::exp(x))), ebb::slice<0, 1>(x) * ebb::take<0>(x, 0));
};
/// Two rows of many columns.
constexpr auto wide = [](auto x) { return ebb::stack<0>(ebb::sum(x * x), ebb::prod(x)); };
/// Blocks: a small product for each row.
constexpr auto blocks = [](auto w, auto x) { return ebb::matmul(w, x) * 2; };
/// Residuals of pairs of points, named by integers.
constexpr auto springs = [](auto x, auto from, auto to) { return ebb::square(ebb::take<0>(x, from) - ebb::take<0>(x, to)); };

vector some(std::size_t n) {
  vector x(n);
  for (std::size_t i = 0; i < n; ++i) x.mutable_data()[i] = 0.5 + std::sin(1.3 * static_cast<double>(i * i % 37));
  return x;
}
/// The same with a static extent: then a pattern is a constant, and a call has one program, pushed or pulled.
template <std::size_t N>
tensor<double, N> some() {
  tensor<double, N> x;
  std::copy_n(some(N).data(), N, x.mutable_data());
  return x;
}
/// Each value at its place is the dense one, and elsewhere the dense matrix has zeros. Returns how many elements in p are zeros.
std::size_t check_dense(const ebb::sparse_pattern& p, const auto& values, const auto& dense) {
  REQUIRE(dense.size() == p.rows * p.columns);
  REQUIRE(values.size() == p.size());
  const std::vector<std::size_t> row = p.row();
  std::vector<double> all(dense.size(), 0);
  std::size_t zeros = 0;
  for (std::size_t k = 0; k < p.size(); ++k) {
    if (k > 0) REQUIRE((row[k] > row[k - 1] || (row[k] == row[k - 1] && p.column[k] > p.column[k - 1])));
    all[row[k] * p.columns + p.column[k]] = values(k);
    zeros += values(k) == 0;
  }
  for (std::size_t i = 0; i < dense.size(); ++i) CHECK(all[i] == Approx(dense.data()[i]).epsilon(1e-14).margin(0));
  return zeros;
}

}  // namespace

TEST_CASE("a banded Jacobian has three colors for any length, and the elements of the dense one") {
  constexpr auto jacobian = ebb::sparse_jacobian(diffusion);
  const vector x = some(30);
  const ebb::sparse_pattern p = jacobian.pattern(x);
  CHECK(p.colors == 3);
  CHECK(!p.pulled);
  CHECK(p.size() == 28 * 3 + 2);
  CHECK(check_dense(p, jacobian(p, x), ebb::jacfwd(diffusion)(x)) == 0);
  const vector longer = some(1000);
  const ebb::sparse_pattern q = jacobian.pattern(longer);
  CHECK(q.colors == 3);
  CHECK(q.size() == 998 * 3 + 2);
  std::vector<double> memory(q.size());
  jacobian(ebb::into(memory), q, longer);
  const vector again = jacobian(q, longer);
  for (std::size_t k = 0; k < q.size(); ++k) REQUIRE(memory[k] == again(k));
  CHECK(memory[0] == 1);
  CHECK(memory[2] == -2 + std::cos(longer(1)) * longer(1) + std::sin(longer(1)));
  CHECK(jacobian.pattern(some(2)).size() == 2);
  REQUIRE_THROWS(jacobian.pattern(some(1)));
}

TEST_CASE("an arrow has a color for each column, and a matrix of few rows is pulled") {
  const auto x = some<6>();
  const ebb::sparse_pattern p = ebb::sparse_jacobian(arrow).constant_pattern<tensor<double, 6>>();
  CHECK(p.colors == 6);
  CHECK(p.starts == std::vector<std::size_t>{0, 6, 8, 10, 12, 14, 16});
  CHECK(p.column == std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5});
  constexpr auto of_wide = ebb::sparse_jacobian(wide);
  const ebb::sparse_pattern q = of_wide.constant_pattern<tensor<double, 6>>();
  CHECK(q.pulled);
  CHECK(q.colors == 2);
  const auto values = of_wide(x);
  REQUIRE(values.size() == 12);
  double all = 1;
  for (std::size_t i = 0; i < 6; ++i) all *= x(i);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(values(i) == 2 * x(i));
    CHECK(values(6 + i) == Approx(all / x(i)).epsilon(1e-14));
  }
}

TEST_CASE("blocks have as many colors as a block has columns, and rows by index are those of the call") {
  tensor<double, 4, 2, 3> w;
  tensor<double, 4, 3, 1> x;
  for (std::size_t i = 0; i < w.size(); ++i) w.mutable_data()[i] = std::cos(static_cast<double>(i));
  for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = std::sin(static_cast<double>(i));
  constexpr auto of_blocks = ebb::sparse_jacobian<1>(blocks);
  const auto& p = of_blocks.constant_pattern<tensor<double, 4, 2, 3>, tensor<double, 4, 3, 1>>();
  CHECK(p.colors == 3);
  REQUIRE(p.size() == 4 * 6);
  const auto values = of_blocks(w, x);
  for (std::size_t k = 0; k < 24; ++k) CHECK(values(k) == 2 * w.data()[k]);

  // A product with a triangle that all rows share: each row has the triangle's elements.
  constexpr auto triangles = ebb::sparse_jacobian<1>([](auto q, auto z) { return ebb::matmul(z, ebb::transpose(ebb::lower(q))); });
  const tensor<double, 3, 3> t{{1.0, 9.0, 9.0}, {2.0, 3.0, 9.0}, {4.0, 5.0, 6.0}};
  const tensor<double, 2, 3> z{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
  const ebb::sparse_pattern of_rows = triangles.pattern(t, z);
  CHECK(of_rows.column == std::vector<std::size_t>{0, 0, 1, 0, 1, 2, 3, 3, 4, 3, 4, 5});
  const auto slopes = triangles(t, z);
  for (std::size_t k = 0; k < 12; ++k) CHECK(slopes(k) == static_cast<double>(k % 6 + 1));
  // By the matrix: elements outside of the triangle, and a diagonal that is taken to be 1, decide nothing.
  constexpr auto by_matrix =
      ebb::sparse_jacobian<0>([](auto matrix, auto by) { return ebb::matmul(ebb::upper(matrix, ebb::unit_diagonal), by); });
  CHECK(by_matrix.pattern(t, some(3)).column == std::vector<std::size_t>{1, 2, 5});

  const tensor<int, 5> from{0, 2, 6, 3, 3}, to{1, 1, 0, 5, 3};
  const ebb::sparse_pattern q = ebb::sparse_jacobian(springs).pattern(some(7), from, to);
  CHECK(q.colors == 2);
  CHECK(q.column == std::vector<std::size_t>{0, 1, 1, 2, 0, 6, 3, 5, 3});
  CHECK(q.row() == std::vector<std::size_t>{0, 0, 1, 1, 2, 2, 3, 3, 4});
}

TEST_CASE("the Hessian of a chain has three colors and the elements of the formula") {
  const auto x = some<12>();
  constexpr auto hessian = ebb::sparse_hessian(chain);
  const auto& p = hessian.constant_pattern<tensor<double, 12>>();
  CHECK(p.colors == 3);
  REQUIRE(p.size() == 12 + 2 * 11);
  const auto values = hessian(x);
  for (std::size_t i = 0, k = 0; i < 12; ++i) {
    if (i > 0) CHECK(values(k++) == Approx(-400 * x(i - 1)).epsilon(1e-13));
    CHECK(values(k++) == Approx((i > 0 ? 200 : 0) + (i < 11 ? 1200 * x(i) * x(i) - 400 * x(i + 1) + 2 : 0)).epsilon(1e-12));
    if (i < 11) CHECK(values(k++) == Approx(-400 * x(i)).epsilon(1e-13));
  }
}

TEST_CASE("a Hessian with the form of an arrow has two colors, and one of random places the elements of the dense one") {
  constexpr auto of_arrow = ebb::sparse_hessian([](auto x) {
    return ebb::sum(ebb::exp(x) * ebb::take<0>(x, 0)) + ebb::sum(x * x * x);
  });
  const auto x = some<9>();
  const auto& p = of_arrow.constant_pattern<tensor<double, 9>>();
  CHECK(p.colors == 2);
  REQUIRE(p.size() == 9 + 2 * 8);
  const auto values = of_arrow(x);
  CHECK(values(0) == Approx(std::exp(x(0)) * (2 + x(0)) + 6 * x(0)).epsilon(1e-14));
  for (std::size_t j = 1; j < 9; ++j) {
    CHECK(values(j) == Approx(std::exp(x(j))).epsilon(1e-14));
    CHECK(values(9 + 2 * (j - 1)) == values(j));
    CHECK(values(10 + 2 * (j - 1)) == Approx(std::exp(x(j)) * x(0) + 6 * x(j)).epsilon(1e-14));
  }

  constexpr auto pairs = [](auto y, auto from, auto to) {
    return ebb::sum(ebb::sin(ebb::take<0>(y, from) * ebb::take<0>(y, to)) + ebb::take<0>(y, from));
  };
  constexpr auto hessian = ebb::sparse_hessian(pairs);
  test::random r{7};
  int saved = 0;
  for (std::size_t n = 2; n < 14; ++n) {
    tensor<int, ebb::dyn> from(n + n / 2), to(n + n / 2);
    for (std::size_t i = 0; i < from.size(); ++i) {
      from.mutable_data()[i] = r.below(static_cast<int>(n));
      to.mutable_data()[i] = i < n / 2 ? 0 : r.below(static_cast<int>(n));
    }
    const vector y = some(n);
    const ebb::sparse_pattern q = hessian.pattern(y, from, to), columns = ebb::sparse_jacobian(ebb::grad(pairs)).pattern(y, from, to);
    CHECK(q.column == columns.column);
    CHECK(q.colors <= columns.colors);
    saved += columns.colors - q.colors;
    check_dense(q, hessian(q, y, from, to), ebb::hessian(pairs)(y, from, to));
  }
  CHECK(saved > 0);
}

namespace {

/// An unknown and a result of several arrays.
template <template <class, std::size_t...> class Array>
struct line {
  using points = Array<double, ebb::dyn>;
  using number = Array<double>;
  BOOST_HANA_DEFINE_STRUCT(line, (points, at), (number, bend));
};

}  // namespace

TEST_CASE("columns run over the leaves of a struct, rows over those of a tuple, and wide ones are pulled") {
  constexpr auto f = [](auto l, auto w) {
    const auto y = ebb::sin(l.at) * w + l.bend;
    return std::tuple(y, ebb::slice<0, 1>(l.at) * ebb::slice<0, 0, -1>(l.at), l.bend * l.bend);
  };
  constexpr auto jacobian = ebb::sparse_jacobian(f);
  const vector w = some(5);
  const line<tensor> x{some(5), tensor<double>(3.0)};
  const ebb::sparse_pattern p = jacobian.pattern(x, w);
  CHECK(p.rows == 10);
  CHECK(p.columns == 6);
  CHECK(p.column == std::vector<std::size_t>{0, 5, 1, 5, 2, 5, 3, 5, 4, 5, 0, 1, 1, 2, 2, 3, 3, 4, 5});
  CHECK(p.colors == 3);
  const vector values = jacobian(p, x, w);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(values(2 * i) == std::cos(x.at(i)) * w(i));
    CHECK(values(2 * i + 1) == 1);
    if (i < 4) CHECK(values(10 + 2 * i) == x.at(i + 1));
    if (i < 4) CHECK(values(11 + 2 * i) == x.at(i));
  }
  CHECK(values(18) == 6);

  constexpr auto sums = ebb::sparse_jacobian([](auto l) {  // an empty tuple has no rows
    return std::tuple(std::tuple<>{}, ebb::sum(std::get<0>(l) * std::get<0>(l)) * std::get<1>(l),
                      std::tuple(ebb::reshape<1>(ebb::prod(std::get<0>(l))), std::tuple<>{}));
  });
  const std::tuple tuple(some(7), 2.0);
  const ebb::sparse_pattern q = sums.pattern(tuple);
  CHECK(q.pulled);
  REQUIRE(q.size() == 8 + 7);
  const vector all = sums(q, tuple);
  double square = 0, product = 1;
  for (std::size_t i = 0; i < 7; ++i) {
    square += std::get<0>(tuple)(i) * std::get<0>(tuple)(i);
    product *= std::get<0>(tuple)(i);
  }
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(all(i) == 4 * std::get<0>(tuple)(i));
    CHECK(all(8 + i) == Approx(product / std::get<0>(tuple)(i)).epsilon(1e-14));
  }
  CHECK(all(7) == Approx(square).epsilon(1e-14));
}

TEST_CASE("more colors than are read at once give the elements of the dense matrix") {
  const auto x = some<40>();
  constexpr auto dense = [](auto v) { return ebb::sin(v) * ebb::sum(v * v); };
  const ebb::sparse_pattern p = ebb::sparse_jacobian(dense).constant_pattern<tensor<double, 40>>();
  CHECK(p.colors == 40);
  check_dense(p, ebb::sparse_jacobian(dense)(x), ebb::jacfwd(dense)(x));
}

TEST_CASE("a pattern of many rows and few columns, or few rows and many columns, is found in the time of its elements") {
  constexpr auto product = ebb::sparse_jacobian([](auto x, auto w) { return ebb::sum<1>(ebb::square(w * x)); });
  const tensor<double, ebb::dyn, ebb::dyn> tall(40000, 3);
  CHECK(product.pattern(some(3), tall).colors == 3);
  const tensor<double, ebb::dyn, ebb::dyn> flat(1, 40000);
  const ebb::sparse_pattern p = product.pattern(some(40000), flat);
  CHECK(p.pulled);
  CHECK(p.colors == 1);
}

TEST_CASE("a pattern of other extents and memory of another size are refused") {
  constexpr auto jacobian = ebb::sparse_jacobian(diffusion);
  const ebb::sparse_pattern p = jacobian.pattern(some(30));
  std::vector<double> memory(p.size() - 1);
  REQUIRE_THROWS_WITH(jacobian(p, some(31)), Catch::Contains("the pattern is of a matrix [30, 30]"));
  REQUIRE_THROWS_WITH(jacobian(ebb::into(memory), p, some(30)), Catch::Contains("the destination has 85 elements, the pattern has 86"));
}

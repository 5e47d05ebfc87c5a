// test/sparse/block_rows.cpp — Jacobians in rows of blocks: formulas, colors, and functions that look like it.
// SPDX-License-Identifier: BSL-1.0
// covers: columns.hpp
#include <ebb/functional.hpp>
#include <ebb/sparse.hpp>

#include "../catch.hpp"

#include <cmath>
#include <tuple>
#include <vector>

namespace {

using ebb::tensor;
using numbers = tensor<double, ebb::dyn>;
using pairs = tensor<double, ebb::dyn, 2>;
using triples = tensor<double, ebb::dyn, 3>;
using names = tensor<int, ebb::dyn, 2>;

template <class A>
A filled(std::size_t n, double shift) {
  A a(n);
  for (std::size_t i = 0; i < a.size(); ++i) a.mutable_data()[i] = shift + std::sin(static_cast<double>(i * i % 23));
  return a;
}
names all_names(std::size_t n) {
  names who(n);
  for (std::size_t i = 0; i < n; ++i) {
    who.mutable_data()[2 * i] = static_cast<int>(5 * i % 4);
    who.mutable_data()[2 * i + 1] = static_cast<int>(i * i % 6);
  }
  return who;
}

/// Two numbers of each row: the second one does not depend on the camera's first number.
constexpr auto seen_from = [](auto camera, auto point, auto w, auto seen) {
  return ebb::stack<0>(w * (camera[0] * point[0] + ebb::sin(camera[2]) - seen), w * camera[1] * point[0] * point[1]);
};
constexpr auto residuals = [](auto x, auto seen, auto who) {
  const auto [cameras, points, w] = x;
  const auto camera = ebb::take(cameras, ebb::select<1, 0>(who));
  const auto point = ebb::take(points, ebb::select<1, 1>(who));
  return std::tuple(ebb::map(seen_from, camera, point, w, seen), 1 - w * w);
};

}  // namespace

TEST_CASE("residuals of observations are written row by row: elements of the formula, as colors give them") {
  constexpr auto jacobian = ebb::sparse_jacobian(residuals);
  const triples cameras = filled<triples>(4, 1);
  const pairs points = filled<pairs>(6, 2);
  for (const std::size_t n : {0u, 1u, 2u, 9u}) {
    const std::tuple x(cameras, points, filled<numbers>(n, 0.5));
    const numbers seen = filled<numbers>(n, 0), &w = std::get<2>(x);
    const names who = all_names(n);
    ebb::sparse_pattern p = jacobian.pattern(x, seen, who);
    REQUIRE(p.by_rows);
    REQUIRE(p.size() == n * (4 + 4 + 1));
    const numbers values = jacobian(p, x, seen, who);
    std::vector<double> memory(p.size(), 99);
    jacobian(ebb::into(memory), p, x, seen, who);
    p.by_rows = false;
    const numbers by_color = jacobian(p, x, seen, who);
    for (std::size_t k = 0; k < p.size(); ++k) {
      CHECK(values(k) == Approx(by_color(k)).epsilon(1e-14).margin(1e-15));
      CHECK(memory[k] == values(k));
    }
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t c = static_cast<std::size_t>(who(i, 0)), q = static_cast<std::size_t>(who(i, 1));
      CHECK(p.column[8 * i] == 3 * c);
      CHECK(p.column[8 * i + 4 + 1] == 12 + 2 * q);
      CHECK(values(8 * i) == w(i) * points(q, 0));
      CHECK(values(8 * i + 1) == Approx(w(i) * std::cos(cameras(c, 2))).epsilon(1e-14));
      CHECK(values(8 * i + 3) == Approx(cameras(c, 0) * points(q, 0) + std::sin(cameras(c, 2)) - seen(i)).epsilon(1e-13).margin(1e-14));
      CHECK(values(8 * i + 6) == Approx(w(i) * cameras(c, 1) * points(q, 0)).epsilon(1e-14));
      CHECK(values(8 * n + i) == -2 * w(i));
    }
    p.by_rows = true;
    const std::tuple longer(cameras, points, filled<numbers>(n + 1, 0.5));
    REQUIRE_THROWS_WITH(jacobian(p, longer, filled<numbers>(n + 1, 0), all_names(n + 1)), Catch::Contains("the pattern is of a matrix ["));
  }
}

TEST_CASE("rows that meet others, and zeros of fixed arguments in some rows only, are left to colors") {
  const triples x = filled<triples>(5, 1);
  const tensor<int, 4> who{0, 3, 3, 1};
  const tensor<double, 4, 1> w{{1.5}, {0}, {2}, {0.5}};
  constexpr auto scaled = [](auto v, auto i, auto u) { return ebb::take(v, i) * u; };
  CHECK(ebb::sparse_jacobian(scaled).pattern(x, who, w).by_rows);
  const ebb::sparse_pattern less = ebb::sparse_jacobian(scaled).pattern(x, who, ebb::fixed(w));
  CHECK(!less.by_rows);
  CHECK(less.size() == 3 * 3);
  // The compiler tries two rows of u, then 16.
  constexpr auto three = [](auto v, auto i, auto u) { return ebb::take(v, i) * ebb::sum(ebb::slice<0, 0, 3>(u)); };
  CHECK(ebb::sparse_jacobian(three).pattern(x, who, filled<numbers>(7, 1)).by_rows);
  constexpr auto many = [](auto v, auto i, auto u) { return ebb::take(v, i) * ebb::sum(ebb::slice<0, 0, 20>(u)); };
  const ebb::sparse_pattern of_many = ebb::sparse_jacobian(many).pattern(x, who, filled<numbers>(20, 1));
  CHECK(!of_many.by_rows);
  CHECK(of_many.size() == 4 * 3);
  // Each row meets those before it.
  constexpr auto sums = ebb::sparse_jacobian([](auto v, auto i, auto u) { return ebb::cumsum<0>(ebb::take(v, i)) * u; });
  const ebb::sparse_pattern p = sums.pattern(x, who, w);
  CHECK(!p.by_rows);
  REQUIRE(p.size() == 3 * (1 + 2 + 2 + 3));
  const numbers values = sums(p, x, who, w);
  const std::vector<std::size_t> row = p.row();
  for (std::size_t k = 0; k < p.size(); ++k) {
    double times = 0;
    for (std::size_t i = 0; i <= row[k] / 3; ++i) times += static_cast<std::size_t>(who(i)) == p.column[k] / 3;
    CHECK(values(k) == times * w(row[k] / 3, 0));
  }
}

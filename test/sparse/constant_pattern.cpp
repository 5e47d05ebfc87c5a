// test/sparse/constant_pattern.cpp — patterns and colors that the compiler finds, and calls without a pattern.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>
#include <ebb/shapes.hpp>
#include <ebb/sparse.hpp>

#include "../catch.hpp"

#include <cmath>
#include <vector>

namespace {

using ebb::tensor;

constexpr auto sines = [](auto x) { return ebb::sin(x); };
/// Three neighbours in each row, and the ends' own rows.
constexpr auto band = [](auto x) {
  const auto z = ebb::pad<0, 1, 1>(x, 0.0);
  return ebb::slice<0, 0, -2>(z) - 2 * x * x + ebb::slice<0, 2>(z);
};
/// All elements beside the first one meet it alone.
constexpr auto spokes = [](auto x) { return ebb::sum(ebb::exp(x) * ebb::take<0>(x, 0)); };
constexpr auto sums = [](auto x, auto w) { return std::tuple(ebb::sum(ebb::square(x)), ebb::sum(x * w)); };

/// Every second one of the first twenty is one of the last ten instead.
constexpr auto overwritten = [](auto x) {
  const auto u = ebb::slice<0, 20>(x);
  return ebb::scatter<0>(ebb::slice<0, 0, 20>(x), 2 * ebb::iota<0>(u), ebb::sin(u));
};

template <std::size_t N>
using line = tensor<double, N>;
template <class J, class... A>
constexpr const auto& pattern_of() { return J::template constant_pattern<A...>(); }
template <auto F>
using jacobian_of = std::remove_const_t<decltype(ebb::sparse_jacobian(F))>;
template <auto F>
using hessian_of = std::remove_const_t<decltype(ebb::sparse_hessian(F))>;

static_assert(pattern_of<jacobian_of<sines>, line<50>>().colors == 1);
static_assert(pattern_of<jacobian_of<sines>, line<50>>().size() == 50);
static_assert(pattern_of<jacobian_of<band>, line<50>>().colors == 3);
static_assert(pattern_of<jacobian_of<band>, line<50>>().size() == 3 * 50 - 2);
static_assert(pattern_of<jacobian_of<overwritten>, line<30>>().colors == 1);
static_assert(pattern_of<jacobian_of<overwritten>, line<30>>().size() == 20);
static_assert(pattern_of<hessian_of<spokes>, line<12>>().colors == 2);
static_assert(pattern_of<hessian_of<spokes>, line<12>>().size() == 12 + 2 * 11);
static_assert(pattern_of<jacobian_of<sums>, line<9>, line<9>>().pulled);
static_assert(pattern_of<jacobian_of<sums>, line<9>, line<9>>().colors == 2);
static_assert(pattern_of<jacobian_of<band>, line<0>>().size() == 0);

/// Whether the constant is what is found at run time.
void check_equal(const auto& constant, const ebb::sparse_pattern& p) {
  const ebb::sparse_pattern q = constant;
  CHECK(q.rows == p.rows);
  CHECK(q.columns == p.columns);
  CHECK(q.starts == p.starts);
  CHECK(q.column == p.column);
  CHECK(q.color == p.color);
  CHECK(q.colors == p.colors);
  CHECK(q.pulled == p.pulled);
  CHECK(q.mirrored == p.mirrored);
  const auto row = constant.row();
  CHECK(std::vector<std::size_t>(row.begin(), row.end()) == p.row());
}

}  // namespace

TEST_CASE("a call without a pattern writes the elements of a constant pattern, pushed, pulled and mirrored") {
  line<12> x, w;
  for (std::size_t i = 0; i < 12; ++i) {
    x.mutable_data()[i] = 0.25 * static_cast<double>(i) - 1;
    w.mutable_data()[i] = std::sin(static_cast<double>(i));
  }
  constexpr jacobian_of<band> of_band{};
  const ebb::sparse_pattern p = of_band.pattern(x);
  check_equal(pattern_of<jacobian_of<band>, line<12>>(), p);
  const line<34> banded = of_band(x);
  const auto want = of_band(p, x);
  std::vector<double> memory(34, 99), other(35);
  of_band(ebb::into(memory), x);
  for (std::size_t k = 0; k < 34; ++k) {
    REQUIRE(banded(k) == want(k));
    REQUIRE(memory[k] == want(k));
  }
  CHECK(banded(3) == -4 * x(1));
  REQUIRE_THROWS_WITH(of_band(ebb::into(other), x), Catch::Contains("has 35 elements, the pattern has 34"));

  constexpr jacobian_of<sums> of_sums{};
  check_equal(pattern_of<jacobian_of<sums>, line<12>, line<12>>(), of_sums.pattern(x, w));
  const line<24> pulled = of_sums(x, w);
  constexpr hessian_of<spokes> of_spokes{};
  check_equal(pattern_of<hessian_of<spokes>, line<12>>(), of_spokes.pattern(x));
  const line<34> mirrored = of_spokes(x);
  for (std::size_t j = 0; j < 12; ++j) {
    CHECK(pulled(j) == 2 * x(j));
    CHECK(pulled(12 + j) == w(j));
    if (j == 0) continue;
    CHECK(mirrored(j) == Approx(std::exp(x(j))).epsilon(1e-14));
    CHECK(mirrored(10 + 2 * j) == mirrored(j));
    CHECK(mirrored(11 + 2 * j) == Approx(std::exp(x(j)) * x(0)).epsilon(1e-14));
  }
}

// test/exec/one_row.cpp — small programs of many rows called with one row: the bits of that row among others.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>
#include <ebb/linalg.hpp>

#include "../catch.hpp"
#include "../random_array.hpp"

#include <cstring>
#include <type_traits>

namespace {

using ebb::dyn;

template <class F, class... A>
using program = ebb::executable<typename ebb::detail::compile_spec<F>::template program<ebb::detail::traced_type<A>...>>;
template <class... A, class F>
constexpr bool has_one_row(const F&) {
  return ebb::detail::has_one_row<program<F, A...>>;
}

constexpr auto power = ebb::compile([](auto x) { return ebb::matrix_power<4>(x); });
constexpr auto norm = ebb::compile([](auto x) { return ebb::matrix_norm(x); });
constexpr auto scaled = ebb::compile([](auto x) { return ebb::softmax(x) / ebb::norm<-1>(x, ebb::keep_dims); });
constexpr auto distance = ebb::compile([](auto a, auto x) { return ebb::mahalanobis(x, a); });
constexpr auto slope = ebb::grad([](auto a, auto x) { return ebb::sum(ebb::mahalanobis(x, a)); });
constexpr auto factor = ebb::compile([](auto a) { return ebb::cholesky(ebb::matmul(a, a)); });

/// Row k of x as an array of one row.
template <class T, std::size_t... E>
ebb::view<const T, dyn, E...> row(const ebb::tensor<T, dyn, E...>& x, std::size_t k) {
  return ebb::view<const T, dyn, E...>(x.data() + k * (E * ...), 1u);
}
bool same(const auto& one, const auto& many, std::size_t k) {
  return std::memcmp(one.data(), many.data() + k * one.size(), one.size() * sizeof(*one.data())) == 0;
}

}  // namespace

TEMPLATE_TEST_CASE("one row has the bits that it has among others", "", float, double) {
  using squares = ebb::tensor<TestType, dyn, 4, 4>;
  using points = ebb::tensor<TestType, dyn, 4>;
  const squares a = test::random_array<squares>(1, 5u);
  const points x = test::random_array<points>(2, 5u);
  const auto p = power(a);
  const auto n = norm(a);
  const auto s = scaled(x);
  const auto d = distance(a, x);
  const auto g = slope(a, x);
  for (std::size_t k = 0; k < 5; ++k) {
    CAPTURE(k);
    CHECK(same(power(row(a, k)), p, k));
    CHECK(same(norm(row(a, k)), n, k));
    CHECK(same(scaled(row(x, k)), s, k));
    CHECK(same(distance(row(a, k), row(x, k)), d, k));
    CHECK(same(slope(row(a, k), row(x, k)), g, k));
  }
}

TEST_CASE("small programs on blocks of rows have a program of one row") {
  using squares = ebb::tensor<float, dyn, 4, 4>;
  using points = ebb::tensor<float, dyn, 4>;
  STATIC_REQUIRE(has_one_row<squares>(power));
  STATIC_REQUIRE(has_one_row<squares>(norm));
  STATIC_REQUIRE(has_one_row<squares, points>(distance));
  STATIC_REQUIRE_FALSE(has_one_row<ebb::tensor<float, dyn, 9, 9>>(power));    // more elements
  STATIC_REQUIRE_FALSE(has_one_row<ebb::tensor<float, dyn, dyn, dyn>>(norm));  // extents that are not known
  STATIC_REQUIRE_FALSE(has_one_row<ebb::tensor<float, 4, 4>>(power));          // no rows
  using one = ebb::detail::one_row<program<std::remove_const_t<decltype(power)>, squares>>;
  STATIC_REQUIRE(ebb::detail::places_on_stack<one>);
  STATIC_REQUIRE(one::result_shape(0).e[0] < 0);
  STATIC_REQUIRE(one::shape_at(one::result_shapes[0]).e[0] == 1);
}

TEST_CASE("an error of one row is that of one matrix") {
  const ebb::tensor<float, dyn, 4, 4> zeros(1u);
  CHECK_THROWS_WITH(factor(zeros), "ebb::compile: cholesky: the matrix is not positive definite: its leading minor of order 1 is not "
                                   "positive");
}

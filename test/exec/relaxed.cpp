// test/exec/relaxed.cpp — relaxed functions: called, compiled, differentiated, mapped, in autocast contexts; their types.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/functional.hpp>

#include <cmath>
#include <string>
#include <type_traits>

namespace {

using array = ebb::tensor<double, ebb::dyn>;

/// A Gaussian's logarithm: a quotient by a number, a square, sums.
constexpr auto density = [](auto mu, auto sigma, auto x) {
  return -0.5 * ebb::sum(ebb::square((x - mu) / sigma)) - ebb::extent<0>(x) * ebb::log(sigma);
};
constexpr auto relaxed_density = ebb::relaxed(density);

constexpr auto of_row = ebb::relaxed([](auto row, auto s) { return ebb::sum(row / s); });

array points() { return array{0.25, -1.5, 3, 0.125, 2.75, -0.875, 1.0625}; }

struct expected {
  long double value = 0, by_mu = 0, by_sigma = 0, by_both = 0;
};
expected exactly(long double mu, long double sigma) {
  expected e;
  const array x = points();
  for (const double p : x) {
    const long double z = (p - mu) / sigma;
    e.value += -z * z / 2 - std::log(sigma);
    e.by_mu += z / sigma;
    e.by_sigma += (z * z - 1) / sigma;
    e.by_both -= 2 * z / (sigma * sigma);
  }
  return e;
}
bool near(double got, long double want) { return std::fabs(static_cast<long double>(got) - want) <= 1e-14L * (1 + std::fabs(want)); }

/// How many divisions of whole arrays a function's program for these arguments has. Read from the constant: no pass runs again.
template <class... A, class Spec>
constexpr int divisions(ebb::program_function<Spec>) {
  constexpr const auto& g = Spec::template program<ebb::detail::traced_type<A>...>::g;
  int count = 0;
  for (int k = 0; k < g.size(); ++k) {
    const ebb::equation& e = g.eq[static_cast<std::size_t>(k)];
    count += e.op->family == ebb::family_of<ebb::op::div> && g.shapes[static_cast<std::size_t>(e.shape)].rank > 0;
  }
  return count;
}
template <class F>
constexpr int divisions_in(F f) {
  return divisions<double, double, array>(f);
}

}  // namespace

TEST_CASE("relaxed: another type than the function, and another program") {
  static_assert(!std::is_same_v<decltype(ebb::relaxed(density)), decltype(ebb::compile(density))>);
  static_assert(!std::is_same_v<decltype(ebb::value_and_grad(ebb::relaxed(density))), decltype(ebb::value_and_grad(density))>);
  static_assert(divisions_in(ebb::compile(density)) == 1);
  static_assert(divisions_in(relaxed_density) == 0);
}

TEST_CASE("relaxed: called, compiled, and written to destinations") {
  const expected e = exactly(0.3L, 1.4L);
  CHECK(near(relaxed_density(0.3, 1.4, points()), e.value));
  CHECK(near(ebb::compile(relaxed_density)(0.3, 1.4, points()), e.value));
  double y = 0;
  relaxed_density(ebb::into(y), 0.3, 1.4, points());
  CHECK(near(y, e.value));
#if EBB_EXCEPTIONS
  CHECK_THROWS_WITH(ebb::relaxed([](auto a, auto b) { return a * b; })(points(), array{1, 2}), Catch::Contains("ebb::relaxed"));
#endif
  CHECK(divisions_in(ebb::compile(relaxed_density)) == 0);
}

TEST_CASE("relaxed: derivatives of a relaxed function, and a relaxed derivative") {
  const expected e = exactly(0.3L, 1.4L);
  const auto check = [&](auto f) {
    const auto [value, by_mu, by_sigma] = f(0.3, 1.4, points());
    CHECK(near(value, e.value));
    CHECK(near(by_mu, e.by_mu));
    CHECK(near(by_sigma, e.by_sigma));
    CHECK(divisions_in(f) == 0);
  };
  check(ebb::value_and_grad<0, 1>(relaxed_density));
  check(ebb::relaxed(ebb::value_and_grad<0, 1>(density)));
  CHECK(divisions_in(ebb::value_and_grad<0, 1>(density)) > 0);
  // The gradient by x, where the pull divides by the number again.
  const auto dx = ebb::grad<2>(relaxed_density)(0.3, 1.4, points());
  for (std::size_t i = 0; i < dx.size(); ++i) CHECK(near(dx.data()[i], -(points().data()[i] - 0.3L) / (1.4L * 1.4L)));
  CHECK(divisions_in(ebb::grad<2>(relaxed_density)) == 0);
}

TEST_CASE("relaxed: second derivatives, and by vjp") {
  const expected e = exactly(0.3L, 1.4L);
  const auto twice = ebb::grad<1>(ebb::grad<0>(relaxed_density));
  CHECK(near(twice(0.3, 1.4, points()), e.by_both));
  CHECK(divisions_in(twice) == 0);
  CHECK(near(ebb::hvp<0>(relaxed_density)(0.3, 1.4, points(), 1.0), -7 / (1.4L * 1.4L)));
  const auto [again, pull] = ebb::vjp<0, 1>(relaxed_density)(0.3, 1.4, points());
  const auto [by_mu, by_sigma] = pull(1.0);
  CHECK(near(again, e.value));
  CHECK(near(by_mu, e.by_mu));
  CHECK(near(by_sigma, e.by_sigma));
}

TEST_CASE("relaxed: called inside a traced function, only its own equations are relaxed") {
  const auto outer = [](auto mu, auto sigma, auto x) { return relaxed_density(mu, sigma, x) + ebb::sum((x - mu) / sigma); };
  CHECK(divisions_in(ebb::compile(outer)) == 1);
  CHECK(divisions_in(ebb::relaxed(outer)) == 0);
  long double more = 0;
  for (const double p : points()) more += (p - 0.3L) / 1.4L;
  CHECK(near(ebb::compile(outer)(0.3, 1.4, points()), exactly(0.3L, 1.4L).value + more));
}

TEST_CASE("relaxed: mapped over rows") {
  const auto all = [](auto rows, auto s) { return ebb::map(of_row, rows, ebb::whole(s)); };
  const ebb::tensor<double, ebb::dyn, 3> x{{1, 2, 3}, {4, 5, 6}};
  const auto y = ebb::compile(all)(x, 3.0);
  CHECK(near(y.data()[0], 2));
  CHECK(near(y.data()[1], 5));
  CHECK(divisions<ebb::tensor<double, ebb::dyn, 3>, double>(ebb::compile(all)) == 1);  // of the sums
}

TEST_CASE("relaxed: in an autocast context") {
  const auto f = [](auto x, auto w, auto s) { return ebb::sum(ebb::cast<float>(ebb::matmul(x, w)) / s); };
  using matrix = ebb::tensor<float, 2, 2>;
  const matrix x{{1, 2}, {3, 4}}, w{{0.5f, 1}, {-1, 0.25f}};
  const auto relaxed_inside = ebb::under<ebb::autocast<ebb::bf16>>(ebb::relaxed(f));
  const auto relaxed_outside = ebb::relaxed(ebb::under<ebb::autocast<ebb::bf16>>(f));
  constexpr float want = 0.5f;  // the product is {-1.5, 1.5; -2.5, 4}
  CHECK(std::fabs(relaxed_inside(x, w, 3.0f) - want) <= 0.01f * std::fabs(want));
  CHECK(std::fabs(relaxed_outside(x, w, 3.0f) - want) <= 0.01f * std::fabs(want));
  static_assert(divisions<matrix, matrix, float>(relaxed_outside) == 0);
}

TEST_CASE("relaxed: evaluated in constant expressions") {
  constexpr auto third = ebb::relaxed([](auto x, auto s) { return ebb::sum(x / s); })(ebb::tensor<double, 3>{3, 4, 5}, 4.0);
  static_assert(third == 3);
}

// test/solvers/gmres.cpp — linear equations that are not symmetric: against solve, with derivatives, and where methods stall.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>
#include <ebb/solvers.hpp>

#include "../build.hpp"
#include "../catch.hpp"

#include <cmath>
#include <tuple>

namespace {

using ebb::tensor;
using vector = tensor<double, ebb::dyn>;
using matrix = tensor<double, ebb::dyn, ebb::dyn>;

constexpr auto with_shift = [](auto v, auto a, auto d) { return ebb::matmul(a, v) + d * v; };
constexpr auto stabilized = [](auto b, auto a, auto d) { return ebb::bicgstab(with_shift, b, a, d); };
constexpr auto minimal = [](auto b, auto a, auto d) { return ebb::gmres<ebb::restart<5>>(with_shift, b, a, d); };
template <auto Solver>
constexpr auto of_solution = [](auto b, auto a, auto d) { return ebb::sum(ebb::sin(std::get<0>(Solver(b, a, d)))); };
constexpr auto of_solve = [](auto b, auto a, auto d) { return ebb::sum(ebb::sin(ebb::solve(a + ebb::diag_embed(d), b))); };

/// -u'' + c u' on a line.
constexpr auto convection = [](auto u, auto c) {
  const auto zero = ebb::reshape<1>(ebb::take<0>(u, 0) * 0);
  const auto left = ebb::concat<0>(zero, ebb::slice<0, 0, -1>(u)), right = ebb::concat<0>(ebb::slice<0, 1>(u), zero);
  return 2.1 * u - (1 + c) * left - (1 - c) * right;
};
constexpr auto both_sides = [](auto v, auto a, auto c) { return ebb::matmul(a, ebb::matmul(v, c)) + 3 * v; };
constexpr auto product_with = [](auto v, auto a) { return ebb::matmul(a, v); };

template <class A>
A filled_with(A x, double phase) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    using T = typename A::value_type;
    x.mutable_data()[i] = static_cast<T>(std::sin(phase + 1.7 * static_cast<double>(i * i % 23)));
  }
  return x;
}
void check_all_near(const auto& a, const auto& b, double tolerance) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a.data()[i] == Approx(b.data()[i]).epsilon(tolerance).margin(tolerance));
}
template <auto Solver>
void check_derivatives(int most) {
  const vector b = filled_with(vector(5), 0.3), d = 3 + filled_with(vector(5), 1.0), v = filled_with(vector(5), 2.0);
  const matrix a = filled_with(matrix(5, 5), 0.7);
  const auto [x, steps, converged] = ebb::compile(Solver)(b, a, d);
  CHECK(converged);
  CHECK(steps >= 1);
  CHECK(steps <= most);
  const auto [value, db, da, dd] = ebb::value_and_grad<0, 1, 2>(of_solution<Solver>)(b, a, d);
  const auto exactly = ebb::value_and_grad<0, 1, 2>(of_solve);
  const auto [exact, eb, ea, ed] = exactly(b, a, d);
  CHECK(value == Approx(exact).epsilon(1e-12));
  check_all_near(db, eb, 1e-11);
  check_all_near(da, ea, 1e-11);
  check_all_near(dd, ed, 1e-11);
  const vector up = std::get<3>(exactly(b, a, vector(d + 1e-5 * v))), down = std::get<3>(exactly(b, a, vector(d - 1e-5 * v)));
  check_all_near(ebb::hvp<2>(of_solution<Solver>)(b, a, d, v), vector((up - down) / 2e-5), 1e-8);
}

}  // namespace

TEST_CASE("bicgstab solves what solve solves, with its derivatives of first and second order") { check_derivatives<stabilized>(9); }
TEST_CASE("gmres solves what solve solves, with its derivatives of first and second order") { check_derivatives<minimal>(2); }

TEST_CASE("bicgstab and gmres solve a convection of 200 elements, and arrays with two axes, in float too") {
  const vector b = filled_with(vector(200), 0.2);
  const auto line = ebb::compile([](auto x, auto c) {
    return std::tuple(ebb::bicgstab(convection, x, c), ebb::gmres<ebb::restart<40>>(convection, x, c));
  });
  const auto [first, second] = line(b, 0.4);
  const auto back = ebb::compile(convection);
  CHECK(std::get<2>(first));
  CHECK(std::get<2>(second));
  CHECK(std::get<1>(first) < 200);
  CHECK(std::get<1>(second) < 12);
  check_all_near(vector(back(std::get<0>(first), 0.4)), b, 1e-12);
  check_all_near(vector(back(std::get<0>(second), 0.4)), b, 1e-11);

  const auto rectangle = filled_with(tensor<float, 3, 4>(), 0.5);
  const auto left = filled_with(tensor<float, 3, 3>(), 0.1);
  const auto right = filled_with(tensor<float, 4, 4>(), 0.9);
  const auto [one, two] = ebb::compile([](auto x, auto a, auto c) {
    return std::tuple(ebb::bicgstab(both_sides, x, a, c), ebb::gmres(both_sides, x, a, c));
  })(rectangle, left, right);
  CHECK(std::get<2>(one));
  CHECK(std::get<2>(two));
  const auto product = ebb::compile(both_sides);
  check_all_near(product(std::get<0>(one), left, right), rectangle, 1e-4);
  check_all_near(product(std::get<0>(two), left, right), rectangle, 1e-4);
}

TEST_CASE("bicgstab and gmres: right sides that are 0 or NaN, bounds, singular matrices, and those at which they stall") {
  const auto solve = ebb::compile([](auto b, auto a) {
    return std::tuple(ebb::bicgstab<ebb::at_most<3>>(product_with, b, a), ebb::gmres<ebb::at_most<2>, ebb::restart<5>>(product_with, b, a),
                      ebb::gmres<ebb::restart<9>>(product_with, b, a));
  });
  const matrix large =
      3 * matrix::generate([](std::size_t i) { return i % 51 == 0 ? 1.0 : 0.0; }, 50, 50) + filled_with(matrix(50, 50), 0.0);
  const auto [few, fewer, enough] = solve(filled_with(vector(50), 0.0), large);
  CHECK(std::get<1>(few) == 3);
  CHECK(!std::get<2>(few));
  CHECK(std::get<1>(fewer) == 2);
  CHECK(!std::get<2>(fewer));
  const auto [zero, also, too] = solve(vector::full(0, 7), filled_with(matrix(7, 7), 0.0));
  CHECK(std::get<1>(zero) == 0);
  CHECK(std::get<2>(zero));
  CHECK(ebb::sum(ebb::abs(std::get<0>(zero))) == 0);
  CHECK(std::get<1>(also) == 0);
  CHECK(std::get<2>(also));
  CHECK(ebb::sum(ebb::abs(std::get<0>(also))) == 0);
  const auto [nan, nans, many] = solve(vector::full(std::nan(""), 7), filled_with(matrix(7, 7), 0.0));
  CHECK(!std::get<2>(nan));
  CHECK(!std::get<2>(nans));
  CHECK(!std::get<2>(many));

  const vector b{1, 3};
  const auto [none, nothing, never] = solve(b, matrix::full(0, 2, 2));
  CHECK(!std::get<2>(none));
  CHECK(!std::get<2>(nothing));
  CHECK(std::get<1>(never) == 1);
  CHECK(std::get<0>(never)(1) == 0);
  const auto [turned, turns, quarter] = solve(b, matrix{{0, 1}, {-1, 0}});
  CHECK(!std::get<2>(turned));  // <b, A b> is 0
  CHECK(std::isfinite(std::get<0>(turned)(0)));
  for (const auto& r : {turns, quarter}) {
    CHECK(std::get<2>(r));
    CHECK(std::get<0>(r)(0) == Approx(-3).epsilon(1e-14));
    CHECK(std::get<0>(r)(1) == Approx(1).epsilon(1e-14));
  }

  // Each element moves to the next place: without all products no combination of them is nearer to b than 0.
  const matrix shift = matrix::generate([](std::size_t i) { return i / 6 == (i % 6 + 1) % 6 ? 1.0 : 0.0; }, 6, 6);
  const auto [some, stalled, whole] = solve(vector{1, 0, 0, 0, 0, 0}, shift);
  CHECK(!std::get<2>(stalled));
  CHECK(std::get<1>(stalled) == 1);
  CHECK(ebb::sum(ebb::abs(std::get<0>(stalled))) < 1e-14);
  CHECK(std::get<2>(whole));
  CHECK(std::get<1>(whole) == 1);
  CHECK(std::get<0>(whole)(5) == Approx(1).epsilon(1e-14));
}

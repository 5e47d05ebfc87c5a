// test/solvers/conjugate_gradient.cpp — linear equations by conjugate gradients: against solve, with derivatives of both orders.
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

constexpr auto shifted_gram = [](auto v, auto a, auto d) { return ebb::matmul(ebb::transpose(a), ebb::matmul(a, v)) + ebb::exp(d) * v; };
constexpr auto with_status = [](auto b, auto a, auto d) { return ebb::conjugate_gradient(shifted_gram, b, a, d); };
constexpr auto of_solution = [](auto b, auto a, auto d) {
  return ebb::sum(ebb::sin(std::get<0>(ebb::conjugate_gradient(shifted_gram, b, a, d))));
};
constexpr auto of_solve = [](auto b, auto a, auto d) {
  return ebb::sum(ebb::sin(ebb::solve(ebb::matmul(ebb::transpose(a), a) + ebb::diag_embed(ebb::exp(d)), b)));
};
/// -u'' on a line, and 0.1 u.
constexpr auto laplace = [](auto u) {
  const auto z = ebb::take<0>(u, 0) * 0;
  const auto zero = ebb::reshape<1>(z);
  const auto left = ebb::concat<0>(zero, ebb::slice<0, 0, -1>(u)), right = ebb::concat<0>(ebb::slice<0, 1>(u), zero);
  return 2.1 * u - left - right;
};

template <class A>
A filled_with(A x, double phase) {
  for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = std::sin(phase + 1.7 * static_cast<double>(i * i % 23));
  return x;
}
void check_all_near(const auto& a, const auto& b, double tolerance) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a.data()[i] == Approx(b.data()[i]).epsilon(tolerance).margin(tolerance));
}

}  // namespace

TEST_CASE("conjugate_gradient solves what solve solves, with its derivatives of first and second order, pulled and pushed") {
  const vector b = filled_with(vector(5), 0.3), d = filled_with(vector(5), 1.0), v = filled_with(vector(5), 2.0);
  const matrix a = filled_with(matrix(5, 5), 0.7);
  const auto [x, steps, converged] = ebb::compile(with_status)(b, a, d);
  CHECK(converged);
  CHECK(steps >= 5);
  CHECK(steps < 12);
  const auto [value, db, da, dd] = ebb::value_and_grad<0, 1, 2>(of_solution)(b, a, d);
  const auto exactly = ebb::value_and_grad<0, 1, 2>(of_solve);
  const auto [exact, eb, ea, ed] = exactly(b, a, d);
  CHECK(value == Approx(exact).epsilon(1e-12));
  check_all_near(db, eb, 1e-11);
  check_all_near(da, ea, 1e-11);
  check_all_near(dd, ed, 1e-11);
  CHECK(std::get<1>(ebb::jvp<2>(of_solution)(b, a, d, v)) == Approx(ebb::sum(ed * v)).epsilon(1e-11));
  const vector up = std::get<3>(exactly(b, a, vector(d + 1e-5 * v))), down = std::get<3>(exactly(b, a, vector(d - 1e-5 * v)));
  check_all_near(ebb::hvp<2>(of_solution)(b, a, d, v), vector((up - down) / 2e-5), 1e-8);
}

TEST_CASE("conjugate_gradient: right sides that are 0, NaN or empty, bounds, and matrices that it cannot solve") {
  const auto solve = ebb::compile([](auto b) { return ebb::conjugate_gradient(laplace, b); });
  const auto [x, n, converged] = solve(filled_with(vector(300), 0.0));
  CHECK(converged);
  CHECK(n < 200);
  const vector back = ebb::compile(laplace)(x);
  check_all_near(back, filled_with(vector(300), 0.0), 1e-13);
  const auto [zero, none, fine] = solve(vector::full(0, 7));
  CHECK(none == 0);
  CHECK(fine);
  CHECK(ebb::sum(ebb::abs(zero)) == 0);
  CHECK(!std::get<2>(solve(vector::full(std::nan(""), 7))));
  const auto few = ebb::compile([](auto b) { return ebb::conjugate_gradient<ebb::at_most<3>>(laplace, b); });
  CHECK(std::get<1>(few(filled_with(vector(300), 0.0))) == 3);
  CHECK(!std::get<2>(few(filled_with(vector(300), 0.0))));
  const auto singular = ebb::compile([](auto b) { return ebb::conjugate_gradient([](auto v) { return v * 0; }, b); });
  CHECK(!std::get<2>(singular(vector::full(1, 4))));
}

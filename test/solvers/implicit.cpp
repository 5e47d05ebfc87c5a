// test/solvers/implicit.cpp — derivatives of solutions: against formulas, against derivatives of the solver's steps, of both orders.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>
#include <ebb/solvers.hpp>

#include "../build.hpp"
#include "../catch.hpp"

#include <cmath>
#include <tuple>

namespace {

using ebb::tensor;

constexpr auto product_log = [](auto x, auto a) { return x * ebb::exp(x) - a; };
constexpr auto newton_by_hand = [](auto x0, auto a) {
  return ebb::fori(30, [](auto, auto x, auto b) { return x - (x * ebb::exp(x) - b) / (ebb::exp(x) * (1 + x)); }, x0, ebb::whole(a));
};
/// Lambert's function of a.
constexpr auto lambert = [](auto a) { return ebb::implicit_root(product_log, newton_by_hand, a * 0 + 0.5, a); };

constexpr auto contracted = [](auto x, auto w, auto b) { return ebb::tanh(ebb::matmul(w, x)) * 0.5 + b; };
constexpr auto at_rest = [](auto w, auto b) { return ebb::sum(ebb::sin(ebb::fixed_point(contracted, b, w, b))); };
constexpr auto at_rest_by_cg = [](auto w, auto b) {
  return ebb::sum(ebb::sin(ebb::fixed_point<ebb::by_cg<60>>(contracted, b, w, b)));
};
constexpr auto at_rest_unrolled = [](auto w, auto b) {
  return ebb::sum(ebb::sin(ebb::fori(80, [](auto, auto x, auto u, auto c) { return contracted(x, u, c); }, b, ebb::whole(w),
                                    ebb::whole(b))));
};
constexpr auto at_given_rest = [](auto x, auto w, auto b) {
  return ebb::sum(ebb::sin(ebb::implicit_root([](auto y, auto u, auto c) { return y - contracted(y, u, c); }, ebb::solved, x, w, b)));
};

template <template <class, std::size_t...> class Array>
struct bowl {
  using matrix = Array<double, 3, 3>;
  using vector = Array<double, 3>;
  using count = Array<int>;
  BOOST_HANA_DEFINE_STRUCT(bowl, (matrix, a), (vector, b), (count, number));
};
constexpr auto quartic = [](auto x, auto p) {
  const auto r = ebb::matmul(p.a, x) - p.b;
  return ebb::sum(r * r) / 2 + ebb::sum(x * x * x * x) / 4;
};
constexpr auto descended = [](auto x0, auto p) {
  return ebb::fori(3000, [](auto, auto x, auto q) { return x - 0.05 * ebb::grad<0>(quartic)(x, q); }, x0, ebb::whole(p));
};
constexpr auto of_minimum = [](auto p) { return ebb::sum(ebb::square(ebb::implicit_minimizer(quartic, descended, p.b * 0, p))); };
constexpr auto of_minimum_by_cg = [](auto p) {
  return ebb::sum(ebb::square(ebb::implicit_minimizer<ebb::by_cg<40>>(quartic, descended, p.b * 0, p)));
};

void check_near(const auto& a, const auto& b, double relative) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a.data()[i] == Approx(b.data()[i]).epsilon(relative).margin(relative));
}
const tensor<double, 3, 3> weights{0.5, 0.1, -0.2, 0.05, 0.4, 0.1, 0.2, -0.1, 0.3};
const tensor<double, 3> shift{0.3, -0.6, 0.8};

}  // namespace

TEST_CASE("the root of an equation has the derivatives of Lambert's function, first and second, pulled and pushed") {
  for (const double a : {0.2, 1.0, 5.0}) {
    const double w = ebb::compile(lambert)(a);
    CHECK(w * std::exp(w) == Approx(a).epsilon(1e-14));
    const double first = w / (a * (1 + w)), second = -(w * w) * (w + 2) / (a * a * (1 + w) * (1 + w) * (1 + w));
    CHECK(ebb::grad(lambert)(a) == Approx(first).epsilon(1e-13));
    CHECK(ebb::grad(ebb::grad(lambert))(a) == Approx(second).epsilon(1e-12));
    CHECK(std::get<1>(ebb::jvp(lambert)(a, 1.0)) == Approx(first).epsilon(1e-13));
  }
}

TEST_CASE("a fixed point has the derivatives of its steps, by a solve, by conjugate gradients, and from a solution found outside") {
  const auto [value, dw, db] = ebb::value_and_grad<0, 1>(at_rest)(weights, shift);
  const auto [steps, sw, sb] = ebb::value_and_grad<0, 1>(at_rest_unrolled)(weights, shift);
  CHECK(value == Approx(steps).epsilon(1e-14));
  check_near(dw, sw, 1e-12);
  check_near(db, sb, 1e-12);
  const auto [again, cw, cb] = ebb::value_and_grad<0, 1>(at_rest_by_cg)(weights, shift);
  CHECK(again == value);
  check_near(cw, sw, 1e-11);
  check_near(cb, sb, 1e-11);
  check_near(ebb::hessian<1>(at_rest)(weights, shift), ebb::hessian<1>(at_rest_unrolled)(weights, shift), 1e-11);

  tensor<double, 3> x = shift;
  const auto one = ebb::compile(contracted);
  for (int i = 0; i < 80; ++i) x = one(x, weights, shift);
  const auto [outside, ow, ob] = ebb::value_and_grad<1, 2>(at_given_rest)(x, weights, shift);
  CHECK(outside == Approx(value).epsilon(1e-14));
  check_near(ow, sw, 1e-12);
  check_near(ob, sb, 1e-12);
}

TEST_CASE("a minimizer has the gradient of its parameters, in a struct with an integer, by both ways") {
  bowl<tensor> p{weights, shift, tensor<int>(4)};
  const auto gradient = ebb::grad(of_minimum)(p);
  const auto by_cg = ebb::grad(of_minimum_by_cg)(p);
  check_near(by_cg.a, gradient.a, 1e-11);
  check_near(by_cg.b, gradient.b, 1e-11);
  const auto value = ebb::compile(of_minimum);
  constexpr double h = 1e-5;
  for (std::size_t i = 0; i < 3; ++i) {
    bowl<tensor> up = p, down = p;
    up.b.mutable_data()[i] += h;
    down.b.mutable_data()[i] -= h;
    CHECK(gradient.b(i) == Approx((value(up) - value(down)) / (2 * h)).epsilon(1e-7));
  }
  bowl<tensor> up = p, down = p;
  up.a.mutable_data()[5] += h;
  down.a.mutable_data()[5] -= h;
  CHECK(gradient.a(1, 2) == Approx((value(up) - value(down)) / (2 * h)).epsilon(1e-7));
}

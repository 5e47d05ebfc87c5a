// test/solvers/quadrature.cpp — integrals: nodes in long double, polynomials, elliptic integrals, infinite integrands, with derivatives.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>
#include <ebb/solvers.hpp>

#include "../build.hpp"
#include "../catch.hpp"

#include <cmath>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

namespace {

using ebb::tensor;

constexpr auto powers = [](auto x, auto e) { return ebb::pow(x, e); };
constexpr auto of_powers = [](auto a, auto b, auto e) { return ebb::quadrature<3>(powers, a, b, e); };
constexpr auto arc = [](auto t, auto m) { return 1 / ebb::sqrt(1 - m * ebb::square(ebb::sin(t))); };
constexpr auto elliptic = [](auto phi, auto m) { return ebb::quadrature<32>(arc, 0, phi, m); };
constexpr auto slope_of_elliptic = [](auto phi, auto m, auto part) {
  const auto [by_limit, by_parameter] = ebb::grad<0, 1>(elliptic)(phi, m);
  return part * by_limit + (1 - part) * by_parameter;
};
constexpr auto root_at_zero = [](auto b, auto p) {
  return ebb::quadrature<ebb::tanh_sinh<91>>([](auto x, auto q) { return ebb::pow(x, q - 1); }, 0, b, p);
};
constexpr auto slope_of_root = [](auto b, auto p, auto part) {
  const auto [by_limit, by_parameter] = ebb::grad<0, 1>(root_at_zero)(b, p);
  return part * by_limit + (1 - part) * by_parameter;
};
constexpr auto infinite_at = [](auto a, auto b) {
  return std::tuple(ebb::quadrature<ebb::tanh_sinh<91>>([](auto x, auto c) { return 1 / ebb::sqrt(x - c); }, a, b, a),
                    ebb::quadrature<ebb::tanh_sinh<61>>([](auto x) { return ebb::log(x); }, 0, b),
                    ebb::quadrature<ebb::tanh_sinh<61>>([](auto x) { return ebb::sqrt(x * (1 - x)); }, a, b),
                    ebb::quadrature<ebb::tanh_sinh<61>>([](auto x) { return ebb::exp(-x); }, b, a));
};
/// One node; a constant; a product of parameters in a tuple.
constexpr auto plain = [](auto a, auto b) {
  return std::tuple(ebb::quadrature<1u>([](auto x) { return x; }, a, b), ebb::quadrature<2>([](auto) { return 2.0f; }, a, b),
                    ebb::quadrature<5>([](auto x, auto w) { return ebb::matmul(x * std::get<0>(w), std::get<1>(w)); }, 0, 1,
                                       std::tuple(ebb::stack<0>(a, b), ebb::stack<0>(b, a))));
};

/// Legendre's polynomials n - 1 and n.
std::pair<long double, long double> polynomials(int n, long double x) {
  long double before = 1, p = x;
  for (int k = 1; k < n; ++k) {
    const long double next = ((2 * k + 1) * x * p - k * before) / (k + 1);
    before = p;
    p = next;
  }
  return {before, p};
}
template <int N>
void check_nodes(const auto& nodes) {
  const long double bound = N <= 64 ? 0x1p-52L : 0x1p-50L;  // next to -1 long double has few digits of 1 + x
  long double sum = 0;
  for (std::size_t i = 0; i < (N + 1) / 2; ++i) {
    long double x = 2.0L * nodes.distance[i] - 1;
    if (i > 0) CHECK(nodes.distance[i] > nodes.distance[i - 1]);
    for (int step = 0; step < 3 && x != 0; ++step) {
      const auto [before, p] = polynomials(N, x);
      x -= p * (1 - x * x) / (N * (before - x * p));
    }
    const auto [before, p] = polynomials(N, x);
    const long double distance = (1 + x) / 2, rest = (1 - x) * (1 + x), slope = N * (before - x * p) / rest;
    CHECK(std::abs(nodes.distance[i] - distance) <= bound * distance);
    const long double weight = 1 / (rest * slope * slope);  // at a node its derivative by x is 0
    CHECK(std::abs(nodes.weight[i] - weight) <= bound * weight);
    sum += (i < N / 2 ? 2 : 1) * nodes.weight[i];
  }
  CHECK(std::abs(sum - 1) < 1e-15L);
}
template <int N>
void check_nodes() {
  check_nodes<N>(ebb::detail::gauss_legendre<N>());
}

/// Simpson's rule.
long double simpson(auto f, long double a, long double b) {
  constexpr int parts = 4000;
  const long double h = (b - a) / parts;
  long double sum = f(a) + f(b);
  for (int i = 1; i < parts; ++i) sum += (i % 2 ? 4 : 2) * f(a + i * h);
  return sum * h / 3;
}

}  // namespace

TEST_CASE("the nodes and weights of Gauss and Legendre are those of long double, for 1 to 256 nodes") {
  constexpr auto constant = ebb::detail::gauss_legendre<9>();
  check_nodes<9>(constant);
  check_nodes<1>();
  check_nodes<2>();
  check_nodes<5>();
  check_nodes<32>();
  check_nodes<64>();
  check_nodes<255>();
  check_nodes<256>();
}

TEST_CASE("the nodes and weights of tanh_sinh are those of long double") {
  const auto nodes = ebb::detail::double_exponential<61>();
  const long double half_pi = std::acos(-1.0L) / 2;
  for (std::size_t i = 0; i < 31; ++i) {
    const long double t = 0.15 * (30 - static_cast<int>(i)), u = half_pi * std::sinh(t), cosh = std::cosh(u);
    const long double distance = std::exp(-u) / (2 * cosh), weight = 0.15L * half_pi * std::cosh(t) / (2 * cosh * cosh);
    CHECK(std::abs(nodes.distance[i] - distance) <= 0x1p-45L * distance);
    CHECK(std::abs(nodes.weight[i] - weight) <= 0x1p-45L * weight);
  }
}

TEST_CASE("quadrature is exact for polynomials of degree 2 n - 1, with limits in any order, and has the error of degree 2 n") {
  const auto three = ebb::compile(of_powers);
  for (int k = 1; k < 6; ++k) {
    CHECK(three(0.0, 1.0, static_cast<double>(k)) == Approx(1.0 / (k + 1)).epsilon(1e-15));
    CHECK(three(2.0, 0.5, static_cast<double>(k)) == Approx((std::pow(0.5, k + 1) - std::pow(2.0, k + 1)) / (k + 1)).epsilon(1e-14));
  }
  CHECK(1.0 / 7 - three(0.0, 1.0, 6.0) == Approx(1296 / (7 * 518400.0)).epsilon(1e-10));
  CHECK(three(0.7, 0.7, 2.0) == 0);
  CHECK(std::isnan(three(0.0, std::nan(""), 2.0)));
  CHECK(std::isnan(three(0.0, std::numeric_limits<double>::infinity(), 2.0)));
  const auto of_floats = three(0.0f, 1.0f, tensor<float, 3>{1, 2, 3});
  static_assert(std::is_same_v<decltype(of_floats), const tensor<float, 3>>);
  for (const std::size_t i : {0u, 1u, 2u}) CHECK(of_floats(i) == Approx(1.0 / static_cast<double>(i + 2)).epsilon(1e-6));
}

TEST_CASE("quadrature takes one node, constants and tuples of parameters, and runs in an autocast context") {
  const auto [middle, constant, product] = ebb::compile(plain)(1.1f, 4.3f);
  CHECK(middle == Approx(8.64).epsilon(1e-6));
  CHECK(constant == Approx(6.4).epsilon(1e-6));
  CHECK(product == Approx(4.73).epsilon(1e-6));
  const auto narrow = std::get<2>(ebb::compile(ebb::under<ebb::autocast<ebb::bf16>>(plain))(1.1f, 4.3f));
  CHECK(narrow == Approx(4.73).epsilon(0.01));
  CHECK(narrow != Approx(4.73).epsilon(1e-6));  // the products of matrices are rounded to bf16
}

TEST_CASE("quadrature gives the elliptic integral and its derivatives by the limit and the parameter, first and second") {
  const double phi = 1.2, m = 0.6;
  const auto f = [&](long double t) { return 1 / std::sqrt(1 - m * std::sin(t) * std::sin(t)); };
  const auto f_m = [&](long double t) { return std::sin(t) * std::sin(t) / 2 * f(t) * f(t) * f(t); };
  const auto f_mm = [&](long double t) { return 1.5L * std::sin(t) * std::sin(t) * f_m(t) * f(t) * f(t); };
  const auto near = [](long double x) { return Approx(static_cast<double>(x)).epsilon(1e-12); };

  const auto values = ebb::compile([](auto p, auto k) { return ebb::map(elliptic, p, ebb::whole(k)); })(tensor<double, 2>{0.5, phi}, m);
  CHECK(values(0) == near(simpson(f, 0, 0.5)));
  CHECK(values(1) == near(simpson(f, 0, phi)));
  const auto slopes = ebb::value_and_grad<0, 1>(slope_of_elliptic);
  const auto [by_limit, twice_by_limit, mixed] = slopes(phi, m, 1.0);
  CHECK(by_limit == near(f(phi)));
  CHECK(twice_by_limit == near(m * std::sin(phi) * std::cos(phi) * f(phi) * f(phi) * f(phi)));
  CHECK(mixed == near(f_m(phi)));
  const auto [by_parameter, mixed_too, twice_by_parameter] = slopes(phi, m, 0.0);
  CHECK(by_parameter == near(simpson(f_m, 0, phi)));
  CHECK(mixed_too == near(f_m(phi)));
  CHECK(twice_by_parameter == near(simpson(f_mm, 0, phi)));
  CHECK(std::get<0>(slopes(0.0, m, 1.0)) == near(f(0)));  // of an interval without length
  CHECK(std::get<1>(ebb::jvp<0>(elliptic)(phi, m, 2.0)) == near(2 * f(phi)));
}

TEST_CASE("tanh_sinh integrates what is infinite at an end, with first and second derivatives by the other end and the exponent") {
  const auto slopes = ebb::value_and_grad<0, 1>(slope_of_root);
  const auto near = [](double x) { return Approx(x).epsilon(1e-11).margin(1e-11); };
  const double b = 1.7;
  for (const double p : {0.3, 0.5, 2.0}) {
    const double power = std::pow(b, p), log = std::log(b);  // the integral is power / p
    const auto [by_limit, twice_by_limit, mixed] = slopes(b, p, 1.0);
    CHECK(by_limit == near(power / b));
    CHECK(twice_by_limit == near((p - 1) * power / (b * b)));
    CHECK(mixed == near(log * power / b));
    const auto [by_exponent, mixed_too, twice_by_exponent] = slopes(b, p, 0.0);
    CHECK(by_exponent == near(power * (log / p - 1 / (p * p))));
    CHECK(mixed_too == near(log * power / b));
    CHECK(twice_by_exponent == near(power * (log * log / p - 2 * log / (p * p) + 2 / (p * p * p))));
  }
  const auto compiled = ebb::compile(infinite_at);
  const auto [root, logarithm, circle, falling] = compiled(0.0, 1.0);
  CHECK(root == Approx(2).epsilon(1e-13));
  CHECK(logarithm == Approx(-1).epsilon(1e-14));
  CHECK(circle == Approx(std::acos(-1) / 8).epsilon(1e-14));
  CHECK(falling == Approx(std::exp(-1) - 1).epsilon(1e-14));
  CHECK(std::get<0>(compiled(1.0, 2.0)) == Approx(2).epsilon(1e-7));  // nodes that round to 1 are left out
  CHECK(std::isfinite(std::get<0>(compiled(-1e10, -1e10 + 1))));
  const auto empty = compiled(0.5, 0.5);
  CHECK(std::get<2>(empty) == 0);
  CHECK(std::get<3>(empty) == 0);
}

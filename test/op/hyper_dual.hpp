// test/op/hyper_dual.hpp — numbers with exact first and second derivatives in long double: an oracle for gradients.
// SPDX-License-Identifier: BSL-1.0
//
// x = v + a e1 + b e2 + c e1 e2 with e1^2 = e2^2 = 0. Then f(x) = f(v) + f'(v) (a e1 + b e2) + (f'(v) c + f''(v) a b) e1 e2.
// Source: J. Fike, J. Alonso, The development of hyper-dual numbers for exact second-derivative calculations (2011).
#pragma once

#include <ebb/trace/functions.hpp>

#include <cmath>

namespace test {

struct hyper_dual {
  long double v = 0, a = 0, b = 0, c = 0;
};

/// f(x), given f, f' and f'' at x.v.
inline hyper_dual chain(hyper_dual x, long double f, long double d, long double dd) {
  return {f, d * x.a, d * x.b, d * x.c + dd * x.a * x.b};
}

inline hyper_dual operator+(hyper_dual x, hyper_dual y) { return {x.v + y.v, x.a + y.a, x.b + y.b, x.c + y.c}; }
inline hyper_dual operator-(hyper_dual x) { return {-x.v, -x.a, -x.b, -x.c}; }
inline hyper_dual operator-(hyper_dual x, hyper_dual y) { return x + -y; }
inline hyper_dual operator*(hyper_dual x, hyper_dual y) {
  return {x.v * y.v, x.a * y.v + x.v * y.a, x.b * y.v + x.v * y.b, x.c * y.v + x.a * y.b + x.b * y.a + x.v * y.c};
}
inline hyper_dual reciprocal(hyper_dual x) { return chain(x, 1 / x.v, -1 / (x.v * x.v), 2 / (x.v * x.v * x.v)); }
inline hyper_dual operator/(hyper_dual x, hyper_dual y) { return x * reciprocal(y); }

inline hyper_dual operator+(hyper_dual x, double y) { return x + hyper_dual{y}; }
inline hyper_dual operator*(long double x, hyper_dual y) { return hyper_dual{x} * y; }
inline hyper_dual operator-(double x, hyper_dual y) { return hyper_dual{x} - y; }

// The ops by their definitions in analysis, written independently of the library.
inline hyper_dual oracle(ebb::op::exp, hyper_dual x) { return chain(x, std::exp(x.v), std::exp(x.v), std::exp(x.v)); }
inline hyper_dual oracle(ebb::op::expm1, hyper_dual x) { return chain(x, std::expm1(x.v), std::exp(x.v), std::exp(x.v)); }
inline hyper_dual oracle(ebb::op::log, hyper_dual x) { return chain(x, std::log(x.v), 1 / x.v, -1 / (x.v * x.v)); }
inline hyper_dual oracle(ebb::op::log1p, hyper_dual x) {
  return chain(x, std::log1p(x.v), 1 / (1 + x.v), -1 / ((1 + x.v) * (1 + x.v)));
}
inline hyper_dual oracle(ebb::op::tanh, hyper_dual x) {
  const long double slope = 1 / (std::cosh(x.v) * std::cosh(x.v));
  return chain(x, std::tanh(x.v), slope, -2 * std::tanh(x.v) * slope);
}
inline hyper_dual oracle(ebb::op::sigmoid, hyper_dual x) {
  const long double half = std::cosh(x.v / 2), slope = 1 / (4 * half * half);
  return chain(x, 1 / (1 + std::exp(-x.v)), slope, -slope * std::tanh(x.v / 2));
}
inline hyper_dual oracle(ebb::op::softplus, hyper_dual x) {
  const long double half = std::cosh(x.v / 2);
  return chain(x, x.v > 0 ? x.v + std::log1p(std::exp(-x.v)) : std::log1p(std::exp(x.v)), 1 / (1 + std::exp(-x.v)), 1 / (4 * half * half));
}
inline hyper_dual oracle(ebb::op::log_sigmoid, hyper_dual x) { return -oracle(ebb::op::softplus{}, -x); }
inline hyper_dual oracle(ebb::op::sqrt, hyper_dual x) {
  return chain(x, std::sqrt(x.v), 0.5L / std::sqrt(x.v), -0.25L / (x.v * std::sqrt(x.v)));
}
inline hyper_dual oracle(ebb::op::rsqrt, hyper_dual x) { return reciprocal(oracle(ebb::op::sqrt{}, x)); }
inline hyper_dual oracle(ebb::op::sin, hyper_dual x) { return chain(x, std::sin(x.v), std::cos(x.v), -std::sin(x.v)); }
inline hyper_dual oracle(ebb::op::cos, hyper_dual x) { return chain(x, std::cos(x.v), -std::sin(x.v), -std::cos(x.v)); }
inline hyper_dual oracle(ebb::op::erf, hyper_dual x) {
  const long double slope = 2 / std::sqrt(3.14159265358979323846264338327950288L) * std::exp(-x.v * x.v);
  return chain(x, std::erf(x.v), slope, -2 * x.v * slope);
}
inline hyper_dual oracle(ebb::op::erfc, hyper_dual x) {
  const hyper_dual e = oracle(ebb::op::erf{}, x);
  return {std::erfc(x.v), -e.a, -e.b, -e.c};
}
inline hyper_dual oracle(ebb::op::ndtr, hyper_dual x) {
  return 0.5 * oracle(ebb::op::erfc{}, -0.707106781186547524400844362104849039L * x);
}
inline hyper_dual oracle(ebb::op::log_ndtr, hyper_dual x) { return oracle(ebb::op::log{}, oracle(ebb::op::ndtr{}, x)); }
inline hyper_dual oracle(ebb::op::gelu, hyper_dual x) { return x * oracle(ebb::op::ndtr{}, x); }
inline hyper_dual oracle(ebb::op::gelu_tanh, hyper_dual x) {
  const long double c = 2 * std::sqrt(2 / 3.14159265358979323846264338327950288L);
  return x * oracle(ebb::op::sigmoid{}, c * (x + 0.044715L * (x * x * x)));
}
inline hyper_dual oracle(ebb::op::reciprocal, hyper_dual x) { return reciprocal(x); }
inline hyper_dual oracle(ebb::op::square, hyper_dual x) { return x * x; }
inline hyper_dual oracle(ebb::op::abs, hyper_dual x) { return x.v < 0 ? -x : x; }
inline hyper_dual oracle(ebb::op::relu, hyper_dual x) { return x.v > 0 ? x : hyper_dual{}; }
inline hyper_dual oracle(ebb::op::maximum, hyper_dual x, hyper_dual y) { return x.v > y.v ? x : y; }
inline hyper_dual oracle(ebb::op::minimum, hyper_dual x, hyper_dual y) { return x.v < y.v ? x : y; }
inline hyper_dual oracle(ebb::op::pow, hyper_dual x, hyper_dual y) { return oracle(ebb::op::exp{}, y * oracle(ebb::op::log{}, x)); }
inline hyper_dual oracle(ebb::op::exp2, hyper_dual x) {
  const long double y = std::exp2(x.v), l = std::log(2.0L);
  return chain(x, y, l * y, l * l * y);
}
inline hyper_dual oracle(ebb::op::log2, hyper_dual x) {
  const long double l = std::log(2.0L);
  return chain(x, std::log2(x.v), 1 / (x.v * l), -1 / (x.v * x.v * l));
}
inline hyper_dual oracle(ebb::op::log10, hyper_dual x) {
  const long double l = std::log(10.0L);
  return chain(x, std::log10(x.v), 1 / (x.v * l), -1 / (x.v * x.v * l));
}
inline hyper_dual oracle(ebb::op::sinh, hyper_dual x) { return chain(x, std::sinh(x.v), std::cosh(x.v), std::sinh(x.v)); }
inline hyper_dual oracle(ebb::op::cosh, hyper_dual x) { return chain(x, std::cosh(x.v), std::sinh(x.v), std::cosh(x.v)); }
inline hyper_dual oracle(ebb::op::asinh, hyper_dual x) {
  const long double c = std::sqrt(x.v * x.v + 1);
  return chain(x, std::asinh(x.v), 1 / c, -x.v / (c * c * c));
}
inline hyper_dual oracle(ebb::op::acosh, hyper_dual x) {
  const long double c = std::sqrt(x.v * x.v - 1);
  return chain(x, std::acosh(x.v), 1 / c, -x.v / (c * c * c));
}
inline hyper_dual oracle(ebb::op::atanh, hyper_dual x) {
  const long double q = 1 - x.v * x.v;
  return chain(x, std::atanh(x.v), 1 / q, 2 * x.v / (q * q));
}
inline hyper_dual oracle(ebb::op::hypot, hyper_dual x, hyper_dual y) { return oracle(ebb::op::sqrt{}, x * x + y * y); }
inline hyper_dual oracle(ebb::op::tan, hyper_dual x) {
  const long double c = std::cos(x.v);
  return chain(x, std::tan(x.v), 1 / (c * c), 2 * std::sin(x.v) / (c * c * c));
}
inline hyper_dual oracle(ebb::op::asin, hyper_dual x) {
  const long double c = std::sqrt(1 - x.v * x.v);
  return chain(x, std::asin(x.v), 1 / c, x.v / (c * c * c));
}
inline hyper_dual oracle(ebb::op::acos, hyper_dual x) { return hyper_dual{std::acos(-1.0L) / 2} - oracle(ebb::op::asin{}, x); }
inline hyper_dual oracle(ebb::op::atan, hyper_dual x) {
  const long double q = 1 + x.v * x.v;
  return chain(x, std::atan(x.v), 1 / q, -2 * x.v / (q * q));
}
inline hyper_dual oracle(ebb::op::atan2, hyper_dual y, hyper_dual x) {
  // The derivatives are those of atan(y / x), or of -atan(x / y) where that is flatter; the value has the quadrant.
  hyper_dual z = std::fabs(x.v) > std::fabs(y.v) ? oracle(ebb::op::atan{}, y / x) : -oracle(ebb::op::atan{}, x / y);
  z.v = std::atan2(y.v, x.v);
  return z;
}
inline hyper_dual oracle(ebb::op::silu, hyper_dual x, hyper_dual beta) { return x * oracle(ebb::op::sigmoid{}, beta * x); }
inline hyper_dual oracle(ebb::op::mish, hyper_dual x) { return x * oracle(ebb::op::tanh{}, oracle(ebb::op::softplus{}, x)); }
inline hyper_dual oracle(ebb::op::elu, hyper_dual x, hyper_dual a) { return x.v > 0 ? x : a * oracle(ebb::op::expm1{}, x); }
inline hyper_dual oracle(ebb::op::celu, hyper_dual x, hyper_dual a) { return x.v > 0 ? x : a * oracle(ebb::op::expm1{}, x / a); }
inline hyper_dual oracle(ebb::op::leaky_relu, hyper_dual x, hyper_dual slope) { return x.v > 0 ? x : slope * x; }
inline hyper_dual oracle(ebb::op::hardtanh, hyper_dual x, hyper_dual low, hyper_dual high) {
  return x.v > high.v ? high : x.v < low.v ? low : x;
}

inline hyper_dual oracle(ebb::op::logaddexp, hyper_dual x, hyper_dual y) {
  return oracle(ebb::op::log{}, oracle(ebb::op::exp{}, x) + oracle(ebb::op::exp{}, y));
}
inline hyper_dual oracle(ebb::op::log1mexp, hyper_dual x) { return oracle(ebb::op::log{}, -oracle(ebb::op::expm1{}, x)); }
inline hyper_dual oracle(ebb::op::xlogy, hyper_dual x, hyper_dual y) { return x * oracle(ebb::op::log{}, y); }
inline hyper_dual oracle(ebb::op::xlog1py, hyper_dual x, hyper_dual y) { return x * oracle(ebb::op::log1p{}, y); }
inline hyper_dual oracle(ebb::op::entr, hyper_dual x) { return -(x * oracle(ebb::op::log{}, x)); }

/// Lets one lambda run on terms and on hyper-dual numbers.
template <class Op, class... X>
hyper_dual apply_function(ebb::detail::broadcasting<Op>, X... x) {
  return oracle(Op{}, x...);
}
inline hyper_dual apply_function(ebb::functions::power, hyper_dual x, double exponent) {
  const long double p = exponent;
  return chain(x, std::pow(x.v, p), p * std::pow(x.v, p - 1), p * (p - 1) * std::pow(x.v, p - 2));
}

}  // namespace test

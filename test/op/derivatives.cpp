// test/op/derivatives.cpp — first and second derivatives of smooth functions against hyper-dual numbers in long double.
// SPDX-License-Identifier: BSL-1.0
// covers: operand.hpp operators.hpp
#include "exact_derivatives.hpp"

namespace {

using test::both;

TEST_CASE("elementwise functions have exact first and second derivatives") {
  both("exp", [](auto x, auto y) { return ebb::exp(x) * y; }, -3, 3);
  both("expm1", [](auto x, auto y) { return ebb::expm1(x) * y; }, -3, 3);
  both("log", [](auto x, auto y) { return ebb::log(x) * y; }, 0.3, 20);
  both("log1p", [](auto x, auto y) { return ebb::log1p(x) * y; }, -0.7, 5);
  both("tanh", [](auto x, auto y) { return ebb::tanh(x) * y; }, -3, 3);
  both("sin", [](auto x, auto y) { return ebb::sin(x) * y; }, -9, 9);
  both("cos", [](auto x, auto y) { return ebb::cos(x) * y; }, -9, 9);
  both("sigmoid", [](auto x, auto y) { return ebb::sigmoid(x) * y; }, -6, 6);
  both("softplus", [](auto x, auto y) { return ebb::softplus(x) * y; }, -6, 6);
  both("log_sigmoid", [](auto x, auto y) { return ebb::log_sigmoid(x) * y; }, -6, 6);
  both("erf", [](auto x, auto y) { return ebb::erf(x) * y; }, -3, 3);
  both("erfc", [](auto x, auto y) { return ebb::erfc(x) * y; }, -3, 3);
  both("ndtr", [](auto x, auto y) { return ebb::ndtr(x) * y; }, -4, 4);
  both("log_ndtr", [](auto x, auto y) { return ebb::log_ndtr(x) * y; }, -4, 4);
  both("gelu", [](auto x, auto y) { return ebb::gelu(x) * y; }, -4, 4);
  both("gelu_tanh", [](auto x, auto y) { return ebb::gelu_tanh(x) * y; }, -4, 4);
  both("sqrt", [](auto x, auto y) { return ebb::sqrt(x) * y; }, 0.1, 9);
  both("rsqrt", [](auto x, auto y) { return ebb::rsqrt(x) * y; }, 0.1, 9);
  both("reciprocal", [](auto x, auto y) { return ebb::reciprocal(x) * y; }, 0.2, 3);
  both("square", [](auto x, auto y) { return ebb::square(x) * y; }, -3, 3);
  both("abs", [](auto x, auto y) { return ebb::abs(x) * y * x; }, -3, 3);
  both("relu", [](auto x, auto y) { return ebb::relu(x) * y * x; }, -3, 3);
  both("maximum", [](auto x, auto y) { return ebb::maximum(x * y, x + y); }, -3, 3);
  both("minimum", [](auto x, auto y) { return ebb::minimum(x * y, x + y); }, -3, 3);
  both("exp2", [](auto x, auto y) { return ebb::exp2(x) * y; }, -3, 3);
  both("log2", [](auto x, auto y) { return ebb::log2(x) * y; }, 0.3, 20);
  both("log10", [](auto x, auto y) { return ebb::log10(x) * y; }, 0.3, 20);
  both("sinh", [](auto x, auto y) { return ebb::sinh(x) * y; }, -3, 3);
  both("cosh", [](auto x, auto y) { return ebb::cosh(x) * y; }, -3, 3);
  both("asinh", [](auto x, auto y) { return ebb::asinh(x) * y; }, -5, 5);
  both("acosh", [](auto x, auto y) { return ebb::acosh(x) * y; }, 1.1, 9);
  both("atanh", [](auto x, auto y) { return ebb::atanh(x) * y; }, -0.9, 0.9);
  both("hypot", [](auto x, auto y) { return ebb::hypot(x, y) * x; }, -3, 3);
  both("tan", [](auto x, auto y) { return ebb::tan(x) * y; }, -1.2, 1.2);
  both("asin", [](auto x, auto y) { return ebb::asin(x) * y; }, -0.9, 0.9);
  both("acos", [](auto x, auto y) { return ebb::acos(x) * y; }, -0.9, 0.9);
  both("atan", [](auto x, auto y) { return ebb::atan(x) * y; }, -5, 5);
  both("atan2", [](auto x, auto y) { return ebb::atan2(x, y) * x; }, -3, 3);
  both("silu", [](auto x, auto y) { return ebb::silu(x, y); }, -4, 4);
  both("mish", [](auto x, auto y) { return ebb::mish(x) * y; }, -6, 6);
  both("elu", [](auto x, auto y) { return ebb::elu(x, y); }, -3, 3);
  both("celu", [](auto x, auto y) { return ebb::celu(x + -3.0, y); }, 0.5, 4);
  both("leaky_relu", [](auto x, auto y) { return ebb::leaky_relu(x * y, y) * x; }, -3, 3);
  both("hardtanh", [](auto x, auto y) { return ebb::hardtanh(x * y, y + -3.0, y + 2.0) * x; }, -3, 3);
  both("pow", [](auto x, auto y) { return ebb::pow(x, y); }, 0.3, 2);
  both("pow by a number", [](auto x, auto y) { return ebb::pow(x, 2.5) * ebb::pow(y, -1.5); }, 0.4, 2);
  both("pow by small numbers", [](auto x, auto y) { return ebb::pow(x, 3) * ebb::pow(y, 2) + ebb::pow(x, 0.5) * ebb::pow(y, -0.5); },
       0.4, 2);
  both("arithmetic", [](auto x, auto y) { return (x * y - x) / (x + 2.5 * y) - x / y; }, 0.4, 2);
}

TEST_CASE("compositions have exact first and second derivatives") {
  both("gaussian", [](auto x, auto y) { return ebb::exp(-ebb::square(x / y)) / y; }, 0.5, 2);
  both("gate", [](auto x, auto y) { return ebb::sigmoid(x * y) * ebb::tanh(x - y) + ebb::softplus(x) * ebb::log_sigmoid(y); }, -2, 2);
  both("root of a sum", [](auto x, auto y) { return ebb::sqrt(ebb::square(x) + ebb::square(y) + 1.0) * ebb::log1p(ebb::exp(x)); }, -2, 2);
  both("power tower", [](auto x, auto y) { return ebb::pow(x, ebb::log(y) * x) - ebb::pow(y, 1.5); }, 0.6, 1.6);
}

}  // namespace

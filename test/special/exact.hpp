// test/special/exact.hpp — functions of special.hpp on long double with two derivatives.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../op/exact_derivatives.hpp"

#include <ebb/special.hpp>

#include <cmath>

namespace test {

inline hyper_dual oracle(ebb::op::softsign, hyper_dual x) {
  const long double q = 1 + std::fabs(x.v);
  return chain(x, x.v / q, 1 / (q * q), -std::copysign(2 / (q * q * q), x.v));
}
inline hyper_dual oracle(ebb::op::tanhshrink, hyper_dual x) { return x - oracle(ebb::op::tanh{}, x); }
inline hyper_dual oracle(ebb::op::squareplus, hyper_dual x, hyper_dual b) { return 0.5 * (x + oracle(ebb::op::sqrt{}, x * x + b)); }

inline hyper_dual oracle(ebb::op::logit, hyper_dual x) {
  const long double q = x.v * (1 - x.v);
  return chain(x, std::log(x.v / (1 - x.v)), 1 / q, (2 * x.v - 1) / (q * q));
}
inline hyper_dual oracle(ebb::op::logcosh, hyper_dual x) {
  const long double c = std::cosh(x.v);
  return chain(x, std::log(c), std::tanh(x.v), 1 / (c * c));
}
inline hyper_dual oracle(ebb::op::logaddexp2, hyper_dual x, hyper_dual y) {
  return oracle(ebb::op::log2{}, oracle(ebb::op::exp2{}, x) + oracle(ebb::op::exp2{}, y));
}
inline hyper_dual apply_function(ebb::functions::logsubexp, hyper_dual x, hyper_dual y) {
  return oracle(ebb::op::log{}, oracle(ebb::op::exp{}, x) - oracle(ebb::op::exp{}, y));
}

}  // namespace test

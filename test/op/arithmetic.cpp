// test/op/arithmetic.cpp — values and derivatives of arithmetic, at ordinary and special points.
// SPDX-License-Identifier: BSL-1.0
#include "golden.hpp"

namespace {

using v = golden::any_vector;
const auto unary = [](const char* name, auto f, golden::bounds b = {}) { golden::check<v>("elementwise", name, f, b); };
const auto binary = [](const char* name, auto f, golden::bounds b = {}) { golden::check<v, v>("elementwise", name, f, b); };

TEST_CASE("arithmetic gives PyTorch's recorded values") {
  binary("add", [](auto x, auto y) { return x + y; }, {.value = 0.5, .grad = 0});
  binary("sub", [](auto x, auto y) { return x - y; }, {.value = 0.5, .grad = 0});
  binary("mul", [](auto x, auto y) { return x * y; }, {.value = 0.5, .grad = 0});
  binary("div", [](auto x, auto y) { return x / y; }, {.value = 0.5, .grad = 2});
  unary("neg", [](auto x) { return -x; }, {.grad = 0});
  unary("square", [](auto x) { return ebb::square(x); }, {.value = 0.5, .grad = 0});
  unary("reciprocal", [](auto x) { return ebb::reciprocal(x); }, {.value = 0.5, .grad = 2});
  unary("sign", [](auto x) { return ebb::sign(x); }, {.grad = 0});
  unary("abs", [](auto x) { return ebb::abs(x); }, {.grad = 0});
}

}  // namespace

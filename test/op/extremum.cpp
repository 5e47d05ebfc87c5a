// test/op/extremum.cpp — values and derivatives of maximum, minimum, clamp and relu, with ties and bounds.
// SPDX-License-Identifier: BSL-1.0
#include "golden.hpp"

namespace {

using v = golden::any_vector;
const auto unary = [](const char* name, auto f, golden::bounds b = {}) { golden::check<v>("elementwise", name, f, b); };
const auto binary = [](const char* name, auto f, golden::bounds b = {}) { golden::check<v, v>("elementwise", name, f, b); };

TEST_CASE("extrema give PyTorch's recorded values") {
  binary("maximum", [](auto x, auto y) { return ebb::maximum(x, y); }, {.grad = 0});
  binary("minimum", [](auto x, auto y) { return ebb::minimum(x, y); }, {.grad = 0});
  unary("relu", [](auto x) { return ebb::relu(x); }, {.grad = 0});
  unary("clamp_-1_1", [](auto x) { return ebb::clamp(x, -1, 1); }, {.grad = 0});
  unary("clamp_min_0", [](auto x) { return ebb::clamp_min(x, 0); }, {.grad = 0});
  unary("clamp_max_2", [](auto x) { return ebb::clamp_max(x, 2); }, {.grad = 0});
  // If x and a bound are zeros of different sign, PyTorch keeps x for a bound that is a number and takes the bound if it is an array.
  binary("clamp_tensor_bounds", [](auto x, auto y) { return ebb::clamp(x, y, y + 1); }, {.grad = 0, .open_at = {1, 2}});
}

}  // namespace

// test/op/extremum.cpp — values and derivatives of maximum, minimum, clamp and relu, with ties and bounds.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"
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

TEST_CASE("bounds that depend on x have their share of first and second derivatives") {
  // On each side of both bounds; the second bound is x^2 - 0.2.
  const auto f = [](auto x) {
    const auto cube = x * x * x;
    return std::tuple(ebb::square(ebb::clamp_min(cube, -0.1)), ebb::square(ebb::clamp_max(cube, 0.2)),
                      ebb::square(ebb::clamp_min(cube, x * x - 0.2)), ebb::clamp_max(cube, x * x - 0.2) * x);
  };
  const auto oracle = [](const linalg_test::long_numbers& x) {
    linalg_test::long_numbers r;
    const auto each = [&](auto g) {
      for (const long double e : x) r.push_back(g(e));
    };
    const auto square = [](long double e) { return e * e; };
    each([&](long double e) { return square(std::max(e * e * e, -0.1L)); });
    each([&](long double e) { return square(std::min(e * e * e, 0.2L)); });
    each([&](long double e) { return square(std::max(e * e * e, e * e - 0.2L)); });
    each([&](long double e) { return std::min(e * e * e, e * e - 0.2L) * e; });
    return r;
  };
  linalg_test::against_differences<ebb::term<double, ebb::dyn>>("bounds", f, {-1.5, -0.75, -0.3, 0.1, 0.5, 0.7, 1.25},
                                                                linalg_test::extents_of({7}), oracle, 1e-10L, 1e-6L);
}

}  // namespace

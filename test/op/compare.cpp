// test/op/compare.cpp — comparisons, classification, selection, rounding.
// SPDX-License-Identifier: BSL-1.0
// covers: compare.hpp rounding.hpp
#include "golden.hpp"

namespace {

using v = golden::any_vector;
const auto unary = [](const char* name, auto f) { golden::check<v>("elementwise", name, f, {.grad = 0}); };
const auto binary = [](const char* name, auto f) { golden::check<v, v>("elementwise", name, f, {.grad = 0}); };

TEST_CASE("comparisons and selection give PyTorch's recorded values") {
  binary("less", [](auto x, auto y) { return x < y; });
  binary("less_equal", [](auto x, auto y) { return x <= y; });
  binary("equal", [](auto x, auto y) { return x == y; });
  binary("not_equal", [](auto x, auto y) { return x != y; });
  unary("isnan", [](auto x) { return ebb::isnan(x); });
  unary("isinf", [](auto x) { return ebb::isinf(x); });
  unary("isfinite", [](auto x) { return ebb::isfinite(x); });
  binary("where_gt", [](auto x, auto y) { return ebb::where(x > y, x, y); });
}

TEST_CASE("rounding gives PyTorch's recorded values") {
  unary("floor", [](auto x) { return ebb::floor(x); });
  unary("ceil", [](auto x) { return ebb::ceil(x); });
  unary("trunc", [](auto x) { return ebb::trunc(x); });
  unary("round", [](auto x) { return ebb::round(x); });
}

}  // namespace

// test/op/compare.cpp — comparisons, classification, selection, rounding.
// SPDX-License-Identifier: BSL-1.0
// covers: compare.hpp rounding.hpp
#include "golden.hpp"

#include <ebb/ebb.hpp>

#include <limits>

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

TEST_CASE("logical_and, logical_or and logical_not are the operators, on arrays of any extents, compiled and called, after NaN too") {
  const ebb::tensor<bool, 4> a{false, false, true, true}, b{false, true, false, true};
  CHECK((ebb::all_equal(ebb::logical_and(a, b), ebb::tensor<bool, 4>{false, false, false, true}) &&
         ebb::all_equal(ebb::logical_and(a, b), a && b)));
  CHECK((ebb::all_equal(ebb::logical_or(a, b), ebb::tensor<bool, 4>{false, true, true, true}) &&
         ebb::all_equal(ebb::logical_or(a, b), a || b)));
  CHECK((ebb::all_equal(ebb::logical_not(a), ebb::tensor<bool, 4>{true, true, false, false}) && ebb::all_equal(ebb::logical_not(a), !a)));
  // Broadcast, and more elements than a register has.
  ebb::tensor<bool, ebb::dyn, ebb::dyn> rows(3, 37);
  ebb::tensor<bool, ebb::dyn> row(37);
  for (std::size_t i = 0; i < 111; ++i) rows.mutable_data()[i] = i % 3 == 0;
  for (std::size_t i = 0; i < 37; ++i) row.mutable_data()[i] = i % 2 == 0;
  const auto both = ebb::compile([](auto x, auto y) { return ebb::logical_and(x, y); })(rows, row);
  const auto either = ebb::compile([](auto x, auto y) { return ebb::logical_or(x, ebb::logical_not(y)); })(rows, row);
  for (std::size_t i = 0; i < 111; ++i) {
    const bool x = i % 3 == 0, y = i % 37 % 2 == 0;
    CHECK((both.data()[i] == (x && y) && either.data()[i] == (x || !y)));
  }
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const ebb::tensor<double, 4> x{nan, -inf, -0.0, 2};
  CHECK(ebb::all_equal(ebb::logical_and(x >= 0, x < inf), ebb::tensor<bool, 4>{false, false, true, true}));
  CHECK(ebb::all_equal(ebb::logical_or(x >= 0, x < 0), ebb::tensor<bool, 4>{false, true, true, true}));
  CHECK(ebb::all_equal(ebb::logical_not(x >= 0), ebb::tensor<bool, 4>{true, true, false, false}));
  const ebb::tensor<bool, ebb::dyn> none(0);
  CHECK((ebb::logical_and(none, none).size() == 0 && ebb::logical_or(none, none).size() == 0 && ebb::logical_not(none).size() == 0));
  static_assert(ebb::logical_and(true, true) && ebb::logical_or(false, true) && !ebb::logical_not(true));
}

}  // namespace

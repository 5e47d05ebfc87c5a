// test/op/power.cpp — values and derivatives of powers and roots.
// SPDX-License-Identifier: BSL-1.0
#include "golden.hpp"

namespace {

using v = golden::any_vector;
const auto unary = [](const char* name, auto f, golden::bounds b = {}) { golden::check<v>("elementwise", name, f, b); };

TEST_CASE("powers and roots give what PyTorch recorded") {
  unary("sqrt", [](auto x) { return ebb::sqrt(x); }, {.value = 0.5, .grad = 2});
  unary("rsqrt", [](auto x) { return ebb::rsqrt(x); }, {.value = 1});
  unary("pow_2", [](auto x) { return ebb::pow(x, 2); }, {.value = 0.5});
  unary("pow_3", [](auto x) { return ebb::pow(x, 3); }, {.value = 1});
  unary("pow_-1", [](auto x) { return ebb::pow(x, -1); }, {.value = 0.5});
  unary("pow_0", [](auto x) { return ebb::pow(x, 0); });
  // At -0 and -inf PyTorch takes the value from sqrt and the derivatives from pow, which differ there; here all are those of sqrt.
  unary("pow_0.5", [](auto x) { return ebb::pow(x, 0.5); }, {.value = 0.5, .open_at = {1, 8}});
  unary("pow_-0.5", [](auto x) { return ebb::pow(x, -0.5); }, {.value = 1, .open_at = {1, 8}});
  unary("pow_2.5", [](auto x) { return ebb::pow(x, 2.5); }, {.value = 1});
  // A third is another number in float than in float64, and the difference counts |log x| times.
  unary("cube_root_by_pow", [](auto x) { return ebb::pow(x, 1.0 / 3); }, {.value = 64, .grad = 64, .second = 64});
  unary("scalar_base_pow", [](auto x) { return ebb::pow(2.0, x); }, {.value = 1});
  // Where x is 0, second derivatives are 0 or infinite and never 0 * infinity, as PyTorch's are. Products with a subnormal x^y have an
  // absolute error.
  golden::check<v, v>("elementwise", "pow", [](auto x, auto y) { return ebb::pow(x, y); },
                     {.value = 1, .second_floor = 1e-30, .nan_is_open = "second"});
}

}  // namespace

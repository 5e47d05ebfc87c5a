// test/op/power.cpp — values and derivatives of powers and roots.
// SPDX-License-Identifier: BSL-1.0
#include "golden.hpp"

#include <ebb/exec/eager.hpp>
#include <ebb/exec/region.hpp>

namespace {

using v = golden::any_vector;
const auto unary = [](const char* name, auto f, golden::bounds b = {}) { golden::check<v>("elementwise", name, f, b); };

TEST_CASE("powers and roots give PyTorch's recorded values") {
  unary("sqrt", [](auto x) { return ebb::sqrt(x); }, {.value = 0.5, .grad = 2});
  unary("rsqrt", [](auto x) { return ebb::rsqrt(x); }, {.value = 1});
  unary("pow_2", [](auto x) { return ebb::pow(x, 2); }, {.value = 0.5});
  unary("pow_3", [](auto x) { return ebb::pow(x, 3); }, {.value = 1});
  unary("pow_-1", [](auto x) { return ebb::pow(x, -1); }, {.value = 0.5});
  unary("pow_0", [](auto x) { return ebb::pow(x, 0); });
  // At -0 and -inf PyTorch takes the value from sqrt and the derivatives from pow, which differ there; ours are all those of sqrt.
  unary("pow_0.5", [](auto x) { return ebb::pow(x, 0.5); }, {.value = 0.5, .open_at = {1, 8}});
  unary("pow_-0.5", [](auto x) { return ebb::pow(x, -0.5); }, {.value = 1, .open_at = {1, 8}});
  unary("pow_2.5", [](auto x) { return ebb::pow(x, 2.5); }, {.value = 1});
  // 1/3 is another number in float than in float64, and the difference counts |log x| times.
  unary("cube_root_by_pow", [](auto x) { return ebb::pow(x, 1.0 / 3); }, {.value = 64, .grad = 64, .second = 64});
  unary("scalar_base_pow", [](auto x) { return ebb::pow(2.0, x); }, {.value = 1});
  // At x = 0 second derivatives are 0 or infinite, never 0 * infinity, as PyTorch's are. Products with a subnormal x^y have an absolute
  // error.
  golden::check<v, v>("elementwise", "pow", [](auto x, auto y) { return ebb::pow(x, y); },
                     {.value = 1, .second_floor = 1e-30, .nan_is_open = "second"});
}

TEST_CASE("integers to the power of integers are integers, as in PyTorch") {
  using many = ebb::tensor<std::int32_t, ebb::dyn>;
  using wide = ebb::tensor<std::int64_t, ebb::dyn>;
  // The expected values are torch.pow(torch.tensor([...], dtype=torch.int32), torch.tensor([...], dtype=torch.int32)), and of int64.
  many x(21), y(21), want(21);
  for (std::size_t i = 0; i < 21; ++i) {
    const int base = static_cast<int>(i % 7) - 3, exponent = static_cast<int>(i / 7);  // -3 ... 3 to the power of 0 ... 2
    x.at(i) = base;
    y.at(i) = exponent;
    want.at(i) = exponent == 0 ? 1 : exponent == 1 ? base : base * base;
  }
  CHECK(ebb::all_equal(ebb::pow(x, y), want));
  CHECK(ebb::all_equal(ebb::pow(many{3, 2, -1, 1, 0, -1}, many{40, -3, -3, -5, -1, -2}), many{689956897, 0, -1, 1, 0, 1}));
  CHECK(ebb::all_equal(ebb::pow(many{3, 2}, wide{40, 62}), wide{-6289078614652622815, std::int64_t{1} << 62}));
  CHECK(ebb::all_equal(ebb::pow(wide{2, 3}, 5), wide{32, 243}));
  CHECK(ebb::all_equal(ebb::pow(wide{2, -3}, 3), wide{8, -27}));
  CHECK(ebb::all_equal(ebb::pow(2, wide{3, 10}), wide{8, 1024}));
  CHECK(ebb::all_equal(ebb::pow(ebb::tensor<bool, 2>{true, false}, 2), ebb::tensor<std::int64_t, 2>{1, 0}));
  CHECK(ebb::all_equal(ebb::pow(wide{2, 3}, true), wide{2, 3}));
  CHECK(ebb::all_equal(ebb::pow(many{4, 9}, 0.5), ebb::tensor<float, 2>{2, 3}));  // a real exponent gives real results
  CHECK(ebb::all_equal(ebb::pow(many{2, 4}, -1.0), ebb::tensor<float, 2>{0.5f, 0.25f}));
  CHECK(ebb::all_equal(ebb::pow(ebb::tensor<float, 2>{2, 3}, many{-1, 2}), ebb::tensor<float, 2>{0.5f, 9}));
  constexpr auto powers = ebb::compile([](auto a) { return ebb::pow(a, 5) + ebb::pow(a, -1) + ebb::pow(a, 1) + ebb::pow(a, 0); });
  CHECK(ebb::all_equal(powers(many{2, -1}), many{32 + 0 + 2 + 1, -1 - 1 - 1 + 1}));
  static_assert(ebb::pow(2, 10) == 1024 && ebb::pow(2.0, 3) == 8.0);
}

}  // namespace

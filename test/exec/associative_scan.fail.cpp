// test/exec/associative_scan.fail.cpp — arguments and functions of associative_scan that do not fit.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>

#include <tuple>

int main() {
  [[maybe_unused]] const ebb::tensor<float, 3, 2> x{};
  [[maybe_unused]] const ebb::tensor<float, 2> y{};
  [[maybe_unused]] static constexpr auto add = [](auto a, auto b) { return a + b; };
  [[maybe_unused]] static constexpr auto first = [](auto a, auto) { return a; };
#if EBB_CASE == 1
  // EXPECT: E0547 associative_scan: each array in the argument has rows
  auto r = ebb::associative_scan(first, std::tuple(x, y));  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0547 associative_scan: each array in the argument has rows
  auto r = ebb::compile([](auto a) { return ebb::associative_scan(add, ebb::sum(a)); })(x);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0548 associative_scan: the function takes two rows and returns one with the same form
  auto r = ebb::associative_scan([](auto a, auto b) { return ebb::sum(a * b); }, x);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0548 associative_scan: the function takes two rows and returns one with the same form
  auto r = ebb::compile([](auto a) { return ebb::associative_scan([](auto p, auto q) { return std::tuple(p, q); }, a); })(x);  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0104 must not capture
  auto r = ebb::associative_scan([&](auto a, auto b) { return a + b * y; }, x);  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0549 associative_scan: the only option is ebb::reversed
  auto r = ebb::associative_scan<ebb::recompute>(add, x);  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0127 the function cannot be called so
  auto r = ebb::associative_scan([](auto a) { return a; }, x);  // LINE
#endif
}

// test/trace/once.fail.cpp — once with functions and arguments that do not fit.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

int main() {
  [[maybe_unused]] const ebb::tensor<float, 3> x{1, 2, 3};
#if EBB_CASE == 1
  // EXPECT: E0530 an argument or a result has eight axes
  const ebb::tensor<float, 1, 1, 1, 1, 1, 1, 1, 1> deep{};
  auto r = ebb::compile([](auto a) { return ebb::once([](auto v) { return ebb::sum(v); })(a); })(deep);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0104 must not capture
  auto r = ebb::compile([](auto a) { return ebb::once([=](auto v) { return v + a; })(a); })(x);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0127 the function cannot be called so
  auto r = ebb::compile([](auto a) { return ebb::once([](auto v, auto u) { return v + u; })(a); })(x);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0335 the number of steps is computed
  [[maybe_unused]] static constexpr auto steps =
      ebb::once([](auto n, auto a) { return ebb::fori(n, [](auto, auto v) { return v + v; }, a); });
  auto r = ebb::compile([](auto a, auto n) { return steps(n + 1, a); })(x, 2);  // LINE
#endif
}

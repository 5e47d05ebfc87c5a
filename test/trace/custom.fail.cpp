// test/trace/custom.fail.cpp — functions with derivatives of their own that do not fit.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include <tuple>

int main() {
  [[maybe_unused]] const ebb::tensor<float, 3> x{1, 2, 3};
  [[maybe_unused]] static constexpr auto f = [](auto v) { return std::tuple(v, v); };
  [[maybe_unused]] static constexpr auto pull = [](auto, auto g) { return std::tuple(g); };
  [[maybe_unused]] static constexpr auto clipped = [](auto, auto g) { return std::tuple(ebb::clamp(g, -1, 1)); };
  [[maybe_unused]] static constexpr auto square = [](auto v) { return v * v; };
#if EBB_CASE == 1
  // EXPECT: E0336 the first function returns std::tuple(y, saved)
  auto r = ebb::compile([](auto a) { return ebb::custom_vjp(square, pull, a); })(x);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0337 a gradient for each argument
  auto r = ebb::compile([](auto a) { return ebb::custom_vjp([](auto v, auto u) { return std::tuple(v, u); }, pull, a, a); })(x);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0337 in its form and shape
  auto r = ebb::compile([](auto a) { return ebb::custom_vjp(f, [](auto, auto g) { return std::tuple(ebb::sum(g)); }, a); })(x);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0337 in its form and shape
  auto r = ebb::compile([](auto a) { return ebb::custom_vjp(f, [](auto, auto g) { return g; }, a); })(x);  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0339 they are called in a traced function
  auto r = ebb::custom_vjp(f, pull, x);  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0339 they are called in a traced function
  const ebb::variable v(x);
  auto r = ebb::custom_jvp(square, [](auto a, auto da) { return 2 * a * da; }, v);  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0104 must not capture
  auto r = ebb::compile([](auto a) { return ebb::custom_vjp(f, [=](auto, auto g) { return std::tuple(g * a); }, a); })(x);  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0127 the function cannot be called so
  auto r = ebb::compile([](auto a) { return ebb::custom_vjp(f, [](auto g) { return std::tuple(g); }, a); })(x);  // LINE
#elif EBB_CASE == 9
  // EXPECT: E0338 and returns the direction of the result
  auto r = ebb::compile([](auto a) { return ebb::custom_jvp(square, [](auto, auto da) { return ebb::sum(da); }, a); })(x);  // LINE
#elif EBB_CASE == 10
  // EXPECT: E0345 the push is not linear in the directions
  auto r = ebb::compile([](auto a) { return ebb::custom_jvp(square, [](auto, auto da) { return da * da; }, a); })(x);  // LINE
#elif EBB_CASE == 11
  // EXPECT: E0347 a pull of custom_vjp is not linear in the gradient that it receives
  auto r = ebb::jvp([](auto a) { return ebb::custom_vjp(f, clipped, a); })(x, x);  // LINE
#elif EBB_CASE == 12
  // EXPECT: E0347 a pull of custom_vjp is not linear in the gradient that it receives
  auto r = ebb::jacfwd<0>([](auto a) { return ebb::custom_vjp(f, clipped, a); })(x);  // LINE
#endif
}

// test/trace/cond.fail.cpp — cond and switch_ with functions, conditions or indices that do not fit.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include <tuple>

int main() {
  [[maybe_unused]] const ebb::tensor<float, 3> x{1, 2, 3};
  [[maybe_unused]] static constexpr auto twice = [](auto v) { return v + v; };
  [[maybe_unused]] static constexpr auto square = [](auto v) { return v * v; };
#if EBB_CASE == 1
  // EXPECT: E0346 the condition is a bool without axes
  auto r = ebb::compile([](auto a) { return ebb::cond(a > 0, twice, square, a); })(x);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0346 the condition is a bool without axes
  auto r = ebb::compile([](auto a) { return ebb::cond(ebb::sum(a), twice, square, a); })(x);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0348 different forms, dtypes or shapes
  auto r = ebb::compile([](auto a) { return ebb::cond(ebb::sum(a) > 0, twice, [](auto v) { return ebb::sum(v); }, a); })(x);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0348 different forms, dtypes or shapes
  auto r = ebb::compile([](auto a) { return ebb::cond(true, twice, [](auto v) { return ebb::cast<double>(v); }, a); })(x);  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0349 a result has eight axes
  const ebb::tensor<float, 1, 1, 1, 1, 1, 1, 1, 1> deep{};
  auto r = ebb::compile([](auto a) { return ebb::cond(ebb::sum(a) > 0, twice, square, a); })(deep);  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0510 elsewhere C++ branches
  auto r = ebb::cond(true, twice, square, x);  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0104 must not capture
  auto r = ebb::compile([](auto a) { return ebb::cond(ebb::sum(a) > 0, [=] { return a; }, [=] { return a + a; }); })(x);  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0127 the function cannot be called so
  auto r = ebb::compile([](auto a) { return ebb::cond(ebb::sum(a) > 0, twice, [](auto v, auto u) { return v + u; }, a); })(x);  // LINE
#elif EBB_CASE == 9
  // EXPECT: E0335 the number of steps is computed
  [[maybe_unused]] static constexpr auto steps = [](auto n, auto a) { return ebb::fori(n, [](auto, auto v) { return v + v; }, a); };
  auto r = ebb::compile([](auto a, auto n) { return ebb::cond(ebb::sum(a) > 0, steps, steps, n + 1, a); })(x, 2);  // LINE
#elif EBB_CASE == 10
  // EXPECT: E0508 the index is an integer without axes
  auto r = ebb::compile([](auto a) { return ebb::switch_<2>(ebb::sum(a), twice, square, a); })(x);  // LINE
#elif EBB_CASE == 11
  // EXPECT: E0508 the index is an integer without axes
  auto r = ebb::compile([](auto i, auto a) { return ebb::switch_<2>(i, twice, square, a); })(ebb::tensor<int, 3>{0, 1, 0}, x);  // LINE
#elif EBB_CASE == 12
  // EXPECT: E0509 then n functions, at least one
  auto r = ebb::compile([](auto i, auto a) { return ebb::switch_<4>(i, twice, square, a); })(0, x);  // LINE
#elif EBB_CASE == 13
  // EXPECT: E0348 different forms, dtypes or shapes
  auto r = ebb::compile([](auto i, auto a) { return ebb::switch_<3>(i, twice, square, [](auto v) { return v(0); }, a); })(0, x);  // LINE
#elif EBB_CASE == 14
  // EXPECT: E0510 elsewhere C++ branches
  auto r = ebb::switch_<2>(1, twice, square, x);  // LINE
#elif EBB_CASE == 15
  // EXPECT: E0127 the function cannot be called so
  auto r = ebb::compile([](auto i, auto a) { return ebb::switch_<2>(i, twice, [](auto v, auto u) { return v + u; }, a); })(0, x);  // LINE
#elif EBB_CASE == 16
  // EXPECT: E0104 must not capture
  auto r = ebb::compile([](auto i, auto a) { return ebb::switch_<1>(i, [=] { return a; }); })(0, x);  // LINE
#endif
}

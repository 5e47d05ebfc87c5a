// test/exec/while_loop.fail.cpp — while loops that cannot be, and derivatives that they do not have.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include <tuple>

int main() {
  [[maybe_unused]] const ebb::tensor<double, 3> x{1, 2, 3};
  [[maybe_unused]] static constexpr auto large = [](auto v) { return ebb::sum(v) > 1; };
  [[maybe_unused]] static constexpr auto half = [](auto v) { return v / 2; };
#if EBB_CASE == 1
  // EXPECT: E0436 in another form, dtype or shape
  auto r = ebb::compile([](auto a) { return ebb::while_loop(large, [](auto v) { return ebb::sum(v); }, a); })(x);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0437 the condition returns a bool without axes
  auto r = ebb::compile([](auto a) { return ebb::while_loop([](auto v) { return v > 1; }, half, a); })(x);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0438 without a bound has no gradient
  auto r = ebb::grad([](auto a) { return ebb::sum(ebb::while_loop(large, half, a)); })(x);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0439 variables are passed to a region
  auto r = ebb::while_loop(large, half, ebb::variable(x));  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0440 are whole(...)
  auto r = ebb::compile([](auto a) { return ebb::while_loop(large, half, a, a); })(x);  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0441 no second one
  auto r = ebb::jvp([](auto a, auto b) {
    return std::get<1>(ebb::jvp([](auto v) { return ebb::sum(ebb::while_loop(large, half, v)); })(a, b));
  })(x, x, x, x);  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0439 a bound that is no constant needs a traced function
  auto r = ebb::while_loop(5, large, half, x);  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0440 options are one ebb::at_most<n>
  auto r = ebb::compile([](auto a) { return ebb::while_loop<ebb::keep_sqrt>(large, half, a); })(x);  // LINE
#elif EBB_CASE == 9
  // EXPECT: E0104 must not capture
  auto r = ebb::compile([](auto a) { return ebb::while_loop(large, [=](auto v) { return v + a; }, a); })(x);  // LINE
#elif EBB_CASE == 10
  // EXPECT: E0438 without a bound has no gradient
  auto r = ebb::hessian([](auto a) { return ebb::sum(ebb::while_loop(large, half, a)); })(x);  // LINE
#elif EBB_CASE == 11
  // EXPECT: E0438 without a bound has no gradient
  auto r = ebb::compile([](auto a) { return ebb::sum(ebb::while_loop(large, half, a)); })(ebb::variable(x));  // LINE
#elif EBB_CASE == 12
  // EXPECT: E0557 the number of an option is too small
  auto r = ebb::compile([](auto a) { return ebb::while_loop<ebb::at_most<-1>>(large, half, a); })(x);  // LINE
#endif
}

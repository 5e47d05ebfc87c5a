// test/exec/map_axes.fail.cpp — axes of map that do not fit.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>

#include <ctime>

namespace user {

auto timed(auto x) { return x * static_cast<float>(std::time(nullptr)); }

}  // namespace user

int main() {
  [[maybe_unused]] const ebb::tensor<float, 3, 2> x{};
  [[maybe_unused]] const ebb::tensor<float, 2> y{};
  [[maybe_unused]] static constexpr auto add = [](auto a, auto b) { return a + b; };
#if EBB_CASE == 1
  // EXPECT: E0570 ebb::in has an axis for each argument
  auto r = ebb::map<ebb::in<1>>(add, x, y);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0570 one that all arrays in it have
  auto r = ebb::map<ebb::in<1, 1>>(add, x, y);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0570 ebb::unmapped stands for whole(...)
  auto r = ebb::compile([](auto a, auto b) { return ebb::map<ebb::in<1, 0>>(add, a, ebb::whole(b)); })(x, y);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0571 ebb::out has an axis that all arrays of the result have
  auto r = ebb::compile([](auto a, auto b) { return ebb::map<ebb::in<1, 0>, ebb::out<2>>(add, a, b); })(x, y);  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0571 or one for each part of a tuple
  auto r = ebb::compile([](auto a, auto b) { return ebb::map<ebb::in<1, 0>, ebb::out<0, 1>>(add, a, b); })(x, y);  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0290 map: the arguments have different numbers of rows
  auto r = ebb::compile([](auto a, auto b) { return ebb::map<ebb::in<0, 0>>(add, a, b); })(x, y);  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0571 ebb::out has an axis that all arrays of the result have
  auto r = ebb::map<ebb::in<1, 0>, ebb::out<2>>(add, x, y);  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0571 ebb::out has an axis that all arrays of the result have
  auto r = ebb::map<ebb::in<1, 0>, ebb::out<ebb::unmapped>>(add, x, y);  // LINE
#elif EBB_CASE == 9
  // EXPECT: E0570 one that all arrays in it have
  auto r = ebb::map<ebb::in<1, 0>>(add, x, 2.0f);  // LINE
#elif EBB_CASE == 10
  // EXPECT: E0124 there must be an argument that is not whole(...)
  auto r = ebb::map<ebb::in<ebb::unmapped>>([](auto a) { return a; }, x);  // LINE
#elif EBB_CASE == 11
  // EXPECT: E0104 must not capture
  auto r = ebb::map<ebb::in<1>>([&](auto a) { return a + y; }, x);  // LINE
#elif EBB_CASE == 12
  // EXPECT: E0126 a traced function calls what is not constexpr
  auto r = ebb::map<ebb::in<1>>([](auto a) { return user::timed(a); }, x);  // LINE
#endif
}

// test/exec/direction.fail.cpp — calls of jvp, hvp and linearize that are refused.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/functional.hpp>

namespace user {
struct no_pull : ebb::elementwise<1> {
  static constexpr std::string_view name = "no_pull";
  static constexpr auto value(auto x) { return x; }
};
inline constexpr ebb::call<no_pull> unpulled{};
}  // namespace user

int main() {
  const ebb::tensor<float, 3> x, v;
  const ebb::tensor<float, 4> other;
  const ebb::tensor<int, 3> numbers;
  constexpr auto f = [](auto a, auto b) { return a * b; };
  static_cast<void>(f);
#if EBB_CASE == 1
  // EXPECT: E0252 give the arguments, then one direction for each that is named
  auto r = ebb::jvp<1>(f)(x);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0252 give the arguments, then one direction for each that is named
  auto r = ebb::jvp<1>(f)(x, x, other);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0117 there is no argument of that number to differentiate by
  auto r = ebb::jvp<2>(f)(x, x, v);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0108 an integer has no gradient
  auto r = ebb::jvp<1>(f)(x, numbers, numbers);  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0106 the function uses an op without a pull
  auto r = ebb::jvp([](auto a) { return user::unpulled(a); })(x, v);  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0106 the function uses an op without a pull
  auto [h, k] = ebb::hvp<0, 1>([](auto a, auto b) { return ebb::sum(user::unpulled(a) * b); })(x, x, v, v);  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0109 only a scalar has a gradient
  auto r = ebb::hvp<1>(f)(x, x, v);  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0127 the function cannot be called so
  auto r = ebb::jvp<1>(f)(x, x, x, v);  // LINE
#elif EBB_CASE == 9
  // EXPECT: E0117 there is no argument of that number to differentiate by
  auto r = ebb::jacfwd<2>(f)(x, x);  // LINE
#elif EBB_CASE == 10
  // EXPECT: E0106 the function uses an op without a pull
  auto r = ebb::jacfwd([](auto a) { return user::unpulled(a); })(x);  // LINE
#elif EBB_CASE == 11
  // EXPECT: E0147 the function's results are integers or bools
  auto r = ebb::jacfwd([](auto a) { return a > 0; })(x);  // LINE
#elif EBB_CASE == 12
  const ebb::tensor<float, 1, 1, 1, 1, 2> deep;
  // EXPECT: E0179 the derivatives have more than eight axes
  auto r = ebb::jacfwd(f)(deep, deep);  // LINE
#elif EBB_CASE == 13
  auto [y, push] = ebb::linearize<1>(f)(x, x);
  // EXPECT: E0144 a push one tangent for each such argument
  auto r = push(v, v);  // LINE
#elif EBB_CASE == 14
  auto [y, push] = ebb::linearize(f)(x, x);
  // EXPECT: E0146 or a tangent from its argument
  auto r = push(v, other);  // LINE
#elif EBB_CASE == 15
  // EXPECT: E0108 an integer has no gradient
  auto r = ebb::linearize<1>(f)(x, numbers);  // LINE
#elif EBB_CASE == 16
  // EXPECT: E0108 an integer has no gradient
  auto r = ebb::linearize(f)(numbers, numbers);  // LINE
#elif EBB_CASE == 17
  // EXPECT: E0117 there is no argument of that number to differentiate by
  auto r = ebb::linearize<2>(f)(x, x);  // LINE
#elif EBB_CASE == 18
  // EXPECT: E0106 the function uses an op without a pull
  auto r = ebb::linearize([](auto a) { return user::unpulled(a); })(x);  // LINE
#endif
}

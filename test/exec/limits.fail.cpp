// test/exec/limits.fail.cpp — programs whose trace has room in clang's limit of constants, and whose later stages have not.
// SPDX-License-Identifier: BSL-1.0
// covers: graph/frozen.hpp
// ONLY: clang
// ERRORS: 1
#include <ebb/ebb.hpp>
#include <ebb/functional.hpp>

// A cart-pole, unrolled.
constexpr auto rollout = [](auto s, auto forces) {
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    auto cost = 0 * ebb::sum(s);
    const auto step = [&](auto force) {
      const auto v = ebb::select<0, 1>(s), angle = ebb::select<0, 2>(s), w = ebb::select<0, 3>(s);
      const auto sine = ebb::sin(angle), cosine = ebb::cos(angle);
      const auto push = (force + 0.05 * w * w * sine) / 1.1;
      const auto turn = (9.81 * sine - cosine * push) / (0.5 * (1.3333 - 0.1 * cosine * cosine / 1.1));
      s = s + 0.02 * ebb::stack<0>(v, push - 0.05 * turn * cosine / 1.1, w, turn);
      cost = cost + 0.1 * v * v + (1 - ebb::cos(angle)) + 0.01 * w * w + 0.001 * force * force;
    };
    (step(ebb::select<0, I>(forces)), ...);
    return cost;
  }(std::make_integer_sequence<int, 24>{});
};
const ebb::tensor<double, 4> start;
const ebb::tensor<double, 24> forces;

#if EBB_CASE == 1
// EXPECT: E0309 this program is too large for clang's limit of constants: add -fconstexpr-steps=2147483647 -fbracket-depth=4096
const auto y = ebb::value_and_grad<1>(rollout)(start, forces);  // LINE
#endif

#if EBB_CASE == 2  // on the tape
// EXPECT: E0309 this program is too large for clang's limit of constants
const auto y = ebb::compile(rollout)(start, ebb::variable<double, 24>(forces));  // LINE
#endif

#if EBB_CASE == 3  // inside of another function
// EXPECT: E0309 this program is too large for clang's limit of constants
const auto y = ebb::compile([](auto s, auto f) { return ebb::sum(ebb::grad<1>(rollout)(s, f)); })(start, forces);  // LINE
#endif

#if EBB_CASE == 4  // a stage that is made twice
// EXPECT: E0309 this program is too large for clang's limit of constants
const auto y = ebb::jvp<1>(rollout)(start, forces, forces);  // LINE
#endif

// test/explain/explain.fail.cpp — calls that ebb::explain refuses.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>
#include <ebb/explain.hpp>

int main() {
  using V = ebb::tensor<float, ebb::dyn>;
  constexpr auto f = [](auto x) { return ebb::sum(x * x); };
#if EBB_CASE == 1
  // EXPECT: E0520 ebb::explain: this function is several programs
  auto e = ebb::explain<V>(ebb::vjp(f));  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0521 ebb::explain: it explains calls without a tape: pass the variables' values
  auto e = ebb::explain(f, ebb::variable(V::ones(3)));  // LINE
#elif EBB_CASE == 3  // what a call refuses is refused here
  // EXPECT: E0109 only a scalar has a gradient
  auto e = ebb::explain<V>(ebb::grad([](auto x) { return x; }));  // LINE
#endif
}

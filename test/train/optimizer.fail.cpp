// test/train/optimizer.fail.cpp — refused update rules.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/train/adam.hpp>
#include <ebb/hooks/register.hpp>
#include <ebb/train/optimizer.hpp>

namespace user {
struct forgets_its_state {
  static constexpr int states = 1;
  static constexpr bool by_element = true;
  constexpr auto operator()(auto p, auto g, auto m, auto lr) const { return p - lr * (g + m); }
};
struct forgetful {
  double lr = 1;
  using update = forgets_its_state;
  std::array<double, 1> values(std::uint64_t) const { return {lr}; }
};
}  // namespace user

int main() {
  ebb::variable<float, 3> w(ebb::tensor<float, 3>{1, 2, 3});
  const ebb::optimizer good(ebb::adam{.lr = 0.1f}, w);
#if EBB_CASE == 1
  // EXPECT: E0157 an update rule's function gives the parameter, then as many states as it says
  const ebb::optimizer bad(user::forgetful{}, w);  // LINE
#elif EBB_CASE == 2
  // ERRORS: 2
  // EXPECT: E0157 an update rule's function gives the parameter, then as many states as it says
  w.register_post_accumulate_grad_hook(user::forgetful{});  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0140 parameters are variables
  const ebb::optimizer bad(ebb::adam{}, w.value());  // LINE
#endif
}

// test/train/lbfgs.fail.cpp — refused parameters and functions of lbfgs_optimizer.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/train/lbfgs.hpp>

int main() {
  ebb::variable<float, 3> w(ebb::tensor<float, 3>{1, 2, 3});
  ebb::lbfgs_optimizer good({}, w);
  good.step([] { return 1.0; });
#if EBB_CASE == 1
  // EXPECT: E0140 ebb::lbfgs_optimizer: parameters are variables, and tuples, vectors and structs of them
  const ebb::lbfgs_optimizer bad({}, w, 3.0f);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0555 ebb::lbfgs_optimizer::step: the function takes nothing and returns the loss
  good.step([&] { return w; });  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0555 ebb::lbfgs_optimizer::step: the function takes nothing and returns the loss
  good.step([](double x) { return x; });  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0555 ebb::lbfgs_optimizer::step: the function takes nothing and returns the loss
  good.step([&] { w.zero_grad(); });  // LINE
#endif
}

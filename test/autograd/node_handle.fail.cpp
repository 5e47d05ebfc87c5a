// test/autograd/node_handle.fail.cpp — hooks of nodes and of several variables that do not fit, and what is said.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include <vector>

int main() {
  const ebb::variable x(ebb::tensor<float, 2>{1, 2});
  x.accumulate_node().register_prehook([](ebb::gradients&) {});

#if EBB_CASE == 1
// EXPECT: E0160 a node pre-hook takes ebb::gradients&
  x.accumulate_node().register_prehook([](int) {});  // LINE
#endif
#if EBB_CASE == 2
// EXPECT: E0161 a node post-hook takes ebb::gradients& of the operands
  x.accumulate_node().register_hook([](ebb::gradients&) {});  // LINE
#endif
#if EBB_CASE == 3
// EXPECT: E0167 a multi-grad hook takes const std::vector<ebb::any_tensor>& with when::all
  ebb::register_multi_grad_hook([](const ebb::any_tensor&) {}, ebb::when::all, x);  // LINE
#endif
}

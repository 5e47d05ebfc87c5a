// test/hooks/node_handle.fail.cpp — ill-formed hooks of nodes and of several variables, and their errors.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>

#include <vector>

int main() {
  const ebb::variable x(ebb::tensor<float, 2>{1, 2});
  x.accumulate_node().register_prehook([](ebb::gradients&) {});
  const ebb::variable y = x * x;
  float place = 0;

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
#if EBB_CASE == 4
// EXPECT: E0134 this handle knows no types, which a hook with `auto` needs
  y.grad_fn().next_functions()[0]->register_prehook([](auto g) { return g; });  // LINE
#endif
#if EBB_CASE == 5
// EXPECT: E0135 this handle does not know the types of the operands
  y.grad_fn().register_hook([](auto out, auto) { return out; });  // LINE
#endif
#if EBB_CASE == 6
// EXPECT: E0136 name results, and operands, that are variables
  y.grad_fn(x, x.value());  // LINE
#endif
#if EBB_CASE == 7
// EXPECT: E0153 a hook returns gradients of the same dtypes and extents
  y.grad_fn(x, x).register_hook([](auto out, auto) { return std::get<0>(out); });  // LINE
#endif
#if EBB_CASE == 8
// EXPECT: E0154 a hook with `auto` is traced and must not capture
  y.grad_fn().register_prehook([&](auto g) { return g * place; });  // LINE
#endif
#if EBB_CASE == 9
// EXPECT: E0174 a multi-grad hook changes nothing
  ebb::register_multi_grad_hook([](auto g, auto h) { return g + h; }, ebb::when::all, x, x);  // LINE
#endif
#if EBB_CASE == 10
// EXPECT: E0175 a multi-grad hook that writes results is traced
  ebb::register_multi_grad_hook(ebb::into(place), [](float) {}, ebb::when::all, x, y);  // LINE
#endif
#if EBB_CASE == 11
// EXPECT: E0159 a hook takes one gradient
  y.grad_fn(x, x).register_hook([](auto out) { return out; });  // LINE
#endif
#if EBB_CASE == 12
// EXPECT: E0220 a node creation hook takes const ebb::node_handle&
  const ebb::node_creation_hook scope([](float) {});  // LINE
#endif
  return static_cast<int>(place);
}

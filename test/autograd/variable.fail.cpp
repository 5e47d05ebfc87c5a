// test/autograd/variable.fail.cpp — uses of variables and hooks that are refused.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

int main() {
  const ebb::tensor<float, 3> a{1, 2, 3};
  const ebb::variable x(a);
  const ebb::variable<float> s(1.f);
  constexpr auto f = ebb::compile([](auto v) { return v * v; });
  [[maybe_unused]] ebb::tensor<float, 3> out = a;
#if EBB_CASE == 1
  // EXPECT: E0151 ebb::into: what it writes has no history
  f(ebb::into(out), x);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0152 only variables of floating-point type can have a gradient
  const ebb::variable<int, 3> n(ebb::tensor<int, 3>{1, 2, 3});  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0153 a hook must return a gradient of the same dtype and extents
  x.register_hook([](auto g) { return ebb::sum(g); });  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0153 a hook must return a gradient of the same dtype and extents
  x.register_hook([](const ebb::tensor<float, 3>&) { return ebb::tensor<double, 3>{}; });  // LINE
#elif EBB_CASE == 5
  float scale = 2;
  // EXPECT: E0154 a hook with `auto` is traced and must not capture
  x.register_hook([=](auto g) { return g * scale; });  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0155 a post-accumulate hook returns nothing
  x.register_post_accumulate_grad_hook([](ebb::variable<float, 3>& v) { return v; });  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0156 ebb::wrt: name variables
  auto g = ebb::grad(s, ebb::wrt(a));  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0102 the extents differ
  const ebb::variable y = x + ebb::tensor<float, 4>{};  // LINE
#elif EBB_CASE == 9
  // EXPECT: E0101 matmul: the inner extents differ
  const ebb::variable y = ebb::matmul(x, ebb::tensor<float, 4, 2>{});  // LINE
#elif EBB_CASE == 10
  // EXPECT: E0102 the extents differ
  const auto y = ebb::compile([](auto v, auto w) { return v + w; })(x, ebb::tensor<float, 4>{});  // LINE
#endif
}

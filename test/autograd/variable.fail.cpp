// test/autograd/variable.fail.cpp — refused uses of variables and hooks.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>

int main() {
  const ebb::tensor<float, 3> a{1, 2, 3};
  const ebb::variable x(a);
  const ebb::variable<float> s(1.f);
  [[maybe_unused]] ebb::variable<float, 3> leaf(a);
  [[maybe_unused]] constexpr auto f = ebb::compile([](auto v) { return v * v; });
  [[maybe_unused]] ebb::tensor<float, 3> out = a;
#if EBB_CASE == 1
  // EXPECT: E0151 ebb::into: what it writes has no history
  f(ebb::into(out), x);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0152 only variables of floating-point type can have a gradient
  const ebb::variable<int, 3> n(ebb::tensor<int, 3>{1, 2, 3});  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0153 a hook returns gradients of the same dtypes and extents
  x.register_hook([](auto g) { return ebb::sum(g); });  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0153 a hook returns gradients of the same dtypes and extents
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
  // ERRORS: 2
  // EXPECT: E0102 the extents differ
  const auto y = ebb::compile([](auto v, auto w) { return v + w; })(x, ebb::tensor<float, 4>{});  // LINE
#elif EBB_CASE == 11
  // EXPECT: E0138 a seed is an array of the dtype and extents of the root
  f(x).backward(ebb::tensor<float, 4>{});  // LINE
#elif EBB_CASE == 12
  // EXPECT: E0138 a seed is an array of the dtype and extents of the root, or a number for a root of rank 0
  f(x).backward(2.0);  // LINE
#elif EBB_CASE == 13
  // EXPECT: E0170 a gradient is an array of the dtype and extents of its variable
  leaf.set_grad(ebb::tensor<float, 4>{});  // LINE
#elif EBB_CASE == 14
  // EXPECT: E0171 the value is an array of the dtype and extents of its variable
  leaf.assign(ebb::tensor<double, 3>{});  // LINE
#elif EBB_CASE == 15
  // EXPECT: E0139 name those that it is with respect to
  auto g = ebb::grad(s);  // LINE
#elif EBB_CASE == 16
  // EXPECT: E0139 name those that it is with respect to
  auto g = ebb::grad(s * s, s);  // LINE
#elif EBB_CASE == 17
  // EXPECT: E0137 an array of bools is no condition
  if (x < 2) return 1;  // LINE
#elif EBB_CASE == 18
  // EXPECT: E0169 ebb::bind takes numbers and arrays
  x.register_hook(ebb::bind(s, [](auto c, auto g) { return g * c; }));  // LINE
#elif EBB_CASE == 19
  // EXPECT: E0172 a post-accumulate hook takes the variable
  leaf.register_post_accumulate_grad_hook([](int) {});  // LINE
#elif EBB_CASE == 20
  // EXPECT: E0173 a traced post-accumulate hook returns the leaf's value
  leaf.register_post_accumulate_grad_hook([](auto p, auto g) { return ebb::sum(p * g); });  // LINE
#elif EBB_CASE == 22
  // EXPECT: E0172 one with `auto` that takes the variable is ebb::opaque(f)
  leaf.register_post_accumulate_grad_hook([](auto& v) { v.zero_grad(); });  // LINE
#elif EBB_CASE == 23
  // EXPECT: E0195 v.assign(array) writes a leaf
  leaf = a;  // LINE
#elif EBB_CASE == 24
  // EXPECT: E0196 a variable is no condition
  if (x) return 1;  // LINE
#elif EBB_CASE == 25
  // EXPECT: E0196 a variable is no condition
  if (s * 2) return 1;  // LINE
#elif EBB_CASE == 26
  // EXPECT: E0137 an array of bools is no condition
  if (x == x) return 1;  // LINE
#elif EBB_CASE == 27
  // EXPECT: E0137 an array of bools is no condition
  if (s * 2 != 4 && x != s) return 1;  // LINE
#elif EBB_CASE == 28
  // EXPECT: E0149 what is computed from arrays alone is none
  ebb::backward(ebb::sum(a));  // LINE
#elif EBB_CASE == 29
  // EXPECT: E0149 a backward begins at a variable
  ebb::backward(std::tuple());  // LINE
#elif EBB_CASE == 30
  // EXPECT: E0149 a backward begins at a variable
  ebb::grad(std::tuple(s, a), ebb::wrt(x));  // LINE
#elif EBB_CASE == 31
  // EXPECT: E0198 ebb::zero_grad takes variables
  ebb::zero_grad(out);  // LINE
#elif EBB_CASE == 32
  // EXPECT: E0198 ebb::clip_grad_norm takes variables
  ebb::clip_grad_norm(a, 1.0);  // LINE
#elif EBB_CASE == 33
  // EXPECT: E0199 what `auto` names here is an expression
  auto total = ebb::sum(x); total += s;  // LINE
#elif EBB_CASE == 34
  // EXPECT: E0198 ebb::clip_grad_value takes variables
  ebb::clip_grad_value(out, 1);  // LINE
#elif EBB_CASE == 50
  // EXPECT: E0198 ebb::clip_grad_adaptive takes variables
  ebb::clip_grad_adaptive(out);  // LINE
#elif EBB_CASE == 51
  // EXPECT: E0198 ebb::add_grad_noise takes variables
  ebb::add_grad_noise(out, 1, 1.0);  // LINE
#elif EBB_CASE == 21
  // EXPECT: E0154 a hook with `auto` is traced and must not capture
  leaf.register_post_accumulate_grad_hook([&](auto p, auto g) { return p - out * g; });  // LINE
#elif EBB_CASE == 35
  // EXPECT: E0211 the operands of a loss differ in rank
  auto loss = ebb::mse(ebb::reshape<3, 1>(x), x);  // LINE
#elif EBB_CASE == 36
  // EXPECT: E0211 the operands of a loss differ in rank
  auto loss = ebb::bce_with_logits(x, ebb::tensor<float, 3, 1>{});  // LINE
#elif EBB_CASE == 37
  // EXPECT: E0212 a variable is no number: v.item() is its value
  float total = ebb::sum(x);  // LINE
#elif EBB_CASE == 38
  // EXPECT: E0212 a variable is no number
  const double value = s;  // LINE
#elif EBB_CASE == 39
  // EXPECT: E0212 a variable is no number
  ebb::tensor<float, 3> elements{x(0), x(1), x(2)};  // LINE
#elif EBB_CASE == 40
  // EXPECT: E0195 v.assign(array) writes a leaf
  ebb::variable<float> t = 2.f; t = {3.f};  // LINE
#elif EBB_CASE == 41
  // EXPECT: E0195 v = ebb::variable(array) makes v another one
  ebb::variable<float> t = 2.f; t = 3.f;  // LINE
#elif EBB_CASE == 42
  // EXPECT: E0268 a gradient has the dtype of its variable, or is float where that has 16 bits
  leaf.set_grad_dtype(ebb::grad_dtype<double>);  // LINE
#elif EBB_CASE == 43
  // EXPECT: E0268 a gradient has the dtype of its variable
  const ebb::variable w(a, ebb::grad_dtype<ebb::bfloat16>);  // LINE
#elif EBB_CASE == 44
  // EXPECT: E0268 a gradient has the dtype of its variable
  const auto g = x.grad<double>();  // LINE
#elif EBB_CASE == 45
  // EXPECT: E0268 a gradient has the dtype of its variable
  x.register_hook<double>([](auto g) { return g; });  // LINE
#elif EBB_CASE == 46
  // EXPECT: E0268 a gradient has the dtype of its variable
  leaf.set_grad<double>(ebb::tensor<double, 3>{});  // LINE
#elif EBB_CASE == 47
  // EXPECT: E0268 a gradient has the dtype of its variable
  const auto node = x.accumulate_node<double>();  // LINE
#elif EBB_CASE == 48
  // EXPECT: E0158 an update in place keeps dtype and extents
  ebb::variable<float> t = 2.f; t += x;  // LINE
#elif EBB_CASE == 49
  // EXPECT: E0154 a hook with `auto` is traced and must not capture
  x.register_hook([=](auto g) { return g; });  // LINE
#endif
}

// test/autocast/under.fail.cpp — AMP-9: contexts, policies and declarations that do not exist, and casts that autocast refuses.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

namespace user {
struct context {};
}  // namespace user

using ebb::ambient, ebb::autocast, ebb::backward_pass_autocast, ebb::bf16, ebb::f16, ebb::off;
using matrix = ebb::tensor<float, 4, 4>;
using half = ebb::tensor<f16, 4, 4>;

constexpr auto product = [](auto x, auto w) { return ebb::matmul(x, w); };
constexpr auto joined = [](auto x, auto w) { return ebb::concat<0>(x, w); };

int main() {
  const matrix x, w;
  const half h;
#if EBB_CASE == 0
  ebb::under<autocast<bf16>>(product)(x, w);
  ebb::under<autocast<f16>>(joined)(h, h);
  ebb::compile<ambient<off, autocast<bf16>>, backward_pass_autocast<off>>(product)(x, w);
#elif EBB_CASE == 1
  // EXPECT: E0182 autocast computes in ebb::bf16 or ebb::f16
  ebb::under<autocast<float>>(product)(x, w);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0182 autocast computes in ebb::bf16 or ebb::f16
  const ebb::autocast_scope<double> scope;  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0184 ebb::under takes a context
  ebb::under<user::context>(product)(x, w);  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0184 ebb::under takes a context
  ebb::under<bf16>(product)(x, w);  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0184 ebb::under takes a context
  ebb::under<ebb::same_as_forward>(product)(x, w);  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0104 a traced lambda must not capture
  ebb::under<autocast<bf16>>([&](auto a) { return ebb::matmul(a, x); })(x);  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0183 autocast: float16 and bfloat16 cannot be joined
  ebb::under<autocast<bf16>>([](auto a, auto b) { return ebb::concat<0>(a, b); })(h, x);  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0183 autocast: float16 and bfloat16 cannot be joined
  ebb::under<autocast<bf16>>([](auto a, auto b) { return ebb::stack<0>(a, b); })(h, h);  // LINE
#elif EBB_CASE == 9  // one error and no other if an op refuses its operands in a context
  // EXPECT: E0101 matmul: the inner extents differ
  ebb::under<autocast<bf16>>([](auto a, auto b) { return ebb::matmul(a, b); })(x, ebb::tensor<float, 3, 4>{});  // LINE
#elif EBB_CASE == 10
  // EXPECT: E0133 a compound assignment cannot change dtype or extents
  ebb::under<autocast<bf16>>([](auto a, auto b) { auto y = ebb::matmul(a, b); y += a; return y; })(x, w);  // LINE
#elif EBB_CASE == 11  // every place that names a context gives the same error for its dtype
  // EXPECT: E0182 autocast computes in ebb::bf16 or ebb::f16
  ebb::compile<ambient<off, autocast<double>>>(product)(x, w);  // LINE
#elif EBB_CASE == 12
  // EXPECT: E0182 autocast computes in ebb::bf16 or ebb::f16
  ebb::patch<autocast<std::int64_t>>(product)(x, w);  // LINE
#elif EBB_CASE == 13
  // EXPECT: E0182 autocast computes in ebb::bf16 or ebb::f16
  constexpr bool b = ebb::policy_matters<decltype(product), off, autocast<double>, matrix, matrix>;  // LINE
#elif EBB_CASE == 14
  // EXPECT: E0182 autocast computes in ebb::bf16 or ebb::f16
  ebb::compile<backward_pass_autocast<off, autocast<double>>>(product)(x, w);  // LINE
#endif
}

// test/exec/region.fail.cpp — AMP-9: region options that do not exist, and a region called in a context that it does not declare.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

namespace user {
struct policy {};
}  // namespace user

using ebb::ambient, ebb::autocast, ebb::backward_pass_autocast, ebb::bf16, ebb::f16, ebb::off;
using matrix = ebb::tensor<float, 4, 4>;

constexpr auto product = [](auto x, auto w) { return ebb::sum(ebb::matmul(x, w)); };
constexpr auto region = ebb::compile<ambient<off, autocast<bf16>>>(product);

int main() {
  const matrix x, w;
#if EBB_CASE == 0
  ebb::compile<backward_pass_autocast<ebb::as_recorded>>(product)(x, w);
  ebb::patch<backward_pass_autocast<off, autocast<bf16>>>(region)(x, w);
  ebb::under<autocast<bf16>>([](auto a, auto b) { return region(a, b); })(x, w);
#elif EBB_CASE == 1
  // EXPECT: E0145 there is no such autocast policy
  ebb::compile<backward_pass_autocast<user::policy>>(product)(x, w);  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0145 there is no such autocast policy
  ebb::patch<user::policy>(region);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0145 there is no such autocast policy
  constexpr bool b = ebb::policy_matters<decltype(product), off, float, matrix, matrix>;  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0145 there is no such autocast policy
  ebb::compile<backward_pass_autocast<std::tuple<autocast<bf16>>>>(product)(x, w);  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0185 a list of contexts holds ebb::off and ebb::autocast<...>
  ebb::compile<backward_pass_autocast<ebb::same_as_forward, autocast<bf16>>>(product)(x, w);  // LINE
#elif EBB_CASE == 6
  // EXPECT: E0145 there is no such autocast policy
  ebb::compile<backward_pass_autocast<autocast<bf16>, user::policy>>(product)(x, w);  // LINE
#elif EBB_CASE == 7
  // EXPECT: E0182 autocast computes in ebb::bf16 or ebb::f16
  ebb::compile<backward_pass_autocast<autocast<double>>>(product)(x, w);  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0186 ebb::ambient takes contexts
  ebb::compile<ambient<off, bf16>>(product)(x, w);  // LINE
#elif EBB_CASE == 9
  // EXPECT: E0187 a region is called in an autocast context that it does not declare
  ebb::under<autocast<f16>>([](auto a, auto b) { return region(a, b); })(x, w);  // LINE
#elif EBB_CASE == 10  // an empty list does not declare every context
  // EXPECT: E0186 ebb::ambient takes contexts
  ebb::compile<ambient<>>(product)(x, w);  // LINE
#elif EBB_CASE == 11  // AMP-T: a region cannot change the autocast state
  // EXPECT: E0126 a traced function calls what is not constexpr
  ebb::compile([](auto a, auto b) { const ebb::autocast_scope<bf16> s; return ebb::matmul(a, b); })(x, w);  // LINE
#elif EBB_CASE == 12
  // EXPECT: E0185 a list of contexts holds ebb::off and ebb::autocast<...>
  constexpr bool b = ebb::policy_matters<decltype(product), off, backward_pass_autocast<off, ebb::as_recorded>, matrix, matrix>;  // LINE
#elif EBB_CASE == 13  // two policies
  // EXPECT: E0188 a region has one policy and declares its contexts once
  ebb::compile<backward_pass_autocast<off>, backward_pass_autocast<ebb::as_recorded>>(product)(x, w);  // LINE
#elif EBB_CASE == 14
  // EXPECT: E0188 a region has one policy and declares its contexts once
  ebb::compile<ambient<off>, ambient<autocast<bf16>>>(product)(x, w);  // LINE
#elif EBB_CASE == 16
  // EXPECT: E0145 there is no such autocast policy
  ebb::compile<ebb::backward_policies<off, user::policy>>(product)(x, w);  // LINE
#elif EBB_CASE == 17
  // EXPECT: E0188 a region has one policy and declares its contexts once
  ebb::compile<ebb::backward_policies<off, ebb::as_recorded>, backward_pass_autocast<off>>(product)(x, w);  // LINE
#elif EBB_CASE == 18  // a list in a list
  // EXPECT: E0145 there is no such autocast policy
  ebb::compile<ebb::backward_policies<off, ebb::backward_policies<ebb::as_recorded, off>>>(product)(x, w);  // LINE
#elif EBB_CASE == 19
  // EXPECT: E0145 there is no such autocast policy
  const ebb::policy_choice one = ebb::backward_policies<ebb::as_recorded, off>{};  // LINE
#elif EBB_CASE == 15
  // EXPECT: E0189 ebb::compile takes ebb::backward_pass_autocast<...> and ebb::ambient<...> as options
  ebb::compile<autocast<bf16>>(product)(x, w);  // LINE
#endif
}

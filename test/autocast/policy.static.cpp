// test/autocast/policy.static.cpp — backwards as types: the policies under which a function has one backward, and those under which it has
// two.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/exec/halves.hpp>
#include <ebb/exec/region.hpp>
#include <ebb/tensor/tensor.hpp>
#include <ebb/trace/functions.hpp>

namespace {

using ebb::autocast, ebb::backward_pass_autocast, ebb::bf16, ebb::f16, ebb::off;
using ebb::as_recorded, ebb::same_as_forward;
using ebb::backward_t, ebb::forward_t, ebb::policy_matters;

template <std::size_t... E>
using array = ebb::tensor<float, E...>;
using classes = ebb::tensor<std::int64_t, 3>;

constexpr auto chain_a = ebb::under<autocast<bf16>>([](auto x, auto w1, auto b1, auto w2, auto t) {
  return ebb::cross_entropy(ebb::linear(ebb::relu(ebb::linear(x, w1, b1)), w2), t);
});
constexpr auto chain_b = ebb::under<autocast<bf16>>([](auto x, auto w1, auto w2) {
  const auto z = ebb::no_autocast([](auto y, auto w) { return ebb::linear(ebb::cast<float>(y), w); })(ebb::matmul(x, w1), w2);
  return ebb::sum(z * z);
});
constexpr auto chain_c = [](auto x, auto w) { return ebb::sum(ebb::sin(ebb::linear(x, w))); };
constexpr auto chain_d = ebb::under<autocast<bf16>>([](auto a) {
  const auto b = ebb::inverse(a);
  return ebb::sum(b * b);
});

template <class Policy>
using of_a = backward_t<decltype(chain_a), Policy, array<3, 4>, array<4, 4>, array<4>, array<2, 4>, classes>;
template <class Policy>
using of_b = backward_t<decltype(chain_b), Policy, array<3, 4>, array<4, 4>, array<2, 4>>;
template <class Policy>
using of_c = backward_t<decltype(chain_c), Policy, array<3, 4>, array<2, 4>>;
template <class Policy>
using of_d = backward_t<decltype(chain_d), Policy, array<4, 4>>;

// AMP-4: chain A has one backward, outside of all contexts and in its own; AMP-5: chain B has two. same_as_forward means the context at the
// entry of the region.
static_assert(std::is_same_v<of_a<off>, of_a<same_as_forward>>);
static_assert(std::is_same_v<of_a<off>, of_a<as_recorded>>);
static_assert(std::is_same_v<of_a<off>, of_a<backward_pass_autocast<autocast<bf16>>>>);
static_assert(!std::is_same_v<of_a<off>, of_a<autocast<f16>>>);  // float16 casts bfloat16 operands
static_assert(!std::is_same_v<of_b<off>, of_b<same_as_forward>>);
static_assert(std::is_same_v<of_b<same_as_forward>, of_b<autocast<bf16>>>);
static_assert(std::is_same_v<of_b<off>, of_b<as_recorded>>);
static_assert(!std::is_same_v<of_b<autocast<f16>>, of_b<autocast<bf16>>>);

// AMP-6: chain C, called in no context, has another backward under a list; AMP-8: the last of a list wins, and an empty list is off.
static_assert(std::is_same_v<of_c<off>, of_c<same_as_forward>>);
static_assert(!std::is_same_v<of_c<off>, of_c<backward_pass_autocast<autocast<bf16>>>>);
static_assert(std::is_same_v<of_c<autocast<bf16>>, of_c<backward_pass_autocast<autocast<bf16>>>>);
static_assert(std::is_same_v<of_c<off>, of_c<backward_pass_autocast<>>>);
static_assert(std::is_same_v<of_c<off>, of_c<backward_pass_autocast<autocast<bf16>, off>>>);
static_assert(std::is_same_v<of_c<autocast<bf16>>, of_c<backward_pass_autocast<off, autocast<f16>, autocast<bf16>>>>);

// AMP-7: chain D computes in float, and its backward multiplies.
static_assert(!std::is_same_v<of_d<off>, of_d<same_as_forward>>);
static_assert(std::is_same_v<of_d<off>, of_d<as_recorded>>);

// 2.8: the programs decide whether a policy or context differs from another one.
static_assert(!policy_matters<decltype(chain_a), off, autocast<bf16>, array<3, 4>, array<4, 4>, array<4>, array<2, 4>, classes>);
static_assert(policy_matters<decltype(chain_b), off, autocast<bf16>, array<3, 4>, array<4, 4>, array<2, 4>>);
static_assert(!policy_matters<decltype(chain_b), same_as_forward, autocast<bf16>, array<3, 4>, array<4, 4>, array<2, 4>>);
static_assert(policy_matters<decltype(chain_c), same_as_forward, autocast<bf16>, array<3, 4>, array<2, 4>>);
static_assert(policy_matters<decltype(chain_d), same_as_forward, off, array<4, 4>>);
// Double is never cast, and a function without products has nothing to cast.
using wide = ebb::tensor<double, 4, 4>;
static_assert(!policy_matters<decltype(chain_c), off, autocast<bf16>, wide, wide>);
constexpr auto elementwise = [](auto x, auto w) { return ebb::mean(ebb::tanh(x * w)); };
static_assert(!policy_matters<decltype(elementwise), off, autocast<bf16>, array<4, 4>, array<4, 4>>);
constexpr auto joins = [](auto x, auto w) { return ebb::sum(ebb::sin(ebb::concat<0>(x, w))); };
static_assert(!policy_matters<decltype(joins), off, autocast<bf16>, array<4, 4>, array<4, 4>>);

// The forward of a function gives the values that it saves: under autocast, operands in low precision.
constexpr auto in_bf16 = ebb::under<autocast<bf16>>(chain_c);
template <class F>
using forward_of = forward_t<F, array<3, 4>, array<2, 4>>;
static_assert(!std::is_same_v<forward_of<decltype(in_bf16)>, forward_of<decltype(chain_c)>>);

// SW-1: the policy is part of a region's type. patch gives another region, and a new policy replaces the old one.
constexpr auto region = ebb::compile<backward_pass_autocast<off>>(chain_b);
constexpr auto patched = ebb::patch<backward_pass_autocast<same_as_forward>>(region);
static_assert(!std::is_same_v<decltype(region), decltype(patched)>);
static_assert(std::is_same_v<decltype(ebb::patch<backward_pass_autocast<off>>(patched)), std::remove_const_t<decltype(region)>>);
constexpr auto again = ebb::compile<backward_pass_autocast<same_as_forward>>(chain_b);
static_assert(std::is_same_v<decltype(again), decltype(patched)>);

}  // namespace

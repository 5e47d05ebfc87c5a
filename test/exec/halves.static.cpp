// test/exec/halves.static.cpp — the values that a function saves for its backward: under autocast half the bytes; for a push the same ones.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/exec/halves.hpp>
#include <ebb/tensor/tensor.hpp>
#include <ebb/trace/functions.hpp>

#include <string_view>

namespace {

using ebb::detail::along, ebb::detail::wrt;
using matrix = ebb::tensor<float, 16, 16>;

/// The bytes that F's forward saves beside its results. By: as for joint_program.
template <class By, class... A, class F>
constexpr std::size_t saved_bytes(F) {
  using namespace ebb::detail;
  const ebb::graph g = ebb::frozen<forward_half<F, policy_for<F>, By, traced_type<A>...>>::g.thaw();
  std::size_t bytes = 0;
  for (int i = ebb::traced<F, traced_type<A>...>::g.outs(); i < g.out.size(); ++i) {
    std::size_t elements = 1;
    for (int axis = 0; axis < g.shape_of(g.out[i]).rank; ++axis) elements *= static_cast<std::size_t>(g.shape_of(g.out[i]).e[axis]);
    bytes += elements * ebb::size_of(g.op(g.out[i]).result);
  }
  return bytes;
}

/// Whether F's second half has an op of this name.
template <class By, class... A, class F>
constexpr bool second_half_has(std::string_view name, F) {
  using namespace ebb::detail;
  const ebb::graph g = ebb::frozen<backward_half<F, policy_for<F>, By, traced_type<A>...>>::g.thaw();
  for (int k = 0; k < g.size(); ++k)
    if (g.op(k).name == name) return true;
  return false;
}

constexpr auto layers = [](auto x, auto w1, auto w2) {
  return ebb::sum(ebb::tanh(ebb::linear(ebb::tanh(ebb::linear(x, w1)), w2)));
};
constexpr std::size_t in_float = saved_bytes<void, matrix, matrix, matrix>(layers);
constexpr std::size_t in_bf16 = saved_bytes<void, matrix, matrix, matrix>(ebb::under<ebb::autocast<ebb::bf16>>(layers));
static_assert(in_float == 2 * matrix().size() * sizeof(float));
static_assert(in_bf16 * 2 == in_float);

// A push reads what a pull-back reads, and computes no tanh again.
using by_all = along<wrt<0, 1, 2>>;
static_assert(saved_bytes<by_all, matrix, matrix, matrix>(layers) == in_float);
static_assert(!second_half_has<by_all, matrix, matrix, matrix>("tanh", layers));
static_assert(second_half_has<by_all, matrix, matrix, matrix>("matmul", layers));
// By the last argument alone: the inner layer is saved for the product, the outer one for its slope.
using by_last = along<wrt<2>>;
static_assert(saved_bytes<by_last, matrix, matrix, matrix>(layers) == in_float);
static_assert(!second_half_has<by_last, matrix, matrix, matrix>("tanh", layers));
static_assert(saved_bytes<along<wrt<0>>, matrix>([](auto x) { return ebb::sum(x); }) == 0);

}  // namespace

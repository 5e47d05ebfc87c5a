// test/exec/halves.static.cpp — the values that a function saves for its backward: under autocast half the bytes.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/exec/halves.hpp>
#include <ebb/tensor/tensor.hpp>
#include <ebb/trace/functions.hpp>

namespace {

using matrix = ebb::tensor<float, 16, 16>;

/// The bytes that F's forward saves beside its results.
template <class... A, class F>
constexpr std::size_t saved_bytes(F) {
  using namespace ebb::detail;
  const ebb::graph g = ebb::frozen<forward_half<F, policy_for<F>, void, traced_type<A>...>>::g.thaw();
  std::size_t bytes = 0;
  for (int i = ebb::traced<F, traced_type<A>...>::g.outs(); i < g.out.size(); ++i) {
    std::size_t elements = 1;
    for (int axis = 0; axis < g.shape_of(g.out[i]).rank; ++axis) elements *= static_cast<std::size_t>(g.shape_of(g.out[i]).e[axis]);
    bytes += elements * ebb::size_of(g.op(g.out[i]).result);
  }
  return bytes;
}

constexpr auto layers = [](auto x, auto w1, auto w2) {
  return ebb::sum(ebb::tanh(ebb::linear(ebb::tanh(ebb::linear(x, w1)), w2)));
};
constexpr std::size_t in_float = saved_bytes<matrix, matrix, matrix>(layers);
constexpr std::size_t in_bf16 = saved_bytes<matrix, matrix, matrix>(ebb::under<ebb::autocast<ebb::bf16>>(layers));
static_assert(in_float == 2 * matrix().size() * sizeof(float));
static_assert(in_bf16 * 2 == in_float);

}  // namespace

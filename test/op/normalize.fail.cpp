// test/op/normalize.fail.cpp — weights and biases whose extents do not fit.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using matrix = ebb::term<float, 3, 4>;

constexpr int fits = traced_on<matrix, ebb::term<float, ebb::dyn>>([](auto x, auto w) { return ebb::layer_norm(x, w, w, 1e-6); });

#if EBB_CASE == 1  // a weight for the other axis
// EXPECT: E0282 layer_norm: weight and bias have the extents of the axes that are normalized
constexpr int refused = traced_on<matrix, ebb::term<float, 3>>([](auto x, auto w) {
  return ebb::layer_norm(x, w);  // LINE
});
#elif EBB_CASE == 2  // a bias that would be broadcast
// EXPECT: E0282 layer_norm: weight and bias have the extents of the axes that are normalized
constexpr int refused = traced_on<matrix, ebb::term<float, 4>, ebb::term<float, 1>>([](auto x, auto w, auto b) {
  return ebb::layer_norm(x, w, b);  // LINE
});
#elif EBB_CASE == 3  // three operands
// EXPECT: E0176 the function takes another number of operands
constexpr int refused = traced_on<matrix, ebb::term<float, 4>>([](auto x, auto w) {
  return ebb::layer_norm(x, w, w, w);  // LINE
});
#elif EBB_CASE == 4  // an axis that does not exist
// EXPECT: E0103 there is no such axis
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::layer_norm<3>(x);  // LINE
});
#endif

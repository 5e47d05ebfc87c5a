// test/shapes/scatter.fail.cpp — indices and elements that do not fit.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>
#include <ebb/shapes.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using matrix = ebb::term<float, 3, 4>;
using part = ebb::term<float, 2, 4>;
using indices = ebb::term<int, 2, 4>;
using places = ebb::term<int, 3>;

[[maybe_unused]] constexpr int fits = traced_on<matrix, indices, part>([](auto x, auto i, auto u) { return ebb::scatter<0>(x, i, u); });
int main() {}

#if EBB_CASE == 1  // another axis
// EXPECT: E0498 scatter, index_copy: indices and elements do not have the extents of x beside the axis
constexpr int refused = traced_on<matrix, indices, part>([](auto x, auto i, auto u) {
  return ebb::scatter<1>(x, i, u);  // LINE
});
#elif EBB_CASE == 2  // three indices for two parts
// EXPECT: E0498 scatter, index_copy: indices and elements do not have the extents of x beside the axis
constexpr int refused = traced_on<matrix, places, part>([](auto x, auto i, auto u) {
  return ebb::index_copy<0>(x, i, u);  // LINE
});
#elif EBB_CASE == 3  // a vector of unknown length
// EXPECT: E0501 nonzero, unique, masked_select: the result's extent would depend on the elements
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::nonzero(x);  // LINE
});
#elif EBB_CASE == 4  // the same by another name
// EXPECT: E0501 nonzero, unique, masked_select: the result's extent would depend on the elements
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::unique(x);  // LINE
});
#endif

// test/shapes/segment.fail.cpp — numbers of segments that do not fit.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>
#include <ebb/shapes.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using matrix = ebb::term<float, 3, 4>;
using numbers = ebb::term<int, 3>;

[[maybe_unused]] constexpr int fits =
    traced_on<matrix, numbers>([](auto x, auto i) { return ebb::segment_sum(x, i, x) + ebb::segment_max<3>(x, i); });
int main() {}

#if EBB_CASE == 1  // four numbers for three rows
// EXPECT: E0384 segments: the numbers are integers, with the extents of the first axes of x
constexpr int refused = traced_on<matrix, numbers>([](auto x, auto i) {
  return ebb::segment_mean<2>(ebb::transpose(x), i);  // LINE
});
#elif EBB_CASE == 2  // real numbers
// EXPECT: E0384 segments: the numbers are integers
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::segment_max<2>(x, x);  // LINE
});
#elif EBB_CASE == 3  // a number has no extent
// EXPECT: E0385 segments: without a template argument the third operand has their count as leading extent
constexpr int refused = traced_on<matrix, numbers>([](auto x, auto i) {
  return ebb::segment_softmax(x, i, ebb::sum(x));  // LINE
});
#endif

// test/op/along.fail.cpp — indices and summands that do not fit.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using matrix = ebb::term<float, 3, 4>;
using places = ebb::term<int, 3, 2>;
using three = ebb::term<int, 3>;

[[maybe_unused]] constexpr int fits = traced_on<matrix, places, three>([](auto x, auto i, auto k) {
  return ebb::take_along_axis<1>(ebb::scatter_add<1>(x, i, i), i) + ebb::sum(ebb::index_add<0>(ebb::take<1>(x, k), k, ebb::take<1>(x, k))) +
         ebb::sum(ebb::take<1>(x, -1));
});

int main() {}

#if EBB_CASE == 1  // other rows
// EXPECT: E0380 take_along_axis, scatter_add: indices and summands have the rank of x, and its extents beside the axis
constexpr int refused = traced_on<matrix, places>([](auto x, auto i) {
  return ebb::take_along_axis<0>(x, i);  // LINE
});
#elif EBB_CASE == 2  // more summands than indices
// EXPECT: E0380 take_along_axis, scatter_add: indices and summands have the rank of x
constexpr int refused = traced_on<matrix, places>([](auto x, auto i) {
  return ebb::scatter_add<1>(x, i, x);  // LINE
});
#elif EBB_CASE == 3  // one index for each row is missing
// EXPECT: E0381 index_add: the summands have one part along the axis for each index
constexpr int refused = traced_on<matrix, three>([](auto x, auto i) {
  return ebb::index_add<1>(x, i, x);  // LINE
});
#elif EBB_CASE == 4  // indices are integers
// EXPECT: E0115 an index must be an integer array
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::scatter_add<1>(x, x, x);  // LINE
});
#elif EBB_CASE == 5  // there are two axes
// EXPECT: E0103 there is no such axis
constexpr int refused = traced_on<matrix, three>([](auto x, auto i) {
  return ebb::take<2>(x, i);  // LINE
});
#elif EBB_CASE == 6  // there are four columns
// EXPECT: E0230 take: a subscript is outside of its axis
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::take<1>(x, 4);  // LINE
});
#endif

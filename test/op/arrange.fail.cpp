// test/op/arrange.fail.cpp — parts and counts that no array of these extents has.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using matrix = ebb::term<float, 3, 4>;
using tall = ebb::term<float, ebb::dyn, 4>;

[[maybe_unused]] constexpr int fits = traced_on<matrix, tall>([](auto x, auto y) {
  const auto [a, b] = ebb::split<0, 1, 2>(y);
  return std::get<0>(ebb::unbind<0>(x)) + ebb::sum(a) + ebb::sum(ebb::roll<1>(b, -1)) + std::get<0>(ebb::split<1, 4>(x)) +
         ebb::sum(ebb::tile<2>(y));
});
int main() {}

#if EBB_CASE == 1  // four rows
// EXPECT: E0386 split: the sizes are not negative, and together those of the axis
constexpr int refused = traced_on<matrix>([](auto x) {
  return std::tuple_size_v<decltype(ebb::split<0, 1, 3>(x))> == 2 ? x : x;  // LINE
});
#elif EBB_CASE == 2  // the number of rows is known at the call only
// EXPECT: E0388 split, unbind: the type does not fix the extent
constexpr int refused = traced_on<tall>([](auto x) {
  return std::tuple_size_v<decltype(ebb::split<0, 2>(x))> == 0 ? x : x;  // LINE
});
#elif EBB_CASE == 3  // so it is here
// EXPECT: E0388 split, unbind: the type does not fix the extent
constexpr int refused = traced_on<tall>([](auto x) {
  return std::tuple_size_v<decltype(ebb::unbind<0>(x))> == 0 ? x : x;  // LINE
});
#elif EBB_CASE == 4  // half a step
// EXPECT: E0387 roll: the steps are an integer
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::roll<0>(x, ebb::sum(x));  // LINE
});
#elif EBB_CASE == 5  // no parts
// EXPECT: E0389 chunk: the number of parts must be positive
constexpr int refused = traced_on<matrix>([](auto x) {
  return std::tuple_size_v<decltype(ebb::chunk<0, 0>(x))> == 0 ? x : x;  // LINE
});
#elif EBB_CASE == 6  // less than none
// EXPECT: E0390 repeat_interleave, tile: a count is not negative
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::tile<-1>(x);  // LINE
});
#endif

// test/shapes/window.fail.cpp — borders and windows that are larger than the array.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>
#include <ebb/shapes.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using matrix = ebb::term<float, 3, 4>;

[[maybe_unused]] constexpr int fits = traced_on<matrix>([](auto x) {
  return ebb::fold<1, 4>(ebb::unfold<1, 4>(x)) + ebb::slice<0, 0, 3>(ebb::pad<0, 2, 0>(x, ebb::reflect));
});
int main() {}

#if EBB_CASE == 1  // three rows have two beside the outermost
// EXPECT: E0391 pad: a border is wider than the array that it continues
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::pad<0, 3, 0>(x, ebb::reflect);  // LINE
});
#elif EBB_CASE == 2  // five of four columns
// EXPECT: E0392 unfold, fold: the windows leave the axis
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::unfold<1, 5>(x);  // LINE
});
#elif EBB_CASE == 3  // three windows of four elements in five
// EXPECT: E0392 unfold, fold: the windows leave the axis
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::fold<0, 5>(x);  // LINE
});
#elif EBB_CASE == 5  // an axis that is not there
// EXPECT: E0103 there is no such axis
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::pad<2, -1, 1>(x, ebb::reflect);  // LINE
});
#elif EBB_CASE == 4  // windows of nothing
// EXPECT: E0393 unfold, fold: sizes and steps are positive
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::unfold<1, 0>(x);  // LINE
});
#endif

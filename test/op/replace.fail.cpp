// test/op/replace.fail.cpp — boxes and parts that no array of these extents has.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using matrix = ebb::term<float, 3, 4>;
using place = ebb::term<int>;
using two_places = ebb::term<int, 2>;

[[maybe_unused]] constexpr int fits = traced_on<matrix, place>([](auto x, auto i) {
  return ebb::dynamic_update_slice(x, ebb::dynamic_slice<2, 4>(x, i, 0), i, 0) + ebb::placed<1, 2>(ebb::masked_fill(x, x > 0, i), i);
});
int main() {}

#if EBB_CASE == 1  // one start for two axes
// EXPECT: E0382 dynamic_slice, dynamic_update_slice: each axis has one start
constexpr int refused = traced_on<matrix, place>([](auto x, auto i) {
  return ebb::dynamic_slice<2, 2>(x, i);  // LINE
});
#elif EBB_CASE == 2  // a start that is an array
// EXPECT: E0382 dynamic_slice, dynamic_update_slice: each axis has one start
constexpr int refused = traced_on<matrix, two_places>([](auto x, auto i) {
  return ebb::dynamic_update_slice(x, x, i, 0);  // LINE
});
#elif EBB_CASE == 3  // five columns
// EXPECT: E0383 dynamic_slice, dynamic_update_slice: the box is larger than the array
constexpr int refused = traced_on<matrix, place>([](auto x, auto i) {
  return ebb::dynamic_slice<2, 5>(x, i, 0);  // LINE
});
#elif EBB_CASE == 4  // a row in place of a matrix
// EXPECT: E0383 dynamic_slice, dynamic_update_slice: the box is larger than the array, or of another rank
constexpr int refused = traced_on<matrix, place>([](auto x, auto i) {
  return ebb::dynamic_update_slice(x, ebb::select<0, 0>(x), i, 0);  // LINE
});
#elif EBB_CASE == 5  // three columns in place of two
// EXPECT: E0102 the extents differ
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::placed<1, 2>(x, ebb::slice<1, 1>(x));  // LINE
});
#elif EBB_CASE == 6  // five columns, also if the start is clamped
// EXPECT: E0383 dynamic_slice, dynamic_update_slice: the box is larger than the array
constexpr int refused = traced_on<matrix, place>([](auto x, auto i) {
  return ebb::dynamic_slice<2, 5>(x, ebb::clamped, i, 0);  // LINE
});
#elif EBB_CASE == 8  // the tag after the starts
// EXPECT: E0558 dynamic_slice, dynamic_update_slice: ebb::clamped comes before the starts
constexpr int refused = traced_on<matrix, place>([](auto x, auto i) {
  return ebb::dynamic_update_slice(x, x, i, 0, ebb::clamped);  // LINE
});
#elif EBB_CASE == 7  // three columns added to two
// EXPECT: E0102 the extents differ
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::add_at<1, 2>(x, ebb::slice<1, 1>(x));  // LINE
});
#endif

// test/geometry/quaternion.fail.cpp — arrays that are no quaternions, and orders that are none.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>
#include <ebb/geometry.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using quaternion = ebb::term<float, 5, 4>;
using vector = ebb::term<float, 5, 3>;

[[maybe_unused]] constexpr int fits = traced_on<quaternion, vector>([](auto q, auto v) { return ebb::quaternion_rotate(q, v); });
int main() {}

#if EBB_CASE == 1  // the vector first
// EXPECT: E0496 the last axis has another extent: quaternions have 4 elements, vectors 3
constexpr int refused = traced_on<quaternion, vector>([](auto q, auto v) {
  return ebb::quaternion_rotate(v, q);  // LINE
});
#elif EBB_CASE == 2  // two turns about one axis
// EXPECT: E0497 quaternion_from_euler: the order has three letters
constexpr int refused = traced_on<vector>([](auto v) {
  return ebb::quaternion_from_euler<"xxy">(v);  // LINE
});
#endif

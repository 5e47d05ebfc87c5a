// test/shapes/distance.fail.cpp — vectors of other lengths.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>
#include <ebb/shapes.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using points = ebb::term<float, 5, 3>;
using plane_points = ebb::term<float, 4, 2>;

[[maybe_unused]] constexpr int fits =
    traced_on<points>([](auto x) { return ebb::sum(ebb::skew_matrix(x)) + ebb::sum(ebb::cdist(x, ebb::normalize(x))); });
int main() {}

#if EBB_CASE == 1  // points in space and in a plane
// EXPECT: E0399 cdist takes matrices whose rows are vectors of one length
constexpr int refused = traced_on<points, plane_points>([](auto x, auto y) {
  return ebb::cdist(x, y);  // LINE
});
#elif EBB_CASE == 2  // two components
// EXPECT: E0399 cdist takes matrices whose rows are vectors of one length; skew_matrix takes vectors of three elements
constexpr int refused = traced_on<plane_points>([](auto x) {
  return ebb::skew_matrix(x);  // LINE
});
#endif

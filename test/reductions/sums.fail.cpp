// test/reductions/sums.fail.cpp — operands that differences, integrals and covariances refuse.
// SPDX-License-Identifier: BSL-1.0
// covers: differences.hpp moments.hpp
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

#include <ebb/reductions.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using vector = ebb::term<float, 4>;

[[maybe_unused]] constexpr int fits = traced_on<vector>([](auto x) { return ebb::trapezoid(x, x) + ebb::cov(x) + ebb::cov(x, 1, x); });

#if EBB_CASE == 1  // five differences of four elements
// EXPECT: E0374 diff, trapezoid, cumulative_trapezoid: the axis has too few elements
constexpr int refused = traced_on<vector>([](auto x) {
  return ebb::diff<-1, 5>(x);  // LINE
});
#elif EBB_CASE == 2  // a negative number of times
// EXPECT: E0375 diff: differences are taken 0 times or more
constexpr int refused = traced_on<vector>([](auto x) {
  return ebb::diff<0, -1>(x);  // LINE
});
#elif EBB_CASE == 3  // points and a width
// EXPECT: E0376 trapezoid, cumulative_trapezoid: after y comes nothing, a width, or the points
constexpr int refused = traced_on<vector>([](auto x) {
  return ebb::trapezoid(x, x, 0.5f);  // LINE
});
#elif EBB_CASE == 4  // a number has no rows
// EXPECT: E0377 cov, corrcoef: an operand has no axis
constexpr int refused = traced_on<ebb::term<float>>([](auto x) {
  return ebb::cov(x);  // LINE
});
#elif EBB_CASE == 5  // points whose number the call decides
// EXPECT: E0378 simpson: the number of points must be known while tracing
constexpr int refused = traced_on<ebb::term<float, ebb::dyn>>([](auto x) {
  return ebb::simpson(x);  // LINE
});
#elif EBB_CASE == 6  // points in place of a width
// EXPECT: E0379 simpson: the width between two points is a number or a scalar
constexpr int refused = traced_on<vector>([](auto x) {
  return ebb::simpson(x, x);  // LINE
});
#elif EBB_CASE == 7  // weights of other observations
// EXPECT: E0515 cov: counts and weights are numbers, or vectors with one element for each observation
constexpr int refused = traced_on<vector, ebb::term<float, 3>>([](auto x, auto w) {
  return ebb::cov(x, 1, w);  // LINE
});
#elif EBB_CASE == 8  // a first moment
// EXPECT: E0545 moment: the order of a central moment is 2 or more
constexpr int refused = traced_on<vector>([](auto x) {
  return ebb::moment<1>(x);  // LINE
});
#elif EBB_CASE == 9  // a number has no rows beside weights either
// EXPECT: E0377 cov, corrcoef: an operand has no axis
constexpr int refused = traced_on<vector>([](auto w) {
  return ebb::cov(1, 1, w);  // LINE
});
#endif

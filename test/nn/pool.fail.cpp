// test/nn/pool.fail.cpp — arrays and windows that pools refuse.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/nn.hpp>
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using line = ebb::term<float, 5>;
using image = ebb::term<float, 2, 4, 8>;

[[maybe_unused]] constexpr int fits = traced_on<image>([](auto x) { return ebb::max_pool2d<ebb::pool{.size = 4}>(x); });

#if EBB_CASE == 1  // a vector has no planes
// EXPECT: E0470 pool: the array has fewer axes than the windows
constexpr int refused = traced_on<line>([](auto x) {
  return ebb::avg_pool2d(x);  // LINE
});
#elif EBB_CASE == 2  // more padding than half of a window
// EXPECT: E0471 pool: a window has at least one element
constexpr int refused = traced_on<image>([](auto x) {
  return ebb::max_pool2d<ebb::pool{.size = 3, .padding = 2}>(x);  // LINE
});
#elif EBB_CASE == 3  // a mean of elements apart
// EXPECT: E0471 pool: a window has at least one element
constexpr int refused = traced_on<image>([](auto x) {
  return ebb::avg_pool2d<ebb::pool{.dilation = 2}>(x);  // LINE
});
#elif EBB_CASE == 4  // a window larger than a plane
// EXPECT: E0463 a window is larger than the array with its padding
constexpr int refused = traced_on<image>([](auto x) {
  return ebb::max_pool2d<ebb::pool{.size = 5}>(x);  // LINE
});
#elif EBB_CASE == 5  // a plane has no third axis
// EXPECT: E0470 pool: the array has fewer axes than the windows
constexpr int refused = traced_on<ebb::term<float, 4, 4>>([](auto x) {
  return ebb::max_pool3d(x);  // LINE
});
#elif EBB_CASE == 6  // a largest element is not divided
// EXPECT: E0448 pool: a divisor is above 0, and only avg_pool divides
constexpr int refused = traced_on<image>([](auto x) {
  return ebb::max_pool2d<ebb::pool{.divisor = 3}>(x);  // LINE
});
#elif EBB_CASE == 7  // a divisor below 0
// EXPECT: E0448 pool: a divisor is above 0, and only avg_pool divides
constexpr int refused = traced_on<image>([](auto x) {
  return ebb::avg_pool2d<ebb::pool{.divisor = -1}>(x);  // LINE
});
#elif EBB_CASE == 8  // a window longer than a line
// EXPECT: E0463 a window is larger than the array with its padding
constexpr int refused = traced_on<line>([](auto x) {
  return std::get<1>(ebb::max_pool1d_with_index<ebb::pool{.size = 6}>(x));  // LINE
});
#elif EBB_CASE == 9  // a vector has no planes
// EXPECT: E0470 pool: the array has fewer axes than the windows
constexpr int refused = traced_on<line>([](auto x) {
  return std::get<1>(ebb::max_pool2d_with_index(x));  // LINE
});
#elif EBB_CASE == 10  // a plane has no third axis
// EXPECT: E0470 pool: the array has fewer axes than the windows
constexpr int refused = traced_on<ebb::term<float, 4, 4>>([](auto x) {
  return std::get<1>(ebb::max_pool3d_with_index(x));  // LINE
});
#endif

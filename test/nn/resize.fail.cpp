// test/nn/resize.fail.cpp — arrays that upsample and pixel_shuffle refuse.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/nn.hpp>
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}

#if EBB_CASE == 1  // more sizes than axes
// EXPECT: E0457 upsample, pixel_shuffle: the array has too few axes, a size is below 1, or the factor does
constexpr int refused = traced_on<ebb::term<float, 5>>([](auto x) {
  return ebb::upsample_linear<3, 3>(x);  // LINE
});
#elif EBB_CASE == 2  // no elements
// EXPECT: E0457 upsample, pixel_shuffle: the array has too few axes, a size is below 1, or the factor does
constexpr int refused = traced_on<ebb::term<float, 5>>([](auto x) {
  return ebb::upsample_nearest<0>(x);  // LINE
});
#elif EBB_CASE == 3  // channels that are not divided
// EXPECT: E0457 upsample, pixel_shuffle: the array has too few axes, a size is below 1, or the factor does
constexpr int refused = traced_on<ebb::term<float, 6, 2, 2>>([](auto x) {
  return ebb::pixel_shuffle<2>(x);  // LINE
});
#elif EBB_CASE == 4  // rows that are not divided
// EXPECT: E0457 upsample, pixel_shuffle: the array has too few axes, a size is below 1, or the factor does
constexpr int refused = traced_on<ebb::term<float, 6, 3, 2>>([](auto x) {
  return ebb::pixel_unshuffle<2>(x);  // LINE
});
#elif EBB_CASE == 5  // more sizes than axes
// EXPECT: E0457 upsample, pixel_shuffle: the array has too few axes, a size is below 1, or the factor does
constexpr int refused = traced_on<ebb::term<float, 5>>([](auto x) {
  return ebb::upsample_nearest_exact<3, 3>(x) + ebb::upsample_cubic<3>(x);  // LINE
});
#endif

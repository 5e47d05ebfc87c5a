// test/nn/norm.fail.cpp — operands that norms refuse.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/nn.hpp>
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using image = ebb::term<float, 2, 6, 8>;
using bias = ebb::term<float, 6>;

[[maybe_unused]] constexpr int fits = traced_on<image, bias>([](auto x, auto w) { return ebb::group_norm<3>(x, w); });

#if EBB_CASE == 1  // a weight for other channels
// EXPECT: E0472 norm: weight, bias, mean and variance have one number for each channel
constexpr int refused = traced_on<image, ebb::term<float, 8>>([](auto x, auto w) {
  return ebb::batch_norm(x, w);  // LINE
});
#elif EBB_CASE == 2  // groups of one and a half channels
// EXPECT: E0473 norm: the array has the axes [batch, channels, places...]
constexpr int refused = traced_on<image>([](auto x) {
  return ebb::group_norm<4>(x);  // LINE
});
#elif EBB_CASE == 3  // a weight for another axis
// EXPECT: E0474 rms_norm: the weight has the extents of the axes that are normalized
constexpr int refused = traced_on<image, bias>([](auto x, auto w) {
  return ebb::rms_norm(x, w);  // LINE
});
#elif EBB_CASE == 4  // statistics of other channels
// EXPECT: E0472 norm: weight, bias, mean and variance have one number for each channel
constexpr int refused = traced_on<image, ebb::term<float, 8>, bias>([](auto x, auto m, auto v) {
  return std::get<0>(ebb::running_statistics(x, m, v));  // LINE
});
#endif

// test/nn/convolution.fail.cpp — operands and numbers that convolutions refuse.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>
#include <ebb/nn.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using image = ebb::term<float, 2, 4, 8, 8>;
using kernel = ebb::term<float, 6, 4, 3, 3>;
using bias = ebb::term<float, 6>;

[[maybe_unused]] constexpr int fits = traced_on<image, kernel, bias>([](auto x, auto w, auto b) { return ebb::conv2d(x, w, b); });

#if EBB_CASE == 1  // an array of two axes
// EXPECT: E0460 convolution: the array has the axes [batch, channels, places...]
constexpr int refused = traced_on<ebb::term<float, 4, 8>, kernel>([](auto x, auto w) {
  return ebb::conv2d(x, w);  // LINE
});
#elif EBB_CASE == 2  // a weight of three axes
// EXPECT: E0461 convolution: the weight has the axes [channels, channels, taps...]
constexpr int refused = traced_on<image, ebb::term<float, 6, 4, 3>>([](auto x, auto w) {
  return ebb::conv2d(x, w);  // LINE
});
#elif EBB_CASE == 3  // other channels
// EXPECT: E0462 convolution: the channels of the weight, in all groups, are not those of the array
constexpr int refused = traced_on<image, ebb::term<float, 6, 3, 3, 3>>([](auto x, auto w) {
  return ebb::conv2d(x, w);  // LINE
});
#elif EBB_CASE == 4  // six channels are no four groups
// EXPECT: E0462 convolution: the channels of the weight, in all groups, are not those of the array
constexpr int refused = traced_on<image, ebb::term<float, 6, 1, 3, 3>>([](auto x, auto w) {
  return ebb::conv2d<ebb::conv{.groups = 4}>(x, w);  // LINE
});
#elif EBB_CASE == 5  // a window larger than the array
// EXPECT: E0463 a window is larger than the array with its padding
constexpr int refused = traced_on<image, kernel>([](auto x, auto w) {
  return ebb::conv2d<ebb::conv{.padding = 1, .dilation = 5}>(x, w);  // LINE
});
#elif EBB_CASE == 6  // a bias for other channels
// EXPECT: E0464 convolution: the bias has one number for each channel of the result
constexpr int refused = traced_on<image, kernel, ebb::term<float, 4>>([](auto x, auto w, auto b) {
  return ebb::conv2d(x, w, b);  // LINE
});
#elif EBB_CASE == 7  // windows that do not move
// EXPECT: E0465 a window slides by at least 1
constexpr int refused = traced_on<image, kernel>([](auto x, auto w) {
  return ebb::conv2d<ebb::conv{.stride = 0}>(x, w);  // LINE
});
#elif EBB_CASE == 8  // padding that keeps the extents, with a stride
// EXPECT: E0466 same_padding: the stride is 1
constexpr int refused = traced_on<image, kernel>([](auto x, auto w) {
  return ebb::conv2d<ebb::conv{.stride = 2, .padding = ebb::same_padding}>(x, w);  // LINE
});
#elif EBB_CASE == 9  // more places than windows can leave out
// EXPECT: E0467 output_padding: only a transposed convolution has it
constexpr int refused = traced_on<ebb::term<float, 2, 6, 8, 8>, kernel>([](auto x, auto w) {
  return ebb::conv_transpose2d<ebb::conv{.stride = 2, .output_padding = 2}>(x, w);  // LINE
});
#elif EBB_CASE == 10  // two biases
// LINES: 15
// EXPECT: E0176 the function takes another number of operands
constexpr int refused = traced_on<image, kernel, bias>([](auto x, auto w, auto b) {
  return ebb::conv2d(x, w, b, b);  // LINE
});
#elif EBB_CASE == 11  // a dilation too large for three axes
// EXPECT: E0465 a window slides by at least 1
constexpr int refused = traced_on<ebb::term<float, 1, 2, 3, 3, 3>, ebb::term<float, 1, 2, 1, 1, 1>>([](auto x, auto w) {
  return ebb::conv3d<ebb::conv{.dilation = 4096}>(x, w);  // LINE
});
#endif


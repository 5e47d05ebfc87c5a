// test/nn/patches.fail.cpp — images, columns and patches that do not fit.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>
#include <ebb/nn/patches.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using images = ebb::term<float, 2, 3, 4, 4>;
constexpr ebb::patches square{.size = 2};

[[maybe_unused]] constexpr int fits = traced_on<images>([](auto x) { return ebb::fold2d<4, 4, square>(ebb::unfold2d<square>(x)); });

#if EBB_CASE == 1  // rows of numbers
// EXPECT: E0541 unfold2d: images are [n, channels, rows, columns]
constexpr int refused = traced_on<ebb::term<float, 4, 4>>([](auto x) {
  return ebb::unfold2d<square>(x);  // LINE
});
#elif EBB_CASE == 2  // the columns of images of 4 x 4 as those of 5 x 4
// EXPECT: E0541 unfold2d: images are [n, channels, rows, columns]
constexpr int refused = traced_on<images>([](auto x) {
  const auto columns = ebb::unfold2d<square>(x);
  return ebb::fold2d<5, 4, square>(columns);  // LINE
});
#elif EBB_CASE == 3  // a stride of 0
// EXPECT: E0544 unfold2d, fold2d: extents, strides and dilations are positive
constexpr int refused = traced_on<images>([](auto x) {
  return ebb::unfold2d<ebb::patches{.size = 2, .stride = 0}>(x);  // LINE
});
#elif EBB_CASE == 4  // a patch that is larger than the image
// EXPECT: E0392 unfold, fold: the windows leave the axis
constexpr int refused = traced_on<images>([](auto x) {
  return ebb::unfold2d<ebb::patches{.size = 5}>(x);  // LINE
});
#endif

// test/nn/grid.fail.cpp — arrays that grid_sample and affine_grid refuse.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/nn.hpp>
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using images = ebb::term<float, 2, 3, 4, 5>;

#if EBB_CASE == 1  // a grid of three numbers for images with two axes
// EXPECT: E0449 grid_sample: x has the axes [batch, channels, places...] with one to three axes of places,
constexpr int refused = traced_on<images, ebb::term<float, 2, 6, 6, 3>>([](auto x, auto g) {
  return ebb::grid_sample(x, g);  // LINE
});
#elif EBB_CASE == 2  // a grid of another batch
// EXPECT: E0449 grid_sample: x has the axes [batch, channels, places...] with one to three axes of places,
constexpr int refused = traced_on<images, ebb::term<float, 3, 6, 6, 2>>([](auto x, auto g) {
  return ebb::grid_sample(x, g);  // LINE
});
#elif EBB_CASE == 3  // no extents
// EXPECT: E0492 affine_grid: one to three sizes, k of them, are at least 1, and theta is [batch, k, k + 1]
constexpr int refused = traced_on<ebb::term<float, 2, 2, 3>>([](auto theta) {
  return ebb::affine_grid<>(theta);  // LINE
});
#elif EBB_CASE == 4  // theta for planes, sizes of a volume
// EXPECT: E0492 affine_grid: one to three sizes, k of them, are at least 1, and theta is [batch, k, k + 1]
constexpr int refused = traced_on<ebb::term<float, 2, 2, 3>>([](auto theta) {
  return ebb::affine_grid<2, 3, 4>(theta);  // LINE
});
#endif

// bench/ops/resampling.cpp — pools to a given size and images of another size by ebb: values of floats.
// SPDX-License-Identifier: BSL-1.0
#include "shaped.hpp"

#include <ebb/nn.hpp>

void ops::resampling(table& t) {
  using planes = of<4, 32, 32>;
  using volume = of<1, 16, 16, 16>;
  using small = of<4, 16, 32>;
  using large = of<4, 32, 64>;
  constexpr range one[] = {{-1, 1}};
  add_shaped_value<of<4, 8, 8>, planes>(t, "adaptive_avg_pool2d", one, [](auto x) { return ebb::adaptive_avg_pool2d<8, 8>(x); });
  add_shaped_value<of<4, 8, 8>, planes>(t, "adaptive_max_pool2d", one, [](auto x) { return ebb::adaptive_max_pool2d<8, 8>(x); });
  add_shaped_value<of<1, 4, 4, 4>, volume>(t, "adaptive_avg_pool3d", one, [](auto x) { return ebb::adaptive_avg_pool3d<4, 4, 4>(x); });
  add_shaped_value<of<1, 4, 4, 4>, volume>(t, "adaptive_max_pool3d", one, [](auto x) { return ebb::adaptive_max_pool3d<4, 4, 4>(x); });
  add_shaped_value<large, small>(t, "upsample_nearest_exact", one, [](auto x) { return ebb::upsample_nearest_exact<32, 64>(x); });
  add_shaped_value<large, small>(t, "upsample_linear", one, [](auto x) { return ebb::upsample_linear<32, 64>(x); });
  add_shaped_value<large, small>(t, "upsample_cubic", one, [](auto x) { return ebb::upsample_cubic<32, 64>(x); });
}

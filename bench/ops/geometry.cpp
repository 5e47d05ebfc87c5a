// bench/ops/geometry.cpp — quaternions, rotations and poses by ebb: batches of rows of 3, 4, 6 and 7.
// SPDX-License-Identifier: BSL-1.0
#include "shaped.hpp"

#include <ebb/geometry.hpp>

void ops::geometry(table& t) {
  using threes = of<512, 3>;
  using fours = of<512, 4>;
  constexpr range one[] = {{-1, 1}}, two[] = {{-1, 1}, {-1, 1}};
  add_shaped<fours, fours, fours>(t, "quaternion_product", two, [](auto a, auto b) { return ebb::quaternion_product(a, b); });
  add_shaped<threes, fours, threes>(t, "quaternion_rotate", two, [](auto q, auto v) { return ebb::quaternion_rotate(q, v); });
  add_shaped_value<fours, fours>(t, "quaternion_normalize", one, [](auto q) { return ebb::quaternion_normalize(q); });
  add_shaped_value<of<512, 3, 3>, fours>(t, "quaternion_to_matrix", one, [](auto q) { return ebb::quaternion_to_matrix(q); });
  add_shaped_value<fours, threes>(t, "quaternion_exp", one, [](auto w) { return ebb::quaternion_exp(w); });
  add_shaped<of<512, 3, 3>, threes>(t, "so3_exp", one, [](auto w) { return ebb::so3_exp(w); });
  add_shaped_value<of<512, 3, 3>, threes>(t, "so3_hat", one, [](auto w) { return ebb::so3_hat(w); });
  add_shaped<of<512, 7>, of<512, 6>>(t, "se3_exp", one, [](auto x) { return ebb::se3_exp(x); });
  add_shaped_value<of<512, 7>, of<512, 7>, of<512, 7>>(t, "se3_compose", two, [](auto a, auto b) { return ebb::se3_compose(a, b); });
  add_shaped<threes, of<512, 7>, threes>(t, "se3_act", two, [](auto a, auto p) { return ebb::se3_act(a, p); });
}

// bench/ops/geometry.cpp — quaternions, rotations and poses by ebb: batches of rows of 3, 4, 6 and 7.
// SPDX-License-Identifier: BSL-1.0
#include "shaped.hpp"

#include <ebb/geometry.hpp>

void ops::geometry(table& t) {
  using threes = of<512, 3>;
  using fours = of<512, 4>;
  using matrices = of<512, 3, 3>;
  using angles = of<512>;
  constexpr range one[] = {{-1, 1}}, two[] = {{-1, 1}, {-1, 1}}, way[] = {{-1, 1}, {-1, 1}, {0, 1}};
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

  add_shaped_value<fours, fours>(t, "quaternion_conjugate", one, [](auto q) { return ebb::quaternion_conjugate(q); });
  add_shaped_value<fours, fours>(t, "quaternion_inverse", one, [](auto q) { return ebb::quaternion_inverse(q); });
  add_shaped_value<threes, fours>(t, "quaternion_log", one, [](auto q) { return ebb::quaternion_log(q); });
  add_shaped_value<fours, threes, angles>(t, "quaternion_from_axis_angle", two,
                                          [](auto v, auto a) { return ebb::quaternion_from_axis_angle(v, a); });
  add_shaped_value<fours, threes>(t, "quaternion_from_euler", one, [](auto a) { return ebb::quaternion_from_euler<"ZYX">(a); });
  // Of rotation matrices, which are made of the operand.
  add_shaped_value<fours, fours>(t, "quaternion_from_matrix", one, [](auto q) {
    return ebb::quaternion_from_matrix(ebb::quaternion_to_matrix(ebb::quaternion_normalize(q)));
  });
  add_shaped_value<threes, threes>(t, "so3_log", one, [](auto w) { return ebb::so3_log(ebb::so3_exp(w)); });
  add_shaped_value<fours, fours, fours, angles>(t, "slerp", way, [](auto a, auto b, auto u) {
    return ebb::slerp(ebb::quaternion_normalize(a), ebb::quaternion_normalize(b), u);
  });
  add_shaped_value<of<448, 3>, of<448, 3, 3>>(t, "so3_vee", one, [](auto m) { return ebb::so3_vee(m); });
  add_shaped_value<matrices, threes>(t, "skew_matrix", one, [](auto w) { return ebb::skew_matrix(w); });
  add_shaped_value<matrices, threes>(t, "so3_left_jacobian", one, [](auto w) { return ebb::so3_left_jacobian(w); });
  add_shaped_value<matrices, threes>(t, "so3_right_jacobian", one, [](auto w) { return ebb::so3_right_jacobian(w); });
  add_shaped_value<matrices, threes>(t, "so3_left_jacobian_inverse", one, [](auto w) { return ebb::so3_left_jacobian_inverse(w); });
  add_shaped_value<matrices, threes>(t, "so3_right_jacobian_inverse", one, [](auto w) { return ebb::so3_right_jacobian_inverse(w); });

  add_shaped_value<of<512, 7>, of<512, 7>>(t, "se3_inverse", one, [](auto a) { return ebb::se3_inverse(a); });
  add_shaped_value<of<512, 6>, of<512, 6>>(t, "se3_log", one, [](auto x) { return ebb::se3_log(ebb::se3_exp(x)); });
  add_shaped_value<of<512, 4, 4>, of<512, 7>>(t, "se3_matrix", one, [](auto a) { return ebb::se3_matrix(a); });
  add_shaped_value<of<224, 6, 6>, of<224, 7>>(t, "se3_adjoint", one, [](auto a) { return ebb::se3_adjoint(a); });
  using jacobians = of<224, 6, 6>;
  add_shaped_value<jacobians, of<224, 6>>(t, "se3_left_jacobian", one, [](auto x) { return ebb::se3_left_jacobian(x); });
  add_shaped_value<jacobians, of<224, 6>>(t, "se3_right_jacobian", one, [](auto x) { return ebb::se3_right_jacobian(x); });

  using twos = of<512, 2>;
  add_shaped_value<twos, angles>(t, "so2_exp", one, [](auto a) { return ebb::so2_exp(a); });
  add_shaped_value<angles, twos>(t, "so2_log", one, [](auto r) { return ebb::so2_log(r); });
  add_shaped_value<twos, twos, twos>(t, "so2_rotate", two, [](auto r, auto v) { return ebb::so2_rotate(r, v); });
  add_shaped_value<fours, threes>(t, "se2_exp", one, [](auto x) { return ebb::se2_exp(x); });
  add_shaped_value<threes, fours>(t, "se2_log", one, [](auto a) { return ebb::se2_log(a); });
  add_shaped_value<fours, fours, fours>(t, "se2_compose", two, [](auto a, auto b) { return ebb::se2_compose(a, b); });
  add_shaped_value<fours, fours>(t, "se2_inverse", one, [](auto a) { return ebb::se2_inverse(a); });
  add_shaped_value<twos, fours, twos>(t, "se2_act", two, [](auto a, auto v) { return ebb::se2_act(a, v); });
}

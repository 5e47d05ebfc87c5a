// bench/ops/moves.cpp — transposes, slices, flips and other moves by ebb.
// SPDX-License-Identifier: BSL-1.0
#include "matrix.hpp"

void ops::moves(table& t) {
  add_matrix<2>(t, "transpose", {-1, 1}, [](auto x) { return ebb::transpose(x); });
  add_matrix<2, 32>(t, "slice<0>", {-1, 1}, [](auto x) { return ebb::slice<0, 0, ebb::to_end, 2>(x); });
  add_matrix<2>(t, "flip<0>", {-1, 1}, [](auto x) { return ebb::flip<0>(x); });
  add_matrix<2>(t, "flip<1>", {-1, 1}, [](auto x) { return ebb::flip<1>(x); });
  add_matrix<2>(t, "roll<0>", {-1, 1}, [](auto x) { return ebb::roll<0>(x, 5); });
  add_matrix<2, 128>(t, "concat<0>", {-1, 1}, [](auto x) { return ebb::concat<0>(x, x); });
  add_matrix<2, 128>(t, "repeat_interleave<0, 2>", {-1, 1}, [](auto x) { return ebb::repeat_interleave<0, 2>(x); });
  add_matrix<2>(t, "full<dyn, dyn>", {-1, 1}, [](auto x) { return x + ebb::full<ebb::dyn, ebb::dyn>(x, x(0, 0)); });
  add_matrix<2>(t, "ones<dyn, dyn>", {-1, 1}, [](auto x) { return x * ebb::ones<ebb::dyn, ebb::dyn>(x); });
  add_matrix<2>(t, "zeros<dyn, dyn>", {-1, 1}, [](auto x) { return x + ebb::zeros<ebb::dyn, ebb::dyn>(x); });
  add_matrix<2, 66>(t, "pad<0, 1, 1>", {-1, 1}, [](auto x) { return ebb::pad<0, 1, 1>(x); });
}

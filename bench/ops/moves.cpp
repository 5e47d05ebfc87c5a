// bench/ops/moves.cpp — transposes, slices, flips and other moves by ebb, and matrices made of vectors.
// SPDX-License-Identifier: BSL-1.0
#include "matrix.hpp"

#include <ebb/linalg.hpp>
#include <ebb/shapes.hpp>

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
  add_matrix<2>(t, "hankel", {-1, 1}, [](auto x) { return ebb::hankel(ebb::select<1, 0>(x), ebb::select<0, 0>(x)); });
  add_matrix<2>(t, "circulant", {-1, 1}, [](auto x) { return ebb::matmul(ebb::circulant(ebb::select<1, 0>(x)), x); });
  add_matrix<1, 64>(t, "geomspace", {1, 2}, [](auto x) { return ebb::geomspace<64>(x(0, 0), x(1, 0)); });
  add_matrix<2, 128>(t, "khatri_rao", {-1, 1}, [](auto x) { return ebb::khatri_rao(ebb::slice<0, 0, 2>(x), x); });
  add_matrix<2, 66>(t, "pad<0, 1, 1>", {-1, 1}, [](auto x) { return ebb::pad<0, 1, 1>(x); });
}

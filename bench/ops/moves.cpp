// bench/ops/moves.cpp — transposes, slices, flips and other moves by ebb, matrices made of vectors, and random numbers.
// SPDX-License-Identifier: BSL-1.0
#include "matrix.hpp"

#include <ebb/linalg.hpp>
#include <ebb/shapes.hpp>

namespace {

/// The key is computed from x.
constexpr auto key_of = [](auto x) { return ebb::cast<std::int64_t>(1000 * x(0, 0)); };

}  // namespace

void ops::moves(table& t) {
  add_matrix<2>(t, "transpose", {-1, 1}, [](auto x) { return ebb::transpose(x); });
  add_matrix<2, 32>(t, "slice<0>", {-1, 1}, [](auto x) { return ebb::slice<0, 0, ebb::to_end, 2>(x); });
  add_matrix<2>(t, "add_at<0>", {-1, 1}, [](auto x) { return ebb::add_at<0, 2>(x, ebb::slice<0, 0, -2>(x)); });
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
  add_matrix<2>(t, "gather_nd", {-1, 1}, [](auto x) { return ebb::gather_nd(x, ebb::arange_like<0>(x), ebb::arange_like<1>(x)); });
  add_matrix<2>(t, "broadcast_arrays", {-1, 1}, [](auto x) {
    const auto [a, b] = ebb::broadcast_arrays(x, ebb::select<0, 0>(x));
    return a * b;
  });
  add_matrix<1>(t, "diag", {-1, 1}, [](auto x) { return ebb::diag(ebb::diag(ebb::select<1, 0>(x))); });
  add_matrix<1, 64>(t, "triple", {-1, 1}, [](auto x) {
    const auto a = ebb::slice<1, 0, 3>(x);
    return ebb::triple(a, a + 1, a * a);
  });
  add_matrix<2>(t, "numel", {-1, 1}, [](auto x) { return x * ebb::cast<typename decltype(x)::value_type>(ebb::numel(x)); });
  add_matrix<2>(t, "uniform", {-1, 1}, [](auto x) { return ebb::uniform<typename decltype(x)::value_type>(key_of(x), x, 2); });
  add_matrix<2>(t, "normal", {-1, 1}, [](auto x) { return ebb::normal<typename decltype(x)::value_type>(key_of(x), x, 2); });
  add_matrix<2>(t, "bernoulli", {0, 1}, [](auto x) { return ebb::where(ebb::bernoulli(key_of(x), x), x, 0.0); });
  add_matrix<2>(t, "split_key<2>", {0, 1}, [](auto x) { return ebb::where(ebb::bernoulli(ebb::split_key<2>(key_of(x))[1], x), x, 0.0); });
  add_matrix<2>(t, "fold_in", {0, 1}, [](auto x) { return ebb::where(ebb::bernoulli(ebb::fold_in(key_of(x), 3), x), x, 0.0); });
  add_matrix<2, 66>(t, "pad<0, 1, 1>", {-1, 1}, [](auto x) { return ebb::pad<0, 1, 1>(x); });
}

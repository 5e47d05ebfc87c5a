// test/op/linear.cpp — matmul of any ranks, linear, dot, outer.
// SPDX-License-Identifier: BSL-1.0
#include "golden.hpp"

namespace {

using golden::of;
using golden::real;
constexpr auto dyn = ebb::dyn;
const golden::bounds summed{.value = 4, .grad = 4, .second = 8, .spread = true};

TEST_CASE("products give what PyTorch recorded") {
  const auto product = [](auto x, auto y) { return ebb::matmul(x, y); };
  const auto of_left = [](auto x, auto y) { return ebb::matmul(ebb::transpose(x), y); };
  const auto of_right = [](auto x, auto y) { return ebb::matmul(x, ebb::transpose(y)); };
  const auto squares = [](auto x, auto y) { return ebb::sum(ebb::square(ebb::matmul(x, y))); };
  const auto with_sum = [](auto c, auto x, auto y) { return 0.5 * c + 2 * ebb::matmul(x, y); };
  golden::check<of<real, 4>, of<real, 4>>("linear", "matmul_1d_1d", product, summed);
  golden::check<of<real, 3, 4>, of<real, 4>>("linear", "matmul_2d_1d", product, summed);
  golden::check<of<real, 4>, of<real, dyn, 2>>("linear", "matmul_1d_2d", product, summed);
  golden::check<of<real, 3, 4>, of<real, 4, 2>>("linear", "matmul_2d_2d", product, summed);
  golden::check<of<real, dyn, dyn>, of<real, dyn, dyn>>("linear", "matmul_2d_2d", product, summed);
  golden::check<of<real, 2, 3, 4>, of<real, 2, 4, 2>>("linear", "matmul_3d_3d", product, summed);
  golden::check<of<real, dyn, 3, 4>, of<real, dyn, 4, 2>>("linear", "matmul_3d_3d", product, summed);
  golden::check<of<real, dyn, dyn, 4>, of<real, 4, 2>>("linear", "matmul_3d_2d", product, summed);
  golden::check<of<real, 3, 4>, of<real, dyn, 4, 2>>("linear", "matmul_2d_3d", product, summed);
  golden::check<of<real, dyn, 3, 4>, of<real, 4>>("linear", "matmul_3d_1d", product, summed);
  golden::check<of<real, 4>, of<real, 2, 4, 2>>("linear", "matmul_1d_3d", product, summed);
  golden::check<of<real, 2, 1, 3, 4>, of<real, 3, 4, 2>>("linear", "matmul_4d_3d_broadcast", product, summed);
  golden::check<of<real, 1, 3, 4>, of<real, dyn, 4, 2>>("linear", "matmul_batch_of_one", product, summed);
  golden::check<of<real, 1, 4>, of<real, 4, 1>>("linear", "matmul_row_column", product, summed);
  golden::check<of<real, 3, 1>, of<real, 1, 2>>("linear", "matmul_column_row", product, summed);
  golden::check<of<real, 3, 0>, of<real, 0, 2>>("linear", "matmul_inner_zero", product, summed);
  golden::check<of<real, 4, dyn>, of<real, 4, 2>>("linear", "matmul_transposed_left", of_left, summed);
  golden::check<of<real, 3, 4>, of<real, dyn, 4>>("linear", "matmul_transposed_right", of_right, summed);
  golden::check<of<real, 3, 4>>("linear", "matmul_gram", [](auto x) { return ebb::matmul(x, ebb::transpose<1, 0>(x)); }, summed);
  golden::check<of<real, 2, 3>, of<real, 3, 2>>("linear", "matmul_second_derivative", squares, summed);
  golden::check<of<real, 17, 15>, of<real, 15, 9>>("linear", "matmul_odd_sizes", product, {.value = 8, .grad = 8, .spread = true});
  golden::check<of<real, 4>, of<real, 4>>("linear", "dot", [](auto x, auto y) { return ebb::dot(x, y); }, summed);
  golden::check<of<real, 3>, of<real, dyn>>("shapes", "outer", [](auto x, auto y) { return ebb::outer(x, y); }, summed);
  golden::check<of<real, 3, 2>, of<real, 3, 4>, of<real, 4, 2>>("linear", "addmm", with_sum, summed);
  golden::check<of<real, 1, 2, 3, 4>, of<real, 1, 2, dyn, 4>>("shapes", "einsum_attention", of_right, summed);
}

TEST_CASE("linear gives what PyTorch recorded") {
  const auto f = [](auto x, auto w, auto b) { return ebb::linear(x, w, b); };
  golden::check<of<real, dyn, 4>, of<real, 2, 4>, of<real, 2>>("linear", "linear", f, summed);
  golden::check<of<real, 2, dyn, 4>, of<real, 2, 4>, of<real, 2>>("linear", "linear_3d", f, summed);
}

TEST_CASE("no transpose is computed for a product") {
  const auto f = [](auto x, auto w, auto b) { return ebb::sum(ebb::square(ebb::linear(x, w, b))); };
  using trace = ebb::trace_of<decltype(f), ebb::term<float, dyn, 6, 4>, ebb::term<float, 3, 4>, ebb::term<float, 3>>;
  const ebb::graph g = ebb::value_and_gradient(trace::make(), {0, 1, 2});
  int products = 0;
  for (int k = 0; k < g.size(); ++k) {
    CHECK(g.op(k).name != "permute");
    products += g.op(k).name == "matmul";
  }
  CHECK(products == 3);
}

}  // namespace

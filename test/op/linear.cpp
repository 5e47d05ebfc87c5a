// test/op/linear.cpp — matmul of any ranks, linear, dot, outer.
// SPDX-License-Identifier: BSL-1.0
// covers: linear.hpp contract.hpp
#include "golden.hpp"

#include <ebb/exec/gradient.hpp>
#include <ebb/exec/region.hpp>

#include <cmath>
#include <vector>

namespace {

using golden::of;
using golden::real;
constexpr auto dyn = ebb::dyn;
const golden::bounds summed{.value = 4, .grad = 4, .second = 8, .spread = true};

TEST_CASE("products give PyTorch's recorded values") {
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

TEST_CASE("linear gives PyTorch's recorded values") {
  const auto f = [](auto x, auto w, auto b) { return ebb::linear(x, w, b); };
  golden::check<of<real, dyn, 4>, of<real, 2, 4>, of<real, 2>>("linear", "linear", f, summed);
  golden::check<of<real, 2, dyn, 4>, of<real, 2, 4>, of<real, 2>>("linear", "linear_3d", f, summed);
}

TEST_CASE("a product computes no transpose") {
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

// The order of a product with a vector, as plain loops; see [note: order of a product].
float link(float a, float b, float sum) { return ebb::lane::fused ? std::fma(a, b, sum) : a * b + sum; }
float in_lanes(const float* x, const float* w, std::size_t k) {
  float lane[32] = {};
  for (std::size_t p = 0; p < k; ++p) lane[p % 32] = link(x[p], w[p], lane[p % 32]);
  for (int half = 16; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] = lane[i] + lane[i + half];
  return lane[0] + 0;
}
template <class A>
A numbers(std::uint64_t seed, auto... extents) {
  return A::generate([&](std::size_t i) { return static_cast<float>((i * 2654435761u + seed * 40503u) % 2001) / 1000 - 1; }, extents...);
}

template <class X, class W>
void check_order(std::size_t rows, std::size_t columns, auto make_x, auto make_w) {
  CAPTURE(rows, columns);
  const X x = make_x();
  const W w = make_w();
  const auto z = ebb::compile([](auto a, auto b) { return ebb::matmul(a, b); })(x, w);
  const auto turned = ebb::compile([](auto a, auto b) { return ebb::matmul(b, ebb::transpose(a)); })(x, w);
  const auto [value, dw] = ebb::value_and_grad<1>([](auto a, auto b) { return ebb::sum(ebb::square(ebb::matmul(a, b))); })(x, w);
  std::vector<float> want_z(rows), want_dw(columns);
  for (std::size_t i = 0; i < rows; ++i) {
    want_z[i] = in_lanes(x.data() + i * columns, w.data(), columns);
    for (std::size_t p = 0; p < columns; ++p) want_dw[p] = link(x.data()[i * columns + p], 2 * want_z[i], want_dw[p]);
  }
  CHECK(std::equal(z.begin(), z.end(), want_z.begin(), want_z.end()));
  CHECK(std::equal(turned.begin(), turned.end(), want_z.begin(), want_z.end()));
  CHECK(std::equal(dw.begin(), dw.end(), want_dw.begin(), want_dw.end()));
}

TEST_CASE("a row times a vector has the same bits for static and dyn extents, and for one row as for a thousand") {
  for (const std::size_t rows : {1u, 2u, 20u, 1000u})
    for (const std::size_t columns : {1u, 3u, 50u}) {
      const auto x = [=] { return numbers<ebb::tensor<float, dyn, dyn>>(1, rows, columns); };
      check_order<ebb::tensor<float, dyn, dyn>, ebb::tensor<float, dyn>>(rows, columns, x,
                                                                         [=] { return numbers<ebb::tensor<float, dyn>>(2, columns); });
    }
  const auto w = [] { return numbers<ebb::tensor<float, 50>>(2); };
  check_order<ebb::tensor<float, 1000, 50>, ebb::tensor<float, 50>>(1000, 50, [] { return numbers<ebb::tensor<float, 1000, 50>>(1); }, w);
  check_order<ebb::tensor<float, dyn, 50>, ebb::tensor<float, 50>>(
      7, 50, [] { return numbers<ebb::tensor<float, dyn, 50>>(1, std::size_t{7}); }, w);
}

TEST_CASE("a column whose extent of one only the call knows is summed in sequence, as it is beside other columns") {
  constexpr auto product = ebb::compile([](auto x, auto y) { return ebb::matmul(x, y); });
  const auto x = numbers<ebb::tensor<float, dyn, dyn>>(1, std::size_t{20}, std::size_t{50});
  const auto one = numbers<ebb::tensor<float, dyn, dyn>>(2, std::size_t{50}, std::size_t{1});
  const auto z = product(x, one);
  for (std::size_t i = 0; i < 20; ++i) {
    float chain = 0;
    for (std::size_t p = 0; p < 50; ++p) chain = link(x(i, p), one(p, std::size_t{0}), chain);
    CHECK(z(i, std::size_t{0}) == chain);
  }
}

}  // namespace

// test/shapes/programs.cpp — functions of several families together, as programs have them: recorded values and derivatives.
// SPDX-License-Identifier: BSL-1.0
// covers: scatter.hpp nn/recurrent.hpp
#include "../linalg/oracle.hpp"

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>
#include <ebb/shapes.hpp>

namespace {

using ebb::dyn;
using linalg_test::check_recorded, linalg_test::wide;
using many = wide<dyn, dyn>;
using places = ebb::term<std::int64_t, dyn>;
const golden::bounds exact{.value = 0, .grad = 0, .sign_is_open = true};
const golden::bounds sums{.value = 8, .grad = 16, .second = 64, .spread = true, .sign_is_open = true};

TEST_CASE("scatter_reduce, index_put_add, unbind and a pad that takes elements away have recorded values and gradients") {
  using ebb::combination;
  check_recorded<many, places, many>("programs", "scatter_reduce_sum", [](auto x, auto k, auto u) {
    return ebb::scatter_reduce<0, combination::sum>(x, ebb::broadcast_like(ebb::unsqueeze<1>(k), u), u);
  }, sums);
  check_recorded<many, places, many>("programs", "scatter_reduce_mean", [](auto x, auto k, auto u) {
    return ebb::scatter_reduce<0, combination::mean>(x, ebb::broadcast_like(ebb::unsqueeze<1>(k), u), u);
  }, sums);
  check_recorded<many, places, many>("programs", "scatter_reduce_amin", [](auto x, auto k, auto u) {
    return ebb::scatter_reduce<0, combination::amin>(x, ebb::broadcast_like(ebb::unsqueeze<1>(k), u), u);
  }, sums);
  check_recorded<many, places, many>("programs", "scatter_reduce_prod", [](auto x, auto k, auto u) {
    return ebb::scatter_reduce<0, combination::prod>(x, ebb::broadcast_like(ebb::unsqueeze<1>(k), u), u);
  }, sums);
  check_recorded<many, places, places, wide<dyn>>("programs", "index_put_pairs", [](auto x, auto i, auto j, auto u) {
    return ebb::index_put_add(x, u, i, j);
  }, sums);
  check_recorded<wide<4, 5>>("programs", "unbind_reversed", [](auto x) {
    const auto [a, b, c, d, e] = ebb::unbind<1>(x);
    return ebb::stack<0>(e, d, c, b, a);
  }, exact);
  check_recorded<wide<dyn, dyn, dyn, dyn>>("programs", "pad_crop", [](auto y) { return ebb::pad<-1, -1, 2, -2, 1, -2>(y, 0.5); }, exact);
}

TEST_CASE("masked softmax, products with a transpose, a double where and a filter by scan have recorded derivatives") {
  check_recorded<many>("programs", "masked_softmax", [](auto x) { return ebb::softmax(ebb::masked_fill(x, x < 0, -1e30)); }, sums);
  check_recorded<many>("programs", "gram", [](auto x) { return ebb::matmul(ebb::transpose(x), x); }, sums);
  check_recorded<wide<dyn>>("programs", "double_where", [](auto x) {
    return ebb::where(x > 0, ebb::sqrt(ebb::where(x > 0, x, 1.0)), 0.0);
  }, sums);
  check_recorded<wide<dyn>, wide<>, wide<>, wide<>, wide<>>("programs", "kalman", [](auto y, auto m0, auto p0, auto q, auto s) {
    const auto step = [](auto state, auto seen, auto noise, auto error) {
      const auto [m, before, l] = state;
      const auto p = before + ebb::exp(noise);
      const auto all = p + ebb::exp(error);
      const auto e = seen - m, k = p / all;
      return std::tuple(std::tuple(m + k * e, (1 - k) * p, l - 0.5 * (ebb::log(all) + e * e / all)), std::tuple<>());
    };
    return std::get<2>(std::get<0>(ebb::scan(step, std::tuple(m0, ebb::exp(p0), 0 * m0), y, ebb::whole(q), ebb::whole(s))));
  }, {.value = 8, .grad = 64, .second = 256, .grad_floor = 1, .second_floor = 1, .spread = true, .sign_is_open = true});
}

TEST_CASE("lstm with one layer has the values and gradients that PyTorch recorded of a loop over lstm_cell") {
  using vector = wide<dyn>;
  check_recorded<wide<dyn, dyn, dyn>, many, many, many, many, vector, vector>(
      "programs", "lstm_sequence", [](auto x, auto h, auto c, auto wi, auto wh, auto bi, auto bh) {
        return std::get<0>(ebb::lstm(x, ebb::unsqueeze<0>(h), ebb::unsqueeze<0>(c), std::tuple(wi, wh, bi, bh)));
      }, sums);
}

}  // namespace

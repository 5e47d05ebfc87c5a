// test/op/normalize.cpp — layer_norm: recorded values and derivatives, and its optional operands.
// SPDX-License-Identifier: BSL-1.0
#include "golden.hpp"

#include <ebb/graph/valid.hpp>

namespace {

using ebb::dyn;
using golden::of;
using golden::real;

const golden::bounds summed{.value = 6, .grad = 16, .second = 64, .spread = true};

TEST_CASE("layer_norm gives PyTorch's recorded values") {
  using x = of<real, 2, 6>;
  using rows = of<real, dyn, dyn>;
  using w = of<real, 6>;
  const auto whole = [](auto a, auto b, auto c) { return ebb::layer_norm(a, b, c); };
  golden::check<x, w, w>("reductions", "layer_norm", whole, summed);
  golden::check<rows, of<real, dyn>, w>("reductions", "layer_norm", whole, summed);
  golden::check<x>("reductions", "layer_norm_plain", [](auto a) { return ebb::layer_norm(a); }, summed);
  golden::check<rows>("reductions", "layer_norm_plain", [](auto a) { return ebb::layer_norm<-1>(a); }, summed);
  golden::check<x>("reductions", "layer_norm_two_axes", [](auto a) { return ebb::layer_norm<0, 1>(a); }, summed);
  golden::check<rows>("reductions", "layer_norm_two_axes", [](auto a) { return ebb::layer_norm<-2, -1>(a); }, summed);
  golden::check<x, w, w>("reductions", "layer_norm_eps", [](auto a, auto b, auto c) { return ebb::layer_norm(a, b, c, 0.1); }, summed);
  golden::check<x, w, w>("reductions", "layer_norm_constant_row", whole, summed);
  golden::check_traced("ops2", "layer_norm_second", "/float64",
                       ebb::trace_of<decltype(whole), ebb::term<double, 3, 6>, ebb::term<double, 6>, ebb::term<double, 6>>::make(),
                       {.value = 6, .grad = 32, .second = 64, .second_floor = 4, .spread = true});
}

TEST_CASE("layer_norm takes weight, bias and epsilon, each of them optional") {
  // The expected values, in long double.
  const std::vector<double> x{1, -2, 4, 0.5, 3, 3}, w{2, -1, 0.5}, b{1, 10, 100};
  const auto cells = [](const std::vector<double>& v) {
    ebb::cell_array r;
    for (double e : v) r.push(ebb::to_cell(e));
    return r;
  };
  const auto check = [&](const ebb::graph& g, bool weight, bool bias, long double epsilon) {
    REQUIRE_FALSE(ebb::first_error(g));
    ebb::vec<ebb::cell_array> in{cells(x)};
    if (weight) in.push(cells(w));
    if (bias) in.push(cells(b));
    const auto got = ebb::evaluate(g, in, {});
    for (std::size_t row = 0; row < 2; ++row) {
      long double mean = 0, v = 0;
      for (std::size_t i = 0; i < 3; ++i) mean += x[3 * row + i] / 3.L;
      for (std::size_t i = 0; i < 3; ++i) v += (x[3 * row + i] - mean) * (x[3 * row + i] - mean) / 3;
      for (std::size_t i = 0; i < 3; ++i) {
        const long double want = (x[3 * row + i] - mean) / std::sqrt(v + epsilon) * (weight ? w[i] : 1.) + (bias ? b[i] : 0.);
        CHECK(std::fabs(ebb::from_cell<double>(got[0][static_cast<int>(3 * row + i)]) - want) < 1e-13L);
      }
    }
  };
  using a = ebb::term<double, 2, 3>;
  using v = ebb::term<double, 3>;
  const auto plain = [](auto p) { return ebb::layer_norm(p, 0.25); };
  const auto weighted = [](auto p, auto q) { return ebb::layer_norm(p, q); };
  const auto weighted_epsilon = [](auto p, auto q) { return ebb::layer_norm<1>(p, q, 1); };
  const auto all = [](auto p, auto q, auto r) { return ebb::layer_norm(p, q, r, 1e-3f); };
  check(ebb::trace_of<decltype(plain), a>::make(), false, false, 0.25L);
  check(ebb::trace_of<decltype(weighted), a, v>::make(), true, false, 1e-5L);
  check(ebb::trace_of<decltype(weighted_epsilon), a, v>::make(), true, false, 1);
  check(ebb::trace_of<decltype(all), a, v, v>::make(), true, true, static_cast<long double>(1e-3f));
}

TEST_CASE("layer_norm takes arrays without rows, and narrow floats") {
  const auto f = [](auto a, auto b) { return ebb::layer_norm(a, b); };
  const ebb::graph none = ebb::trace_of<decltype(f), ebb::term<float, 0, 3>, ebb::term<float, 3>>::make();
  CHECK(ebb::evaluate(none, {{}, ebb::cell_array(3, ebb::to_cell(1.f))}, {})[0].size() == 0);
  const ebb::graph narrow = ebb::trace_of<decltype(f), ebb::term<ebb::bf16, 2, 3>, ebb::term<ebb::bf16, 3>>::make();
  CHECK(narrow.op(narrow.out[0]).result == ebb::dtype::bf16);
  const ebb::graph mixed = ebb::trace_of<decltype(f), ebb::term<ebb::bf16, 2, 3>, ebb::term<float, 3>>::make();
  CHECK(mixed.op(mixed.out[0]).result == ebb::dtype::f32);
}

}  // namespace

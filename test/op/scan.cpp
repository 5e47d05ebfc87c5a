// test/op/scan.cpp — cumsum: recorded values, directions, derivatives, batches, empty arrays and elements that are not finite.
// SPDX-License-Identifier: BSL-1.0
#include "golden.hpp"

#include <ebb/graph/print.hpp>
#include <ebb/graph/valid.hpp>

namespace {

using ebb::dyn;
using golden::of;
using golden::real;
using any_matrix = of<real, dyn, dyn>;

const golden::bounds summed{.value = 2, .grad = 2, .spread = true};

TEST_CASE("running sums give PyTorch's recorded values") {
  const auto rows = [](auto x) { return ebb::cumsum<0>(x); };
  const auto columns = [](auto x) { return ebb::cumsum(x); };
  golden::check<of<real, 3, 4>>("reductions", "cumsum_axis_0", rows, summed);
  golden::check<any_matrix>("reductions", "cumsum_axis_0", rows, summed);
  golden::check<of<real, 3, 4>>("reductions", "cumsum_axis_1", columns, summed);
  golden::check<any_matrix>("reductions", "cumsum_axis_1", [](auto x) { return ebb::cumsum<-1>(x); }, summed);
  for (const char* points : {"zeros", "ties", "nonfinite"}) {
    const golden::bounds b{.value = 0, .grad = 1, .sign_is_open = true, .value_sign_is_open = true};
    golden::check<any_matrix>("reductions", std::string("cumsum_") + points, columns, b);
  }
  const auto reversed = [](auto x) { return ebb::cumsum(x, ebb::reversed); };
  const auto exclusive = [](auto x) { return ebb::cumsum<1>(x, ebb::exclusive_scan); };
  golden::check_traced("ops2", "cumsum_reverse", "", ebb::trace_of<decltype(reversed), ebb::term<double, 3, 5>>::make(), summed);
  golden::check_traced("ops2", "cumsum_exclusive", "", ebb::trace_of<decltype(exclusive), ebb::term<double, dyn, 5>>::make(), summed);
}

template <class T>
std::vector<T> run(const ebb::graph& g, const std::vector<T>& x, const ebb::extent_list& n) {
  ebb::cell_array cells;
  for (T v : x) cells.push(ebb::to_cell(v));
  std::vector<T> r;
  const auto out = ebb::evaluate(g, {cells}, ebb::symbol_values(g, {n}));
  for (ebb::cell c : out[0]) r.push_back(ebb::from_cell<T>(c));
  return r;
}

TEST_CASE("cumsum takes both tags, integers and bools") {
  ebb::extent_list n;
  n.rank = 1;
  n.e[0] = 4;
  const auto f = [](auto x) { return ebb::cumsum(x, ebb::exclusive_scan, ebb::reversed); };
  const ebb::graph g = ebb::trace_of<decltype(f), ebb::term<double, dyn>>::make();
  CHECK(run<double>(g, {1, 2, 4, 8}, n) == std::vector<double>{14, 12, 8, 0});
  CHECK(ebb::to_string(g) == "a = input 0 : f64[n]\nb = cumsum a along 0 reversed exclusive : f64[n]\nreturn b\n");
  const auto plain = [](auto x) { return ebb::cumsum(x); };
  const ebb::graph i = ebb::trace_of<decltype(plain), ebb::term<std::int64_t, dyn>>::make();
  CHECK(run<std::int64_t>(i, {1, -2, 4, 8}, n) == std::vector<std::int64_t>{1, -1, 3, 11});
  const ebb::graph b = ebb::trace_of<decltype(plain), ebb::term<bool, dyn>>::make();
  CHECK(b.op(b.out[0]).result == ebb::dtype::i64);
  n.e[0] = 0;
  CHECK(run<double>(g, {}, n).empty());
}

TEST_CASE("cumsum of narrow floats adds in float: only the sums are rounded") {
  const auto f = [](auto x) { return ebb::cumsum(x); };
  const ebb::graph g = ebb::trace_of<decltype(f), ebb::term<ebb::bf16, dyn>>::make();
  ebb::extent_list n;
  n.rank = 1;
  n.e[0] = 300;
  const ebb::cell_array ones(300, ebb::to_cell(ebb::bf16(1.f)));
  const auto r = ebb::evaluate(g, {ones}, ebb::symbol_values(g, {n}))[0];
  CHECK(ebb::from_cell<ebb::bf16>(r[299]) == ebb::bf16(300.f));  // a sum in bf16 would stay 256
}

TEST_CASE("cumsum has its first and second derivatives by definition") {
  // Of sum(w y^2), y = cumsum(x): 2 sum over i >= k of w_i y_i, and 2 sum over i >= max(k, l) of w_i.
  constexpr int n = 5;
  const double x[n] = {1, -2, 0.5, 3, -1}, w[n] = {1, 2, -1, 0.5, 3};
  const auto f = [](auto v, auto u) { return ebb::sum(u * ebb::square(ebb::cumsum(v))); };
  ebb::graph g = ebb::joint(ebb::trace_of<decltype(f), ebb::term<double, n>, ebb::term<double, n>>::make(), {0});
  const int of = g.out[1], seed = g.op(of).kit->input(g, g.eq[of].shape, 3);
  g.inputs = 4;
  g.out.push(ebb::or_zeros(g, ebb::pull_back(g, {g.input(0)}, {of}, {seed})[0], g.input(0)));
  REQUIRE_FALSE(ebb::first_error(g));
  for (int k = 0; k < n; ++k) {
    ebb::cell_array cx, cw, unit(n, ebb::to_cell(0.));
    for (int i = 0; i < n; ++i) cx.push(ebb::to_cell(x[i])), cw.push(ebb::to_cell(w[i]));
    unit[k] = ebb::to_cell(1.);
    const auto r = ebb::evaluate(g, {cx, cw, {ebb::to_cell(1.)}, unit}, {});
    long double first = 0, y = 0;
    for (int i = 0; i < n; ++i) {
      y += x[i];
      if (i >= k) first += 2 * w[i] * y;
    }
    CHECK(std::fabs(ebb::from_cell<double>(r[1][k]) - first) < 1e-14L);
    for (int l = 0; l < n; ++l) {
      long double second = 0;
      for (int i = std::max(k, l); i < n; ++i) second += 2 * w[i];
      CHECK(std::fabs(ebb::from_cell<double>(r[2][l]) - second) < 1e-14L);
    }
  }
}

}  // namespace

// test/trace/map.cpp — map gives the results of each row alone, and so does its gradient.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/exec/evaluate.hpp>
#include <ebb/pass/pipeline.hpp>
#include <ebb/trace/functions.hpp>

namespace {

constexpr int count = 5, width = 7, height = 3;

const auto of_row = [](auto x, auto w) {
  const auto h = ebb::tanh(ebb::matmul(w, x));
  return std::tuple(ebb::sum(h * h), ebb::softmax<0>(h), ebb::max(x) + ebb::mean(x), ebb::concat<0>(ebb::flip(h), ebb::slice<0, 1, 4>(x)));
};

ebb::cell_array values(int n, int seed) {
  ebb::cell_array r;
  for (int i = 0; i < n; ++i) r.push(ebb::to_cell(static_cast<float>((i * 37 + seed) % 101 - 50) / 32));
  return r;
}
ebb::cell_array part(const ebb::cell_array& all, int row, int n) {
  ebb::cell_array r;
  for (int i = 0; i < n; ++i) r.push(all[row * n + i]);
  return r;
}

/// Compares values and gradients of all rows at once with those of one row after another. Values have the same bits. Gradients that are
/// added into one array may be added in another order.
template <class X>
void check_rows() {
  using W = ebb::term<float, height, width>;
  const auto of_all = [](auto x, auto w) { return ebb::map(of_row, x, ebb::whole(w)); };
  const ebb::graph all = ebb::joint(ebb::trace_of<decltype(of_all), X, W>::make(), {0});
  const ebb::graph one = ebb::joint(ebb::trace_of<decltype(of_row), ebb::term<float, width>, W>::make(), {0});
  const int sizes[] = {1, height, 1, height + 3};
  const auto x = values(count * width, 3), w = values(height * width, 11);
  ebb::vec<ebb::cell_array> arguments{x, w};
  for (int o = 0; o < 4; ++o) arguments.push(values(count * sizes[o], o));
  ebb::extent_list extents;
  extents.rank = 2;
  extents.e[0] = count;
  extents.e[1] = width;
  const auto together = ebb::evaluate(all, arguments, ebb::symbol_values(all, {extents, extents}));
  REQUIRE(together.size() == 5);
  for (int row = 0; row < count; ++row) {
    ebb::vec<ebb::cell_array> own{part(x, row, width), w};
    for (int o = 0; o < 4; ++o) own.push(part(arguments[2 + o], row, sizes[o]));
    const auto alone = ebb::evaluate(one, own, {});
    for (int o = 0; o < 4; ++o) CHECK(part(together[o], row, sizes[o]) == alone[o]);
    for (int i = 0; i < width; ++i)
      CHECK(ebb::from_cell<float>(together[4][row * width + i]) == Approx(ebb::from_cell<float>(alone[4][i])).epsilon(1e-5));
  }
}

TEST_CASE("map gives each row the bits of that row alone") {
  check_rows<ebb::term<float, count, width>>();
  check_rows<ebb::term<float, ebb::dyn, width>>();
}

TEST_CASE("gradients of whole arguments are summed over the rows") {
  const auto f = [](auto x, auto b) {
    return ebb::sum(ebb::map([](auto row, auto bias) { return ebb::sum(row * bias); }, x, ebb::whole(b)));
  };
  const ebb::graph g = ebb::value_and_gradient(ebb::trace_of<decltype(f), ebb::term<double, 3, 2>, ebb::term<double, 2>>::make(), {0, 1});
  ebb::cell_array x, b;
  for (double v : {1., 2., 3., 4., 5., 6.}) x.push(ebb::to_cell(v));
  for (double v : {10., -1.}) b.push(ebb::to_cell(v));
  const auto out = ebb::evaluate(g, {x, b}, {});
  CHECK(ebb::from_cell<double>(out[0][0]) == 90 - 12);
  for (int i = 0; i < 6; ++i) CHECK(out[1][i] == b[i % 2]);
  CHECK(ebb::from_cell<double>(out[2][0]) == 9);
  CHECK(ebb::from_cell<double>(out[2][1]) == 12);
}

TEST_CASE("a map works within a map, and may return numbers") {
  const auto f = [](auto x) { return ebb::map([](auto row) { return ebb::map([](auto e) { return e * e; }, row); }, x); };
  const ebb::graph g = ebb::trace_of<decltype(f), ebb::term<float, 2, 2>>::make();
  ebb::cell_array x;
  for (float v : {1.f, 2.f, 3.f, -4.f}) x.push(ebb::to_cell(v));
  const auto out = ebb::evaluate(g, {x}, {});
  const float squares[] = {1, 4, 9, 16};
  for (int i = 0; i < 4; ++i) CHECK(ebb::from_cell<float>(out[0][i]) == squares[i]);
}

}  // namespace

// test/pass/jacobian.cpp — the graph of all derivatives of a graph: of each output with respect to each named argument.
// SPDX-License-Identifier: BSL-1.0
#include "../build.hpp"
#include "../catch.hpp"

#include <ebb/pass/jacobian.hpp>

namespace {

using test::graph;
using test::n;

/// The sum of x y, x y itself, and whether y is below x.
graph products() {
  return test::build([](test::builder& b) {
    const auto x = b.in<double>({n}), y = b.in<double>({n});
    const auto p = x * y;
    return b.returns(ebb::sum_over(p, 1), p, ebb::less(y, x));
  });
}

}  // namespace

TEST_CASE("a jacobian is one pull of all unit seeds at once") {
  const graph square = test::build([](test::builder& b) {
    const auto x = b.in<double>({n});
    return b.returns(x * x);
  });
  const graph j = ebb::jacobian<double>(square, {0});
  CHECK(test::error_text(j) == "");
  CHECK(ebb::to_string(j) ==
        "a = input 0 : f64[n]\nb = index along 0 : i64[n, n]\nc = index along 1 : i64[n, n]\nd = equal b c : bool[n, n]\n"
        "e = cast d : f64[n, n]\nf = broadcast a along 0 : f64[n, n]\ng = mul e f : f64[n, n]\nh = add g g : f64[n, n]\nreturn h\n");
}

TEST_CASE("a jacobian has one array for each output and argument, and zeros for bool outputs") {
  const graph j = ebb::jacobian<double, double, bool>(products(), {0, 1});
  CHECK(test::error_text(j) == "");
  ebb::extent_list two;
  two.rank = 1;
  two.e[0] = 2;
  const auto cells = [](std::initializer_list<double> values) {
    ebb::cell_array r;
    for (const double v : values) r.push(ebb::to_cell(v));
    return r;
  };
  const auto out = ebb::evaluate(j, {cells({3, 5}), cells({7, 11})}, ebb::symbol_values(j, {two, two}));
  REQUIRE(out.size() == 6);
  CHECK(out[0] == cells({7, 11}));  // d sum / dx
  CHECK(out[1] == cells({3, 5}));
  CHECK(out[2] == cells({7, 0, 0, 11}));
  CHECK(out[3] == cells({3, 0, 0, 5}));
  CHECK(out[4] == cells({0, 0, 0, 0}));
  CHECK(out[5] == out[4]);
}

TEST_CASE("a jacobian with too many axes is refused") {
  const auto refused = [](std::initializer_list<int> extents, bool sums) {
    const graph g = test::build([&](test::builder& b) {
      const auto x = b.in<double>(extents);
      return b.returns(sums ? ebb::sum_over(x * x, (1 << extents.size()) - 1) : x * x);
    });
    return ebb::jacobian<double>(g, {0}).out[0] < 0;
  };
  CHECK_FALSE(refused({1, 1, 1, 2}, false));
  CHECK(refused({1, 1, 1, 1, 2}, false));
  CHECK_FALSE(refused({1, 1, 1, 1, 2}, true));
  CHECK(refused({1, 1, 1, 1, 1, 1, 1, 2}, false));
}

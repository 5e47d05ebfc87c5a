// test/op/gather.cpp — rows by their numbers, and one_hot.
// SPDX-License-Identifier: BSL-1.0
#include "golden.hpp"

namespace {

using golden::of;
using golden::real;

TEST_CASE("gathers give PyTorch's recorded values, and a row taken twice gets both gradients") {
  using table = of<real, 3, 4>;
  using rows = of<real, ebb::dyn, 4>;
  using indices = of<std::int64_t, ebb::dyn>;
  const auto take = [](auto x, auto i) { return ebb::take(x, i); };
  golden::check<table, indices>("shapes", "index_select_repeated", take, {.grad = 1});
  golden::check<rows, of<std::int64_t, 6>>("shapes", "index_advanced", take, {.grad = 1});
  golden::check<rows, of<std::int64_t, 1, 6>>("shapes", "embedding", take, {.grad = 1});
  golden::check<indices>("shapes", "one_hot", [](auto i) { return ebb::one_hot<3>(i); });
}

TEST_CASE("the gradient of a gather can be differentiated again") {
  // sum((x[i])^2): the Hessian is diagonal, with 2 for each time that a row is taken.
  const auto f = [](auto x, auto i) { return ebb::sum(ebb::square(ebb::take(x, i))); };
  ebb::graph g = ebb::value_and_gradient(ebb::trace_of<decltype(f), ebb::term<double, 3>, ebb::term<std::int32_t, 4>>::make(), {0});
  const int ones = g.op(g.out[1]).kit->literal(g, g.eq[g.out[1]].shape, 1), x = g.input(0);
  g.out.push(ebb::pull_back(g, {x}, {g.out[1]}, {ones})[0]);
  ebb::cell_array values, indices;
  for (double v : {3., -1., 2.}) values.push(ebb::to_cell(v));
  for (int i : {2, 0, 2, 2}) indices.push(ebb::to_cell(std::int32_t{i}));
  const auto out = ebb::evaluate(ebb::prune(g), {values, indices}, {});
  CHECK(ebb::from_cell<double>(out[0][0]) == 21);
  const double gradient[] = {6, 0, 12}, second[] = {2, 0, 6};
  for (int i = 0; i < 3; ++i) {
    CHECK(ebb::from_cell<double>(out[1][i]) == gradient[i]);
    CHECK(ebb::from_cell<double>(out[2][i]) == second[i]);
  }
}

}  // namespace

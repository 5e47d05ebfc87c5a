// test/sparse/dependence.cpp — random programs: no derivative differs from zero outside of the sets, which are smaller than everything.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>
#include <ebb/sparse.hpp>

#include "../catch.hpp"
#include "../exec/random_program.hpp"
#include "../exec/run_random.hpp"

#include <algorithm>
#include <cmath>

namespace {

/// The number that a cell of a float type holds.
double number_in(ebb::dtype d, ebb::cell c) { return d == ebb::dtype::f32 ? ebb::from_cell<float>(c) : ebb::from_cell<double>(c); }
ebb::cell cell_of_one(ebb::dtype d) { return d == ebb::dtype::f32 ? ebb::to_cell(1.0f) : ebb::to_cell(1.0); }

}  // namespace

TEST_CASE("derivatives of random programs are zero outside of what their elements depend on") {
  std::size_t tried = 0, inside = 0, found = 0, all = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const test::random_program p = test::make_random(seed, {.equations = 14, .largest = 40, .longest = 12, .moves = seed % 2 == 0});
    const auto arguments = test::random_arguments(p, seed);
    for (int wrt = 0; wrt < p.types.size(); ++wrt) {
      if (p.types[wrt] != ebb::dtype::f32 && p.types[wrt] != ebb::dtype::f64) continue;
      ebb::graph g = p.g;
      const int out = g.out[static_cast<int>(seed % static_cast<std::uint64_t>(g.out.size()))];
      const ebb::dtype type = g.op(out).result;
      if (type != ebb::dtype::f32 && type != ebb::dtype::f64) continue;
      g.out = {out};
      if (ebb::first_without_pull(g, {wrt}, true) >= 0) continue;
      const ebb::detail::dependence_finder sets(g, {wrt}, p.arguments, arguments);
      const ebb::graph pushed = ebb::push_forward(g, {wrt});
      ebb::vec<ebb::extent_list> extents = p.arguments;
      extents.push(p.arguments[wrt]);
      auto cells = arguments;
      cells.push(ebb::cell_array(arguments[wrt].size(), 0));
      const ebb::vec<std::size_t> symbols = ebb::symbol_values(pushed, extents, cells);
      ++tried;
      for (int j = 0; j < arguments[wrt].size(); ++j) {
        cells[cells.size() - 1] = ebb::cell_array(arguments[wrt].size(), 0);
        cells[cells.size() - 1][j] = cell_of_one(p.types[wrt]);
        const auto along = ebb::evaluate(pushed, cells, symbols)[1];
        REQUIRE(static_cast<std::size_t>(along.size()) == sets.output(0).size());
        for (std::size_t i = 0; i < sets.output(0).size(); ++i) {
          const double d = number_in(type, along[static_cast<int>(i)]);
          const bool in = std::binary_search(sets.output(0).begin(i), sets.output(0).end(i), static_cast<std::uint32_t>(j));
          ++all;
          inside += in;
          if (!std::isfinite(d) || d == 0) continue;
          ++found;
          if (!in) FAIL("seed " << seed << ", argument " << wrt << ": element " << i << " depends on " << j << "\n" << ebb::to_string(g));
        }
      }
    }
  }
  CHECK(tried > 150);
  CHECK(found > 1000);
  CHECK(2 * inside < all);
}

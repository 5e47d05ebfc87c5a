// test/plan/columns.cpp — loads of a loop that are columns of one array, and are loaded together.
// SPDX-License-Identifier: BSL-1.0
// covers: columns.hpp
#include <ebb/plan/print.hpp>

#include "../build.hpp"
#include "../catch.hpp"

#include <vector>

namespace {

using test::n;

/// The plan of the sum of these columns of an array [n, extent], or of elements with the step `extent` of a line.
ebb::plan sum_of_columns(int extent, const std::vector<int>& columns, bool of_line = false) {
  return ebb::make_plan(test::build([&](test::builder& b) {
    const auto x = of_line ? b.in({40 * extent}) : b.in({n, extent});
    auto sum = b.in({40});
    bool is_first = true;
    for (const int c : columns) {
      ebb::shape s;
      s.push(of_line ? 40 : x.extents().e[0]);
      if (!of_line) s.push(1);
      const ebb::stride by{of_line ? 0 : 1, c, of_line ? extent : 1};
      const auto column = ebb::slice_as(x, by, x.g->intern(s));
      sum = is_first ? -column : sum + column;
      is_first = false;
    }
    return b.returns(sum);
  }));
}

}  // namespace

TEST_CASE("columns that lie side by side are one group, if the first and the last of a row are among them") {
  for (const int extent : {2, 3, 4})
    for (const bool of_line : {false, true}) {
      CAPTURE(extent, of_line);
      std::vector<int> all;
      for (int c = 0; c < extent; ++c) all.push_back(c);
      const ebb::plan p = sum_of_columns(extent, all, of_line);
      REQUIRE(p.columns.size() == 1);
      const ebb::nest_columns& g = p.columns[0];
      CHECK(g.step == extent);
      CHECK(g.leader() == 0);
      for (int c = 0; c < extent; ++c) CHECK(p.loads[g.load[c]].columns == 0);
    }
  const ebb::plan with_gap = sum_of_columns(4, {3, 0});
  REQUIRE(with_gap.columns.size() == 1);
  CHECK((with_gap.columns[0].load[0] == 1 && with_gap.columns[0].load[1] < 0 && with_gap.columns[0].load[3] == 0));
}

TEST_CASE("other columns are loaded alone") {
  CHECK(sum_of_columns(3, {1, 2}).columns.empty());           // an element before the first row would be read
  CHECK(sum_of_columns(3, {0, 1}).columns.empty());           // or one after the last
  CHECK(sum_of_columns(5, {0, 1, 2, 3, 4}).columns.empty());  // rows of five
  CHECK(sum_of_columns(2, {0, 3}, true).columns.empty());     // not of one row
}

// test/explain/formula.cpp — formulas of extents: sums, products, numbers in units.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/explain/formula.hpp>

namespace {

using ebb::formula;
const formula rows = formula::named("n"), columns = formula::named("m");

}  // namespace

TEST_CASE("a formula has products of more extents first, and equal products once") {
  formula f = formula(12) + formula(4) * columns * rows;
  f += formula(256) * rows;
  f += formula(-1) * columns;
  CHECK(f.text() == "4*n*m + 256*n - m + 12");
  f += formula(4) * rows * columns;
  CHECK(f.text() == "8*n*m + 256*n - m + 12");
  CHECK((rows * rows).text() == "n*n");
  CHECK((formula(-2) * rows).text() == "-2*n");
  CHECK((formula(2.0 / 3) * rows).text() == "0.6667*n");
  CHECK(!f.is_number());
}

TEST_CASE("what cancels is not there") {
  formula f = rows + formula(-1) * rows;
  CHECK(f.is_number());
  CHECK(f.number() == 0);
  CHECK(f == formula());
  CHECK(f.text() == "0");
  CHECK((formula(0) * rows).is_number());
}

TEST_CASE("bytes and operations have units when they are large") {
  CHECK(formula().bytes() == "0 bytes");
  CHECK(formula(1).bytes() == "1 byte");
  CHECK(formula(9999).bytes() == "9999 bytes");
  CHECK(formula(10000).bytes() == "10.0 kB");
  CHECK(formula(999400).bytes() == "999 kB");
  CHECK(formula(999600).bytes() == "1.00 MB");
  CHECK(formula(25.44e9).bytes() == "25.4 GB");
  CHECK((formula(4) * rows).bytes() == "4*n bytes");
  CHECK(formula(1).operations() == "1 operation");
  CHECK(formula(123456).operations() == "123456 operations");
  CHECK(formula(1.5e6).operations() == "1.50 million operations");
  CHECK(formula(7e12).operations() == "7.00 trillion operations");
}

TEST_CASE("extents that are computed from others are formulas of them") {
  ebb::graph g;
  const int n = g.syms.fresh({ebb::extent_rule::argument, 0, 0}), m = g.syms.fresh({ebb::extent_rule::argument, 0, 1});
  const int same = g.syms.fresh({ebb::extent_rule::argument, 1, 0});
  g.syms.unify(same, m);
  const int sum = g.syms.derive(ebb::extent_rule::sum, n, 3), product = g.syms.derive(ebb::extent_rule::product, sum, m);
  const int half = g.syms.derive(ebb::extent_rule::quotient, n, 2), least = g.syms.derive(ebb::extent_rule::least, n, m);
  const int rest = g.syms.derive(ebb::extent_rule::after, n, 4), before = g.syms.derive(ebb::extent_rule::before, m, 1);
  const int rest_of_three = g.syms.derive(ebb::extent_rule::remainder, 3, n);
  const auto text = [&](const std::map<int, formula>& known, int e) { return ebb::extent_formulas(g, known).of(e).text(); };
  CHECK(text({}, product) == "n*m + 3*m");
  CHECK(text({}, half) == "ceil(n / 2)");
  CHECK(text({}, least) == "min(n, m)");
  CHECK(text({}, rest_of_three) == "(3 mod n)");
  CHECK(text({}, rest) == "n - 5");
  CHECK(text({}, before) == "m - 1");
  CHECK(text({}, same) == "m");
  const std::map<int, formula> known{{0, 7}, {1, 5}};
  CHECK(text(known, product) == "50");
  CHECK(text(known, half) == "4");
  CHECK(text(known, least) == "5");
  CHECK(text({{1, 5}}, product) == "5*n + 15");
  ebb::shape s;
  s.push(n);
  s.push(4);
  CHECK(ebb::extent_formulas(g, {}).text(s) == "[n, 4]");
  CHECK(ebb::extent_formulas(g, {}).bytes(s, ebb::dtype::f64).text() == "32*n");
}

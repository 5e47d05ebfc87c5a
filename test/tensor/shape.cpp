// test/tensor/shape.cpp — extents that are derived from others and unified, against a search through all of them.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/tensor/shape.hpp>

#include <random>
#include <vector>

namespace {

using ebb::extent_origin;
using ebb::extent_rule;

/// What `symbols` promises, without tables.
struct symbols_by_search {
  struct item {
    int parent = 0, bound = -1;
    extent_origin origin;
  };
  std::vector<item> items;

  int fresh(extent_origin origin) {
    items.push_back({static_cast<int>(items.size()), -1, origin});
    return ~(static_cast<int>(items.size()) - 1);
  }
  item& at(int e) { return items[static_cast<std::size_t>(~e)]; }
  int find(int e) {
    if (e >= 0) return e;
    while (at(e).parent != ~e) e = ~at(e).parent;
    return at(e).bound >= 0 ? at(e).bound : e;
  }
  bool unify(int a, int b) {
    a = find(a);
    b = find(b);
    if (a == b || (a >= 0 && b >= 0)) return a == b;
    if (a < b) std::swap(a, b);
    if (a >= 0) at(b).bound = a;
    else at(b).parent = ~a;
    return true;
  }
  int derive(extent_rule rule, int a, int b) {
    a = find(a);
    b = find(b);
    if (a >= 0 && b >= 0) return static_cast<int>(ebb::apply(rule, a, b));
    if (rule == extent_rule::product && a == 1) return b;
    if ((rule == extent_rule::product || rule == extent_rule::quotient) && b == 1) return a;
    if (rule == extent_rule::difference && b == 0) return a;
    if (rule == extent_rule::sum) {
      if (a == 0 || b == 0) return a == 0 ? b : a;
      for (const auto& [rest, other] : {std::pair(a, b), std::pair(b, a)})
        if (rest < 0 && at(rest).origin.rule == extent_rule::difference && find(at(rest).origin.b) == other) {
          const int whole = find(at(rest).origin.a);
          if (whole != 0) return whole;
        }
    }
    for (std::size_t i = 0; i < items.size(); ++i)
      if (items[i].origin.rule == rule && find(items[i].origin.a) == a && find(items[i].origin.b) == b) return find(~static_cast<int>(i));
    return fresh({rule, a, b});
  }
};

constexpr bool finds_what_was_unified() {
  ebb::symbols s;
  const int a = s.fresh({extent_rule::argument, 0, 0}), b = s.fresh({extent_rule::argument, 1, 0});
  const int twice_a = s.derive(extent_rule::product, a, 2), twice_b = s.derive(extent_rule::product, b, 2);
  const bool apart = twice_a != twice_b && s.derive(extent_rule::product, b, 2) == twice_b;
  s.unify(a, b);
  return apart && s.derive(extent_rule::product, b, 2) == twice_a && s.derive(extent_rule::sum, b, a) == s.derive(extent_rule::sum, a, a);
}
static_assert(finds_what_was_unified());

constexpr bool finds_the_whole() {
  ebb::symbols s;
  const int n = s.fresh({extent_rule::argument, 0, 0}), turn = s.derive(extent_rule::remainder, 3, n);
  const int rest = s.derive(extent_rule::difference, n, turn), but_one = s.derive(extent_rule::difference, n, 1);
  return s.derive(extent_rule::sum, turn, rest) == n && s.derive(extent_rule::sum, rest, turn) == n &&
         s.derive(extent_rule::sum, rest, rest) != n && s.derive(extent_rule::sum, 1, but_one) == n &&
         s.derive(extent_rule::sum, but_one, 2) != n && s.derive(extent_rule::sum, 0, n) == n &&
         s.derive(extent_rule::sum, turn, 0) == turn && s.is_difference(rest, n, turn) && !s.is_difference(rest, n, 3) &&
         !s.is_difference(n, n, turn);
}
static_assert(finds_the_whole());
static_assert(ebb::apply(extent_rule::remainder, 7, 3) == 1 && ebb::apply(extent_rule::remainder, 7, 0) == 0);

constexpr bool is_root(std::int64_t n, std::int64_t root) { return ebb::apply(extent_rule::root, n, 0) == root; }
static_assert(is_root(0, 1) && is_root(1, 1) && is_root(2, 2) && is_root(4, 2) && is_root(5, 3) && is_root(100, 10) && is_root(101, 11));
static_assert(is_root(2147483647, 46341) && is_root(46340LL * 46340, 46340) && is_root(46340LL * 46340 + 1, 46341));

}  // namespace

TEST_CASE("tensor/shape: of equal extents derived from equal ones the first is found, in any order of unifying") {
  constexpr extent_rule rules[] = {extent_rule::sum, extent_rule::difference, extent_rule::product, extent_rule::quotient};
  int derived_again = 0, of_unified = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    ebb::symbols s;
    symbols_by_search expected;
    const auto extent = [&] { return s.count() == 0 || below(5) == 0 ? 1 + below(3) : ~below(s.count()); };
    for (int step = 0; step < 120; ++step) {
      const int a = extent(), b = extent(), what = below(10);
      if (what == 0) CHECK(s.fresh({extent_rule::argument, step, 0}) == expected.fresh({extent_rule::argument, step, 0}));
      else if (what < 3) {
        // Numbers for few of them, or soon all are.
        if (s.find(a) >= 0 && below(6) != 0) continue;
        CHECK(s.unify(a, b) == expected.unify(a, b));
        ++of_unified;
      } else if (what == 3 && below(4) == 0) s = ebb::symbols(s);
      else {
        const extent_rule rule = rules[below(4)];
        const int count = s.count();
        CHECK(s.derive(rule, a, b) == expected.derive(rule, a, b));
        derived_again += s.count() == count && (s.find(a) < 0 || s.find(b) < 0);
      }
    }
    REQUIRE(s.count() == static_cast<int>(expected.items.size()));
    for (int i = 0; i < s.count(); ++i) CHECK(s.find(~i) == expected.find(~i));
  }
  CHECK(derived_again > 1000);
  CHECK(of_unified > 1000);
}

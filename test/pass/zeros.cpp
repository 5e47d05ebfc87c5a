// test/pass/zeros.cpp — additions of +0 that go and those that stay, and that no bit changes.
// SPDX-License-Identifier: BSL-1.0

#include <ebb/pass/zeros.hpp>

#include "../catch.hpp"
#include "random_graph.hpp"

#include <ebb/op/compare.hpp>

#include <algorithm>
#include <vector>

using test::graph;
using test::n;

namespace {

/// How many additions of +0 a graph of f(x, y, c) has before the pass, less those that it has after it. The results have the same bits.
int gone(auto f) {
  const graph g = ebb::prune(test::build([&](test::builder& b) { return f(b, b.in<double>({n}), b.in<double>({n}), b.in<bool>({n})); }));
  const graph r = ebb::prune(ebb::without_added_zeros(g));
  INFO("before:\n" << ebb::to_string(g) << "after:\n" << ebb::to_string(r));
  CHECK(test::error_text(r) == "");
  for (std::uint64_t seed = 0; seed < 40; ++seed) CHECK(test::difference(g, r, test::random_call(g, seed, 7)) == "");
  const auto sums = [](const graph& x) {
    int count = 0;
    for (int k = 0; k < x.size(); ++k) count += x.op(k).family == ebb::family_of<ebb::op::add>;
    return count;
  };
  return sums(g) - sums(r);
}
#define EBB_GONE(...) gone([](test::builder& b, auto x, auto y, auto c) { (void)x, (void)y, (void)c; return b.returns(__VA_ARGS__); })

auto selected(auto c, auto x, auto y) { return ebb::emit_on<ebb::op::where>({}, c, x, y); }
auto squared(auto x) { return ebb::emit_on<ebb::op::square>({}, x); }

}  // namespace

TEST_CASE("what is never -0 needs no addition of +0") {
  CHECK(EBB_GONE((x + 0.0) + 0.0) == 1);
  CHECK(EBB_GONE(squared(x) + 0.0) == 1);
  CHECK(EBB_GONE(0.0 + ebb::abs(x)) == 1);
  CHECK(EBB_GONE((squared(x) + y) + 0.0) == 1);
  CHECK(EBB_GONE((1 - x) + 0.0) == 1);
  CHECK(EBB_GONE((squared(x) - y) + 0.0) == 1);
  CHECK(EBB_GONE(selected(c, squared(x), ebb::abs(y)) + 0.0) == 1);
  CHECK(EBB_GONE(x + 0.0) == 0);
  CHECK(EBB_GONE(x * x + 0.0) == 0);  // a square is a square by its op
  CHECK(EBB_GONE((x - squared(y)) + 0.0) == 0);
  CHECK(EBB_GONE(selected(c, squared(x), y) + 0.0) == 0);
  CHECK(EBB_GONE(-squared(x) + 0.0) == 0);
}

TEST_CASE("an addition of +0 goes if no result shows its sign") {
  CHECK(EBB_GONE((x + 0.0) + squared(y)) == 1);
  CHECK(EBB_GONE(squared(y) - (x + 0.0)) == 1);
  CHECK(EBB_GONE(squared(x + 0.0), ebb::abs(y + 0.0)) == 2);
  CHECK(EBB_GONE(ebb::less(x + 0.0, y), ebb::equal(x, y + 0.0)) == 2);
  CHECK(EBB_GONE((((x + 0.0) * y + y) / ebb::abs(y) - x) + 0.0) == 1);
  CHECK(EBB_GONE(squared(selected(c, -(x + 0.0), y + 0.0))) == 2);
  CHECK(EBB_GONE((x + 0.0) * y) == 0);
  CHECK(EBB_GONE((x + 0.0) + y) == 0);
  CHECK(EBB_GONE(squared(x / (y + 0.0)) + 0.0) == 1);  // the outer one: the inverse of a zero has its sign
  CHECK(EBB_GONE(squared(ebb::exp(y / (x + 0.0)))) == 0);
}

TEST_CASE("a term that hides the sign of the other one keeps its own") {
  CHECK(EBB_GONE((x + 0.0) + (y + 0.0)) == 1);
  CHECK(EBB_GONE(((x + 0.0) + (y + 0.0)) + 0.0) == 2);
  CHECK(EBB_GONE((x + 0.0) + ((y + 0.0) + 0.0)) == 2);
  CHECK(EBB_GONE(((x + 0.0) + y) + (x + (y + 0.0))) == 1);
}

TEST_CASE("random graphs without added zeros have the same bits") {
  int fewer = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    const graph g = ebb::prune(test::random_graph_of(seed, 40).take()), r = ebb::prune(ebb::without_added_zeros(g));
    REQUIRE(test::error_text(r) == "");
    fewer += r.size() < g.size();
    for (std::uint64_t i = 0; i < 3; ++i) CHECK(test::difference(g, r, test::random_call(g, seed * 3 + i)) == "");
  }
  CHECK(fewer > 10);
}

TEST_CASE("random sums, products and selections with many zeros have the same bits") {
  int fewer = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    const graph g = ebb::prune(test::build([&](test::builder& b) {
      test::random r{seed};
      std::vector<test::operand<double>> known = {b.in<double>({n}), b.in<double>({n}), b.in<double>({n})};
      const auto any = [&] {
        return known[known.size() - 1 - static_cast<std::size_t>(r.below(std::min(6, static_cast<int>(known.size()))))];
      };
      for (int i = 0; i < 30; ++i) {
        const auto x = any(), y = any();
        switch (r.below(11)) {
          case 0: case 1: known.push_back(x + y); break;
          case 2: known.push_back(x - y); break;
          case 3: known.push_back(x * y); break;
          case 4: known.push_back(r.chance(3) ? squared(x) : -x); break;
          case 5: known.push_back(selected(ebb::less(x, y), x, y)); break;
          case 6: known.push_back(r.chance(3) ? x / y : ebb::abs(x)); break;
          case 7: known.push_back(0.0 + x); break;
          default: known.push_back(x + 0.0);
        }
      }
      b.g.out.push(any().id);
      return b.returns(known.back());
    }));
    const graph r = ebb::prune(ebb::without_added_zeros(g));
    REQUIRE(test::error_text(r) == "");
    fewer += g.size() - r.size();
    for (std::uint64_t i = 0; i < 4; ++i) CHECK(test::difference(g, r, test::random_call(g, seed * 4 + i, 9)) == "");
  }
  CHECK(fewer > 1000);
}

// test/graph/splice.cpp — the end of a trace: extents found to be equal make their shapes and equations equal.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/functional.hpp>

namespace {

constexpr auto dyn = ebb::dyn;
using vector = ebb::term<float, dyn>;

int count(const ebb::graph& g, std::string_view name) {
  int n = 0;
  for (int k = 0; k < g.size(); ++k) n += g.op(k).name == name;
  return n;
}
/// An op of a user, with the name of one of the library's.
struct other_mul : ebb::elementwise<2> {
  static constexpr std::string_view name = "mul";
  static constexpr auto value(auto x, auto y) { return x + y; }
};
/// Whether adding all equations of g again, with their current shapes, gives the same graph.
bool is_canonical(const ebb::graph& g) {
  for (int i = 0; i < g.shapes.size(); ++i) {
    if (!(g.syms.find(g.shapes[i]) == g.shapes[i])) return false;
    for (int j = 0; j < i; ++j)
      if (g.shapes[i] == g.shapes[j]) return false;
  }
  ebb::graph again;
  again.shapes = g.shapes;
  for (int k = 0; k < g.size(); ++k)
    if (again.add(g.eq[k], g.operands(k)) != k) return false;
  return true;
}

TEST_CASE("equations that differ only in extents found to be equal become one") {
  constexpr auto f = [](auto x, auto w) {
    auto before = ebb::exp(w * 0.5);
    auto both = x + w;
    return ebb::sum(before + both * ebb::exp(w * 0.5));
  };
  const ebb::graph g = ebb::trace_of<decltype(f), vector, vector>::make();
  CHECK(is_canonical(g));
  CHECK(g.shapes.size() == 2);
  CHECK(count(g, "literal") == 1);
  CHECK(count(g, "exp") == 1);
  CHECK(g.out.size() == 1);
  CHECK(g.out[0] == g.size() - 1);
}

TEST_CASE("if no equations become equal, shapes are renumbered and equations stay") {
  constexpr auto f = [](auto x, auto w) {
    auto before = ebb::tanh(w) * 2;
    return ebb::sum(before * (x + w));
  };
  const ebb::graph g = ebb::trace_of<decltype(f), vector, vector>::make();
  CHECK(is_canonical(g));
  CHECK(g.shapes.size() == 2);
  CHECK(g.shape_of(0) == g.shape_of(1));
  CHECK(count(g, "literal") == 1);
  const ebb::graph same = ebb::canonical_shapes(g);
  REQUIRE(same.size() == g.size());
  for (int k = 0; k < g.size(); ++k) CHECK((same.eq[k].shape == g.eq[k].shape && same.eq[k].op == g.eq[k].op));
}

TEST_CASE("an extent found to be a number makes shapes equal too") {
  constexpr auto f = [](auto x, auto w) {
    auto before = ebb::exp(w * 0.5);
    return ebb::sum((x + w) * before + ebb::exp(x * 0.5) + w * 0.5);
  };
  const ebb::graph g = ebb::trace_of<decltype(f), ebb::term<float, 4>, vector>::make();
  CHECK(is_canonical(g));
  CHECK(g.shapes.size() == 2);
  CHECK(count(g, "literal") == 1);
  CHECK(count(g, "exp") == 2);
}

TEST_CASE("the value of an argument is an extent, also times 1; an op of a user that is called mul computes something else") {
  ebb::graph g;
  const ebb::operand<std::int64_t> n{&g, ebb::emit_as<ebb::op::input, std::int64_t>(g, g.intern({}), {}, {0})};
  const int extent = ebb::value_as_extent(g, n.id);
  REQUIRE(extent < 0);
  CHECK(extent != ebb::computed_extent);
  const auto one = ebb::literal_like(n, 1);
  CHECK(ebb::value_as_extent(g, one.id) == 1);
  CHECK(ebb::value_as_extent(g, ebb::emit_on<ebb::op::mul>({}, one, n).id) == extent);
  CHECK(ebb::value_as_extent(g, ebb::emit_on<other_mul>({}, one, n).id) == ebb::computed_extent);
  CHECK(ebb::value_as_extent(g, ebb::emit_on<ebb::op::add>({}, one, n).id) == ebb::computed_extent);
}

}  // namespace

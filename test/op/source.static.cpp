// test/op/source.static.cpp — literals take the dtype and shape of the operand beside them; indices are integers along one axis.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/op/source.hpp>

#include <ebb/op/arithmetic.hpp>

namespace {

using namespace ebb;

constexpr int row_of(graph& g, int extent) {
  shape s;
  s.push(extent);
  return g.intern(s);
}

/// Whether a literal beside an argument of T and three elements has these bits, and the argument's dtype and shape.
template <class T>
constexpr bool literal_is(auto value, T expected) {
  graph g;
  const int shape = row_of(g, 3);
  const operand<T> x{&g, emit_as<op::input, T>(g, shape, {}, {0})};
  const operand<T> l = literal_like(x, value);
  const equation& e = g.eq[l.id];
  return e.op->what == kind::literal && e.op->result == dtype_of<T> && e.shape == shape &&
         e.attr[0] == static_cast<std::int64_t>(to_cell(expected));
}
static_assert(literal_is<float>(2, 2.f));
static_assert(literal_is<float>(0.1, 0.1f));  // rounded once, to the operand's dtype
static_assert(literal_is<double>(0.1, 0.1));
static_assert(literal_is<double>(-0.0, -0.0));
static_assert(!literal_is<double>(-0.0, 0.0));
static_assert(literal_is<std::int64_t>(-7, std::int64_t{-7}));
static_assert(literal_is<bfloat16>(1.0, bfloat16(1.f)));
static_assert(literal_is<float16>(0.1, float16(0.1f)));

static_assert([] {  // a literal of the same bits is one equation
  graph g;
  const operand<float> x{&g, emit_as<op::input, float>(g, row_of(g, 3), {}, {0})};
  return literal_like(x, 2).id == literal_like(x, 2.0).id && literal_like(x, 2).id != literal_like(x, 3).id;
}());

static_assert([] {
  graph g;
  shape s;
  s.push(2);
  s.push(5);
  const operand<std::int64_t> i = index_along<std::int64_t>(g, g.intern(s), 1);
  const equation& e = g.eq[i.id];
  return e.op->what == kind::index && e.op->result == dtype::i64 && e.attr[0] == 1 && g.shapes[e.shape].rank == 2;
}());

}  // namespace

// test/pass/simplify.static.cpp — every pass in a constant expression, and the requirements on rules.
// SPDX-License-Identifier: BSL-1.0
#include "../build.hpp"

#include <ebb/op/exponential.hpp>
#include <ebb/op/extremum.hpp>
#include <ebb/pass/pipeline.hpp>
#include <ebb/pass/lower.hpp>
#include <ebb/pass/partition.hpp>

namespace {

using test::graph;
using test::n;

constexpr graph made() {
  return test::build([](test::builder& b) {
    const auto x = b.in<double>({n}), y = b.in<double>({n});
    return b.returns(ebb::sum_over(ebb::exp(-(-x)) * 1 - -(y / 1), 1));
  });
}
constexpr bool same(const graph& a, const graph& b) {
  if (a.size() != b.size() || !(a.out == b.out)) return false;
  for (int k = 0; k < a.size(); ++k) {
    if (a.op(k).id != b.op(k).id || a.eq[k].count != b.eq[k].count || !(a.shape_of(k) == b.shape_of(k))) return false;
    for (int j = 0; j < a.eq[k].count; ++j)
      if (a.operand(k, j) != b.operand(k, j)) return false;
  }
  return true;
}

static_assert(same(ebb::prune(ebb::simplify(made())), test::build([](test::builder& b) {
  const auto x = b.in<double>({n}), y = b.in<double>({n});
  return b.returns(ebb::sum_over(ebb::exp(x) + y, 1));
})));
static_assert(!ebb::first_error(ebb::simplify(made())));
static_assert(ebb::lower(made()).size() == 5);
static_assert(ebb::value_and_gradient(made(), {0, 1}).out.size() == 3);
static_assert(!ebb::first_error(ebb::value_and_gradient(made(), {0, 1})));

constexpr bool halves_are_valid() {
  const ebb::halves h = ebb::partition(ebb::joint(made(), {0, 1}), 2, 1);
  return h.saved == 1 && !ebb::first_error(h.forward) && !ebb::first_error(h.backward);
}
static_assert(halves_are_valid());

// Folding leaves alone expressions that a constant expression may not compute.
constexpr graph quotient(double a, double b) {
  return test::build([&](test::builder& to) {
    const auto x = to.in<double>({});
    const auto p = ebb::literal_like(x, a), q = ebb::literal_like(x, b);
    return to.returns(p / q);
  });
}
constexpr int left(double a, double b) { return ebb::prune(ebb::simplify(quotient(a, b))).size(); }
static_assert(left(1, 3) == 2);
static_assert(left(1, 0) == 4);
static_assert(left(std::numeric_limits<double>::infinity(), 2) == 4);
static_assert(left(1e300, 1e-300) == 4);

// A rule is only accepted if it makes graphs smaller, whatever its wildcards match.
template <class L, class R>
constexpr bool smaller(L, R) {
  return ebb::rewriting::is_lighter(R::weighs, L::weighs);
}
namespace r = ebb::rewriting;
constexpr r::applied<ebb::op::sum> sum{};
static_assert(smaller(r::x * r::one, r::x));
static_assert(smaller(r::x - -r::y, r::x + r::y));
static_assert(smaller(sum(r::x * r::c0), sum(r::x) * r::fill(r::c0)));
static_assert(!smaller(r::x + r::y, r::y + r::x));
static_assert(!smaller(r::x * r::y, r::x * r::x * r::y));
static_assert(!smaller(r::x + r::y, r::x + r::x));
static_assert(!smaller(sum(r::x) * r::c0, sum(r::x * r::c0)));

}  // namespace

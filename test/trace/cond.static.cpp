// test/trace/cond.static.cpp — the types that cond and switch_ give, and the number of functions in a graph.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/trace/cond.hpp>
#include <ebb/trace/functions.hpp>

#include <tuple>

namespace {

using ebb::dyn;
using ebb::term;
using std::int32_t;
using std::int64_t;

template <class R, class... A, class F>
constexpr bool gives(F) {
  return std::is_same_v<typename ebb::trace_of<F, A...>::result, R>;
}
/// The number of guarded loops in the graph of F.
template <class... A, class F>
constexpr int guarded(F) {
  const ebb::graph g = ebb::trace_of<F, A...>::make();
  int n = 0;
  for (int k = 0; k < g.size(); ++k) n += g.op(k).what == ebb::kind::loop && ebb::loop_parts::of(g.eq[k]).guarded;
  return n;
}

constexpr auto twice = [](auto x, auto) { return x + x; };
constexpr auto product = [](auto x, auto y) { return x * y; };
constexpr auto same = [](auto x, auto) { return x; };
constexpr auto pairs = [](auto x, auto y) { return std::tuple(x, ebb::sum(y)); };
constexpr auto of_two = [](auto p, auto x, auto y) { return ebb::cond(p, twice, product, x, y); };
constexpr auto of_three = [](auto i, auto x, auto y) { return ebb::switch_<3>(i, twice, product, same, x, y); };

using row = term<float, 3>;
using rows = term<float, dyn, 3>;
static_assert(gives<row, term<bool>, row, row>(of_two));
static_assert(gives<row, term<int32_t>, row, row>(of_three) && gives<row, term<int64_t>, row, row>(of_three));
static_assert(gives<rows, term<int32_t>, rows, rows>(of_three));
static_assert(gives<std::tuple<row, term<double>>, term<int64_t>, row, term<double, 2>>([](auto i, auto x, auto y) {
  return ebb::switch_<1>(i, pairs, x, y);
}));
static_assert(gives<term<int32_t, 2>, term<int32_t, 2>>([](auto x) { return ebb::switch_<2>(1, twice, product, x, 3); }), "numbers");

static_assert(guarded<term<bool>, row, row>(of_two) == 2);
static_assert(guarded<term<int32_t>, row, row>(of_three) == 3);
// A map over the arrays keeps the guards; a map over the indices runs all functions.
static_assert(guarded<term<int32_t>, term<float, 5, 3>>([](auto i, auto x) {
  return ebb::map([](auto r, auto k) { return of_three(k, r, r); }, x, ebb::whole(i));
}) == 3);
static_assert(guarded<term<int32_t, 5>, term<float, 5, 3>>([](auto i, auto x) {
  return ebb::map([](auto k, auto r) { return of_three(k, r, r); }, i, x);
}) == 0);

}  // namespace

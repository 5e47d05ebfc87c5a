// test/stats/vector.fail.cpp — densities of vectors for operands without an axis.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/stats.hpp>

#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using row = ebb::term<float, 3>;
using number = ebb::term<float>;

[[maybe_unused]] constexpr int fits = traced_on<row, row>([](auto x, auto a) { return ebb::dirichlet_lpdf(x, a); });

#if EBB_CASE == 1
// EXPECT: E0490 categorical, multinomial, dirichlet: an operand has no axis, along which its classes lie
constexpr int refused = traced_on<row, number>([](auto x, auto a) {
  return ebb::dirichlet_lpdf(x, a);  // LINE
});
#endif

// test/special/gamma.fail.cpp — a multivariate gamma function without dimensions.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/special.hpp>

#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using row = ebb::term<float, 3>;

[[maybe_unused]] constexpr int fits = traced_on<row>([](auto x) { return ebb::mvlgamma<2>(x); });

#if EBB_CASE == 1
// EXPECT: E0451 mvlgamma<p>: p is from 1 to 32
constexpr int refused = traced_on<row>([](auto x) {
  return ebb::mvlgamma<0>(x);  // LINE
});
#endif

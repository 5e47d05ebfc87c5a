// test/special/elementary.fail.cpp — the next number of a narrow float.
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
using narrow = ebb::term<ebb::bf16, 3>;

[[maybe_unused]] constexpr int fits = traced_on<row>([](auto x) { return ebb::nextafter(x, 1); });

#if EBB_CASE == 1
// EXPECT: E0450 nextafter: bfloat16 and float16 are computed in float
constexpr int refused = traced_on<narrow>([](auto x) {
  return ebb::nextafter(x, x);  // LINE
});
#endif

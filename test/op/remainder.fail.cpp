// test/op/remainder.fail.cpp — round_to of more decimals than it knows.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using row = ebb::term<float, 3>;

constexpr int fits = traced_on<row>([](auto x) { return ebb::round_to<10>(x) + ebb::round_to<-10>(x); });

#if EBB_CASE == 1
// EXPECT: E0236 round_to<Decimals>: from -10 to 10 decimals
constexpr int refused = traced_on<row>([](auto x) {
  return ebb::round_to<11>(x);  // LINE
});
#elif EBB_CASE == 2
// EXPECT: E0236 round_to<Decimals>: from -10 to 10 decimals
constexpr int refused = traced_on<row>([](auto x) {
  return ebb::round_to<-11>(x);  // LINE
});
#endif

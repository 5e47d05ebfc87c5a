// test/op/gamma.fail.cpp — polygamma of orders that do not exist.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using row = ebb::term<float, 3>;

constexpr int fits = traced_on<row>([](auto x) { return ebb::polygamma<0>(x) + ebb::polygamma<3>(x); });

#if EBB_CASE == 1
// EXPECT: E0270 polygamma<n>: n is from 0, which is digamma, to 3
constexpr int refused = traced_on<row>([](auto x) {
  return ebb::polygamma<4>(x);  // LINE
});
#elif EBB_CASE == 2
// EXPECT: E0270 polygamma<n>: n is from 0, which is digamma, to 3
constexpr int refused = traced_on<row>([](auto x) {
  return ebb::polygamma<-1>(x);  // LINE
});
#endif

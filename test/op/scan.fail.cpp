// test/op/scan.fail.cpp — tags and axes that running sums and their relatives do not take.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using matrix = ebb::term<float, 3, 4>;

constexpr int fits = traced_on<matrix>([](auto x) { return ebb::cumsum<-2>(x, ebb::reversed, ebb::exclusive_scan); });

#if EBB_CASE == 1  // the axis as an argument
// EXPECT: E0283 cumsum, cumprod: after the array come tags
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::cumsum(x, 1);  // LINE
});
#elif EBB_CASE == 2  // an axis that does not exist
// EXPECT: E0103 there is no such axis
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::cumsum<2>(x);  // LINE
});
#elif EBB_CASE == 3  // a number has no axis
// EXPECT: E0103 there is no such axis
constexpr int refused = traced_on<ebb::term<float>>([](auto x) {
  return ebb::cumsum(x);  // LINE
});
#elif EBB_CASE == 4  // running maxima have no exclusive form
// EXPECT: E0364 cummax, cummin, logcumsumexp, linear_scan: the only tag is ebb::reversed
constexpr int refused = traced_on<matrix>([](auto x) {
  return std::get<0>(ebb::cummax(x, ebb::exclusive_scan));  // LINE
});
#endif

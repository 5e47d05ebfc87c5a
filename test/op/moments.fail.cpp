// test/op/moments.fail.cpp — tags that var, stddev and norm do not know, and weights that do not fit.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using matrix = ebb::term<float, 3, 4>;

constexpr int fits = traced_on<matrix>([](auto x) {
  return ebb::norm<0>(x, ebb::keep_dims, ebb::order<5, 2>) + ebb::stddev<0>(x, ebb::correction<0>, ebb::keep_dims);
});

#if EBB_CASE == 1  // a number where a tag is asked for
// EXPECT: E0280 var, stddev: behind the array come tags
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::var<1>(x, 0);  // LINE
});
#elif EBB_CASE == 2  // the tag of a norm
// EXPECT: E0280 var, stddev: behind the array come tags
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::stddev(x, ebb::order<1>);  // LINE
});
#elif EBB_CASE == 3  // an order that is a number
// EXPECT: E0281 norm: behind the array come tags
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::norm(x, 1);  // LINE
});
#elif EBB_CASE == 4  // 0 over 0
// EXPECT: E0281 norm: behind the array come tags
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::norm(x, ebb::order<0, 0>);  // LINE
});
#elif EBB_CASE == 5  // the largest of nothing
// EXPECT: E0116 the largest or smallest of no elements
constexpr int refused = traced_on<ebb::term<float, 3, 0>>([](auto x) {
  return ebb::norm<1>(x, ebb::order_inf);  // LINE
});
#elif EBB_CASE == 6  // an axis that is not there
// EXPECT: E0103 there is no such axis
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::var<2>(x);  // LINE
});
#endif

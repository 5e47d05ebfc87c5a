// test/op/moments.fail.cpp — tags that var, stddev and norm do not take, and axes that do not exist.
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

#if EBB_CASE == 1  // a number in place of a tag
// EXPECT: E0280 var, stddev: after the array come tags
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::var<1>(x, 0);  // LINE
});
#elif EBB_CASE == 2  // the tag of a norm
// EXPECT: E0280 var, stddev: after the array come tags
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::stddev(x, ebb::order<1>);  // LINE
});
#elif EBB_CASE == 3  // a number in place of an order
// EXPECT: E0281 norm: after the array come tags
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::norm(x, 1);  // LINE
});
#elif EBB_CASE == 4  // the order 0 / 0
// EXPECT: E0281 norm: after the array come tags
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::norm(x, ebb::order<0, 0>);  // LINE
});
#elif EBB_CASE == 5  // the largest of no elements
// EXPECT: E0116 the largest or smallest of no elements
constexpr int refused = traced_on<ebb::term<float, 3, 0>>([](auto x) {
  return ebb::norm<1>(x, ebb::order_inf);  // LINE
});
#elif EBB_CASE == 6  // an axis that does not exist
// EXPECT: E0103 there is no such axis
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::var<2>(x);  // LINE
});
#endif

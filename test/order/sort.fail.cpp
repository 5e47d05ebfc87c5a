// test/order/sort.fail.cpp — axes, counts and tags that functions of order refuse.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

#include <ebb/order.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using matrix = ebb::term<float, 3, 4>;

[[maybe_unused]] constexpr int fits = traced_on<matrix>([](auto x) { return ebb::topk<0, 3>(x, ebb::smallest); });

#if EBB_CASE == 1  // five of four elements
// EXPECT: E0360 topk, kthvalue: the axis has fewer elements than are asked for
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::kthvalue<1, 5>(x);  // LINE
});
#elif EBB_CASE == 2  // the tag of another function
// EXPECT: E0361 sort, argsort: after the array comes nothing, or the tag ebb::descending
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::argsort(x, ebb::smallest);  // LINE
});
#elif EBB_CASE == 3  // a number in place of a tag
// EXPECT: E0362 topk: after the array comes nothing, or the tag ebb::smallest
constexpr int refused = traced_on<matrix>([](auto x) {
  return std::get<0>(ebb::topk<0, 2>(x, true));  // LINE
});
#elif EBB_CASE == 4  // no element
// EXPECT: E0363 topk, kthvalue: at least one element is asked for
constexpr int refused = traced_on<matrix>([](auto x) {
  return std::get<0>(ebb::topk<0, 0>(x));  // LINE
});
#elif EBB_CASE == 5  // an axis that does not exist
// EXPECT: E0103 there is no such axis
constexpr int refused = traced_on<matrix>([](auto x) {
  return ebb::argsort<2>(x);  // LINE
});
#endif

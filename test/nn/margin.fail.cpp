// test/nn/margin.fail.cpp — operands that losses with a margin refuse.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>
#include <ebb/nn/margin.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using vectors = ebb::term<float, 4, 3>;
using number = ebb::term<float>;

[[maybe_unused]] constexpr int fits = traced_on<vectors, vectors>([](auto a, auto b) { return ebb::cosine_embedding(a, b, 1); });

#if EBB_CASE == 1  // a number has no direction
// EXPECT: E0488 cosine_embedding, triplet: vectors lie along the last axis
constexpr int refused = traced_on<vectors, number>([](auto a, auto b) {
  return ebb::cosine_embedding(a, b, 1);  // LINE
});
#elif EBB_CASE == 2  // the third power
// EXPECT: E0489 multi_margin: the power is 1 or 2; after two operands comes at most a margin
constexpr int refused = traced_on<vectors, ebb::term<std::int64_t, 4>>([](auto x, auto t) {
  return ebb::multi_margin<3>(x, t);  // LINE
});
#elif EBB_CASE == 3  // a norm of order 0
// EXPECT: E0537 triplet: the order of the norm is 1 or more; after three operands comes at most a margin
constexpr int refused = traced_on<vectors, vectors>([](auto a, auto b) {
  return ebb::triplet<0>(a, b, b);  // LINE
});
#elif EBB_CASE == 4  // two margins
// EXPECT: E0537 triplet: the order of the norm is 1 or more; after three operands comes at most a margin
constexpr int refused = traced_on<vectors, vectors>([](auto a, auto b) {
  return ebb::triplet(a, b, b, 1, 2);  // LINE
});
#elif EBB_CASE == 5  // two margins for classes
// EXPECT: E0489 multi_margin: the power is 1 or 2; after two operands comes at most a margin
constexpr int refused = traced_on<vectors, ebb::term<std::int64_t, 4>>([](auto x, auto t) {
  return ebb::multi_margin(x, t, 1, 2);  // LINE
});
#endif

// test/nn/embedding.fail.cpp — bags whose indices or offsets do not fit.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>
#include <ebb/nn/embedding.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using rows = ebb::term<float, 4, 3>;
using list = ebb::term<int, 5>;

[[maybe_unused]] constexpr int fits = traced_on<rows, list, ebb::term<int, 2>>([](auto x, auto k, auto o) {
  return ebb::embedding_bag<ebb::bag::sum>(x, k, o);
});

#if EBB_CASE == 1  // rows of indices have no offsets
// EXPECT: E0514 embedding_bag: the table has rows; indices and offsets are integers, with one axis each
constexpr int refused = traced_on<rows, ebb::term<int, 2, 5>, list>([](auto x, auto k, auto o) {
  return ebb::embedding_bag(x, k, o);  // LINE
});
#elif EBB_CASE == 2  // indices that are no integers
// EXPECT: E0514 embedding_bag: the table has rows; indices and offsets are integers
constexpr int refused = traced_on<rows, list>([](auto x, auto k) {
  return ebb::embedding_bag(x, k, x);  // LINE
});
#endif

// test/op/bits.fail.cpp — bits of floats, shifts of bools.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/op/call.hpp>

#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using row = ebb::term<float, 3>;
using truths = ebb::term<bool, 3>;
using whole = ebb::term<int, 3>;

constexpr int fits = traced_on<truths, whole>([](auto b, auto n) { return (b ^ b) | (~b & ((n << 2) == (n >> n))); });

#if EBB_CASE == 1
// EXPECT: E0238 bits are those of integers
constexpr int refused = traced_on<row>([](auto x) {
  return x & 1;  // LINE
});
#elif EBB_CASE == 2
// EXPECT: E0238 bits are those of integers
constexpr int refused = traced_on<truths>([](auto b) {
  return b << b;  // LINE
});
#elif EBB_CASE == 3
// EXPECT: E0238 bits are those of integers
constexpr int refused = traced_on<whole, row>([](auto n, auto x) {
  return n | x;  // LINE
});
#endif

// test/base/repeat.static.cpp — unrolled loops take each turn once, in order, also if they are split into several folds.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/base/repeat.hpp>

namespace {

/// Whether `loop` takes the turns 0, 1, ... count - 1.
constexpr bool counts_to(int count, auto&& loop) {
  int next = 0;
  bool in_order = true;
  loop([&](int i) { in_order = in_order && i == next++; });
  return in_order && next == count;
}
template <int Count>
constexpr bool is_complete = counts_to(Count, [](auto f) { ebb::repeat<Count>([&]<int I>() { f(I); }); }) &&
                             counts_to(Count, [](auto f) { ebb::repeat_part<Count>([&]<int I>() { f(I); }); }) &&
                             counts_to(Count, [](auto f) { ebb::each_turn<Count>(f); });

static_assert(is_complete<0> && is_complete<1> && is_complete<2> && is_complete<3> && is_complete<4>);
static_assert(is_complete<63> && is_complete<64> && is_complete<65> && is_complete<128> && is_complete<129> && is_complete<300>);

}  // namespace

// ebb/kernel/number_order.hpp — the order in which a nest of one element computes its equations.
// SPDX-License-Identifier: BSL-1.0
//
// [note: order of numbers]
// A function of a number is a chain of dozens of instructions that wait for each other. A processor looks some hundred instructions ahead
// for others; those that wait fill its queues. So equations are computed in the order in which their operands are known, counted in
// operations from the beginning. The same function of two numbers that are known at nearly the same time is computed in two lanes: that is
// half of the instructions. Only functions without branches are: lanes would compute both sides of each choice.
#pragma once

#include "../tensor/nest.hpp"

#include <algorithm>
#include <cstdint>

namespace ebb::inline EBB_ABI {

/// An equation, and one with the same function beside it, if there is one.
struct number_entry {
  int first = 0, second = -1;
};
template <int Count>
struct number_order {
  int count = 0;
  number_entry at[Count + 1] = {};
};

namespace detail {
constexpr bool same_branch_free_function(const nest_compute& x, const nest_compute& y) {
  const bool has_lanes = x.to.type == dtype::f32 || x.to.type == dtype::f64;
  return x.heavy && x.branch_free && y.branch_free && x.vector == y.vector && x.count == 1 && has_lanes;
}
}  // namespace detail

/// The order of Count equations, of which equation(i) is number i; place(slot) is less than Places.
template <int Count, int Places>
constexpr number_order<Count> number_order_of(auto equation, auto place) {
  constexpr int heavy = 16, room = Count + 1;
  number_order<Count> r;
  int heavies = 0, begin[room] = {}, known[Places + 1] = {}, partner[room] = {};
  for (int i = 0; i < Count; ++i) {
    const nest_compute& e = equation(i);
    for (int j = 0; j < e.count; ++j) begin[i] = std::max(begin[i], known[place(e.in[j])]);
    known[place(e.to)] = begin[i] + (e.heavy ? heavy : 1);
    heavies += e.heavy;
    partner[i] = -1;
  }
  if (heavies < 2) {
    for (; r.count < Count; ++r.count) r.at[r.count].first = r.count;
    return r;
  }
  // Two heavy functions that begin within the time of one do not wait for each other, and readers of either begin after both.
  for (int i = 0; i < Count; ++i)
    for (int j = i + 1; j < Count && equation(i).branch_free && partner[i] < 0; ++j)
      if (partner[j] < 0 && begin[i] < begin[j] + heavy && begin[j] < begin[i] + heavy &&
          detail::same_branch_free_function(equation(i), equation(j))) {
        partner[i] = j;
        partner[j] = i;
        begin[i] = std::max(begin[i], begin[j]);
      }
  std::int64_t key[room] = {};
  int count = 0;
  for (int i = 0; i < Count; ++i)
    if (partner[i] < 0 || partner[i] > i) key[count++] = std::int64_t{begin[i]} * room + i;
  std::sort(key, key + count);
  for (; r.count < count; ++r.count) {
    const int i = static_cast<int>(key[r.count] % room);
    r.at[r.count] = {i, partner[i]};
  }
  return r;
}

}  // namespace ebb::inline EBB_ABI

// test/nn/cell.fail.cpp — weights and angles that do not fit.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>
#include <ebb/nn/cell.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using input = ebb::term<float, 2, 3>;
using state = ebb::term<float, 2, 4>;

[[maybe_unused]] constexpr int fits = traced_on<input, state, ebb::term<float, 16, 3>, ebb::term<float, 16, 4>>(
    [](auto x, auto h, auto v, auto w) { return ebb::lstm_cell(x, h, h, v, w); });

#if EBB_CASE == 1  // the rows of a gru_cell
// EXPECT: E0485 lstm, lstm_cell: weights have four rows
// LINES: 16
constexpr int refused = traced_on<input, state, ebb::term<float, 12, 3>, ebb::term<float, 12, 4>>([](auto x, auto h, auto v, auto w) {
  return ebb::lstm_cell(x, h, h, v, w);  // LINE
});
#elif EBB_CASE == 2  // an angle for each number, not for each pair
// EXPECT: E0486 rotary: the last axis is twice as long
constexpr int refused = traced_on<state, state>([](auto x, auto t) {
  return ebb::rotary(x, t, t);  // LINE
});
#endif

// test/nn/recurrent.fail.cpp — weights, states and lengths that do not fit.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/trace/functions.hpp>
#include <ebb/trace/trace.hpp>
#include <ebb/nn/recurrent.hpp>

template <class... A>
constexpr auto traced_on(auto f) {
  return ebb::trace_of<decltype(f), A...>::make().size();
}
using sequence = ebb::term<float, 5, 2, 3>;
using state = ebb::term<float, 1, 2, 4>;
using of_input = ebb::term<float, 12, 3>;
using of_state = ebb::term<float, 12, 4>;

[[maybe_unused]] constexpr int fits = traced_on<sequence, state, of_input, of_state>([](auto x, auto h, auto v, auto w) {
  return ebb::gru(x, h, std::tuple(v, w));
});

#if EBB_CASE == 1  // one direction's weights
// EXPECT: E0540 rnn, lstm, gru: the weights are a layer's tuple
constexpr int refused = traced_on<sequence, state, of_input, of_state>([](auto x, auto h, auto v, auto w) {
  return ebb::gru<ebb::bidirectional>(x, h, std::tuple(v, w));  // LINE
});
#elif EBB_CASE == 2  // three weights
// EXPECT: E0540 rnn, lstm, gru: the weights are a layer's tuple
constexpr int refused = traced_on<sequence, state, of_input, of_state>([](auto x, auto h, auto v, auto w) {
  return ebb::rnn(x, h, std::tuple(v, w, w));  // LINE
});
#elif EBB_CASE == 3  // the state of two layers for one
// EXPECT: E0543 rnn, lstm, gru: x is [steps, n, in]
constexpr int refused = traced_on<sequence, ebb::term<float, 2, 2, 4>, of_input, of_state>([](auto x, auto h, auto v, auto w) {
  return ebb::gru(x, h, std::tuple(v, w));  // LINE
});
#elif EBB_CASE == 4  // lengths that are no integers
// EXPECT: E0543 rnn, lstm, gru: x is [steps, n, in]
constexpr int refused = traced_on<sequence, state, of_input, of_state>([](auto x, auto h, auto v, auto w) {
  return ebb::gru(x, h, std::tuple(v, w), ebb::select<0, 0>(ebb::select<-1, 0>(x)));  // LINE
});
#elif EBB_CASE == 5  // the weights of an lstm for a gru
// EXPECT: E0543 rnn, lstm, gru: x is [steps, n, in]
constexpr int refused = traced_on<sequence, state, ebb::term<float, 16, 3>, ebb::term<float, 16, 4>>([](auto x, auto h, auto v, auto w) {
  return ebb::gru(x, h, std::tuple(v, w));  // LINE
});
#endif

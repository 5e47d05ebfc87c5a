// examples/char_rnn/model.hpp — a recurrent network that reads letters one after another: its loss, and how it writes.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

#include <tuple>

constexpr std::size_t width = 96, letters = 61;

/// A gated recurrent unit, and the scores of the letter that comes next.
template <template <class, std::size_t...> class Array>
struct network {
  using letter_rows = Array<float, letters, width>;
  using gates = Array<float, 3 * width, width>;
  using gates_row = Array<float, 3 * width>;
  using last = Array<float, letters>;
  BOOST_HANA_DEFINE_STRUCT(network, (letter_rows, table), (gates, of_letter), (gates, of_state), (gates_row, letter_bias),
                           (gates_row, state_bias), (letter_rows, out), (last, out_bias));
};

/// The state after one more letter.
constexpr auto after = [](auto state, auto letter, auto net) {
  return ebb::gru_cell(ebb::take(net.table, letter), state, net.of_letter, net.of_state, net.letter_bias, net.state_bias);
};
constexpr auto scores = [](auto states, auto net) { return ebb::linear(states, net.out, net.out_bias); };

/// Reads texts [n, count] side by side, the states `start` being what is known of what came before. The loss says how well the states tell
/// the letters that come next. The states at the ends are for the next call.
constexpr auto loss = [](auto net, auto start, auto texts, auto next) {
  const auto [end, states] = ebb::scan([](auto state, auto letter, auto weights) {
    const auto now = after(state, letter, weights);
    return std::tuple(now, now);
  }, start, texts, ebb::whole(net));
  return std::tuple(ebb::cross_entropy(scores(states, net), next), ebb::stop_gradient(end));
};

/// Writes a letter for each row of uniform numbers: plus noise with Gumbel's distribution, the greatest score is at a letter with the
/// probability that the network gives it.
constexpr auto written = [](auto net, auto start, auto first, auto uniform) {
  const auto [end, text] = ebb::scan([](auto before, auto u, auto weights) {
    const auto [state, letter] = before;
    const auto now = after(state, letter, weights);
    const auto next = ebb::argmax<0>(scores(now, weights) - ebb::log(-ebb::log(u)));
    return std::tuple(std::tuple(now, next), next);
  }, std::tuple(start, first), uniform, ebb::whole(net));
  return text;
};

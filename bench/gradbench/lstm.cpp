// bench/gradbench/lstm.cpp — lstm: the loss of a network of LSTM layers that predicts the next letter of a text, and its gradient.
// SPDX-License-Identifier: BSL-1.0
//
// All weights are diagonal matrices, as in GradBench. `manual` carries the derivative of the state forward, as GradBench's derivative by
// hand does: the Jacobian of a step times the Jacobian of the state. `reverse` goes back through the steps, in plain C++, too. `shaped`
// runs one layer through all letters before the next: gates that depend on its input only, and what follows the last layer, are computed
// for all letters at once.
// only: simd
#include "by_hand.hpp"
// only: end
#include "manual.hpp"
#include "session.hpp"

// only: natural, shaped
#include <ebb/functional.hpp>
// only: end

#include <array>

namespace gradbench {
namespace {

constexpr std::size_t bits = 14;  // of a letter

// lines: natural, shaped
template <template <class, std::size_t...> class Array>
struct gates {
  using row = Array<double, bits>;
  BOOST_HANA_DEFINE_STRUCT(gates, (row, forget), (row, in), (row, out), (row, change));
};
template <template <class, std::size_t...> class Array>
struct layer {
  using row = gates<Array>;
  BOOST_HANA_DEFINE_STRUCT(layer, (row, weight), (row, bias));
};
template <template <class, std::size_t...> class Array>
struct extra {
  using row = Array<double, bits>;
  BOOST_HANA_DEFINE_STRUCT(extra, (row, in), (row, out), (row, bias));
};
template <template <class, std::size_t...> class Array>
struct state {
  using row = Array<double, bits>;
  BOOST_HANA_DEFINE_STRUCT(state, (row, hidden), (row, cell));
};
// lines: end

// lines: natural
constexpr auto next_state = [](auto s, auto x, auto p) {
  const auto forget = ebb::sigmoid(x * p.weight.forget + p.bias.forget), in = ebb::sigmoid(s.hidden * p.weight.in + p.bias.in);
  const auto out = ebb::sigmoid(x * p.weight.out + p.bias.out), change = ebb::tanh(s.hidden * p.weight.change + p.bias.change);
  s.cell = s.cell * forget + in * change;
  s.hidden = out * ebb::tanh(s.cell);
  return s;
};
constexpr auto step = [](auto states, auto letter, auto gold, auto layers, auto more) {
  auto x = letter * more.in;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    states[i] = next_state(states[i], x, layers[i]);
    x = states[i].hidden;
  }
  const auto y = x * more.out + more.bias;
  return std::tuple(states, ebb::sum(gold * (y - ebb::log(2 + ebb::sum(ebb::exp(y))))));
};
constexpr auto loss = [](auto layers, auto more, auto states, auto text) {
  const auto letters = ebb::slice<0, 0, -1>(text), golds = ebb::slice<0, 1>(text);
  const auto [last, gains] = ebb::scan(step, states, letters, golds, ebb::whole(layers), ebb::whole(more));
  return -ebb::mean(gains) / bits;
};
constexpr auto value = ebb::compile(loss);
constexpr auto gradient = ebb::grad<0, 1>(loss);
// lines: end

// lines: shaped
constexpr auto cell_step = [](auto s, auto forget, auto out, auto weight, auto bias) {
  const auto in = ebb::sigmoid(s.hidden * weight.in + bias.in), change = ebb::tanh(s.hidden * weight.change + bias.change);
  s.cell = s.cell * forget + in * change;
  s.hidden = out * ebb::tanh(s.cell);
  return std::tuple(s, s.hidden);
};
constexpr auto shaped_loss = [](auto layers, auto more, auto states, auto text) {
  auto x = ebb::slice<0, 0, -1>(text) * more.in;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto w = layers[i].weight, b = layers[i].bias;
    const auto forget = ebb::sigmoid(x * w.forget + b.forget), out = ebb::sigmoid(x * w.out + b.out);
    x = std::get<1>(ebb::scan(cell_step, states[i], forget, out, ebb::whole(w), ebb::whole(b)));
  }
  const auto y = x * more.out + more.bias;
  const auto sums = ebb::unsqueeze<1>(ebb::sum<1>(ebb::exp(y)));
  return -ebb::mean(ebb::sum<1>(ebb::slice<0, 1>(text) * (y - ebb::log(2 + sums)))) / bits;
};
constexpr auto shaped_value = ebb::compile(shaped_loss);
constexpr auto shaped_gradient = ebb::grad<0, 1>(shaped_loss);
// lines: end

template <class T>
struct problem {  // main: for each layer the weights forget, in, out, change, then the biases; extra: in, out, bias; state: hidden, cell
  std::size_t l, c, b;
  std::vector<T> main, extra, state, text;
};

GRADBENCH_MANUAL_BEGIN
// lines: manual, reverse
template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}
// lines: manual
template <class T>
[[gnu::noinline]] T manual(const problem<T>& in) {
  const std::size_t b = in.b;
  std::vector<T> state = in.state, y(b);
  T total = 0;
  for (std::size_t t = 0; t + 1 < in.c; ++t) {
    const T *const letter = &in.text[t * b], *const gold = letter + b, *const e = in.extra.data();
    for (std::size_t u = 0; u < b; ++u) y[u] = letter[u] * e[u];
    for (std::size_t i = 0; i < in.l; ++i) {
      const T* const w = &in.main[8 * b * i];
      T *const hidden = &state[2 * b * i], *const cell = hidden + b;
      for (std::size_t u = 0; u < b; ++u) {
        const T forget = sigmoid(y[u] * w[u] + w[4 * b + u]), ingate = sigmoid(hidden[u] * w[b + u] + w[5 * b + u]);
        const T outgate = sigmoid(y[u] * w[2 * b + u] + w[6 * b + u]), change = std::tanh(hidden[u] * w[3 * b + u] + w[7 * b + u]);
        cell[u] = cell[u] * forget + ingate * change;
        y[u] = hidden[u] = outgate * std::tanh(cell[u]);
      }
    }
    T sum = 2;
    for (std::size_t u = 0; u < b; ++u) sum += std::exp(y[u] = y[u] * e[b + u] + e[2 * b + u]);
    const T log_sum = std::log(sum);
    for (std::size_t u = 0; u < b; ++u) total += gold[u] * (y[u] - log_sum);
  }
  return -total / static_cast<T>((in.c - 1) * b);
}
/// A step of a layer, of one unit: gates, and the derivatives of hidden and cell by the eight parameters, hidden, cell and input before it.
template <class T>
struct unit_step {
  T hidden[11], cell[11];
  unit_step(const T* w, std::size_t b, T x, T& h, T& c) {
    const T forget = sigmoid(x * w[0] + w[4 * b]), ingate = sigmoid(h * w[b] + w[5 * b]);
    const T outgate = sigmoid(x * w[2 * b] + w[6 * b]), change = std::tanh(h * w[3 * b] + w[7 * b]);
    const T by_forget = c * forget * (1 - forget), by_in = change * ingate * (1 - ingate), by_change = ingate * (1 - change * change);
    cell[0] = by_forget * x, cell[1] = by_in * h, cell[2] = 0, cell[3] = by_change * h;
    cell[4] = by_forget, cell[5] = by_in, cell[6] = 0, cell[7] = by_change;
    cell[8] = by_in * w[b] + by_change * w[3 * b], cell[9] = forget, cell[10] = by_forget * w[0];
    c = c * forget + ingate * change;
    const T bent = std::tanh(c), by_out = bent * outgate * (1 - outgate), by_cell = outgate * (1 - bent * bent);
    for (int k = 0; k < 11; ++k) hidden[k] = by_cell * cell[k];
    hidden[2] = by_out * x, hidden[6] = by_out, hidden[10] += by_out * w[2 * b];
    h = outgate * bent;
  }
};
template <class T>
[[gnu::noinline]] void manual_gradient(const problem<T>& in, T* d_main, T* d_extra) {
  const std::size_t l = in.l, b = in.b, n = 8 * l + 1, m = 10 * l + 1;
  // Of hidden and cell of each layer, by the parameters of the same unit, in.extra last. Of a step also by hidden and cell before it.
  std::vector<T> state = in.state, y(b), by(b), past(b * l * 2 * n), now(b * l * 2 * n), of_step(l * 2 * m);
  std::fill_n(d_main, 8 * l * b, T(0));
  std::fill_n(d_extra, 3 * b, T(0));
  const T scale = -1 / static_cast<T>((in.c - 1) * b);
  for (std::size_t t = 0; t + 1 < in.c; ++t) {
    const T *const letter = &in.text[t * b], *const gold = letter + b, *const e = in.extra.data();
    for (std::size_t u = 0; u < b; ++u) {
      T x = letter[u] * e[u];
      for (std::size_t i = 0; i < l; ++i) {
        const unit_step<T> s(&in.main[8 * b * i + u], b, x, state[2 * b * i + u], state[2 * b * i + b + u]);
        x = state[2 * b * i + u];
        for (const bool of_cell : {false, true}) {
          const T* const own = of_cell ? s.cell : s.hidden;
          T* const to = &of_step[(2 * i + of_cell) * m];
          std::fill_n(to, m, T(0));
          if (i == 0) to[8 * l] = own[10] * letter[u];
          else
            for (std::size_t p = 0; p < m; ++p) to[p] = own[10] * of_step[2 * (i - 1) * m + p];
          for (std::size_t p = 0; p < 8; ++p) to[8 * i + p] = own[p];
          to[n + 2 * i] = own[8], to[n + 2 * i + 1] = own[9];
        }
      }
      for (std::size_t k = 0; k < 2 * l; ++k) {
        T* const to = &now[(u * 2 * l + k) * n];
        std::copy_n(&of_step[k * m], n, to);
        for (std::size_t j = 0; j < 2 * l; ++j) {
          const T factor = of_step[k * m + n + j];
          const T* const before = &past[(u * 2 * l + j) * n];
          for (std::size_t p = 0; p < n; ++p) to[p] += factor * before[p];
        }
      }
      y[u] = x * e[b + u] + e[2 * b + u];
    }
    past.swap(now);
    T sum = 2, golds = 0;
    for (std::size_t u = 0; u < b; ++u) {
      sum += by[u] = std::exp(y[u]);
      golds += gold[u];
    }
    for (std::size_t u = 0; u < b; ++u) {
      const T g = scale * (gold[u] - golds * by[u] / sum), back = g * e[b + u];
      const T* const last = &past[(u * 2 * l + 2 * (l - 1)) * n];
      for (std::size_t i = 0; i < l; ++i)
        for (std::size_t p = 0; p < 8; ++p) d_main[(8 * i + p) * b + u] += back * last[8 * i + p];
      d_extra[u] += back * last[8 * l];
      d_extra[b + u] += g * state[2 * b * (l - 1) + u];
      d_extra[2 * b + u] += g;
    }
  }
}
// lines: reverse
template <class T>
[[gnu::noinline]] T reverse(const problem<T>& in, T* d_main, T* d_extra, std::vector<T>& kept) {
  const std::size_t l = in.l, b = in.b, a_layer = 8 * b, a_step = l * a_layer + b;
  // Of each step and layer: input, hidden, cell, forget, in, out, change, tanh of the new cell; then the derivative of the loss by y.
  kept.resize(in.c * a_step);
  std::vector<T> state = in.state, back(2 * l * b), x(b);
  std::fill_n(d_main, 8 * l * b, T(0));
  std::fill_n(d_extra, 3 * b, T(0));
  const T scale = -1 / static_cast<T>((in.c - 1) * b), *const e = in.extra.data();
  T total = 0;
  for (std::size_t t = 0; t + 1 < in.c; ++t) {
    const T *const letter = &in.text[t * b], *const gold = letter + b;
    T* const y = &kept[t * a_step + l * a_layer];
    for (std::size_t u = 0; u < b; ++u) x[u] = letter[u] * e[u];
    for (std::size_t i = 0; i < l; ++i) {
      const T* const w = &in.main[8 * b * i];
      T *const k = &kept[t * a_step + i * a_layer], *const hidden = &state[2 * b * i], *const cell = hidden + b;
      for (std::size_t u = 0; u < b; ++u) {
        k[u] = x[u], k[b + u] = hidden[u], k[2 * b + u] = cell[u];
        k[3 * b + u] = sigmoid(x[u] * w[u] + w[4 * b + u]);
        k[4 * b + u] = sigmoid(hidden[u] * w[b + u] + w[5 * b + u]);
        k[5 * b + u] = sigmoid(x[u] * w[2 * b + u] + w[6 * b + u]);
        k[6 * b + u] = std::tanh(hidden[u] * w[3 * b + u] + w[7 * b + u]);
        cell[u] = cell[u] * k[3 * b + u] + k[4 * b + u] * k[6 * b + u];
        k[7 * b + u] = std::tanh(cell[u]);
        x[u] = hidden[u] = k[5 * b + u] * k[7 * b + u];
      }
    }
    T sum = 2, golds = 0, along = 0;
    for (std::size_t u = 0; u < b; ++u) {
      const T z = x[u] * e[b + u] + e[2 * b + u];
      along += gold[u] * z;
      golds += gold[u];
      sum += y[u] = std::exp(z);
    }
    total += along - golds * std::log(sum);
    for (std::size_t u = 0; u < b; ++u) {
      y[u] = scale * (gold[u] - golds * y[u] / sum);
      d_extra[b + u] += y[u] * x[u];
      d_extra[2 * b + u] += y[u];
    }
  }
  for (std::size_t t = in.c - 1; t-- > 0;) {
    for (std::size_t u = 0; u < b; ++u) x[u] = kept[t * a_step + l * a_layer + u] * e[b + u];
    for (std::size_t i = l; i-- > 0;) {
      const T *const w = &in.main[8 * b * i], *const k = &kept[t * a_step + i * a_layer];
      T *const d = &d_main[8 * b * i], *const hidden = &back[2 * b * i], *const cell = hidden + b;
      for (std::size_t u = 0; u < b; ++u) {
        const T forget = k[3 * b + u], ingate = k[4 * b + u], outgate = k[5 * b + u], change = k[6 * b + u], bent = k[7 * b + u];
        const T h = hidden[u] + x[u], c = cell[u] + h * outgate * (1 - bent * bent);
        const T by_forget = c * k[2 * b + u] * forget * (1 - forget), by_in = c * change * ingate * (1 - ingate);
        const T by_out = h * bent * outgate * (1 - outgate), by_change = c * ingate * (1 - change * change);
        d[u] += by_forget * k[u], d[b + u] += by_in * k[b + u], d[2 * b + u] += by_out * k[u], d[3 * b + u] += by_change * k[b + u];
        d[4 * b + u] += by_forget, d[5 * b + u] += by_in, d[6 * b + u] += by_out, d[7 * b + u] += by_change;
        x[u] = by_forget * w[u] + by_out * w[2 * b + u];
        hidden[u] = by_in * w[b + u] + by_change * w[3 * b + u];
        cell[u] = c * forget;
      }
    }
    for (std::size_t u = 0; u < b; ++u) d_extra[u] += x[u] * in.text[t * b + u];
  }
  return total * scale;
}
// lines: end
GRADBENCH_MANUAL_END

// lines: simd
using namespace by_hand;
constexpr std::size_t width = ebb::lane_count, padded = (bits + width - 1) / width * width;

/// Rows of `bits` numbers with zeros after them.
vector padded_rows(const vector& from) {
  vector to(from.size() / bits * padded);
  for (std::size_t i = 0; i < from.size(); ++i) to[i / bits * padded + i % bits] = from[i];
  return to;
}
V row_at(const double* row, std::size_t u) { return V::load(row + u, static_cast<int>(std::min(width, bits - u))); }
/// The loss; with derivatives the same sweeps as `reverse`.
template <bool Derivatives>
[[gnu::noinline]] double simd(const problem<double>& in, double* d_main, double* d_extra, vector& kept) {
  constexpr std::size_t b = padded, a_layer = 8 * b;
  const std::size_t l = in.l, a_step = l * a_layer + b;
  kept.resize(Derivatives ? in.c * a_step : a_step);
  vector state = padded_rows(in.state), back(2 * l * b), x(b), d(8 * l * b), de(3 * b), e = padded_rows(in.extra);
  const vector main = padded_rows(in.main);
  for (std::size_t u = bits; u < b; ++u) e[2 * b + u] = -1e300;  // whose exponential is 0
  const double scale = -1 / static_cast<double>((in.c - 1) * bits);
  const auto at = [](const double* p, std::size_t u) { return V::load(p + u); };
  const auto add = [&](double* p, std::size_t u, V by) { (V::load(p + u) + by).store(p + u); };
  const V one = V::all(1);
  double total = 0;
  for (std::size_t t = 0; t + 1 < in.c; ++t) {
    const double *const letter = &in.text[t * bits], *const gold = letter + bits;
    double *const keep = &kept[Derivatives ? t * a_step : 0], *const y = keep + l * a_layer;
    V sum = V::all(0), golds = sum, along = sum;
    for (std::size_t u = 0; u < b; u += width) {
      V input = row_at(letter, u) * at(e.data(), u);
      for (std::size_t i = 0; i < l; ++i) {
        const double* const w = &main[a_layer * i];
        double *const k = keep + i * a_layer, *const s = &state[2 * b * i];
        const V hidden = at(s, u), cell = at(s + b, u);
        const V forget = ebb::lane::sigmoid(input * at(w, u) + at(w + 4 * b, u));
        const V ingate = ebb::lane::sigmoid(hidden * at(w + b, u) + at(w + 5 * b, u));
        const V outgate = ebb::lane::sigmoid(input * at(w + 2 * b, u) + at(w + 6 * b, u));
        const V change = ebb::lane::tanh(hidden * at(w + 3 * b, u) + at(w + 7 * b, u));
        const V next = cell * forget + ingate * change, bent = ebb::lane::tanh(next);
        if constexpr (Derivatives) {
          const V values[] = {input, hidden, cell, forget, ingate, outgate, change, bent};
          for (std::size_t j = 0; j < 8; ++j) values[j].store(k + j * b + u);
        }
        next.store(s + b + u);
        input = outgate * bent;
        input.store(s + u);
      }
      const V z = input * at(e.data() + b, u) + at(e.data() + 2 * b, u), g = row_at(gold, u), power = ebb::lane::exp(z);
      along = along + g * z;
      golds = golds + g;
      sum = sum + power;
      power.store(y + u);
    }
    const double all = 2 + sum_of(sum), all_golds = sum_of(golds);
    total += sum_of(along) - all_golds * std::log(all);
    for (std::size_t u = 0; u < b && Derivatives; u += width) {
      const V g = V::all(scale) * (row_at(gold, u) - at(y, u) * V::all(all_golds / all));
      g.store(y + u);
      add(de.data() + b, u, g * at(&state[2 * b * (l - 1)], u));
      add(de.data() + 2 * b, u, g);
    }
  }
  if constexpr (Derivatives) {
    for (std::size_t t = in.c - 1; t-- > 0;)
      for (std::size_t u = 0; u < b; u += width) {
        V g = at(&kept[t * a_step + l * a_layer], u) * at(e.data() + b, u);
        for (std::size_t i = l; i-- > 0;) {
          const double *const w = &main[a_layer * i], *const k = &kept[t * a_step + i * a_layer];
          double *const to = &d[a_layer * i], *const s = &back[2 * b * i];
          const V input = at(k, u), hidden = at(k + b, u), forget = at(k + 3 * b, u), ingate = at(k + 4 * b, u);
          const V outgate = at(k + 5 * b, u), change = at(k + 6 * b, u), bent = at(k + 7 * b, u);
          const V h = at(s, u) + g, c = at(s + b, u) + h * outgate * (one - bent * bent);
          const V by_forget = c * at(k + 2 * b, u) * forget * (one - forget), by_in = c * change * ingate * (one - ingate);
          const V by_out = h * bent * outgate * (one - outgate), by_change = c * ingate * (one - change * change);
          const V sums[] = {by_forget * input, by_in * hidden, by_out * input, by_change * hidden, by_forget, by_in, by_out, by_change};
          for (std::size_t j = 0; j < 8; ++j) add(to + j * b, u, sums[j]);
          g = by_forget * at(w, u) + by_out * at(w + 2 * b, u);
          (by_in * at(w + b, u) + by_change * at(w + 3 * b, u)).store(s + u);
          (c * forget).store(s + b + u);
        }
        add(de.data(), u, g * row_at(&in.text[t * bits], u));
      }
    for (std::size_t i = 0; i < 8 * l * bits; ++i) d_main[i] = d[i / bits * b + i % bits];
    for (std::size_t i = 0; i < 3 * bits; ++i) d_extra[i] = de[i / bits * b + i % bits];
  }
  return total * scale;
}
// lines: end

// only: natural, shaped
/// Copies between flat numbers and structs of arrays.
template <class... S>
void to_structs(const vector& from, S&... to) {
  std::size_t next = 0;
  ebb::each_leaf([&](auto& a) { for (std::size_t u = 0; u < bits; ++u) a.at(u) = from[next++]; }, std::tie(to...));
}
// only: end

template <std::size_t Layers>
void size_of(session& s, std::size_t c) {
  generator g(36);
  problem<double> in{Layers, c, bits, {}, {}, {}, {}};
  in.main = uniform(g, 8 * bits * Layers, 0, 1);
  in.extra = uniform(g, 3 * bits, 0, 1);
  in.state = uniform(g, 2 * bits * Layers, 0, 1);
  for (std::size_t t = 0; t < c; ++t) {  // the code of a letter in binary digits
    const unsigned code = g.unit() < 0.01 ? 8217 : 32 + static_cast<unsigned>(g.in(0, 95));
    for (std::size_t u = 0; u < bits; ++u) in.text.push_back(code >> (bits - 1 - u) & 1);
  }
  const problem<long double> exact{Layers, c, bits, {in.main.begin(), in.main.end()}, {in.extra.begin(), in.extra.end()},
                                   {in.state.begin(), in.state.end()}, {in.text.begin(), in.text.end()}};
  // only: natural, shaped
  std::array<layer<ebb::tensor>, Layers> layers, d_layers;
  extra<ebb::tensor> more, d_more;
  std::array<state<ebb::tensor>, Layers> states;
  to_structs(in.main, layers);
  to_structs(in.extra, more);
  to_structs(in.state, states);
  const ebb::view<const double, ebb::dyn, bits> text(in.text.data(), c);
  // only: end
  const std::size_t n = in.main.size(), all_of_them = n + in.extra.size();
  vector d(all_of_them), kept;
  double y = 0;
  const std::vector<candidate> all = {
      {"manual", [&] { y = manual(in); }, [&] { manual_gradient(in, d.data(), d.data() + n); }},
      {"reverse", [&] { y = manual(in); }, [&] { reverse(in, d.data(), d.data() + n, kept); }},
      {"natural", [&] { value(ebb::into(y), layers, more, states, text); },
       [&] { gradient(ebb::into(d_layers, d_more), layers, more, states, text); }},
      {"shaped", [&] { shaped_value(ebb::into(y), layers, more, states, text); },
       [&] { shaped_gradient(ebb::into(d_layers, d_more), layers, more, states, text); }},
      {"simd", [&] { y = simd<false>(in, nullptr, nullptr, kept); }, [&] { simd<true>(in, d.data(), d.data() + n, kept); }},
  };
  std::vector<long double> want(all_of_them), memory;
  const long double exact_loss = reverse(exact, want.data(), want.data() + n, memory);
  if (c < 20) {  // its own derivative by differences
    std::vector<long double> differences;
    problem<long double> moved = exact;
    for (auto* const part : {&moved.main, &moved.extra})
      for (long double& p : *part) {
        const long double h = 1e-6L, here = p;
        p = here + h;
        const long double high = manual(moved);
        p = here - h;
        differences.push_back((high - manual(moved)) / (2 * h));
        p = here;
      }
    session::check("lstm, reverse against differences", vector(want.begin(), want.end()), differences, 1e-7);
  }
  const std::string size = "l = " + std::to_string(Layers) + ", c = " + std::to_string(c);
  for (const candidate& e : all) {
    y = 0;
    d.assign(all_of_them, 9);
    e.primal();
    e.derivative();
    // only: natural, shaped
    if (e.name == std::string("natural") || e.name == std::string("shaped")) {
      d.clear();
      ebb::each_leaf([&](const auto& a) { for (std::size_t u = 0; u < bits; ++u) d.push_back(a(u)); }, std::tie(d_layers, d_more));
    }
    // only: end
    s.check("lstm " + size + ", " + e.name + ", loss", vector{y}, std::vector<long double>{exact_loss}, 1e-11);
    s.check("lstm " + size + ", " + e.name + ", gradient", d, want, 1e-9);
  }
  // only: peer
  if (s.has_peers() && c > 2) {  // GradBench's takes the first letter twice if there is one to predict
    s.add_peer("lstm", size, {{Layers, c, bits}, {in.main, in.extra, in.state, in.text}, {}}, std::vector<long double>{exact_loss}, want);
  }
  // only: end
  s.time(size, all);
}

}  // namespace

void lstm(session& s) {
  if (s.smoke)
    for (const std::size_t c : {2u, 3u, 18u, 101u}) {
      size_of<2>(s, c);
      size_of<4>(s, c);
      size_of<6>(s, c);
    }
  else
    for (const std::size_t c : {1024u, 4096u, 8192u}) {
      size_of<2>(s, c);
      size_of<4>(s, c);
      size_of<6>(s, c);
    }
  s.total("lstm");
}

}  // namespace gradbench

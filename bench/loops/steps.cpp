// bench/loops/steps.cpp — a scan of 1,000 steps over 14 numbers beside a loop by hand, and the plan of examples/mpc.
// SPDX-License-Identifier: BSL-1.0
#include "../../examples/mpc/model.hpp"

#include "../suite/data.hpp"
#include "rows.hpp"

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace loops {
namespace {

constexpr std::size_t width = 14, count = 1000;
using row = ebb::tensor<double, width>;
using rows = ebb::tensor<double, ebb::dyn, width>;

/// h = w h + x in each step, and the sum of all h^2.
constexpr auto energy = [](auto w, auto h, auto xs) {
  const auto [end, ys] = ebb::scan([](auto now, auto x, auto by) {
    const auto next = by * now + x;
    return std::tuple(next, ebb::sum(next * next));
  }, h, xs, ebb::whole(w));
  return ebb::sum(ys);
};

using lanes = ebb::lanes<double>;
constexpr std::size_t lane_count = ebb::lane_count, pieces = (width + lane_count - 1) / lane_count;
constexpr int in_piece(std::size_t i) { return static_cast<int>(std::min(lane_count, width - i * lane_count)); }

/// The 14 numbers in as many lanes as the machine needs for them.
struct numbers {
  lanes at[pieces];

  static numbers all(double x) { return of([&](auto) { return lanes::all(x); }); }
  static numbers load(const double* p) { return of([&](auto i) { return lanes::load(p + i * lane_count, in_piece(i)); }); }
  void store(double* p) const { store(p, std::make_index_sequence<pieces>{}); }
  friend numbers operator+(const numbers& x, const numbers& y) { return of([&](auto i) { return x.at[i] + y.at[i]; }); }
  friend numbers operator*(const numbers& x, const numbers& y) { return of([&](auto i) { return x.at[i] * y.at[i]; }); }

 private:
  template <class F>
  static numbers of(F f) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return numbers{{f(std::integral_constant<std::size_t, I>{})...}}; }(
        std::make_index_sequence<pieces>{});
  }
  template <std::size_t... I>
  void store(double* p, std::index_sequence<I...>) const {
    (at[I].store(p + I * lane_count, in_piece(I)), ...);
  }
};
double sum(const numbers& x) {
  double parts[width], s = 0;
  x.store(parts);
  for (const double part : parts) s += part;
  return s;
}

[[gnu::noinline]] double energy_by_hand(const double* w, const double* h, const double* xs, std::size_t n) {
  const numbers by = numbers::load(w);
  numbers now = numbers::load(h), total = numbers::all(0);
  for (std::size_t i = 0; i < n; ++i) {
    now = by * now + numbers::load(xs + i * width);
    total = total + now * now;
  }
  return sum(total);
}
/// The same with the derivatives by w and h: the states are kept in `states`.
[[gnu::noinline]] double slope_by_hand(const double* w, const double* h, const double* xs, std::size_t n, double* dw, double* dh,
                                       double* states) {
  const numbers by = numbers::load(w), two = numbers::all(2);
  numbers now = numbers::load(h), total = numbers::all(0);
  now.store(states);
  for (std::size_t i = 0; i < n; ++i) {
    now = by * now + numbers::load(xs + i * width);
    now.store(states + (i + 1) * width);
    total = total + now * now;
  }
  numbers of_state = numbers::all(0), of_w = numbers::all(0);
  for (std::size_t i = n; i > 0; --i) {
    of_state = of_state + two * numbers::load(states + i * width);
    of_w = of_w + of_state * numbers::load(states + (i - 1) * width);
    of_state = of_state * by;
  }
  of_w.store(dw);
  of_state.store(dh);
  return sum(total);
}

void print(const char* what, const pair_of_times& t) {
  const double ebb = 1e9 * t.first / count, hand = 1e9 * t.second / count;
  std::printf("%-20s %10.1f %10.1f %10.1f\n", what, ebb, hand, ebb - hand);
}

}  // namespace

void steps(bool smoke) {
  suite::generator g(71);
  const auto random = [&](auto& x) { std::generate_n(x.mutable_data(), x.size(), [&] { return g.in(-0.9, 0.9); }); };
  row w{}, h{}, dw{}, dh{}, dw_by_hand{}, dh_by_hand{};
  rows xs = rows::zeros(count), states = rows::zeros(count + 1);
  random(w), random(h), random(xs);
  double value = 0, by_hand = 0;
  constexpr auto region = ebb::compile(energy);
  constexpr auto slope = ebb::value_and_grad<0, 1>(energy);

  std::printf("a step of a scan over %zu numbers, of %zu steps, ns\n", width, count);
  std::printf("%-20s %10s %10s %10s\n", "", "ebb", "by hand", "beside it");
  const auto of_value = in_turns(smoke, [&] { region(ebb::into(value), w, h, xs); },
                                 [&] { by_hand = energy_by_hand(w.data(), h.data(), xs.data(), count); });
  check("value", value, by_hand, 1e-12);
  print("value", of_value);
  const auto of_slope = in_turns(smoke, [&] { slope(ebb::into(value, dw, dh), w, h, xs); }, [&] {
    by_hand = slope_by_hand(w.data(), h.data(), xs.data(), count, dw_by_hand.mutable_data(), dh_by_hand.mutable_data(),
                            states.mutable_data());
  });
  check("value", value, by_hand, 1e-12);
  for (std::size_t i = 0; i < width; ++i) {
    check("the derivative by w", dw(i), dw_by_hand(i), 1e-11);
    check("the derivative by h", dh(i), dh_by_hand(i), 1e-11);
  }
  print("value and gradient", of_slope);
}

void mpc(bool smoke) {
  constexpr std::size_t length = 100;
  const state start{0, 0, 3.14, 0};
  ebb::tensor<double, length> us, du;
  for (std::size_t i = 0; i < length; ++i) us.at(i) = 0.3 * std::sin(0.1 * static_cast<double>(i));
  double value = 0, alone = 0;
  const double pole = 0.1;
  constexpr auto value_of_cost = ebb::compile(cost);
  const auto t = in_turns(smoke, [&] { slope_of_cost(ebb::into(value, du), us, start, pole); },
                          [&] { value_of_cost(ebb::into(alone), us, start, pole); });
  check("cost", value, alone, 1e-12);
  std::printf("\nexamples/mpc, %zu steps of Runge and Kutta's method: value and gradient %.1f us, value %.1f us, ratio %.2f\n", length,
              1e6 * t.first, 1e6 * t.second, t.ratio);
}

}  // namespace loops

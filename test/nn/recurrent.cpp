// test/nn/recurrent.cpp — rnn, lstm, gru: recorded layers, lengths, both directions, derivatives, options, errors.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"

#include "../random_array.hpp"

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

#include <cmath>
#include <limits>

namespace {

using ebb::dyn;
using linalg_test::check_named, linalg_test::long_numbers, linalg_test::wide;
using counts = ebb::term<std::int64_t, dyn>;
template <std::size_t... E>
using array = ebb::tensor<float, E...>;

/// The order of the sums in a product depends on the number of its rows.
constexpr auto close_to = [](const auto& a, const auto& b) { return ebb::allclose(a, b, 1e-5, 1e-6); };

TEST_CASE("rnn, lstm and gru have PyTorch's recorded values and derivatives: two layers, both directions, lengths") {
  const golden::bounds b{.value = 16, .grad = 64, .second = 512, .spread = true, .sign_is_open = true};
  using many = wide<dyn, dyn>;
  using block = wide<dyn, dyn, dyn>;
  using vector = wide<dyn>;
  const auto lstm = [](auto x, auto h, auto c, auto n, auto... w) {
    const auto [wif, whf, bif, bhf, wib, whb, bib, bhb] = std::tuple(w...);
    return ebb::lstm<ebb::bidirectional>(x, h, c, std::tuple(std::tuple(wif, whf, bif, bhf), std::tuple(wib, whb, bib, bhb)), n);
  };
  check_named<block, block, block, counts, many, many, vector, vector, many, many, vector, vector>("recurrent", "lstm_lengths", lstm,
                                                                                                 {"out", "h2", "c2"}, b);
  check_named<wide<4, 3, 2>, wide<2, 3, 2>, wide<2, 3, 2>, ebb::term<std::int64_t, 3>, wide<8, 2>, wide<8, 2>, wide<8>, wide<8>, wide<8, 2>,
              wide<8, 2>, wide<8>, wide<8>>("recurrent", "lstm_lengths", lstm, {"out", "h2", "c2"}, b);
  const auto gru = [](auto x, auto h, auto i0, auto h0, auto i1, auto h1, auto i2, auto h2, auto i3, auto h3) {
    const auto weights = std::tuple(std::tuple(i0, h0), std::tuple(i1, h1), std::tuple(i2, h2), std::tuple(i3, h3));
    return ebb::gru<ebb::keep_every<2>, ebb::bidirectional>(x, h, weights);
  };
  check_named<block, block, many, many, many, many, many, many, many, many>("recurrent", "gru_two_layers", gru, {"out", "h2"}, b);
  const auto tanh = [](auto x, auto h, auto i0, auto h0, auto bi0, auto bh0, auto i1, auto h1, auto bi1, auto bh1) {
    return ebb::rnn(x, h, std::tuple(std::tuple(i0, h0, bi0, bh0), std::tuple(i1, h1, bi1, bh1)));
  };
  const auto relu = [](auto x, auto h, auto i0, auto h0, auto bi0, auto bh0, auto i1, auto h1, auto bi1, auto bh1) {
    return ebb::rnn<ebb::relu>(x, h, std::tuple(std::tuple(i0, h0, bi0, bh0), std::tuple(i1, h1, bi1, bh1)));
  };
  check_named<block, block, many, many, vector, vector, many, many, vector, vector>("recurrent", "rnn_tanh", tanh, {"out", "h2"}, b);
  check_named<block, block, many, many, vector, vector, many, many, vector, vector>("recurrent", "rnn_relu", relu, {"out", "h2"}, b);
}

TEST_CASE("layers are cells, step by step and layer by layer, without a batch axis and over no steps") {
  const auto x = test::random_array<array<5, 2, 3>>(1);
  const auto h0 = test::random_array<array<2, 2, 4>>(2), c0 = test::random_array<array<2, 2, 4>>(3);
  const auto wi = test::random_array<array<16, 3>>(4);
  const auto wh = test::random_array<array<16, 4>>(5), wu = test::random_array<array<16, 4>>(6);
  const auto bi = test::random_array<array<16>>(7), bh = test::random_array<array<16>>(8);
  const auto [out, h, c] = ebb::lstm(x, h0, c0, std::tuple(std::tuple(wi, wh, bi, bh), std::tuple(wu, wh)));
  auto lower = std::tuple(ebb::select<0, 0>(h0), ebb::select<0, 0>(c0)), upper = std::tuple(ebb::select<0, 1>(h0), ebb::select<0, 1>(c0));
  for (int t = 0; t < 5; ++t) {
    lower = ebb::lstm_cell(ebb::take<0>(x, t), std::get<0>(lower), std::get<1>(lower), wi, wh, bi, bh);
    upper = ebb::lstm_cell(std::get<0>(lower), std::get<0>(upper), std::get<1>(upper), wu, wh);
    CHECK(close_to(ebb::take<0>(out, t), std::get<0>(upper)));
  }
  CHECK(close_to(ebb::select<0, 0>(h), std::get<0>(lower)));
  CHECK(close_to(ebb::select<0, 1>(h), std::get<0>(upper)));
  CHECK(close_to(ebb::select<0, 0>(c), std::get<1>(lower)));
  CHECK(close_to(ebb::select<0, 1>(c), std::get<1>(upper)));
  // Without a batch axis, and over no steps.
  const auto row = ebb::select<1, 0>(x);
  const auto alone =
      ebb::lstm(row, ebb::select<1, 0>(h0), ebb::select<1, 0>(c0), std::tuple(std::tuple(wi, wh, bi, bh), std::tuple(wu, wh)));
  CHECK(close_to(std::get<0>(alone), ebb::select<1, 0>(out)));
  const auto none = ebb::lstm(array<dyn, 2, 3>(0), h0, c0, std::tuple(std::tuple(wi, wh), std::tuple(wu, wh)));
  CHECK(std::get<0>(none).size() == 0);
  CHECK(close_to(std::get<1>(none), h0));
}

TEST_CASE("each sequence of its own length is as if it were alone: what lies after its end is not read and has no gradient") {
  constexpr int steps = 4, n = 5;
  auto x = test::random_array<array<steps, n, 3>>(1);
  const auto h0 = test::random_array<array<2, n, 2>>(2);
  const auto wi = test::random_array<array<6, 3>>(3);
  const auto wh = test::random_array<array<6, 2>>(4), wb = test::random_array<array<6, 2>>(5);
  const ebb::tensor<int, n> lengths{3, 0, 4, 7, -1};
  const int own[] = {3, 0, 4, 4, 0};
  for (int i = 0; i < n; ++i)
    for (int t = own[i]; t < steps; ++t) x.mutable_data()[(t * n + i) * 3 + 1] = std::numeric_limits<float>::quiet_NaN();
  const auto layer = [](auto y, auto h, auto a, auto b, auto c, auto l) {
    return ebb::gru<ebb::bidirectional>(y, h, std::tuple(std::tuple(a, b), std::tuple(a, c)), l);
  };
  const auto [out, h] = layer(x, h0, wi, wh, wb, lengths);
  const auto compiled = ebb::compile(layer)(x, h0, wi, wh, wb, lengths);
  CHECK(ebb::all_equal(out, std::get<0>(compiled)));
  CHECK(ebb::all_equal(h, std::get<1>(compiled)));
  for (int i = 0; i < n; ++i) {
    INFO("sequence " << i);
    array<dyn, 1, 3> alone(static_cast<std::size_t>(own[i]));
    for (int t = 0; t < own[i]; ++t)
      for (int k = 0; k < 3; ++k) alone.mutable_data()[t * 3 + k] = x.data()[(t * n + i) * 3 + k];
    array<2, 1, 2> first{};
    for (int d = 0; d < 2; ++d)
      for (int k = 0; k < 2; ++k) first.mutable_data()[d * 2 + k] = h0.data()[(d * n + i) * 2 + k];
    const auto [rows, last] = ebb::gru<ebb::bidirectional>(alone, first, std::tuple(std::tuple(wi, wh), std::tuple(wi, wb)));
    for (int t = 0; t < steps; ++t)
      for (int k = 0; k < 4; ++k)
        CHECK(out.data()[(t * n + i) * 4 + k] == (t < own[i] ? Approx(rows.data()[t * 4 + k]).epsilon(1e-5) : Approx(0).margin(0)));
    for (int d = 0; d < 2; ++d)
      for (int k = 0; k < 2; ++k) CHECK(h.data()[(d * n + i) * 2 + k] == Approx(last.data()[d * 2 + k]).epsilon(1e-5));
  }
  const auto [gx, gh, gi, gw] = ebb::grad<0, 1, 2, 3>([](auto y, auto s, auto a, auto b, auto c, auto l) {
    const auto [rows, last] = ebb::gru<ebb::bidirectional>(y, s, std::tuple(std::tuple(a, b), std::tuple(a, c)), l);
    return ebb::sum(rows * rows) + ebb::sum(last);
  })(x, h0, wi, wh, wb, lengths);
  CHECK_FALSE(ebb::any(ebb::isnan(gx)));
  CHECK_FALSE(ebb::any(ebb::isnan(gi)));
  CHECK_FALSE(ebb::any(ebb::isnan(gw)));
  for (int i = 0; i < n; ++i)
    for (int t = 0; t < steps; ++t) CHECK((gx.data()[(t * n + i) * 3] == 0) == (t >= own[i]));
  CHECK(gh.data()[2] == 1);  // the state of a sequence without steps is the given one
}

TEST_CASE("gru of sequences with lengths has the first and second derivatives of long double code") {
  constexpr int steps = 3, n = 2, width = 2;
  // The argument is [x, h0, wi, wh] in a row: 3 * 2 * 1, 2 * 2, 6 * 1, 6 * 2 numbers.
  const auto layer = [](auto v) {
    const auto x = ebb::reshape<steps, n, 1>(ebb::slice<0, 0, 6>(v));
    const auto h = ebb::reshape<1, n, width>(ebb::slice<0, 6, 10>(v));
    const auto wi = ebb::reshape<6, 1>(ebb::slice<0, 10, 16>(v));
    const auto wh = ebb::reshape<6, width>(ebb::slice<0, 16, 28>(v));
    return ebb::gru(x, h, std::tuple(wi, wh), 3 - 2 * ebb::iota<0>(ebb::slice<0, 0, 2>(v)));
  };
  const auto sigmoid = [](long double z) { return 1 / (1 + std::exp(-z)); };
  linalg_test::against_differences<wide<28>>(
      "gru", layer, linalg_test::random_numbers(28, 3), linalg_test::extents_of({28}),
      [&](const long_numbers& v) {
        long_numbers rows(steps * n * width), last(n * width);
        for (int i = 0; i < n; ++i) {
          long double h[width] = {v[static_cast<std::size_t>(6 + 2 * i)], v[static_cast<std::size_t>(7 + 2 * i)]};
          for (int t = 0; t < 3 - 2 * i; ++t) {
            const auto gate = [&](int g, int k, bool of_x) {
              const auto row = static_cast<std::size_t>(2 * g + k);
              if (of_x) return v[10 + row] * v[static_cast<std::size_t>(t * n + i)];
              return v[16 + 2 * row] * h[0] + v[17 + 2 * row] * h[1];
            };
            long double next[width];
            for (int k = 0; k < width; ++k) {
              const long double r = sigmoid(gate(0, k, true) + gate(0, k, false)), z = sigmoid(gate(1, k, true) + gate(1, k, false));
              next[k] = (1 - z) * std::tanh(gate(2, k, true) + r * gate(2, k, false)) + z * h[k];
            }
            for (int k = 0; k < width; ++k) h[k] = rows[static_cast<std::size_t>((t * n + i) * width + k)] = next[k];
          }
          for (int k = 0; k < width; ++k) last[static_cast<std::size_t>(i * width + k)] = h[k];
        }
        rows.insert(rows.end(), last.begin(), last.end());
        return rows;
      },
      1e-11L, 1e-6L);
}

TEST_CASE("options of scan change no bit of a gradient of lstm and rnn, a region on the tape has it too, and states keep their dtype") {
  const auto x = test::random_array<array<7, 2, 3>>(1);
  const auto h0 = test::random_array<array<1, 2, 4>>(2), c0 = test::random_array<array<1, 2, 4>>(3);
  const auto wi = test::random_array<array<16, 3>>(4);
  const auto wh = test::random_array<array<16, 4>>(5);
  const auto all =
      ebb::grad<3>([](auto y, auto h, auto c, auto a, auto b) { return ebb::sum(std::get<0>(ebb::lstm(y, h, c, std::tuple(a, b)))); });
  const auto few = ebb::grad<3>([](auto y, auto h, auto c, auto a, auto b) {
    return ebb::sum(std::get<0>(ebb::lstm<ebb::keep_every<3>>(y, h, c, std::tuple(a, b))));
  });
  const auto want = all(x, h0, c0, wi, wh);
  CHECK(ebb::all_equal(want, few(x, h0, c0, wi, wh)));
  ebb::variable w(wi);
  const auto region =
      ebb::compile([](auto y, auto h, auto c, auto a, auto b) { return ebb::sum(std::get<0>(ebb::lstm(y, h, c, std::tuple(a, b)))); });
  ebb::backward(region(x, h0, c0, w, wh));
  CHECK(ebb::all_equal(w.grad().value(), want));
  const auto vi = test::random_array<array<4, 3>>(6);
  const auto vh = test::random_array<array<4, 4>>(7);
  const auto plain = ebb::rnn(x, h0, std::tuple(vi, vh)), kept = ebb::rnn<ebb::keep_carries>(x, h0, std::tuple(vi, vh));
  CHECK(ebb::all_equal(std::get<0>(plain), std::get<0>(kept)));
  const auto mixed = ebb::rnn(x, ebb::cast<double>(h0), std::tuple(vi, vh));
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(std::get<0>(mixed))>::value_type, double>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(std::get<1>(mixed))>::value_type, double>);
  for (std::size_t i = 0; i < 56; ++i) CHECK(std::get<0>(mixed).data()[i] == Approx(std::get<0>(plain).data()[i]).epsilon(1e-5));
}

TEST_CASE("states, lengths and weights that do not fit are errors of the calls of rnn, lstm and gru") {
  const array<dyn, dyn, dyn> x(5, 2, 3), h(1, 2, 4), two(2, 2, 4), other(1, 3, 4);
  const array<dyn, dyn> wi(12, 3), wh(12, 4), vi(4, 3), vh(4, 4), ui(16, 3), uh(16, 4);
  const ebb::tensor<std::int64_t, dyn> lengths(2), more(3);
  ebb::gru(x, h, std::tuple(wi, wh), lengths);
  const auto states = test::raised([&] { ebb::gru(x, two, std::tuple(wi, wh)); });
  CHECK(test::says(states, {"rnn, lstm, gru", "[2, 2, 4]"}));
  CHECK(test::says(test::raised([&] { ebb::rnn(x, other, std::tuple(vi, vh)); }), {"rnn, lstm, gru", "[1, 3, 4]"}));
  CHECK(test::says(test::raised([&] { ebb::lstm(x, h, other, std::tuple(ui, uh)); }), {"rnn, lstm, gru", "[1, 3, 4]"}));
  CHECK(test::says(test::raised([&] { ebb::gru(x, h, std::tuple(wi, wh), more); }), {"rnn, lstm, gru", "[3]"}));
  CHECK(test::says(test::raised([&] { ebb::lstm(x, h, h, std::tuple(wi, wh)); }), {"ebb::"}));
}

}  // namespace

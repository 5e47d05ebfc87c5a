// test/nn/cell.cpp — recurrent cells, rotary positions and embedding.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"

#include "../random_array.hpp"

#include <ebb/ebb.hpp>
#include <ebb/nn.hpp>

#include <cmath>
#include <string>

namespace {

using ebb::dyn;
using linalg_test::check_named, linalg_test::wide;

constexpr auto lstm = [](auto x, auto h, auto c, auto wi, auto wh, auto bi, auto bh) { return ebb::lstm_cell(x, h, c, wi, wh, bi, bh); };
constexpr auto gru = [](auto x, auto h, auto wi, auto wh, auto bi, auto bh) { return ebb::gru_cell(x, h, wi, wh, bi, bh); };
constexpr auto rnn = [](auto x, auto h, auto wi, auto wh, auto bi, auto bh) { return ebb::rnn_cell(x, h, wi, wh, bi, bh); };

TEST_CASE("cells, rotary positions and embedding have PyTorch's recorded values and derivatives") {
  const golden::bounds b{.value = 8, .grad = 32, .second = 256, .spread = true, .sign_is_open = true};
  using many = wide<dyn, dyn>;
  using vector = wide<dyn>;
  check_named<wide<2, 2>, wide<2, 3>, wide<2, 3>, wide<12, 2>, wide<12, 3>, wide<12>, wide<12>>("cell", "lstm_cell", lstm, {"h", "c"}, b);
  check_named<many, many, many, many, many, vector, vector>("cell", "lstm_cell", lstm, {"h", "c"}, b);
  check_named<many, wide<dyn, 3>, wide<9, 2>, wide<9, 3>, wide<9>, wide<9>>("cell", "gru_cell", gru, {"out"}, b);
  check_named<many, many, many, many, vector, vector>("cell", "gru_cell", gru, {"out"}, b);
  // The state is near 1 there: 1 - h^2 cancels.
  check_named<many, many, many, many, vector, vector>("cell", "rnn_cell", rnn, {"out"},
                                                      {.value = 8, .grad = 2048, .second = 4096, .spread = true});
  const auto turned = [](auto x, auto t) { return ebb::rotary(x, ebb::cos(t), ebb::sin(t)); };
  check_named<wide<3, 4>, wide<3, 2>>("cell", "rotary", turned, {"out"}, b);
  check_named<many, many>("cell", "rotary", turned, {"out"}, b);
  const auto rows = [](auto x, auto k) { return ebb::embedding<1>(x, k); };
  check_named<wide<4, 5>, ebb::term<std::int64_t, 5>>("cell", "embedding_padding", rows, {"out"}, b);
  check_named<many, ebb::term<std::int64_t, dyn>>("cell", "embedding_padding", rows, {"out"}, b);
}

TEST_CASE("a scan of a cell is the loop over its steps, and biases of 0 may be left out") {
  const auto xs = test::random_array<ebb::tensor<float, dyn, 2, 3>>(1, 5);
  const auto wi = test::random_array<ebb::tensor<float, 8, 3>>(2);
  const auto wh = test::random_array<ebb::tensor<float, 8, 2>>(3);
  const ebb::tensor<float, 2, 2> zeros{};
  const auto layer = ebb::compile([](auto all, auto h0, auto c0, auto a, auto b) {
    const auto step = [](auto state, auto x, auto v, auto w) {
      const auto [h, c] = ebb::lstm_cell(x, std::get<0>(state), std::get<1>(state), v, w);
      return std::tuple(std::tuple(h, c), h);
    };
    return ebb::scan(step, std::tuple(h0, c0), all, ebb::whole(a), ebb::whole(b));
  });
  const auto [last, hs] = layer(xs, zeros, zeros, wi, wh);
  ebb::tensor<float, 2, 2> h = zeros, c = zeros;
  const ebb::tensor<float, 8> none{};
  for (std::size_t t = 0; t < 5; ++t) {
    const ebb::tensor<float, 2, 3> x(std::span<const float>(xs.data() + t * 6, 6));
    const auto [next, kept] = ebb::lstm_cell(x, h, c, wi, wh, none, none);
    h = next, c = kept;
    for (std::size_t i = 0; i < 4; ++i) CHECK(hs.data()[t * 4 + i] == Approx(h.data()[i]).epsilon(1e-6));
  }
}

TEST_CASE("rotary positions keep lengths and are undone by the opposite angles; the gradient is turned back") {
  const auto x = test::random_array<ebb::tensor<double, 2, 3, 4>>(7);
  const ebb::tensor<double, 3, 2> t{{0.5, -2}, {0, 100}, {3, 1e-9}};
  const auto c = ebb::cos(t), s = ebb::sin(t);
  const auto y = ebb::rotary(x, c, s), back = ebb::rotary(y, c, -s);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(back.data()[i] == Approx(x.data()[i]).margin(1e-15));
  CHECK(ebb::norm(y) == Approx(ebb::norm(x)).epsilon(1e-15));
  const auto g = ebb::grad<0>([](auto a, auto u, auto v) { return ebb::sum(ebb::rotary(a, u, v)); })(x, c, s);
  const auto want = ebb::rotary(ebb::tensor<double, 2, 3, 4>::ones(), c, -s);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(g.data()[i] == Approx(want.data()[i]).margin(1e-15));
}

TEST_CASE("cells and embedding on the tape, captured, and refused where extents differ") {
  const auto x = test::random_array<ebb::tensor<float, 2, 3>>(1);
  const auto h = test::random_array<ebb::tensor<float, 2, 2>>(2);
  const auto wi = test::random_array<ebb::tensor<float, 6, 3>>(3);
  const auto wh = test::random_array<ebb::tensor<float, 6, 2>>(4);
  ebb::tensor<float, 6, 2> gradient[2];
  for (const bool captured : {false, true}) {
    ebb::variable w(wh);
    ebb::backward(ebb::sum(ebb::gru_cell(x, h, wi, w)), {.compiled_autograd = captured});
    gradient[captured] = w.grad().value();
  }
  CHECK(ebb::all_equal(gradient[0], gradient[1]));
  ebb::variable table(ebb::tensor<float, 3, 2>{{1, 2}, {3, 4}, {5, 6}});
  ebb::backward(ebb::sum(ebb::embedding<2>(table, ebb::tensor<std::int64_t, 4>{0, 2, 2, 0})));
  CHECK(ebb::all_equal(table.grad().value(), ebb::tensor<float, 3, 2>{{2, 2}, {0, 0}, {0, 0}}));
  const ebb::tensor<float, dyn, dyn> few(5, 3), state(5, 2);
  CHECK(test::says(test::raised([&] { ebb::gru_cell(x, h, few, state); }), {"ebb::gru_cell"}));
  CHECK(test::says(test::raised([&] { ebb::embedding<0>(table.value(), ebb::tensor<std::int64_t, 1>{3}); }), {"ebb::"}));
}

}  // namespace

// test/exec/gradient.cpp — value_and_grad and grad of functions with results beside their loss, against sums computed by hand.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include "../catch.hpp"
#include "../equal.hpp"

#include <cmath>

namespace {

using std::get;
using matrix = ebb::tensor<double, 2, 3>;
using column = ebb::tensor<double, 3>;
using low = ebb::autocast<ebb::bf16>;

struct no_pull : ebb::elementwise<1> {
  static constexpr std::string_view name = "no_pull";
  static constexpr auto value(auto x) { return x; }
};
inline constexpr ebb::call<no_pull> unpulled{};

template <template <class, std::size_t...> class Array>
struct layer {
  using vector = Array<double, 3>;
  using number = Array<double>;
  BOOST_HANA_DEFINE_STRUCT(layer, (vector, w), (number, b));
};

const matrix x{{1, -2, 0.5}, {0.25, 3, -1}};
const column w{0.5, 0.25, -1};
const layer<ebb::tensor> p{w, 0.125};

/// The loss, an array it was computed from, and the number of positive rows.
constexpr auto model = [](auto rows, auto weights) {
  const auto y = ebb::tanh(ebb::matmul(rows, weights));
  return std::tuple(ebb::sum(y * y), y, ebb::sum(ebb::cast<int>(y > 0)));
};
constexpr auto loss = [](auto rows, auto weights) { return get<0>(model(rows, weights)); };

constexpr auto stepped = [](auto rows, auto q) {
  auto next = q;
  next.w = q.w * 2;
  return std::tuple(ebb::sum(ebb::tanh(ebb::matmul(rows, q.w) + q.b)), next);
};
constexpr auto squares = [](auto u, auto v) {
  const auto y = ebb::matmul(u, v);
  return std::tuple(ebb::sum(y * y), y);
};
constexpr auto first = [](auto u, auto v) { return get<0>(squares(u, v)); };

struct expected {
  long double value = 0, y[2] = {}, dw[3] = {};
  expected() {
    for (std::size_t i = 0; i < 2; ++i) {
      long double z = 0;
      for (std::size_t k = 0; k < 3; ++k) z += static_cast<long double>(x(i, k)) * w(k);
      y[i] = std::tanh(z);
      value += y[i] * y[i];
      for (std::size_t k = 0; k < 3; ++k) dw[k] += 2 * y[i] * (1 - y[i] * y[i]) * x(i, k);
    }
  }
};
Approx near(long double wanted) { return Approx(static_cast<double>(wanted)).epsilon(1e-14).margin(1e-15); }

}  // namespace

TEST_CASE("value_and_grad returns the loss, the further results, then the gradients") {
  const expected want;
  const auto [value, y, positive, dw, dx] = ebb::value_and_grad<1, 0>(model, ebb::has_aux)(x, w);
  CHECK(value == near(want.value));
  for (std::size_t i = 0; i < 2; ++i) CHECK(y(i) == near(want.y[i]));
  CHECK(positive == (want.y[0] > 0) + (want.y[1] > 0));
  for (std::size_t k = 0; k < 3; ++k) CHECK(dw(k) == near(want.dw[k]));

  // The same bits as without further results, and as the gradients alone.
  CHECK(test::equal(std::tuple(value, dw, dx), ebb::value_and_grad<1, 0>(loss)(x, w)));
  CHECK(test::equal(std::tuple(dw, dx, y, positive), ebb::grad<1, 0>(model, ebb::has_aux)(x, w)));
  CHECK(ebb::all_equal(y, get<1>(ebb::compile(model)(x, w))));

  // There need be no further results.
  constexpr auto alone = [](auto rows, auto weights) { return std::tuple(loss(rows, weights)); };
  CHECK(test::equal(ebb::grad<1>(alone, ebb::has_aux)(x, w), std::tuple(dw)));
}

TEST_CASE("only the loss is differentiated") {
  // Further results may be an op without a pull, an argument, a number, and a constant.
  constexpr auto f = [](auto a) { return std::tuple(ebb::sum(a * a * a), unpulled(a), a, 3, std::tuple(2.5, a > 1)); };
  const auto [value, same, again, three, rest, da] = ebb::value_and_grad(f, ebb::has_aux)(column{1, 2, 3});
  CHECK(value == 36);
  CHECK(ebb::all_equal(same, column{1, 2, 3}));
  CHECK(ebb::all_equal(again, same));
  CHECK(three == 3);
  CHECK(get<0>(rest) == 2.5);
  CHECK(ebb::all_equal(get<1>(rest), ebb::tensor<bool, 3>{false, true, true}));
  CHECK(ebb::all_equal(da, column{3, 12, 27}));
  static_assert(ebb::value_and_grad([](auto a) { return std::tuple(a * a, a + 1); }, ebb::has_aux)(3.0) == std::tuple(9.0, 4.0, 6.0));
}

TEST_CASE("results and gradients are written to the destinations") {
  double value = 0;
  ebb::tensor<double, 2> y;
  std::int64_t positive = -1;
  column dw;
  ebb::value_and_grad<1>(model, ebb::has_aux)(ebb::into(value, y, positive, dw), x, w);
  CHECK(test::equal(std::tuple(value, y, positive, dw), ebb::value_and_grad<1>(model, ebb::has_aux)(x, w)));
  column moved = w;  // an argument is a destination
  ebb::grad<1>(model, ebb::has_aux)(ebb::into(moved, y, positive), x, moved);
  CHECK(ebb::all_equal(moved, dw));
}

TEST_CASE("structs are differentiated, and may be further results") {
  const auto [value, next, dp] = ebb::value_and_grad<1>(stepped, ebb::has_aux)(x, p);
  CHECK(ebb::all_equal(next.w, 2. * w));
  CHECK(next.b == p.b);
  const auto only = ebb::grad<1>([](auto rows, auto q) { return get<0>(stepped(rows, q)); })(x, p);
  CHECK(ebb::all_equal(dp.w, only.w));
  CHECK(dp.b == only.b);
}

TEST_CASE("gradients with further results take changing extents") {
  constexpr auto f = [](auto a) { return std::tuple(ebb::sum(ebb::exp(a)), ebb::softmax<0>(a)); };
  for (std::size_t n : std::initializer_list<std::size_t>{0, 1, 5}) {
    const auto a = ebb::tensor<float, ebb::dyn>::iota(n);
    const auto [value, s, da] = ebb::value_and_grad(f, ebb::has_aux)(a);
    CHECK(ebb::all_equal(s, ebb::softmax<0>(a)));
    CHECK(ebb::all_equal(da, ebb::exp(a)));
  }
}

TEST_CASE("gradients with further results work inside other transformations") {
  // A gradient and a prediction for each row.
  constexpr auto each = [](auto row, auto weights) {
    const auto y = ebb::tanh(ebb::sum(row * weights));
    return std::tuple(y * y, y);
  };
  const auto [values, ys, dws] = ebb::map(ebb::value_and_grad<1>(each, ebb::has_aux), x, ebb::whole(w));
  for (std::size_t i = 0; i < 2; ++i) {
    const column row{x(i, 0), x(i, 1), x(i, 2)};
    const auto [value, y, dw] = ebb::value_and_grad<1>(each, ebb::has_aux)(row, w);
    CHECK(values(i) == value);
    CHECK(ys(i) == y);
    for (std::size_t k = 0; k < 3; ++k) CHECK(dws(i, k) == dw(k));
  }
  // d/dw |dL/dw|^2, where dL/dw has a further result: twice the Hessian times the gradient.
  constexpr auto penalty = [](auto rows, auto weights) {
    const auto [d, y, positive] = ebb::grad<1>(model, ebb::has_aux)(rows, weights);
    return ebb::sum(d * d);
  };
  const auto got = ebb::grad<1>(penalty)(x, w);
  const auto wanted = ebb::hvp<1>(loss)(x, w, 2. * ebb::grad<1>(loss)(x, w));
  for (std::size_t k = 0; k < 3; ++k) CHECK(got(k) == near(wanted(k)));
}

TEST_CASE("gradients with further results work in contexts") {
  using mf = ebb::tensor<float, 2, 3>;
  using cf = ebb::tensor<float, 3, 2>;
  const mf a{{1.01f, 2, 3}, {4, 5, 6}};
  const cf b{{0.99f, 1}, {1, 1}, {1, 1.01f}};
  const auto [value, y, dv] = ebb::value_and_grad<1>(ebb::under<low>(squares), ebb::has_aux)(a, b);
  static_assert(std::is_same_v<decltype(y), const ebb::tensor<ebb::bf16, 2, 2>>);
  const auto plain = ebb::value_and_grad<1>(ebb::under<low>(first))(a, b);
  CHECK(value == get<0>(plain));
  CHECK(ebb::all_equal(dv, get<1>(plain)));

  constexpr auto region = ebb::compile<ebb::ambient<ebb::off, low>>(squares);
  constexpr auto same = ebb::compile<ebb::ambient<ebb::off, low>>(first);
  CHECK(test::equal(ebb::grad<1>(region, ebb::has_aux)(a, b), ebb::grad<1>(squares, ebb::has_aux)(a, b)));
  const ebb::autocast_scope<ebb::bf16> scope;
  const auto [d, inside] = ebb::grad<1>(region, ebb::has_aux)(a, b);
  static_assert(std::is_same_v<decltype(inside), const ebb::tensor<float, 2, 2>>);  // regions keep their dtypes
  CHECK(ebb::all_equal(d, ebb::grad<1>(same)(a, b)));
  CHECK(ebb::all_equal(inside, ebb::cast<float>(y)));
}

TEST_CASE("gradients with further results work on variables") {
  const ebb::variable v(w);
  const auto [value, y, positive, dw] = ebb::value_and_grad<1>(model, ebb::has_aux)(x, v);
  CHECK(ebb::all_equal(dw.value(), ebb::grad<1>(loss)(x, w)));
  static_assert(std::is_same_v<decltype(positive), const std::int64_t>);
  ebb::backward(ebb::sum(y));
  CHECK(
      ebb::all_equal(v.grad().value(), ebb::grad<1>([](auto rows, auto weights) { return ebb::sum(get<1>(model(rows, weights))); })(x, w)));
}

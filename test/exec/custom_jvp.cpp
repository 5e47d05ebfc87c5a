// test/exec/custom_jvp.cpp — functions with a push of their own; and functions with derivatives of their own in contexts and on the tape.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include "../catch.hpp"
#include "../build.hpp"

#include <cmath>
#include <limits>
#include <tuple>

namespace {

using ebb::tensor;

/// tanh(w x) with its derivative by hand: forwards, and backwards.
struct pushed_layer {
  constexpr auto operator()(auto x, auto w) const {
    return ebb::custom_jvp([](auto v, auto u) { return ebb::tanh(ebb::matmul(u, v)); }, [](auto v, auto u, auto dv, auto du) {
      const auto y = ebb::tanh(ebb::matmul(u, v));
      return (1 - y * y) * (ebb::matmul(du, v) + ebb::matmul(u, dv));
    }, x, w);
  }
};
struct pulled_layer {
  constexpr auto operator()(auto x, auto w) const {
    return ebb::custom_vjp([](auto v, auto u) {
      const auto y = ebb::tanh(ebb::matmul(u, v));
      return std::tuple(y, std::tuple(y, v, u));
    }, [](auto saved, auto g) {
      const auto [y, v, u] = saved;
      const auto d = g - g * y * y;
      return std::tuple(ebb::matmul(ebb::transpose(u), d), ebb::matmul(ebb::reshape<3, 1>(d), ebb::reshape<1, 3>(v)));
    }, x, w);
  }
};
struct plain_layer {
  constexpr auto operator()(auto x, auto w) const { return ebb::tanh(ebb::matmul(w, x)); }
};
template <class Layer>
struct loss_of_layers {
  constexpr auto operator()(auto x, auto w) const { return ebb::sum(ebb::square(Layer{}(Layer{}(x, w), w))); }
};

constexpr auto softened = [](auto x) {
  return ebb::custom_jvp([](auto v) { return ebb::sign(v); }, [](auto v, auto dv) { return dv * (1 - ebb::square(ebb::tanh(v))); }, x);
};
constexpr auto sum_of_softened = [](auto x) { return ebb::sum(softened(x)); };

/// Two results, one of them integers, and an integer among the arguments.
constexpr auto counted = [](auto x, auto n) {
  const auto [y, count] = ebb::custom_jvp([](auto v, auto k) { return std::tuple(v * k, k + 1); },
                                          [](auto v, auto k, auto dv, auto) { return std::tuple(3 * dv + 0 * v, k); }, x, n);
  return ebb::sum(y) * count;
};

template <class T, std::size_t... E>
tensor<T, E...> drawn(std::uint64_t seed) {
  tensor<T, E...> x;
  test::random r{seed};
  for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = static_cast<T>(r.between(-1, 1));
  return x;
}
void check_alike(const auto& a, const auto& b, double relative) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    CHECK(static_cast<double>(a.data()[i]) == Approx(static_cast<double>(b.data()[i])).epsilon(relative).margin(relative));
}

template <class Layer>
void check_on_the_tape(const tensor<double, 3>& x, const tensor<double, 3, 3>& w) {
  const auto expected = ebb::grad<1>(loss_of_layers<plain_layer>{})(x, w);
  const auto region = ebb::compile(loss_of_layers<Layer>{});
  for (const bool captured : {false, true, true}) {
    ebb::variable v(w);
    ebb::backward(region(x, v), {.compiled_autograd = captured});
    check_alike(v.grad(), expected, 1e-13);
  }
  ebb::variable v(w), u(w);
  const auto square = ebb::compile([](auto d) { return ebb::sum(ebb::square(d)); });
  const auto dv = ebb::grad(region(x, v), ebb::wrt(v), {.create_graph = true});
  const auto du = ebb::grad(ebb::compile(loss_of_layers<plain_layer>{})(x, u), ebb::wrt(u), {.create_graph = true});
  square(dv).backward();
  square(du).backward();
  check_alike(v.grad(), u.grad(), 1e-12);
}

}  // namespace

TEST_CASE("a push gives derivatives along directions, gradients, and those of higher order") {
  const auto x = drawn<double, 3>(1);
  const auto w = drawn<double, 3, 3>(2);
  const auto [value, dx, dw] = ebb::value_and_grad<0, 1>(loss_of_layers<pushed_layer>{})(x, w);
  const auto [plain, px, pw] = ebb::value_and_grad<0, 1>(loss_of_layers<plain_layer>{})(x, w);
  CHECK(value == plain);
  check_alike(dx, px, 1e-13);
  check_alike(dw, pw, 1e-13);
  const auto [y, along] = ebb::jvp(pushed_layer{})(x, w, x, w);
  check_alike(along, std::get<1>(ebb::jvp(plain_layer{})(x, w, x, w)), 1e-13);
  check_alike(ebb::jacfwd<1>(pushed_layer{})(x, w), ebb::jacrev<1>(plain_layer{})(x, w), 1e-13);
  check_alike(ebb::hessian<0>(loss_of_layers<pushed_layer>{})(x, w), ebb::hessian<0>(loss_of_layers<plain_layer>{})(x, w), 1e-12);
  check_alike(ebb::hvp<1>(loss_of_layers<pushed_layer>{})(x, w, w), ebb::hvp<1>(loss_of_layers<plain_layer>{})(x, w, w), 1e-12);
}

TEST_CASE("a push of its own: special points, first and second derivatives, rows of a map, integers") {
  const double inf = std::numeric_limits<double>::infinity();
  const tensor<double, 6> x{-inf, -1, -0.0, 0.0, 2, inf};
  const auto [value, slope] = ebb::value_and_grad(sum_of_softened)(x);
  CHECK(value == 0);
  for (const std::size_t i : {std::size_t{1}, std::size_t{4}}) CHECK(slope(i) == Approx(1 - std::tanh(x(i)) * std::tanh(x(i))));
  CHECK(slope(0) == 0);
  CHECK(slope(2) == 1);
  CHECK(slope(5) == 0);
  const auto curve = ebb::hessian(sum_of_softened)(tensor<double, 2>{0.5, -1});
  CHECK(curve(0, 0) == Approx(-2 * std::tanh(0.5) * (1 - std::tanh(0.5) * std::tanh(0.5))));
  CHECK(curve(0, 1) == 0);
  const auto rows = ebb::compile([](auto v) { return ebb::map(ebb::grad(sum_of_softened), v); })(drawn<double, 4, 3>(3));
  check_alike(rows, ebb::grad(sum_of_softened)(drawn<double, 4, 3>(3)), 1e-15);
  const auto [product, d] = ebb::value_and_grad<0>(counted)(tensor<double, 2>{1, 2}, 4);
  CHECK(product == 60);
  CHECK(d(1) == 15);
  CHECK(std::get<1>(ebb::jvp<0>(counted)(tensor<double, 2>{1, 2}, 4, tensor<double, 2>{1, 1})) == 30);
  constexpr auto slopes = ebb::grad(sum_of_softened);
  static_assert(slopes(tensor<double, 2>{0, 30})(0) == 1);
}

TEST_CASE("a region with a derivative of its own is one node: its backward, twice, and captured") {
  check_on_the_tape<pushed_layer>(drawn<double, 3>(1), drawn<double, 3, 3>(2));
  check_on_the_tape<pulled_layer>(drawn<double, 3>(1), drawn<double, 3, 3>(2));
}

TEST_CASE("in an autocast context both functions run in it, and gradients have the dtypes of the arguments") {
  using bf16 = ebb::autocast<ebb::bf16>;
  const auto x = drawn<float, 3>(1);
  const auto w = drawn<float, 3, 3>(2);
  const auto y = ebb::compile(ebb::under<bf16>(pulled_layer{}))(x, w);
  const auto expected = ebb::compile(ebb::under<bf16>(plain_layer{}))(x, w);
  static_assert(std::is_same_v<decltype(y), decltype(expected)>);
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(ebb::to_cell(y.data()[i]) == ebb::to_cell(expected.data()[i]));
  const auto of_plain = ebb::grad<1>(ebb::under<bf16>([](auto v, auto u) { return ebb::sum(plain_layer{}(v, u)); }))(x, w);
  const auto of_pull = ebb::grad<1>(ebb::under<bf16>([](auto v, auto u) { return ebb::sum(pulled_layer{}(v, u)); }))(x, w);
  const auto of_push = ebb::grad<1>(ebb::under<bf16>([](auto v, auto u) { return ebb::sum(pushed_layer{}(v, u)); }))(x, w);
  static_assert(std::is_same_v<decltype(of_pull), const tensor<float, 3, 3>>);
  check_alike(of_pull, of_plain, 0.03);
  check_alike(of_push, of_plain, 0.03);
  check_alike(ebb::grad<1>([](auto v, auto u) { return ebb::sum(pulled_layer{}(v, u)); })(x, w), of_pull, 0.03);
}

// test/trace/custom.cpp — functions with a pull of their own: values, derivatives, forms, in loops and maps, as graphs.
// SPDX-License-Identifier: BSL-1.0
// covers: custom.hpp graph/custom.hpp op/custom.hpp pass/custom.hpp
#include <ebb/functional.hpp>

#include "../build.hpp"
#include "../catch.hpp"

#include <array>
#include <limits>
#include <tuple>

namespace {

using ebb::dyn;
using ebb::tensor;

/// A dense layer with a pull written by hand, which is what ebb derives: equal bits are expected.
struct dense {
  constexpr auto operator()(auto x, auto w) const { return ebb::tanh(ebb::matmul(w, x)); }
};
struct dense_by_hand {
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
template <class Layer>
struct loss_of {
  constexpr auto operator()(auto x, auto w) const { return ebb::sum(ebb::square(Layer{}(Layer{}(x, w), w))); }
};
template <class Layer>
struct looped {
  constexpr auto operator()(auto x, auto w) const {
    const auto [end, ys] = ebb::scan([](auto h, auto row, auto u) {
      const auto next = Layer{}(h + row, u);
      return std::tuple(next, ebb::sum(next));
    }, x[0], x, ebb::whole(w));
    return ebb::sum(end) + ebb::sum(ys * ys);
  }
};
template <class Layer>
struct mapped_gradient {
  constexpr auto operator()(auto x, auto w) const { return ebb::map(ebb::grad<0, 1>(loss_of<Layer>{}), x, ebb::whole(w)); }
};
template <class Layer>
struct mapped_loss {
  constexpr auto operator()(auto x, auto w) const {
    return ebb::sum(ebb::map([](auto row, auto u) { return ebb::sum(Layer{}(row, u)); }, x, ebb::whole(w)));
  }
};

template <class T, std::size_t... E>
tensor<T, E...> numbers_like(std::uint64_t seed) {
  tensor<T, E...> x;
  test::random r{seed};
  for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = static_cast<T>(r.between(-1, 1));
  return x;
}
void check_equal(const auto& a, const auto& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(test::same_cell(ebb::dtype::f64, ebb::to_cell(a.data()[i]), ebb::to_cell(b.data()[i])));
}
void check_near(const auto& a, const auto& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a.data()[i] == Approx(b.data()[i]).epsilon(1e-12).margin(1e-12));
}

/// log(1 + exp(x)), with a derivative that is right where exp overflows.
constexpr auto stable = [](auto x) {
  return ebb::custom_vjp([](auto v) { return std::tuple(ebb::log(1 + ebb::exp(v)), v); },
                         [](auto v, auto g) { return std::tuple(g * ebb::sigmoid(v)); }, x);
};
constexpr auto naive = [](auto x) { return ebb::log(1 + ebb::exp(x)); };

template <template <class, std::size_t...> class Array>
struct pair_of {
  using vector = Array<double, 3>;
  using number = Array<double>;
  BOOST_HANA_DEFINE_STRUCT(pair_of, (vector, place), (number, size));
};

/// Structs, tuples and integers go in and out; the factor has no gradient.
constexpr auto forms = [](auto p, auto list, auto factor) {
  const auto [y, count] = ebb::custom_vjp([](auto q, auto l, auto k) {
    const auto [a, n] = l;
    return std::tuple(std::tuple(q.place * a * k, n + 1), std::tuple(q, std::tuple(a, k)));
  }, [](auto saved, auto g) {
    const auto [q, rest] = saved;
    const auto [a, k] = rest;
    auto d = q;
    d.place = 10 * a * k * std::get<0>(g);
    d.size = ebb::sum(std::get<0>(g));
    return std::tuple(d, std::tuple(q.place * std::get<0>(g), 0), ebb::nothing);
  }, p, list, factor);
  return ebb::sum(y) * ebb::sum(count);
};

/// An op without a pull.
struct halved : ebb::elementwise<1> {
  static constexpr std::string_view name = "halved";
  static constexpr auto value(auto x) { return x * ebb::lane::all<decltype(x)>(0.5); }
};
constexpr ebb::call<halved> half{};

/// A linear function whose pull is none, and the op above.
constexpr auto clamped = [](auto x) {
  return ebb::custom_vjp([](auto v, auto k) { return std::tuple(half(v) * k, k); },
                         [](auto k, auto g) { return std::tuple(ebb::clamp(g * k, -1, 1), ebb::nothing); }, x, 3.0);
};
/// 1, with the derivative 2 y: then all derivatives are powers of 2.
constexpr auto doubling = [](auto x) {
  return ebb::custom_vjp([](auto v) {
    const auto y = ebb::exp(v * 0);
    return std::tuple(y, y);
  }, [](auto y, auto g) { return std::tuple(2 * y * g); }, x);
};
/// A saved value that is computed.
constexpr auto of_square = [](auto x) {
  return ebb::custom_vjp([](auto v) { return std::tuple(v, std::tuple(v * v)); },
                         [](auto saved, auto g) { return std::tuple(std::get<0>(saved) * g); }, x);
};
struct by_stages {
  constexpr auto operator()(auto x, auto w) const {
    return ebb::custom_vjp([](auto v, auto u) {
      const auto e = ebb::exp(v);
      return std::tuple(std::tuple(e * u, ebb::sum(v)), std::tuple(e, u));
    }, [](auto saved, auto g) {
      const auto [e, u] = saved;
      return std::tuple(std::get<0>(g) * e * u + std::get<1>(g), ebb::nothing);
    }, x, w);
  }
};

}  // namespace

TEST_CASE("a pull written as ebb would derive it gives the same bits: gradients, in loops, in maps, second derivatives") {
  const auto x = numbers_like<double, 3>(1);
  const auto w = numbers_like<double, 3, 3>(2);
  const auto rows = numbers_like<double, 4, 3>(3);
  const auto [value, dx, dw] = ebb::value_and_grad<0, 1>(loss_of<dense_by_hand>{})(x, w);
  const auto [plain, px, pw] = ebb::value_and_grad<0, 1>(loss_of<dense>{})(x, w);
  CHECK(value == plain);
  check_near(dx, px);
  check_near(dw, pw);
  check_near(ebb::hessian<0>(loss_of<dense_by_hand>{})(x, w), ebb::hessian<0>(loss_of<dense>{})(x, w));
  const auto [pushed, along] = ebb::jvp<1>(loss_of<dense_by_hand>{})(x, w, w);
  CHECK(along == Approx(std::get<1>(ebb::jvp<1>(loss_of<dense>{})(x, w, w))).epsilon(1e-12));

  const auto [in_loop, lx, lw] = ebb::value_and_grad<0, 1>(looped<dense_by_hand>{})(rows, w);
  const auto [plain_loop, qx, qw] = ebb::value_and_grad<0, 1>(looped<dense>{})(rows, w);
  CHECK(in_loop == plain_loop);
  check_near(lx, qx);
  check_near(lw, qw);
  check_near(ebb::hvp<1>(looped<dense_by_hand>{})(rows, w, w), ebb::hvp<1>(looped<dense>{})(rows, w, w));

  const auto by_rows = ebb::compile(mapped_gradient<dense_by_hand>{})(rows, w);
  const auto plain_rows = ebb::compile(mapped_gradient<dense>{})(rows, w);
  check_near(std::get<0>(by_rows), std::get<0>(plain_rows));
  check_near(std::get<1>(by_rows), std::get<1>(plain_rows));
  const auto [mx, mw] = ebb::grad<0, 1>(mapped_loss<dense_by_hand>{})(rows, w);
  const auto [nx, nw] = ebb::grad<0, 1>(mapped_loss<dense>{})(rows, w);
  check_near(mx, nx);
  check_near(mw, nw);
}

TEST_CASE("values have the bits of the function, and derivatives are those of the pull where the function's are NaN") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const tensor<double, 7> x{-1000, -1.5, -0.0, 0.0, 2, 1000, inf};
  check_equal(ebb::compile(stable)(x), ebb::compile(naive)(x));
  const auto slope = ebb::grad([](auto v) { return ebb::sum(stable(v)); })(x);
  const auto bad = ebb::grad([](auto v) { return ebb::sum(naive(v)); })(x);
  CHECK(slope(5) == 1);
  CHECK(slope(6) == 1);
  CHECK(bad(5) != bad(5));
  for (std::size_t i = 1; i < 5; ++i) CHECK(slope(i) == Approx(1 / (1 + std::exp(-x(i)))).epsilon(1e-14));
  const auto curve = ebb::hessian([](auto v) { return ebb::sum(stable(v)); })(tensor<double, 2>{0, 1000});
  CHECK(curve(0, 0) == Approx(0.25));
  CHECK(curve(1, 1) == 0);
  const auto third = ebb::grad([](auto v) { return ebb::grad([](auto u) { return ebb::grad(stable)(u); })(v); })(0.5);
  const double s = 1 / (1 + std::exp(-0.5));
  CHECK(third == Approx(s * (1 - s) * (1 - 2 * s)).epsilon(1e-12));
  const auto of_nan = ebb::grad([](auto v) { return ebb::sum(stable(v)); })(tensor<double, 2>{nan, 1});
  CHECK(of_nan(0) != of_nan(0));
  CHECK(of_nan(1) == slope(4) - slope(4) + 1 / (1 + std::exp(-1.0)));
}

TEST_CASE("structs, tuples and integers; an argument without a gradient; several results, one of them unused") {
  pair_of<tensor> p;
  p.place = tensor<double, 3>{1, 2, 3};
  const std::tuple list(tensor<double, 3>{4, 5, 6}, tensor<int, 3>{1, 2, 3});
  const auto [value, dp, dl] = ebb::value_and_grad<0, 1>(forms)(p, list, 2.0);
  CHECK(value == 2 * 32.0 * 9);
  CHECK(dp.place(1) == 10 * 5 * 2 * 9.0);
  CHECK(dp.size() == 27.0);
  CHECK(std::get<0>(dl)(2) == 3 * 9.0);
  CHECK(std::get<1>(dl)(2) == 0);
  CHECK(ebb::grad<2>(forms)(p, list, 2.0) == 0);
  const auto first = ebb::grad([](auto x, auto w) { return ebb::sum(std::get<0>(by_stages{}(x, w))); })(p.place, p.place);
  const auto second = ebb::grad([](auto x, auto w) { return std::get<1>(by_stages{}(x, w)); })(p.place, p.place);
  CHECK(first(2) == Approx(3 * std::exp(3.0)));
  CHECK(second(2) == 1);
}

TEST_CASE("what computes the value needs no pull; numbers are arguments; a pull may be no linear function") {
  const tensor<double, dyn> x{1, -2, 4};
  const auto [value, slope] = ebb::value_and_grad([](auto v) { return ebb::sum(ebb::square(clamped(v))); })(x);
  CHECK(value == 2.25 * 21);
  CHECK(slope(0) == 1);
  CHECK(slope(1) == -1);
  const auto gentle = ebb::grad([](auto v) { return ebb::sum(clamped(v)) * 0.25; })(x);
  CHECK(gentle(2) == 0.75);
}

TEST_CASE("a saved value that is the result has the pull again, others the derivative of what computed them") {
  CHECK(ebb::grad([](auto x) { return ebb::grad([](auto v) { return ebb::grad(doubling)(v); })(x); })(1.5) == 8);
  CHECK(ebb::grad(of_square)(3.0) == 9);
  CHECK(ebb::grad([](auto x) { return ebb::grad(of_square)(x); })(3.0) == 6);
}

TEST_CASE("graphs: valid at each stage, the same values with and without their custom equations, and constants") {
  using term = ebb::term<double, dyn>;
  const ebb::graph g = ebb::trace_of<by_stages, term, term>::make();
  for (const ebb::graph& made : {g, ebb::joint(g, {0, 1}), ebb::push_forward(g, {0, 1}), ebb::joint(ebb::joint(g, {0}), {0, 1})}) {
    CHECK(test::error_text(made) == "");
    const ebb::graph low = ebb::lower(made);
    CHECK(test::error_text(low) == "");
    for (int k = 0; k < low.size(); ++k) CHECK(low.op(k).what != ebb::kind::custom);
    const test::call c = test::random_call(made, 3, 4, false);
    CHECK(ebb::evaluate(made, c.arguments, c.symbols) == ebb::evaluate(low, c.arguments, c.symbols));
  }
  CHECK(ebb::prune(ebb::lower(g)).size() < g.size());
  constexpr auto slope = ebb::grad([](auto x) { return ebb::sum(stable(x) * x); });
  static_assert(slope(tensor<double, 2>{0, 1})(0) > 0.69);
}

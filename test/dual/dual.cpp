// test/dual/dual.cpp — duals through ordinary C++: values and derivatives of every order, levels that do not mix, and what is refused.
// SPDX-License-Identifier: BSL-1.0
// covers: dual.hpp push.hpp number.hpp cmath.hpp
#include <ebb/dual.hpp>
#include <ebb/ebb.hpp>

#include "../catch.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>

using ebb::dual, ebb::dyn, ebb::tensor;

namespace {

bool near(double a, double b, double tolerance = 1e-14) {
  return std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b)) || (std::isnan(a) && std::isnan(b)) || a == b;
}

constexpr auto everything = [](auto x, auto y) {
  return ebb::exp(x * 0.5) / (y + 2.0) - 3 * ebb::sin(x - y) * ebb::sqrt(y * y + 1.0f) + (1.0 - x) / y + -x + ebb::pow(y, 3) -
         ebb::maximum(x, y) * 2 + ebb::atan2(x, y);
};

/// A template as users have them, which knows nothing of ebb.
template <class T>
T iterated(T x, int steps) {
  using std::cos, std::sqrt, std::fabs;
  T sum = 0;
  for (int i = 1; i <= steps; ++i) {
    if (x > 1) x = x / 2;
    else x = cos(x) + sqrt(fabs(x - 0.25)) * i;
    sum += x * x;
    sum -= 1 / (x + 3);
  }
  return sum;
}

}  // namespace

TEST_CASE("operators and functions on duals are those of jvp") {
  for (const auto& [x, y, v, w] : {std::array{0.7, 1.3, 1.0, 0.0}, std::array{-2.0, 0.4, 0.0, 1.0}, std::array{1.5, -3.25, -2.0, 0.5}}) {
    const auto [value, along] = ebb::jvp(everything)(x, y, v, w);
    const auto d = everything(dual{x, v}, dual{y, w});
    CHECK(near(d.value, value));
    CHECK(near(d.tangent, along));
    const auto first = everything(dual{x, v}, y);
    CHECK(near(first.tangent, std::get<1>(ebb::jvp<0>(everything)(x, y, v))));
    const auto second = everything(x, dual{y, w});
    CHECK(near(second.tangent, std::get<1>(ebb::jvp<1>(everything)(x, y, w))));
  }
}

TEST_CASE("a template of the user's takes duals") {
  const double h = 1e-6;
  for (const double x : {0.3, 0.9, 3.7, -1.7}) {
    const dual<double> d = iterated(dual{x, 1.0}, 7);
    CHECK(near(d.value, iterated(x, 7)));
    CHECK(near(d.tangent, (iterated(x + h, 7) - iterated(x - h, 7)) / (2 * h), 1e-7));
  }
  STATIC_REQUIRE(std::numeric_limits<dual<float>>::epsilon() == std::numeric_limits<float>::epsilon());
}

TEST_CASE("a loop that ends by a condition: the derivative of a root") {
  const auto root = [](auto a) {
    auto x = a;
    while (ebb::abs(x * x - a) > 1e-13) x = 0.5 * (x + a / x);
    return x;
  };
  const auto [value, slope] = root(dual{2.0, 1.0});
  CHECK(near(value, std::sqrt(2.0), 1e-13));
  CHECK(near(slope, 0.5 / std::sqrt(2.0), 1e-6));  // it converges one step later than the value
}

TEST_CASE("duals of duals have second and third derivatives") {
  using two = dual<double>;
  using three = dual<two>;
  const auto f = [](auto x) { return x * x * x * x * x + ebb::exp(x) / x; };
  const double x = 1.25, e = std::exp(x);
  const dual<three> d = f(dual<three>{three{two{x, 1.0}, two{1.0, 0.0}}, three{two{1.0, 0.0}, two{}}});
  CHECK(near(d.value.value.value, std::pow(x, 5) + e / x));
  CHECK(near(d.tangent.value.value, 5 * std::pow(x, 4) + e / x - e / (x * x)));
  CHECK(near(d.tangent.tangent.value, 20 * x * x * x + e / x - 2 * e / (x * x) + 2 * e / (x * x * x)));
  CHECK(near(d.tangent.tangent.tangent, 60 * x * x + e / x - 3 * e / (x * x) + 6 * e / (x * x * x) - 6 * e / (x * x * x * x), 1e-13));
}

TEST_CASE("derivatives inside of a function that is differentiated do not mix") {
  // d/dx (x d/dy (x + y)) is 1, not 2.
  const auto derivative = [](auto f, auto x) { return f(dual{x, decltype(x)(1.0)}).tangent; };
  const auto outer = [&](auto x) { return x * derivative([&](auto y) { return x + y; }, decltype(x)(1.0)); };
  CHECK(derivative(outer, 3.0) == 1.0);
  // d/dx (x d/dy (x y^2) at y = x) is d/dx (2 x^3).
  const auto nested = [&](auto x) { return x * derivative([&](auto y) { return x * y * y; }, x); };
  CHECK(derivative(nested, 3.0) == 54.0);
}

TEST_CASE("duals of numbers count up and down") {
  dual x{2.0, 3.0};
  const dual before = x++;
  CHECK(before.value == 2.0);
  CHECK((++x).value == 4.0);
  CHECK((x--).value == 4.0);
  CHECK((--x).value == 2.0);
  CHECK((+x).tangent == 3.0);
  dual twice{dual{2.0, 1.0}, dual{1.0, 0.0}};
  CHECK((++twice * twice).tangent.value == 6.0);
}

TEST_CASE("arrays: functions are programs of value and tangent") {
  const tensor<double, 3> x{0.1, -0.4, 2.0}, v{1.0, 0.5, -1.0}, w{3.0, 1.0, 2.0};
  const auto f = [](auto a, auto b) { return ebb::sum(ebb::tanh(a) * b + a / 2 - 1); };
  const auto [value, along] = ebb::jvp<0>(f)(x, w, v);
  const auto d = f(dual{x, v}, w);
  CHECK(near(d.value, value));
  CHECK(near(d.tangent, along));
  STATIC_REQUIRE(std::is_same_v<decltype(d), const dual<double>>);

  const tensor<double, dyn, dyn> m = tensor<double, dyn, dyn>::full(0.5, 2, 3);
  const auto product = ebb::matmul(m, dual{x, v});
  CHECK(near(product.value(1), 0.85));
  CHECK(near(product.tangent(0), 0.25));
  const auto scaled = dual{2.0, 1.0} * x;  // a number with a tangent, an array without
  CHECK(near(scaled.value(2), 4.0));
  CHECK(near(scaled.tangent(2), 2.0));
  const auto chosen = ebb::where(dual{x, v} > 0.0, dual{x, v}, w);
  CHECK(chosen.tangent(0) == 1.0);
  CHECK(chosen.tangent(1) == 0.0);
  const auto mapped = ebb::compile([](auto all) { return ebb::map([](auto a) { return a * a; }, all); })(dual{x, v});
  CHECK(near(mapped.tangent(2), -4.0));
  const tensor<float, 2> narrow{1.0f, 2.0f};
  STATIC_REQUIRE(std::is_same_v<decltype(dual{narrow, narrow} * 0.5), dual<tensor<float, 2>>>);
  dual sum{x, v};
  sum += 1;
  sum *= w;
  CHECK(near(sum.tangent(0), 3.0));
}

TEST_CASE("map, scan and while_loop take duals outside of compiled functions, as the compiled functions do") {
  const tensor<double, 3> x{0.1, -0.4, 2.0}, v{1.0, 0.5, -1.0};
  static constexpr auto step = [](auto h, auto row) {
    const auto next = ebb::tanh(h * row + 0.3);
    return std::tuple(next, next * row);
  };
  constexpr auto compiled = ebb::compile([](auto h, auto rows) { return ebb::scan(step, h, rows); });
  const auto [end, ys] = ebb::scan(step, dual{0.4, 0.5}, dual{x, v});
  const auto [expected, rows] = compiled(dual{0.4, 0.5}, dual{x, v});
  CHECK(end.value == expected.value);
  CHECK(end.tangent == expected.tangent);
  CHECK(ebb::same_bits(ys.tangent, rows.tangent));
  // A constant carry: the double is weak beside arrays of floats.
  const tensor<float, 2> narrow{1.0f, 2.0f};
  const auto constant = std::get<1>(ebb::scan(step, 0.5, dual{narrow, narrow}));
  STATIC_REQUIRE(std::is_same_v<decltype(constant), const dual<tensor<float, 2>>>);

  const auto squares = ebb::map([](auto a, auto b) { return a * a * b; }, dual{x, v}, ebb::whole(2.0));
  CHECK(near(squares.value(2), 8.0));
  CHECK(near(squares.tangent(2), -8.0));
  const auto twice = ebb::map([](auto a) { return a * a; }, dual{dual{x, v}, dual{v, tensor<double, 3>{}}});
  CHECK(near(twice.tangent.tangent(1), 0.5));

  const auto root = ebb::while_loop([](auto a, auto b) { return ebb::abs(a * a - b) > 1e-13; },
                                    [](auto a, auto b) { return 0.5 * (a + b / a); }, dual{2.0, 1.0}, ebb::whole(dual{2.0, 1.0}));
  CHECK(near(root.tangent, 0.5 / std::sqrt(2.0)));

  // Tuples and structs of duals and arrays.
  const auto pairs = std::get<0>(ebb::scan([](auto c, auto row, auto w) {
    const auto [a, b] = c;
    return std::tuple(std::tuple(a * w + row, b + a), std::tuple<>());
  }, std::tuple(dual{1.0, 1.0}, 0.0), x, ebb::whole(2.0)));
  CHECK(near(std::get<0>(pairs).tangent, 8.0));
  CHECK(near(std::get<1>(pairs).tangent, 7.0));
}

TEST_CASE("compiled functions and gradients are pushed as one program") {
  constexpr auto f = [](auto a, auto b) { return ebb::sum(ebb::exp(a * b)); };
  const tensor<double, 4> x{0.1, -0.4, 0.2, 0.5}, v{1.0, 0.5, -1.0, 0.25}, w{3.0, 1.0, 2.0, -1.0};
  const auto [value, along] = ebb::jvp<0>(f)(x, w, v);
  const auto d = ebb::compile(f)(dual{x, v}, w);
  CHECK(d.value == value);
  CHECK(d.tangent == along);

  const auto g = ebb::grad<0>(f)(dual{x, v}, w);
  const auto h = ebb::hvp<0>(f)(x, w, v);
  for (std::size_t i = 0; i < 4; ++i) CHECK(near(g.tangent(i), h(i)));

  const auto [loss, of_first, of_second] = ebb::value_and_grad<0, 1>(f)(dual{x, v}, dual{w, w});
  CHECK(near(loss.value, value));
  CHECK(near(of_first.value(0), g.value(0)));
  CHECK(near(of_second.value(0), 0.1 * std::exp(0.3)));
  CHECK(near(of_second.tangent(0), std::exp(0.3) * (1 + 0.1 * (3 * 1 + 0.1 * 3))));

  const auto both = ebb::compile([](auto a) { return std::tuple(ebb::sum(a), ebb::argmax(a)); })(dual{x, v});
  CHECK(near(std::get<0>(both).tangent, 0.75));
  CHECK(std::get<1>(both) == 3);  // an integer has no tangent
}

namespace {

template <template <class, std::size_t...> class Array>
struct line {
  using weights = Array<double, 2>;
  using number = Array<double>;
  BOOST_HANA_DEFINE_STRUCT(line, (weights, w), (number, b));
};

}  // namespace

TEST_CASE("structs of arrays: params<ebb::dual_of>") {
  line<ebb::dual_of> p;
  p.w = {tensor<double, 2>{1.0, 2.0}, tensor<double, 2>{0.0, 1.0}};
  p.b = {tensor<double>(0.5), tensor<double>(-1.0)};
  const auto model = ebb::compile([](auto q, auto x) { return ebb::sum(q.w * x) + q.b; });
  const auto d = model(p, tensor<double, 2>{3.0, 4.0});
  CHECK(d.value == 11.5);
  CHECK(d.tangent == 3.0);
  const auto doubled = ebb::compile([](auto q) {
    q.w = q.w * 2.0;
    return q;
  })(p);
  STATIC_REQUIRE(std::is_same_v<decltype(doubled), const line<ebb::dual_of>>);
  CHECK(doubled.w.tangent(1) == 2.0);
  CHECK(doubled.b.tangent() == -1.0);
  const auto mapped = ebb::map([](auto x, auto q) { return ebb::sum(q.w) * x; }, tensor<double, 2>{3.0, 4.0}, ebb::whole(p));
  CHECK(mapped.value(1) == 12.0);
  CHECK(mapped.tangent(1) == 4.0);
}

TEST_CASE("special points of duals") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isinf(ebb::sqrt(dual{0.0, 1.0}).tangent));
  CHECK(ebb::exp(dual{-inf, 1.0}).tangent == 0.0);
  CHECK(std::isnan((dual{nan, 1.0} * 2.0).value));
  CHECK(ebb::abs(dual{-0.0, 1.0}).tangent == 0.0);  // as ebb::grad of abs
  CHECK(std::signbit((-dual{0.0, 0.0}).value));
  CHECK(isnan(dual{nan, 0.0}));
  CHECK(!isfinite(dual{inf, 0.0}));
  CHECK(isinf(dual{inf, 0.0}));
  const tensor<double, 0> none;
  CHECK(ebb::sum(dual{none, none} * 2.0).tangent == 0.0);
}

TEST_CASE("a constant expression") {
  constexpr auto d = [] {
    dual<double> x{0.5, 1.0}, y = 1.0;
    for (int i = 0; i < 3; ++i) y = y * x - 2.0 / x;
    return y;
  }();
  STATIC_REQUIRE(d.value == 1.0 * 0.125 - 4.0 * 1.75);
}

TEST_CASE("duals print themselves, and refuse tangents of other extents") {
  std::ostringstream text;
  text << dual{1.5, -2.0};
  CHECK(text.str() == "dual(1.5, -2)");
  const tensor<double, dyn> two(2), three(3);
  try {
    const dual wrong{two, three};
    FAIL("no error");
  } catch (const ebb::error& e) {
    CHECK(std::string(e.what()) == "ebb::dual: the value is [2], the tangent is [3]");
  }
  CHECK_THROWS_AS((dual{two, two} * three), ebb::error);
}

// GradBench's saddle and particle: derivatives through searches and through a simulation that ends by a condition.
namespace {

template <class T>
using pair_of = std::array<T, 2>;

template <class F, class T>
pair_of<T> gradient_of(const F& f, const pair_of<T>& x) {
  return {f(pair_of<dual<T>>{dual<T>{x[0], 1.0}, dual<T>{x[1]}}).tangent, f(pair_of<dual<T>>{dual<T>{x[0]}, dual<T>{x[1], 1.0}}).tangent};
}
template <class T>
T length_of(const pair_of<T>& x) {
  using std::sqrt;
  return sqrt(x[0] * x[0] + x[1] * x[1]);
}

/// Gradient descent with a step that grows and shrinks.
template <class F, class T>
pair_of<T> least(const F& f, pair_of<T> x) {
  T fx = f(x);
  pair_of<T> g = gradient_of(f, x);
  double rate = 1e-5;
  for (int successes = 0; length_of(g) > 1e-5;) {
    if (successes == 10) {
      rate *= 2;
      successes = 0;
      continue;
    }
    const pair_of<T> next{x[0] - rate * g[0], x[1] - rate * g[1]};
    if (length_of(pair_of<T>{next[0] - x[0], next[1] - x[1]}) <= 1e-5) break;
    const T value = f(next);
    if (value < fx) x = next, fx = value, g = gradient_of(f, x), ++successes;
    else rate /= 2, successes = 0;
  }
  return x;
}

}  // namespace

TEST_CASE("the saddle of x^2 + y^2 - u^2 - v^2: a search in a search") {
  const auto worst_of = [](auto x) {
    using T = std::remove_cvref_t<decltype(x[0])>;
    const auto inner = [&](const auto& u) { return u[0] * u[0] + u[1] * u[1] - (x[0] * x[0] + x[1] * x[1]); };
    const pair_of<T> u = least(inner, pair_of<T>{1.0, 1.0});
    return -inner(u);
  };
  const auto x = least(worst_of, pair_of<double>{1.0, 1.0});
  CHECK(std::abs(x[0]) < 1e-4);
  CHECK(std::abs(x[1]) < 1e-4);
}

TEST_CASE("a charged particle is steered into the origin: a derivative of a simulation with a gradient in each step") {
  const auto miss = [](auto w) {
    using T = decltype(w);
    const auto potential = [&](const auto& x) {
      using S = std::remove_cvref_t<decltype(x[0])>;
      return 1.0 / length_of(pair_of<S>{x[0] - 10.0, x[1] - (10.0 - w)}) + 1.0 / length_of(pair_of<S>{x[0] - 10.0, x[1]});
    };
    pair_of<T> x{0.0, 8.0}, speed{0.75, 0.0};
    for (;;) {
      const pair_of<T> g = gradient_of(potential, x);
      const pair_of<T> next{x[0] + 0.1 * speed[0], x[1] + 0.1 * speed[1]};
      if (!(next[1] > 0.0)) break;
      x = next;
      speed = {speed[0] - 0.1 * g[0], speed[1] - 0.1 * g[1]};
    }
    const T at = x[0] - x[1] / speed[1] * speed[0];
    return at * at;
  };
  const double h = 1e-6;
  for (const double w : {0.0, 0.1, 0.5}) {
    const dual<double> d = miss(dual{w, 1.0});
    CHECK(near(d.value, miss(w)));
    CHECK(near(d.tangent, (miss(w + h) - miss(w - h)) / (2 * h), 1e-6));
  }
}

// test/exec/linearize.cpp — linearize: a function's value and its push, against derivatives written by hand and against jvp.
// SPDX-License-Identifier: BSL-1.0
// covers: vjp.hpp
#include <ebb/ebb.hpp>

#include "../catch.hpp"
#include "../equal.hpp"

#include <cmath>
#include <tuple>

namespace {

using std::get;
using vector = ebb::tensor<double, 3>;
using matrix = ebb::tensor<double, 3, 3>;

template <template <class, std::size_t...> class Array>
struct layer {
  using weight = Array<double, 3, 3>;
  using count = Array<int>;
  BOOST_HANA_DEFINE_STRUCT(layer, (weight, w), (count, seen));
};

const vector x{0.5, -1, 2}, v{1, 2, -1}, u{0.25, 0, 3};
const matrix w{{0.3, -0.2, 0.9}, {0.1, 0.7, -0.4}, {-0.6, 0.5, 0.2}}, along_w{{1, 0, -2}, {0.5, 3, 0.25}, {0, -1, 2}};
constexpr auto f = [](auto a, auto b) { return ebb::tanh(ebb::matmul(b, a)); };
constexpr auto loss = [](auto a, auto b) { return ebb::sum(ebb::exp(f(a, b)) * a); };
Approx near(double wanted) { return Approx(wanted).epsilon(1e-13).margin(1e-14); }

/// Element i of the derivative of f along dx and dw, in long double.
double by_hand(std::size_t i, const vector& dx, const matrix& dw) {
  long double h = 0, t = 0;
  for (std::size_t j = 0; j < 3; ++j) {
    h += static_cast<long double>(w(i, j)) * x(j);
    t += static_cast<long double>(dw(i, j)) * x(j) + static_cast<long double>(w(i, j)) * dx(j);
  }
  const long double y = std::tanh(h);
  return static_cast<double>((1 - y) * (1 + y) * t);
}

}  // namespace

TEST_CASE("linearize has the value, and a push that may be called with many tangents") {
  const auto [y, push] = ebb::linearize(f)(x, w);
  CHECK(ebb::all_equal(y, ebb::compile(f)(x, w)));
  const auto [z, of_x] = ebb::linearize<0>(f)(x, w);
  const auto [q, of_w] = ebb::linearize<1>(f)(x, w);
  const auto [r, turned] = ebb::linearize<1, 0>(f)(x, w);
  for (const vector& dx : {v, u, vector{0, 0, 0}}) {
    const vector both = push(dx, along_w), one = of_x(dx), other = of_w(along_w);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(both(i) == near(by_hand(i, dx, along_w)));
      CHECK(one(i) == near(by_hand(i, dx, matrix{})));
      CHECK(other(i) == near(by_hand(i, vector{}, along_w)));
    }
    CHECK(ebb::all_equal(both, get<1>(ebb::jvp(f)(x, w, dx, along_w))));
    CHECK(ebb::all_equal(turned(along_w, dx), both));
  }
  // A push and a pull-back are transposes of one another.
  const auto [s, pull] = ebb::vjp<0, 1>(f)(x, w);
  const auto [gx, gw] = pull(u);
  CHECK(ebb::sum(push(v, along_w) * u) == near(ebb::sum(gx * v) + ebb::sum(gw * along_w)));
  static_assert(ebb::linearize([](auto a) { return a * a * a; })(2.0).second(1.0) == 12.0);
}

TEST_CASE("linearize takes structs, tuples, integers, numbers and extents that the call decides; integers have the tangent 0") {
  constexpr auto g = [](auto p, auto n, auto a) {
    return std::tuple(ebb::matmul(p.w, a) * n, std::tuple(ebb::sum(a * a), p.seen + n));
  };
  layer<ebb::tensor> p, dp;
  p.w = w;
  dp.w = along_w;
  p.seen = ebb::tensor<int>(7);
  const auto [y, push] = ebb::linearize(g)(p, 2, x);
  CHECK(get<1>(get<1>(y)) == 9);
  const auto [t, rest] = push(dp, v);
  CHECK(t(1) == near(2 * (0.5 * x(0) + 3 * x(1) + 0.25 * x(2) + 0.1 * v(0) + 0.7 * v(1) - 0.4 * v(2))));
  CHECK(get<0>(rest) == near(2 * (x(0) * v(0) + x(1) * v(1) + x(2) * v(2))));
  CHECK(get<1>(rest) == 0);
  const ebb::tensor<float, ebb::dyn> a{1, 2, 4}, da{0.5f, -1, 2};
  const auto [sum, along] = ebb::linearize([](auto b) { return ebb::sum(ebb::sqrt(b)); })(a);
  CHECK(along(da) == Approx(0.25 - 0.5 / std::sqrt(2.0) + 0.5));
  CHECK(test::raised([&] { along(ebb::tensor<float, ebb::dyn>{1, 2}); }).find("ebb::linearize") != std::string::npos);
  CHECK(ebb::linearize([](auto b, auto c) { return b * c; })(3.0, 4.0).second(1.0, 1.0) == 7.0);
}

TEST_CASE("linearize in traced functions: second derivatives, loops, and a while loop without a bound") {
  const auto hessian_times = [](auto a, auto b, auto d) { return ebb::linearize<0>(ebb::grad(loss))(a, b).second(d); };
  const auto direct = ebb::hvp<0>(loss)(x, w, v);
  const auto inside = ebb::compile(hessian_times)(x, w, v);
  for (std::size_t i = 0; i < 3; ++i) CHECK(inside(i) == near(direct(i)));
  const auto slope = ebb::grad([](auto a, auto b, auto d) { return ebb::linearize<0>(loss)(a, b).second(d); })(x, w, v);
  for (std::size_t i = 0; i < 3; ++i) CHECK(slope(i) == near(direct(i)));

  constexpr auto steps = [](auto a, auto b) { return ebb::fori(4, [](auto, auto h, auto m) { return f(h, m); }, a, ebb::whole(b)); };
  constexpr auto written = [](auto a, auto b) { return f(f(f(f(a, b), b), b), b); };
  const vector along = ebb::linearize(steps)(x, w).second(v, along_w), wanted = get<1>(ebb::jvp(written)(x, w, v, along_w));
  for (std::size_t i = 0; i < 3; ++i) CHECK(along(i) == near(wanted(i)));
  constexpr auto open = [](auto a) {
    return ebb::while_loop([](auto h) { return ebb::sum(h * h) > 0.5; }, [](auto h) { return 0.5 * ebb::sin(h); }, a);
  };
  const vector pushed = ebb::linearize(open)(x).second(v), by_jvp = get<1>(ebb::jvp(open)(x, v));
  for (std::size_t i = 0; i < 3; ++i) CHECK(pushed(i) == near(by_jvp(i)));
}

TEST_CASE("linearize in a context pushes in it, and follows the context that a scope selects for a region") {
  using low = ebb::autocast<ebb::bf16>;
  const auto narrow = [](const auto& a) { return ebb::cast<float>(a); };
  const ebb::tensor<float, 3> a = narrow(x), da = narrow(v);
  const ebb::tensor<float, 3, 3> b = narrow(w), db = narrow(along_w);
  const auto [y, push] = ebb::linearize(ebb::under<low>(f))(a, b);
  const auto [value, tangent] = ebb::jvp(ebb::under<low>(f))(a, b, da, db);
  CHECK(ebb::all_equal(y, value));
  CHECK(ebb::all_equal(push(da, db), tangent));
  constexpr auto region = ebb::compile<ebb::ambient<ebb::off, low>>(f);
  const ebb::autocast_scope<ebb::bf16> scope;
  CHECK(ebb::all_equal(ebb::linearize(region)(a, b).second(da, db), narrow(tangent)));
}

TEST_CASE("linearize keeps infinities and NaN of its point, and a zero tangent gives zeros elsewhere") {
  constexpr auto root = [](auto a) { return ebb::sqrt(a); };
  const auto t = ebb::linearize(root)(vector{0, 4, -1}).second(vector{1, 0, 1});
  CHECK(std::isinf(t(0)));
  CHECK(t(1) == 0);
  CHECK(std::isnan(t(2)));
}

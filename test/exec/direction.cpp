// test/exec/direction.cpp — jvp and hvp along directions in some of the arguments, against sums computed by hand.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include "../catch.hpp"

#include <cmath>

namespace {

using std::get;
using vector = ebb::tensor<double, 3>;
using low = ebb::autocast<ebb::bf16>;

template <template <class, std::size_t...> class Array>
struct pair {
  using list = Array<double, 3>;
  using count = Array<int>;
  BOOST_HANA_DEFINE_STRUCT(pair, (list, of), (count, seen));
};

const vector x{0.5, -1, 2}, y{1.5, 0.25, -0.75}, v{1, 2, -1}, u{0.5, 0, 3};
constexpr auto f = [](auto a, auto b) { return ebb::sin(a) * b * b; };
constexpr auto loss = [](auto a, auto b) { return ebb::sum(f(a, b)); };
Approx near(double wanted) { return Approx(wanted).epsilon(1e-14).margin(1e-15); }

}  // namespace

TEST_CASE("jvp by one argument holds the others constant") {
  const auto [value, by_y] = ebb::jvp<1>(f)(x, y, v);
  const auto by_x = get<1>(ebb::jvp<0>(f)(x, y, u));
  CHECK(ebb::all_equal(value, ebb::compile(f)(x, y)));
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(by_y(i) == near(2 * std::sin(x(i)) * y(i) * v(i)));
    CHECK(by_x(i) == near(std::cos(x(i)) * y(i) * y(i) * u(i)));
  }
  // The arguments may be named in any order; naming all of them equals naming none.
  const auto both = get<1>(ebb::jvp<1, 0>(f)(x, y, v, u));
  for (std::size_t i = 0; i < 3; ++i) CHECK(both(i) == near(by_x(i) + by_y(i)));
  CHECK(ebb::all_equal(get<1>(ebb::jvp<0, 1>(f)(x, y, u, v)), get<1>(ebb::jvp(f)(x, y, u, v))));
  static_assert(get<1>(ebb::jvp<1>([](auto a, auto b) { return a * b * b; })(3.0, 2.0, 1.0)) == 12.0);
}

TEST_CASE("hvp uses the Hessian of the named arguments") {
  const auto by_y = ebb::hvp<1>(loss)(x, y, v);
  for (std::size_t i = 0; i < 3; ++i) CHECK(by_y(i) == near(2 * std::sin(x(i)) * v(i)));
  const auto [of_y, of_x] = ebb::hvp<1, 0>(loss)(x, y, v, u);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(of_y(i) == near(2 * std::sin(x(i)) * v(i) + 2 * std::cos(x(i)) * y(i) * u(i)));
    CHECK(of_x(i) == near(2 * std::cos(x(i)) * y(i) * v(i) - std::sin(x(i)) * y(i) * y(i) * u(i)));
  }
  vector into;
  ebb::hvp<1>(loss)(ebb::into(into), x, y, v);
  CHECK(ebb::all_equal(into, by_y));
}

TEST_CASE("jvp and hvp take integers, structs and changing extents, and work inside other transformations") {
  constexpr auto picked = [](auto a, auto at) { return ebb::take(a * a, at); };
  const ebb::tensor<int, 2> at{2, 0};
  CHECK(ebb::all_equal(get<1>(ebb::jvp<0>(picked)(x, at, v)), ebb::tensor<double, 2>{-4, 1}));

  constexpr auto of_struct = [](auto p, auto s) { return p.of * p.of * s; };
  const pair<ebb::tensor> p{x, 3}, d{v, 0};
  CHECK(ebb::all_equal(get<1>(ebb::jvp<0>(of_struct)(p, 2.0, d)), 4. * x * v));
  CHECK(ebb::all_equal(ebb::hvp<0>([](auto q, auto s) { return ebb::sum(q.of * q.of * s); })(p, 2.0, d).of, 4. * v));

  for (std::size_t n : std::initializer_list<std::size_t>{0, 1, 4}) {
    const auto a = ebb::tensor<float, ebb::dyn>::iota(n);
    CHECK(ebb::all_equal(get<1>(ebb::jvp<1>([](auto s, auto l) { return s * l * l; })(2.f, a, a)), 4.f * a * a));
  }

  const auto rows = ebb::tensor<double, 2, 3>{{1, 2, 3}, {4, 5, 6}};
  const auto pushed = get<1>(ebb::map(ebb::jvp<1>(f), rows, ebb::whole(y), ebb::whole(v)));
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t k = 0; k < 3; ++k) CHECK(pushed(i, k) == near(2 * std::sin(rows(i, k)) * y(k) * v(k)));

  const auto slope = ebb::grad<0>([](auto a, auto b, auto dir) { return ebb::sum(get<1>(ebb::jvp<1>(f)(a, b, dir))); })(x, y, v);
  for (std::size_t i = 0; i < 3; ++i) CHECK(slope(i) == near(2 * std::cos(x(i)) * y(i) * v(i)));
}

TEST_CASE("jvp and hvp by some arguments work in contexts and on variables") {
  using m = ebb::tensor<float, 2, 2>;
  const m a{{1.01f, 2}, {3, 0.99f}}, b{{1, 0.123f}, {0.5f, 1}}, d{{1, 1.01f}, {0, 1}};
  constexpr auto product = [](auto p, auto q) { return ebb::matmul(p, q); };
  constexpr auto region = ebb::compile<ebb::ambient<ebb::off, low>>(product);
  const m still{};
  CHECK(ebb::all_equal(get<1>(ebb::jvp<1>(region)(a, b, d)), get<1>(ebb::jvp<1>(product)(a, b, d))));
  const auto under = get<1>(ebb::jvp<1>(ebb::under<low>(product))(a, b, d));
  CHECK(ebb::all_equal(under, ebb::compile([](auto p, auto q, auto r) {
          return get<1>(ebb::under<low>([](auto s, auto t, auto z) { return ebb::jvp<1>(decltype(product){})(s, t, z); })(p, q, r));
        })(a, b, d)));
  const ebb::autocast_scope<ebb::bf16> scope;
  CHECK(ebb::all_equal(get<1>(ebb::jvp<1>(region)(a, b, d)), get<1>(ebb::jvp(region)(a, b, still, d))));
  const ebb::variable s(x);
  const auto [value, along] = ebb::jvp<1>(f)(s, y, v);
  ebb::backward(ebb::sum(along));
  for (std::size_t i = 0; i < 3; ++i) CHECK(s.grad().value()(i) == near(2 * std::cos(x(i)) * y(i) * v(i)));
}

namespace {

using rows_of_two = ebb::tensor<double, ebb::dyn, 2>;
using list = ebb::tensor<double, ebb::dyn>;
constexpr auto affine = [](auto p, auto k) { return ebb::map([](auto q, auto s) { return q[0] * s + ebb::square(q[1]); }, p, k); };
constexpr auto slope_of_affine = ebb::compile([](auto p, auto k, auto d) { return get<1>(ebb::jvp<0>(affine)(p, k, d)); });
constexpr auto curve_of_affine = ebb::compile([](auto p, auto k, auto d) {
  return ebb::hvp<0>([](auto q, auto s) { return ebb::sum(affine(q, s)); })(p, k, d);
});
constexpr auto mapped_slope = ebb::compile([](auto p, auto d) {
  return get<1>(ebb::map(ebb::jvp([](auto q) { return q * q; }), p, d));
});

}  // namespace

TEST_CASE("a direction in a traced function has the extents of its argument") {
  // So many rows run in several blocks: in each, the direction's rows are those of the argument.
  for (std::size_t n : {1u, 9001u}) {
    CAPTURE(n);
    rows_of_two p(n), d(n);
    list k(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double at = static_cast<double>(i);
      p.at(i, 0) = at, p.at(i, 1) = at / 2, d.at(i, 0) = 3 - at, d.at(i, 1) = 2 * at, k.at(i) = 1 + at / 4;
    }
    const list slope = slope_of_affine(p, k, d);
    const rows_of_two curve = curve_of_affine(p, k, d), squares = mapped_slope(p, d);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) {
      wrong += slope(i) != d(i, 0) * k(i) + 2 * p(i, 1) * d(i, 1);
      wrong += curve(i, 0) != 0 || curve(i, 1) != 2 * d(i, 1);
      for (std::size_t c = 0; c < 2; ++c) wrong += squares(i, c) != 2 * p(i, c) * d(i, c);
    }
    CHECK(wrong == 0);
  }
  const rows_of_two p(4), d(3);
  CHECK_THROWS_AS(slope_of_affine(p, list(4), d), ebb::error);
  CHECK_THROWS_AS(curve_of_affine(p, list(4), d), ebb::error);
  CHECK_THROWS_AS(mapped_slope(p, d), ebb::error);
}

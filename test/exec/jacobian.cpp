// test/exec/jacobian.cpp — jacobian and hessian by tuples and structs, and of several results, against sums computed by hand.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include "../catch.hpp"

#include <cmath>

namespace {

using std::get;

template <template <class, std::size_t...> class Array>
struct layer {
  using matrix = Array<double, 3, 2>;
  using count = Array<std::int64_t>;
  BOOST_HANA_DEFINE_STRUCT(layer, (matrix, w), (count, steps));
};
template <template <class, std::size_t...> class Array>
struct net {
  using first = layer<Array>;
  using pair = std::tuple<Array<double, 3>, Array<double>>;
  BOOST_HANA_DEFINE_STRUCT(net, (first, in), (pair, rest));
};
template <template <class, std::size_t...> class Array>
struct rates {
  using list = Array<float, ebb::dyn>;
  BOOST_HANA_DEFINE_STRUCT(rates, (list, of));
};

template <template <class, std::size_t...> class Array>
struct matrices {
  using matrix = Array<float, 2, 3>;
  BOOST_HANA_DEFINE_STRUCT(matrices, (matrix, in));
};

net<ebb::tensor> start() {
  return {{{{0.5, -1}, {0.25, 0.75}, {-0.5, 0.125}}, ebb::tensor<std::int64_t>(7)}, {{0.1, -0.2, 0.3}, 1.5}};
}
const ebb::tensor<double, 2> x{0.8, -0.6};

/// s tanh(w x + b); a result with a gradient by s alone; a result without a gradient.
constexpr auto model = [](auto p, auto at) {
  const auto y = ebb::tanh(ebb::matmul(p.in.w, at) + get<0>(p.rest));
  return std::tuple(get<1>(p.rest) * y, get<1>(p.rest) * get<1>(p.rest), y > 0);
};
constexpr auto norm = [](auto m, auto v) { return ebb::sum(ebb::square(ebb::matmul(m.in, v))); };
constexpr auto loss = [](auto p, auto at) { return ebb::sum(get<0>(model(p, at))); };

/// tanh of row i of w x + b, and its first two derivatives.
struct unit {
  long double y, slope, bend;
  explicit unit(std::size_t i) {
    const auto p = start();
    y = std::tanh(static_cast<long double>(p.in.w(i, 0)) * x(0) + static_cast<long double>(p.in.w(i, 1)) * x(1) + get<0>(p.rest)(i));
    slope = 1 - y * y;
    bend = -2 * y * slope;
  }
};
Approx near(long double wanted) { return Approx(static_cast<double>(wanted)).epsilon(1e-14).margin(1e-15); }

void check_jacobian(const auto& j) {
  for (std::size_t i = 0; i < 3; ++i) {
    const unit at(i);
    for (std::size_t k = 0; k < 3; ++k) {
      for (std::size_t l = 0; l < 2; ++l) CHECK(j.in.w(i, k, l) == near(i == k ? 1.5 * at.slope * x(l) : 0));
      CHECK(get<0>(j.rest)(i, k) == near(i == k ? 1.5 * at.slope : 0));
    }
    CHECK(get<1>(j.rest)(i) == near(at.y));
    CHECK(j.in.steps(i) == 0);
  }
}
void check_hessian(const auto& h) {
  for (std::size_t i = 0; i < 3; ++i) {
    const unit at(i);
    for (std::size_t k = 0; k < 3; ++k) {
      const long double bend = i == k ? 1.5 * at.bend : 0;
      for (std::size_t l = 0; l < 2; ++l) {
        for (std::size_t m = 0; m < 2; ++m) CHECK(h.in.w.in.w(i, l, k, m) == near(bend * x(l) * x(m)));
        CHECK(get<0>(h.in.w.rest)(i, l, k) == near(bend * x(l)));
        CHECK(get<0>(h.rest).in.w(i, k, l) == near(bend * x(l)));
      }
      CHECK(get<0>(get<0>(h.rest).rest)(i, k) == near(bend));
      CHECK(get<1>(get<0>(h.rest).rest)(k) == near(unit(k).slope));
    }
    for (std::size_t l = 0; l < 2; ++l) {
      CHECK(get<1>(h.in.w.rest)(i, l) == near(at.slope * x(l)));
      CHECK(get<1>(h.rest).in.w(i, l) == near(at.slope * x(l)));
    }
    CHECK(h.in.steps.in.w(i, 0) == 0);
    CHECK(h.in.w.in.steps(i, 1) == 0);
  }
  CHECK(get<1>(get<1>(h.rest).rest) == 0);
}

}  // namespace

TEST_CASE("a jacobian by a struct is that struct, with the result's extents first") {
  const auto j = ebb::jacobian(model)(start(), x);
  check_jacobian(get<0>(j));
  CHECK(get<1>(get<1>(j).rest) == 3);
  CHECK(ebb::all_equal(get<1>(j).in.w, ebb::tensor<double, 3, 2>{}));
  CHECK(ebb::all_equal(get<2>(j).in.w, ebb::tensor<double, 3, 3, 2>{}));  // of bools

  auto into = ebb::jacobian(model)(start(), x);
  ebb::each_leaf([](auto& leaf) { leaf = leaf + 1; }, into);
  ebb::jacobian(model)(ebb::into(into), start(), x);
  check_jacobian(get<0>(into));

  const auto of_both = ebb::jacobian<0, 1>([](auto p, auto at) { return get<0>(model(p, at)); })(start(), x);
  check_jacobian(get<0>(of_both));
  const auto w = start().in.w;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t l = 0; l < 2; ++l) CHECK(get<1>(of_both)(i, l) == near(1.5 * unit(i).slope * w(i, l)));
}

TEST_CASE("forward and reverse jacobians have one form and agree to rounding") {
  const auto forward = ebb::jacfwd(model)(start(), x), backward = ebb::jacrev(model)(start(), x);
  check_jacobian(get<0>(forward));
  check_jacobian(get<0>(backward));
  CHECK(get<1>(get<1>(forward).rest) == 3);
  CHECK(ebb::all_equal(get<1>(forward).in.w, ebb::tensor<double, 3, 2>{}));
  CHECK(get<1>(forward).in.steps == 0);
  CHECK(ebb::all_equal(get<2>(forward).in.w, ebb::tensor<double, 3, 3, 2>{}));  // of bools
  static_assert(std::is_same_v<decltype(forward), decltype(backward)>);

  auto into = ebb::jacfwd(model)(start(), x);
  ebb::each_leaf([](auto& leaf) { leaf = leaf + 1; }, into);
  ebb::jacfwd(model)(ebb::into(into), start(), x);
  check_jacobian(get<0>(into));
  check_jacobian(get<0>(ebb::jacfwd<0, 1>([](auto p, auto at) { return get<0>(model(p, at)); })(start(), x)));

  // Second derivatives by any two modes.
  check_hessian(ebb::jacfwd([](auto p, auto at) { return ebb::grad(loss)(p, at); })(start(), x));
  check_hessian(ebb::jacrev([](auto p, auto at) { return ebb::jacfwd(loss)(p, at); })(start(), x));
}

TEST_CASE("a jacobian runs forward if the types show fewer arguments than results") {
  using curve = ebb::tensor<double, 5>;
  constexpr auto f = [](auto a, auto t) { return ebb::exp(ebb::select<0, 0>(a) * t) * ebb::select<0, 1>(a); };
  const ebb::tensor<double, 2> a{0.5, 2};
  const curve t{0, 0.25, 0.5, 0.75, 1};
  using two = ebb::tensor<double, 2>;
  const auto as_text = [](auto jacobian) { return ebb::to_string<two, curve>(jacobian); };
  CHECK(as_text(ebb::jacobian(f)) == as_text(ebb::jacfwd(f)));
  CHECK_FALSE(as_text(ebb::jacobian(f)) == as_text(ebb::jacrev(f)));
  CHECK(as_text(ebb::jacobian<1>(f)) == as_text(ebb::jacrev<1>(f)));
  CHECK(as_text(ebb::jacobian<0, 1>(f)) == as_text(ebb::jacrev<0, 1>(f)));  // seven elements, five results
  const auto of_lengths = [](auto jacobian) { return ebb::to_string<two, ebb::tensor<double, ebb::dyn>>(jacobian); };
  CHECK(of_lengths(ebb::jacobian(f)) == of_lengths(ebb::jacrev(f)));  // the number of results is not static
  // Integers do not count.
  constexpr auto taken = [](auto p, auto at) { return ebb::take(get<0>(p), at); };
  using pair = std::tuple<two, ebb::tensor<int, 9>>;
  using places = ebb::tensor<int, 3>;
  CHECK(ebb::to_string<pair, places>(ebb::jacobian(taken)) == ebb::to_string<pair, places>(ebb::jacfwd(taken)));

  const auto j = ebb::jacobian(f)(a, t);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(j(i, 0) == near(2.L * t(i) * std::exp(0.5L * t(i))));
    CHECK(j(i, 1) == near(std::exp(0.5L * t(i))));
  }
  // Each row has the bits of that row alone, mapped or not.
  const auto rows = ebb::map(ebb::jacfwd(f), ebb::tensor<double, 2, 2>{{0.5, 2}, {0.5, 2}}, ebb::whole(t));
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t i = 0; i < 5; ++i)
      for (std::size_t k = 0; k < 2; ++k) CHECK(rows(r, i, k) == j(i, k));
}

TEST_CASE("a hessian by a struct is a struct of structs") {
  check_hessian(ebb::hessian(loss)(start(), x));
  const auto h = ebb::hessian<1, 0>([](auto at, auto p) { return loss(p, at); })(x, start());
  check_hessian(ebb::hessian<1>([](auto at, auto p) { return loss(p, at); })(x, start()));

  // By several arguments each member holds a tuple of all: d2 / dx2, d2 / dx dw, d2 / dw dx.
  const auto w = start().in.w;
  for (std::size_t l = 0; l < 2; ++l) {
    for (std::size_t m = 0; m < 2; ++m) {
      long double bend = 0;
      for (std::size_t i = 0; i < 3; ++i) bend += 1.5 * unit(i).bend * w(i, l) * w(i, m);
      CHECK(get<1>(get<1>(h))(l, m) == near(bend));
    }
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t m = 0; m < 2; ++m) {
        const long double mixed = 1.5 * (unit(i).bend * x(m) * w(i, l) + (l == m ? unit(i).slope : 0));
        CHECK(get<0>(get<1>(h)).in.w(l, i, m) == near(mixed));
        CHECK(get<1>(get<0>(h).in.w)(i, m, l) == near(mixed));
      }
  }
}

TEST_CASE("structs of derivatives are arguments and results as others are") {
  // Third derivatives are the jacobian of a hessian; along a direction they are its jvp.
  constexpr auto second = [](auto p, auto at) { return ebb::hessian(loss)(p, at); };
  const auto third = ebb::jacobian(second)(start(), x);
  const auto along = ebb::jvp(second)(start(), x, start(), ebb::tensor<double, 2>{});
  const auto& d = get<1>(along);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 3; ++k) {
      const auto& t = get<0>(get<0>(third.rest).rest);
      long double sum = get<1>(t.rest)(i, k) * get<1>(start().rest);
      for (std::size_t l = 0; l < 3; ++l) {
        sum += get<0>(t.rest)(i, k, l) * get<0>(start().rest)(l);
        for (std::size_t m = 0; m < 2; ++m) sum += t.in.w(i, k, l, m) * start().in.w(l, m);
      }
      CHECK(get<0>(get<0>(d.rest).rest)(i, k) == near(sum));
    }

  const auto h = ebb::hessian(loss)(start(), x);
  const auto doubled = ebb::compile([](auto all, auto one) {
    ebb::each_leaf([](auto& leaf) { leaf = 2 * leaf; }, all);
    return std::tuple(all, ebb::sum<2, 3>(one.in.w * all.in.w.in.w));
  })(h, start());
  CHECK(ebb::all_equal(get<0>(doubled).in.w.in.w, 2. * h.in.w.in.w));
  const auto w = start().in.w;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t l = 0; l < 2; ++l) {
      long double sum = 0;
      for (std::size_t m = 0; m < 2; ++m) sum += 3 * unit(i).bend * x(l) * x(m) * w(i, m);
      CHECK(get<1>(doubled)(i, l) == near(sum));
    }
}

TEST_CASE("jacobians by structs of variables are variables") {
  const auto p = start();
  const net<ebb::variable> v{{ebb::variable(p.in.w), p.in.steps}, {ebb::variable(get<0>(p.rest)), ebb::variable(get<1>(p.rest))}};
  const auto j = ebb::jacobian(model)(v, x);
  CHECK(ebb::all_equal(get<0>(j).in.w.value(), get<0>(ebb::jacobian(model)(p, x)).in.w));
  ebb::backward(ebb::sum(get<0>(get<0>(j).rest)));  // sum of s (1 - tanh^2): its derivative by b is the diagonal of the hessian
  for (std::size_t i = 0; i < 3; ++i) CHECK(get<0>(v.rest).grad().value()(i) == near(1.5 * unit(i).bend));
}

TEST_CASE("jacobians take changing extents, and work in constant expressions, maps and contexts") {
  constexpr auto squares = [](auto r, auto scale) { return scale * r.of * r.of; };
  for (std::size_t n : std::initializer_list<std::size_t>{0, 1, 3}) {
    const rates<ebb::tensor> r{ebb::tensor<float, ebb::dyn>::iota(n)};
    const auto j = ebb::jacobian(squares)(r, 3.f);
    REQUIRE(j.of.size() == n * n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < n; ++k) CHECK(j.of(i, k) == (i == k ? 6.f * static_cast<float>(i) : 0.f));
  }

  for (std::size_t n : std::initializer_list<std::size_t>{0, 1, 3}) {
    const rates<ebb::tensor> r{ebb::tensor<float, ebb::dyn>::iota(n)};
    CHECK(ebb::all_equal(ebb::jacfwd(squares)(r, 3.f).of, ebb::jacrev(squares)(r, 3.f).of));
    const auto by_scale = ebb::jacfwd<1>([](auto q, auto s) { return std::tuple(ebb::cast<double>(s * q.of * q.of), q.of > s); })(r, 3.f);
    CHECK(ebb::all_equal(get<0>(by_scale), r.of * r.of));  // in the argument's dtype
    CHECK(ebb::all_equal(get<1>(by_scale), ebb::tensor<float, ebb::dyn>(n)));
  }

  constexpr auto pushed = ebb::jacfwd([](auto t) { return std::tuple(get<0>(t) * get<1>(t), get<0>(t)); })(std::tuple(3.0, 4.0));
  static_assert(pushed == std::tuple(std::tuple(4.0, 3.0), std::tuple(1.0, 0.0)));
  constexpr auto pair = ebb::jacobian([](auto t) { return std::tuple(get<0>(t) * get<1>(t), get<0>(t)); })(std::tuple(3.0, 4.0));
  static_assert(pair == std::tuple(std::tuple(4.0, 3.0), std::tuple(1.0, 0.0)));

  // One jacobian for each row.
  const ebb::tensor<double, 2, 2> rows{{0.8, -0.6}, {0.8, -0.6}};
  const auto all = ebb::compile([](auto w, auto b, auto s, auto of_rows) {
    return ebb::map([](auto row, auto p, auto q, auto r) {
      constexpr auto f = [](auto t, auto at) { return get<2>(t) * ebb::tanh(ebb::matmul(get<0>(t), at) + get<1>(t)); };
      return get<0>(ebb::jacobian(f)(std::tuple(p, q, r), row));
    }, of_rows, ebb::whole(w), ebb::whole(b), ebb::whole(s));
  })(start().in.w, get<0>(start().rest), get<1>(start().rest), rows);
  const auto one = get<0>(ebb::jacobian(model)(start(), x)).in.w;
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t i = 0; i < 3; ++i) CHECK(all(r, i, i, 1) == one(i, i, 1));
}

TEST_CASE("hessians by structs of a region follow the context that a scope selects") {
  using low = ebb::autocast<ebb::bf16>;
  constexpr auto region = ebb::compile<ebb::ambient<ebb::off, low>>(norm);
  const matrices<ebb::tensor> m{{{1, 2, 3}, {4, 5, 6}}};
  const ebb::tensor<float, 3> v{1.01f, 0.99f, 1};
  const auto outside = ebb::hessian(region)(m, v).in.in;
  CHECK(ebb::all_equal(outside, ebb::hessian(norm)(m, v).in.in));
  CHECK(outside(0, 0, 0, 1) == Approx(2 * 1.01 * 0.99));
  const ebb::autocast_scope<ebb::bf16> scope;
  const auto inside = ebb::hessian(region)(m, v).in.in;
  CHECK(ebb::all_equal(inside, ebb::under<low>([](auto a, auto b) { return ebb::hessian(norm)(a, b).in.in; })(m, v)));
  CHECK_FALSE(ebb::all_equal(inside, outside));
}

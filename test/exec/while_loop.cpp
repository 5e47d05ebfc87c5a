// test/exec/while_loop.cpp — while loops against the same steps one after another: values, derivatives, forms, maps, contexts.
// SPDX-License-Identifier: BSL-1.0
// covers: while_loop.hpp open_loop.hpp loop.hpp
#include <ebb/functional.hpp>

#include "../build.hpp"
#include "../catch.hpp"

#include <cmath>
#include <limits>
#include <tuple>

namespace {

using ebb::dyn;
using ebb::tensor;

constexpr auto turned = [](auto x, auto w) { return ebb::tanh(ebb::matmul(w, x)) + 0.25 * x; };
constexpr auto is_long = [](auto x, auto) { return ebb::sum(x * x) > 0.05; };
constexpr auto shrink = [](auto x, auto w) { return ebb::while_loop(is_long, turned, x, ebb::whole(w)); };
constexpr auto shrink_bounded = [](auto x, auto w) { return ebb::while_loop<ebb::at_most<40>>(is_long, turned, x, ebb::whole(w)); };
constexpr auto loss_of_shrunk = [](auto x, auto w) { return ebb::sum(ebb::sin(shrink_bounded(x, w))); };
template <int Steps>
struct unrolled {
  constexpr auto operator()(auto x, auto w) const {
    if constexpr (Steps == 0) return ebb::sum(ebb::sin(x));
    else return unrolled<Steps - 1>{}(turned(x, w), w);
  }
};

template <class T, std::size_t... E>
tensor<T, E...> numbers_of(std::uint64_t seed, double low = -1, double high = 1) {
  tensor<T, E...> x;
  test::random r{seed};
  for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = static_cast<T>(r.between(low, high));
  return x;
}
void check_same_bits(const auto& a, const auto& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(ebb::to_cell(a.data()[i]) == ebb::to_cell(b.data()[i]));
}
void check_close(const auto& a, const auto& b, double relative = 1e-12) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a.data()[i] == Approx(b.data()[i]).epsilon(relative).margin(relative));
}
const tensor<double, 3> start{0.9, -0.7, 0.4};
const tensor<double, 3, 3> weights{0.5, 0.1, -0.2, 0.05, 0.4, 0.1, 0.2, -0.1, 0.3};

template <template <class, std::size_t...> class Array>
struct place_of {
  using vector = Array<double, dyn>;
  using count = Array<int>;
  BOOST_HANA_DEFINE_STRUCT(place_of, (vector, at), (count, steps));
};
constexpr auto halve_all = [](auto p) {
  return ebb::while_loop([](auto q) { return ebb::any(ebb::abs(q.at) > 1) && q.steps < 50; }, [](auto q) {
    auto next = q;
    next.at = q.at / 2;
    next.steps = q.steps + 1;
    return next;
  }, p);
};
constexpr auto newton_root = [](auto a) {
  return ebb::while_loop([](auto x, auto b) { return ebb::abs(x * x - b) > 1e-13 * b; },
                         [](auto x, auto b) { return 0.5 * (x + b / x); }, a, ebb::whole(a));
};
constexpr auto root_at_most = [](auto n, auto a) {
  return ebb::while_loop(n, [](auto x, auto b) { return ebb::abs(x * x - b) > 1e-13 * b; },
                         [](auto x, auto b) { return 0.5 * (x + b / x); }, a, ebb::whole(a));
};

}  // namespace

TEST_CASE("a while loop has the bits of the same steps called one after another, bounded or not") {
  const auto one = ebb::compile(turned);
  for (const double scale : {1.0, 0.3, 0.1, 0.0}) {
    tensor<double, 3> x = start;
    for (std::size_t i = 0; i < 3; ++i) x.mutable_data()[i] *= scale;
    tensor<double, 3> y = x;
    const auto square = [](const auto& v) { return ebb::sum(v * v); };
    int steps = 0;
    for (; square(y) > 0.05; ++steps) y = one(y, weights);
    if (scale == 1.0) CHECK(steps > 2);
    if (scale == 0.1) CHECK(steps == 0);
    check_same_bits(ebb::compile(shrink)(x, weights), y);
    check_same_bits(ebb::compile(shrink_bounded)(x, weights), y);
    check_same_bits(ebb::while_loop(is_long, turned, x, ebb::whole(weights)), y);
    check_same_bits(ebb::while_loop<ebb::at_most<40>>(is_long, turned, x, ebb::whole(weights)), y);
  }
  const auto two = ebb::compile([](auto x, auto w) { return ebb::while_loop<ebb::at_most<2>>(is_long, turned, x, ebb::whole(w)); });
  check_same_bits(two(start, weights), one(one(start, weights), weights));
  const auto none = ebb::compile([](auto x, auto w) { return ebb::while_loop<ebb::at_most<0>>(is_long, turned, x, ebb::whole(w)); });
  check_same_bits(none(start, weights), start);
}

TEST_CASE("a NaN in the condition ends a while loop; so does one that appears on the way") {
  tensor<double, 3> x = start;
  x.mutable_data()[1] = std::numeric_limits<double>::quiet_NaN();
  const auto y = ebb::compile(shrink)(x, weights);
  CHECK(y(0) == 0.9);
  CHECK(std::isnan(y(1)));
  const auto f = ebb::compile([](auto v) {
    return ebb::while_loop([](auto u) { return u > -100; }, [](auto u) { return ebb::sqrt(u) - 1; }, v);
  });
  CHECK(std::isnan(f(5.0)));
}

TEST_CASE("a bounded while loop has the gradient of the unrolled program, an open one its derivative along a direction") {
  int steps = 0;
  tensor<double, 3> y = start;
  for (const auto one = ebb::compile(turned); ebb::sum(y * y) > 0.05; ++steps) y = one(y, weights);
  REQUIRE(steps == 4);
  const auto [value, dx, dw] = ebb::value_and_grad<0, 1>(loss_of_shrunk)(start, weights);
  const auto [plain, px, pw] = ebb::value_and_grad<0, 1>(unrolled<4>{})(start, weights);
  CHECK(value == plain);
  check_same_bits(dx, px);
  check_close(dw, pw);
  const auto kept = [](auto x, auto w) {
    return ebb::sum(ebb::sin(ebb::while_loop<ebb::at_most<40>, ebb::keep_every<8>>(is_long, turned, x, ebb::whole(w))));
  };
  const auto [again, kx, kw] = ebb::value_and_grad<0, 1>(kept)(start, weights);
  CHECK(again == value);
  check_same_bits(kx, dx);
  check_same_bits(kw, dw);

  const auto v = numbers_of<double, 3>(3);
  const auto u = numbers_of<double, 3, 3>(4);
  const auto open = [](auto x, auto w) { return ebb::sum(ebb::sin(shrink(x, w))); };
  const auto [at, along] = ebb::jvp(open)(start, weights, v, u);
  CHECK(at == plain);
  double expected = 0;
  for (std::size_t i = 0; i < 3; ++i) expected += px.data()[i] * v.data()[i];
  for (std::size_t i = 0; i < 9; ++i) expected += pw.data()[i] * u.data()[i];
  CHECK(along == Approx(expected).epsilon(1e-12));
  const auto jacobian = ebb::jacfwd<0>(shrink)(start, weights);
  for (std::size_t j = 0; j < 3; ++j) {
    double of_x = 0;
    for (std::size_t i = 0; i < 3; ++i) of_x += std::cos(y.data()[i]) * jacobian.data()[3 * i + j];
    CHECK(of_x == Approx(px.data()[j]).epsilon(1e-12));
  }
}

TEST_CASE("while loops over structs with integers, over extents of the call, with a bound of the call, in constant expressions") {
  place_of<tensor> p;
  p.at = tensor<double, dyn>{5, 3, -9};
  p.steps = tensor<int>(7);
  const auto r = ebb::compile(halve_all)(p);
  CHECK(r.steps() == 11);
  CHECK(r.at(2) == -0.5625);
  const auto same = halve_all(p);
  CHECK(same.steps() == 11);
  p.at = tensor<double, dyn>(0);
  CHECK(ebb::compile(halve_all)(p).steps() == 7);
  const auto direction = ebb::jvp([](auto x) {
    const auto [at, n] = ebb::while_loop([](auto c) { return std::get<1>(c) < 3; }, [](auto c) {
      return std::tuple(std::get<0>(c) * std::get<0>(c), std::get<1>(c) + 1);
    }, std::tuple(x, 0));
    return at;
  })(1.1, 1.0);
  CHECK(std::get<1>(direction) == Approx(8 * std::pow(1.1, 7)));

  CHECK(ebb::compile(newton_root)(2.0) == Approx(std::sqrt(2.0)).epsilon(1e-13));
  CHECK(std::get<1>(ebb::jvp(newton_root)(2.0, 1.0)) == Approx(0.5 / std::sqrt(2.0)).epsilon(1e-6));
  const auto root = ebb::compile(root_at_most);
  CHECK(root(0, 2.0) == 2);
  CHECK(root(1, 2.0) == 1.5);
  CHECK(root(100, 2.0) == ebb::compile(newton_root)(2.0));
  CHECK(test::raised([&] { root(-1, 2.0); }) != "");
  CHECK(ebb::grad<1>(root_at_most)(100, 2.0) == Approx(0.5 / std::sqrt(2.0)).epsilon(1e-6));
  constexpr auto constant = ebb::compile(newton_root);
  static_assert(constant(4.0) - 2 < 1e-12);
}

TEST_CASE("in a map a while loop goes on while it goes on for any row, and rows that have ended keep their carry") {
  tensor<double, 5, 3> x = numbers_of<double, 5, 3>(8);
  for (std::size_t i = 0; i < 3; ++i) x.mutable_data()[6 + i] *= 0.1;
  const auto rows = [](auto f) {
    return ebb::compile([](auto v, auto w) { return ebb::map([](auto row, auto u) { return decltype(f){}(row, u); }, v, ebb::whole(w)); });
  };
  const auto open = rows(shrink)(x, weights), bounded = rows(shrink_bounded)(x, weights);
  const auto one = ebb::compile(shrink);
  for (std::size_t i = 0; i < 5; ++i) {
    tensor<double, 3> row;
    for (std::size_t j = 0; j < 3; ++j) row.mutable_data()[j] = x.data()[3 * i + j];
    const auto y = one(row, weights);
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(open.data()[3 * i + j] == y.data()[j]);
      CHECK(bounded.data()[3 * i + j] == y.data()[j]);
    }
  }
  const auto along = std::get<1>(ebb::jvp<0>([](auto v, auto w) {
    return ebb::map([](auto row, auto u) { return shrink(row, u); }, v, ebb::whole(w));
  })(x, weights, x));
  constexpr double h = 1e-6;  // against differences of the rows' own loops
  for (std::size_t i = 0; i < 5; ++i) {
    tensor<double, 3> up, down;
    for (std::size_t j = 0; j < 3; ++j) {
      up.mutable_data()[j] = x.data()[3 * i + j] * (1 + h);
      down.mutable_data()[j] = x.data()[3 * i + j] * (1 - h);
    }
    const auto a = one(up, weights), b = one(down, weights);
    for (std::size_t j = 0; j < 3; ++j)
      CHECK(along.data()[3 * i + j] == Approx((a.data()[j] - b.data()[j]) / (2 * h)).epsilon(1e-7).margin(1e-9));
  }
}

TEST_CASE("while loops in a scan, in a while loop, and in an autocast context") {
  const auto collected = [](auto x, auto w) {
    const auto [end, ys] = ebb::scan([](auto h, auto row, auto u) {
      const auto next = shrink(h + row, u);
      return std::tuple(next, ebb::sum(next));
    }, x[0], x, ebb::whole(w));
    return ebb::sum(end) + ebb::sum(ys * ys);
  };
  const auto collected_bounded = [](auto x, auto w) {
    const auto [end, ys] = ebb::scan([](auto h, auto row, auto u) {
      const auto next = shrink_bounded(h + row, u);
      return std::tuple(next, ebb::sum(next));
    }, x[0], x, ebb::whole(w));
    return ebb::sum(end) + ebb::sum(ys * ys);
  };
  const auto x = numbers_of<double, 4, 3>(9);
  const auto [value, along] = ebb::jvp<0>(collected)(x, weights, x);
  const auto [bounded, g] = ebb::value_and_grad<0>(collected_bounded)(x, weights);
  CHECK(value == bounded);
  double expected = 0;
  for (std::size_t i = 0; i < x.size(); ++i) expected += g.data()[i] * x.data()[i];
  CHECK(along == Approx(expected).epsilon(1e-12));

  const auto nested = ebb::compile([](auto v) {
    return ebb::while_loop([](auto u) { return u > 1; }, [](auto u) {
      return ebb::while_loop([](auto t) { return t > 8; }, [](auto t) { return t / 4; }, u) / 2;
    }, v);
  });
  CHECK(nested(100.0) == 100.0 / 16 / 8);
  const auto low = ebb::under<ebb::autocast<ebb::bf16>>([](auto a, auto w) {
    return ebb::while_loop([](auto s, auto) { return ebb::sum(s * s) > 0.05; },
                           [](auto s, auto u) { return ebb::cast<float>(ebb::tanh(ebb::matmul(u, s))); }, a, ebb::whole(w));
  });
  tensor<float, 3> narrow{0.9f, -0.7f, 0.4f}, y = narrow;
  const tensor<float, 3, 3> w = numbers_of<float, 3, 3>(5, -0.5, 0.5);
  const auto step = ebb::compile(ebb::under<ebb::autocast<ebb::bf16>>([](auto s, auto u) {
    return ebb::cast<float>(ebb::tanh(ebb::matmul(u, s)));
  }));
  while (ebb::sum(y * y) > 0.05f) y = step(y, w);
  check_same_bits(ebb::compile(low)(narrow, w), y);
}

// test/op/gate.cpp — softplus with a scale, prelu, glu, swiglu, geglu, lerp, and functions that change gradients only.
// SPDX-License-Identifier: BSL-1.0
// covers: gate.hpp gradient.hpp
#include "../linalg/oracle.hpp"
#include "../random_array.hpp"
#include "everywhere.hpp"
#include "golden.hpp"

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// The second derivative s (1 - s) cancels on the right. PyTorch's is linear from beta x = 20 on, element 36. The
// product beta x is rounded, which costs up to 13 units in the last place here.
TEST_CASE("softplus with a scale and lerp give PyTorch's recorded values") {
  const auto twice = [](auto x) { return ebb::softplus(x, 2.0, 20.0); };
  golden::check<golden::any_vector>("gate", "softplus_beta2", twice,
                                    {.value = 3, .grad = 4, .second = 8, .second_floor = 1, .open_at = {36}});
  golden::check_wide<golden::any_vector>("gate", "softplus_3", [](auto x) { return ebb::softplus(x, 3); },
                                         {.value = 16, .grad = 24, .second = 32, .second_floor = 1});
  golden::check<golden::any_vector, golden::any_vector>("gate", "lerp_0.3", [](auto x, auto y) { return ebb::lerp(x, y, 0.3); },
                                                        {.value = 2, .value_floor = 4, .nan_is_open = "value"});
  golden::check_wide<golden::any_vector, golden::any_vector, golden::any_vector>("gate", "lerp_tensor_weight",
                                                                                 [](auto a, auto b, auto w) { return ebb::lerp(a, b, w); },
                                                                                 {.value = 2, .grad = 2, .sign_is_open = true});
}

TEST_CASE("softplus without a threshold is exact for large arguments, and its scale gets a gradient") {
  const ebb::tensor<double, 3> x{-infinite, infinite, 800};
  const ebb::tensor<double, 3> y = ebb::softplus(x, 2);
  CHECK((y(0) == 0 && y(1) == infinite && y(2) == 800));
  CHECK(ebb::all_equal(ebb::grad([](auto a) { return ebb::sum(ebb::softplus(a, 2, 20)); })(x), ebb::tensor<double, 3>{0, 1, 1}));
  // d/db log(1 + e^(b x)) / b at x = 1, b = 2, by long double.
  const auto by_beta = ebb::grad<1>([](auto a, auto b) { return ebb::sum(ebb::softplus(a, b)); });
  const double slope = by_beta(ebb::tensor<double, 1>{1}, ebb::tensor<double, 1>{2})(0);
  const long double want = 1 / (1 + std::exp(-2.0L)) / 2 - std::log1p(std::exp(2.0L)) / 4;
  CHECK(std::fabs(slope - want) < 4e-16L);
}

TEST_CASE("lerp is exact at both ends, where a + w (b - a) is not") {
  const ebb::tensor<double, 2> a{1e16, 0.1}, b{1, 0.7};
  CHECK((ebb::all_equal(ebb::lerp(a, b, 1), b) && ebb::all_equal(ebb::lerp(a, b, 0), a)));
  static_assert(ebb::lerp(2., 4., 0.25) == 2.5 && ebb::lerp(1e16, 1., 1.) == 1);
}

TEST_CASE("prelu has a slope for each index of axis 1, or one") {
  const ebb::tensor<float, 2, 3, 2> x{-1, 2, -3, 4, -5, 6, -7, 8, -9, 10, -11, 12};
  const ebb::tensor<float, 3> slopes{0.5f, 2, -1};
  const ebb::tensor<float, 2, 3, 2> y = ebb::prelu(x, slopes);
  CHECK(ebb::all_equal(y, ebb::tensor<float, 2, 3, 2>{-0.5f, 2, -6, 4, 5, 6, -3.5f, 8, -18, 10, 11, 12}));
  const auto loss = [](auto u, auto v) { return ebb::sum(ebb::prelu(u, v)); };
  CHECK(ebb::all_equal(ebb::grad<1>(loss)(x, slopes), ebb::tensor<float, 3>{-8, -12, -16}));
  const ebb::tensor<float, 2, 2> rows{-1, 1, 0, -4};
  CHECK(ebb::all_equal(ebb::prelu(rows, ebb::tensor<float, 2>{3, 2}), ebb::tensor<float, 2, 2>{-3, 1, 0, -8}));
  CHECK(ebb::all_equal(ebb::prelu(rows, 0.25f), ebb::tensor<float, 2, 2>{-0.25f, 1, 0, -1}));
  using under = decltype(ebb::under<ebb::autocast<ebb::bf16>>([](auto u, auto v) { return ebb::prelu(u, v); })(x, slopes));
  CHECK(std::is_same_v<typename under::value_type, ebb::bf16>);
}

TEST_CASE("gated units multiply the halves of an axis") {
  const ebb::tensor<double, 2, 4> x{1, -2, 0.5, 3, -0.25, 4, -1, 0};
  const ebb::tensor<double, 2, 2> last = ebb::glu(x), gate = ebb::swiglu(x), bell = ebb::geglu(x);
  const ebb::tensor<double, 1, 4> first = ebb::glu<0>(x);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 2; ++j) {
      const double a = x(i, j), b = x(i, j + 2);
      CHECK((last(i, j) == a * ebb::sigmoid(b) && gate(i, j) == ebb::silu(a) * b && bell(i, j) == ebb::gelu(a) * b));
    }
  for (std::size_t j = 0; j < 4; ++j) CHECK(first(0, j) == x(0, j) * ebb::sigmoid(double(x(1, j))));
  const ebb::tensor<double, 2, 4> slope = ebb::grad([](auto a) { return ebb::sum(ebb::glu(a)); })(x);
  const double s = ebb::sigmoid(0.5);
  CHECK((slope(0, 0) == s && std::fabs(slope(0, 2) - s * (1 - s)) < 1e-16));
}

TEST_CASE("gated units have the first and second derivatives of long double code, along axes that a call knows too; NaN and infinity") {
  // Halves of the second axis of 2 x 4 x 2.
  const auto along = [](auto gate) {
    return [gate](const linalg_test::long_numbers& v) {
      linalg_test::long_numbers r;
      for (std::size_t i = 0; i < 8; ++i) {
        const std::size_t at = i / 4 * 8 + i % 4;
        r.push_back(gate(v[at], v[at + 4]));
      }
      return r;
    };
  };
  const auto logistic = [](long double z) { return 1 / (1 + std::exp(-z)); };
  const auto x = linalg_test::random_numbers(16, 3, 2);
  const auto check = [&](const char* name, auto f, auto gate) {
    const auto extents = linalg_test::extents_of({2, 4, 2});
    linalg_test::against_differences<ebb::term<double, 2, 4, 2>>(name, f, x, extents, along(gate), 1e-11L, 1e-7L);
    linalg_test::against_differences<ebb::term<double, ebb::dyn, ebb::dyn, ebb::dyn>>(name, f, x, extents, along(gate), 1e-11L, 1e-7L);
  };
  check("glu", [](auto a) { return ebb::glu<1>(a); }, [&](long double a, long double b) { return a * logistic(b); });
  check("swiglu", [](auto a) { return ebb::swiglu<-2>(a); }, [&](long double a, long double b) { return a * logistic(a) * b; });
  check("geglu", [](auto a) { return ebb::geglu<1>(a); },
        [](long double a, long double b) { return a * std::erfc(-a / std::sqrt(2.0L)) / 2 * b; });
  const ebb::tensor<double, ebb::dyn> ends{infinite, 1, -2, 0, 1, -infinite, infinite, std::nan("")};
  const auto gated = ebb::glu(ends);
  CHECK((gated(0) == infinite && gated(1) == 0 && gated(2) == -2 && std::isnan(gated(3))));
}

TEST_CASE("gated units of arrays whose extents only a call knows have the bits of static ones; an odd axis is an error") {
  const auto x = test::random_array<ebb::tensor<float, 3, 4, 2>>(1);
  const ebb::tensor<float, ebb::dyn, ebb::dyn, ebb::dyn> free(x);
  const auto same = [&](auto f) {
    CHECK(ebb::same_bits(ebb::tensor<float, ebb::dyn, ebb::dyn, ebb::dyn>(f(x)), f(free)));
    CHECK(ebb::all_equal(ebb::compile(f)(free), f(x)));
    const auto loss = [](auto a) { return ebb::sum(ebb::square(decltype(f){}(a))); };
    CHECK(ebb::all_equal(ebb::grad(loss)(free), ebb::grad(loss)(x)));
  };
  same([](auto a) { return ebb::glu(a); });
  same([](auto a) { return ebb::swiglu<1>(a); });
  same([](auto a) { return ebb::geglu<-2>(a); });
  CHECK(ebb::glu<0>(ebb::tensor<float, ebb::dyn, 3>(0)).size() == 0);
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::glu<0>(free)); }), {"ebb::glu", "[3, 4, 2]"}));
  const auto compiled = ebb::compile([](auto a) { return ebb::swiglu<0>(a); });
  CHECK(test::says(test::raised([&] { static_cast<void>(compiled(free)); }), {"swiglu", "[3, 4, 2]"}));
}

TEST_CASE("grad_scale, grad_reverse and straight_through change gradients and not values") {
  const ebb::tensor<double, 3> x{-0.6, 0.4, 2.5};
  const auto scaled = [](auto a) { return ebb::sum(ebb::square(ebb::grad_scale(a, 0.5))); };
  const auto reversed = [](auto a) { return ebb::sum(ebb::square(ebb::grad_reverse(a))); };
  CHECK(std::get<0>(ebb::value_and_grad(scaled)(x)) == ebb::sum(ebb::square(x)));
  CHECK(ebb::all_equal(ebb::grad(scaled)(x), x));
  CHECK(ebb::all_equal(ebb::grad(reversed)(x), -2 * x));
  const auto rounded = [](auto a) { return ebb::straight_through(ebb::round, a); };
  CHECK(ebb::all_equal(ebb::compile(rounded)(x), ebb::tensor<double, 3>{-1, 0, 2}));
  CHECK(ebb::all_equal(ebb::grad([](auto a) { return ebb::sum(ebb::straight_through(ebb::round, a) * 3); })(x),
                       ebb::tensor<double, 3>{3, 3, 3}));
}

TEST_CASE("masked keeps the gradient finite where a function has none") {
  const ebb::tensor<double, 3> x{-1, 0, 4};
  const auto f = [](auto a) { return ebb::sum(ebb::masked(a > 0, a, 1, ebb::log)); };
  CHECK(ebb::all_equal(ebb::grad(f)(x), ebb::tensor<double, 3>{0, 0, 0.25}));
  CHECK(ebb::masked(x > 0, x, 1, ebb::log)(0) == 0);
}

TEMPLATE_TEST_CASE("gates have the same bits in loops, in map, on the tape and captured", "", float, double) {
  using T = TestType;
  const std::vector<T> x{T(-12.5), -3, T(-0.8), T(-0.3), 0, T(0.4), T(0.9), 2, 7, T(-1.1), 20, 5, -5, 1, T(1e-9), T(0.75), 9, 3, 11};
  test::check_everywhere<T>([](auto a) { return ebb::softplus(a, 0.5, 2.0) * a + ebb::lerp(a, a * a, 0.25) + ebb::grad_scale(a, 3); }, x);
  test::check_everywhere<T>([](auto a) { return ebb::masked(a > 0.1, a, 1, ebb::log) + ebb::straight_through(ebb::floor, a) * a; }, x);
}

TEST_CASE("functions that change gradients change each of them again: second derivatives") {
  // For y = g(x) with the factor k, the gradient of y^2 x is 2 k y x + y^2, and y in it passes g again: 2 k^2 x + 4 k y.
  const ebb::tensor<double, 3> x{-0.6, 0.4, 2.5}, v{1, -2, 0.5};
  const auto scaled = [](auto a) { return ebb::sum(ebb::square(ebb::grad_scale(a, 0.25)) * a); };
  const auto reversed = [](auto a) { return ebb::sum(ebb::square(ebb::grad_reverse(a)) * a); };
  const auto rounded = [](auto a) { return ebb::sum(ebb::square(ebb::straight_through(ebb::round, a)) * a); };
  const auto by_scale = ebb::hvp(scaled)(x, v), by_reverse = ebb::hvp(reversed)(x, v), by_round = ebb::hvp(rounded)(x, v);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(by_scale(i) == Approx((2 * 0.25 * 0.25 * x(i) + 4 * 0.25 * x(i)) * v(i)));
    CHECK(by_reverse(i) == Approx((2 * x(i) - 4 * x(i)) * v(i)));
    CHECK(by_round(i) == Approx((2 * x(i) + 4 * std::nearbyint(x(i))) * v(i)));
  }
}

TEST_CASE("prelu and masked have the first and second derivatives of long double code; zeros, NaN and infinities") {
  const auto f = [](auto x) {
    const auto cube = x * x * x;
    // Slopes that depend on x: the mean of each column.
    const auto slopes = ebb::mean<0>(x * x);
    return std::tuple(ebb::square(ebb::prelu(cube, slopes)) + ebb::prelu(x, 0.25) * x, ebb::masked(x > 0, cube, 1, ebb::log) * x);
  };
  const auto oracle = [](const linalg_test::long_numbers& x) {
    linalg_test::long_numbers r, logs;
    for (std::size_t i = 0; i < 6; ++i) {
      const long double other = x[(i + 3) % 6], slope = (x[i] * x[i] + other * other) / 2, cube = x[i] * x[i] * x[i];
      const long double y = cube > 0 ? cube : slope * cube;
      r.push_back(y * y + (x[i] > 0 ? x[i] : 0.25L * x[i]) * x[i]);
      logs.push_back(x[i] > 0 ? std::log(cube) * x[i] : 0.0L);
    }
    r.insert(r.end(), logs.begin(), logs.end());
    return r;
  };
  linalg_test::against_differences<ebb::term<double, 2, 3>>("gates", f, {-1.5, 0.75, -0.3, 0.6, -0.5, 0.7}, linalg_test::extents_of({2, 3}),
                                                            oracle, 1e-9L, 1e-5L);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ebb::tensor<double, 6> x{0.0, -0.0, nan, infinite, -infinite, -2};
  const auto y = ebb::prelu(x, 0.5);
  CHECK((y(0) == 0 && y(1) == 0 && std::signbit(y(1)) && std::isnan(y(2)) && y(3) == infinite && y(4) == -infinite && y(5) == -1));
  CHECK(ebb::all_equal(ebb::grad([](auto a) { return ebb::sum(ebb::prelu(a, 0.5)); })(ebb::tensor<double, 2>{0.0, -0.0}),
                       ebb::tensor<double, 2>{0.5, 0.5}));
  CHECK(ebb::prelu(ebb::tensor<double, ebb::dyn, ebb::dyn>(0, 3), ebb::tensor<double, 3>{1, 2, 3}).size() == 0);
  const auto logs = ebb::masked(x > 0, x, 1, ebb::log);
  CHECK((logs(0) == 0 && logs(2) == 0 && logs(3) == infinite && logs(4) == 0));
  const auto slope = ebb::grad([](auto a) { return ebb::sum(ebb::masked(a > 0, a, 1, ebb::log)); })(x);
  CHECK(ebb::all_equal(slope, ebb::tensor<double, 6>{0, 0, 0, 0, 0, 0}));
}

}  // namespace

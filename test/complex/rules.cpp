// test/complex/rules.cpp — complex functions against long double, their derivatives against f', branch cuts, PyTorch's recorded values.
// SPDX-License-Identifier: BSL-1.0
// covers: complex.hpp
#include "../linalg/oracle.hpp"

#include <ebb/complex.hpp>
#include <ebb/ebb.hpp>
#include <ebb/functional.hpp>

#include <complex>

namespace {

using ebb::dyn;
using wide_complex = std::complex<long double>;
using numbers_of_complex = std::vector<std::complex<double>>;

ebb::complex<ebb::tensor<double, dyn>> arrays_of(const numbers_of_complex& z) {
  ebb::complex r{ebb::tensor<double, dyn>(z.size()), ebb::tensor<double, dyn>(z.size())};
  for (std::size_t i = 0; i < z.size(); ++i) r.re.mutable_data()[i] = z[i].real(), r.im.mutable_data()[i] = z[i].imag();
  return r;
}
/// Points in all quadrants, near the circle, near the axes, of these sizes.
numbers_of_complex points(std::initializer_list<double> sizes) {
  numbers_of_complex r;
  for (const double size : sizes)
    for (int turn = 0; turn < 48; ++turn) r.push_back(std::polar(size, 0.1309 * turn + 0.01));
  return r;
}

/// Values within `bound` ulp of their lengths; the gradients of sum(re + 2 im), (1 + 2i) conj(f'), and their derivatives,
/// (1 + 2i) conj(f''), within 8 and 16 times that, of at least `floor`. By the interpreter: the kernels of the parts have their own tests.
template <class F>
void check(const char* name, F, const numbers_of_complex& z, auto value, auto slope, auto curvature, long double bound,
           long double floor = 0) {
  INFO(name);
  const auto both = [](auto re, auto im) {
    const auto v = F{}(ebb::complex{re, im});
    return std::tuple(v.re, v.im);
  };
  using vector = linalg_test::wide<dyn>;
  ebb::graph g = ebb::joint(ebb::trace_of<decltype(both), vector, vector>::make(), {0, 1});
  const int gradient = g.out[2];
  const auto second = ebb::pull_back(g, {g.input(0), g.input(1)}, {gradient}, {g.op(gradient).kit->literal(g, g.eq[gradient].shape, 1)});
  for (int i = 0; i < 2; ++i) g.out.push(ebb::or_zeros(g, second[i], g.input(i)));
  REQUIRE_FALSE(ebb::first_error(g));

  const std::size_t n = z.size();
  linalg_test::numbers re(n), im(n);
  for (std::size_t i = 0; i < n; ++i) re[i] = z[i].real(), im[i] = z[i].imag();
  const auto shape = linalg_test::extents_of({n});
  const auto r = linalg_test::evaluated(ebb::prune(g), {re, im, linalg_test::numbers(n, 1), linalg_test::numbers(n, 2)}, {shape, shape});
  const auto close = [&](std::size_t first, std::size_t i, const wide_complex& exact, long double ulp, long double least) {
    CHECK(std::abs(wide_complex(r[first][i], r[first + 1][i]) - exact) <=
          ulp * std::numeric_limits<double>::epsilon() * std::max(least, std::abs(exact)));
  };
  for (std::size_t i = 0; i < n; ++i) {
    CAPTURE(re[i], im[i]);
    const wide_complex at(re[i], im[i]), seed(1, 2);
    close(0, i, value(at), bound, 0);
    close(2, i, seed * std::conj(slope(at)), 8 * bound, floor);
    close(4, i, seed * std::conj(curvature(at)), 16 * bound, floor);
  }
}

TEST_CASE("complex functions agree with long double, and their derivatives with f' and f'' by PyTorch's convention") {
  const auto small = points({1e-12, 0.1, 0.7, 0.9999, 1, 1.0001, 2.5, 6}), all = points({1e-100, 1e-12, 0.3, 0.99999, 1, 1.5, 1e12, 1e100});
  const auto sine = [](auto z) { return std::sin(z); };
  const auto cosine = [](auto z) { return std::cos(z); };
  const auto sinh = [](auto z) { return std::sinh(z); };
  const auto cosh = [](auto z) { return std::cosh(z); };
  const auto exp = [](auto z) { return std::exp(z); };
  const auto negated = [](auto f) { return [f](auto z) { return -f(z); }; };
  check("exp", [](auto z) { return ebb::exp(z); }, small, exp, exp, exp, 3);
  check("log", [](auto z) { return ebb::log(z); }, points({0.1, 0.9, 1, 3, 1e50}), [](auto z) { return std::log(z); },
        [](auto z) { return 1.0L / z; }, [](auto z) { return -1.0L / (z * z); }, 3);
  check("sqrt", [](auto z) { return ebb::sqrt(z); }, all, [](auto z) { return std::sqrt(z); }, [](auto z) { return 0.5L / std::sqrt(z); },
        [](auto z) { return -0.25L / (z * std::sqrt(z)); }, 3);
  check("sin", [](auto z) { return ebb::sin(z); }, small, sine, cosine, negated(sine), 4);
  check("cos", [](auto z) { return ebb::cos(z); }, small, cosine, negated(sine), negated(cosine), 4);
  check("sinh", [](auto z) { return ebb::sinh(z); }, small, sinh, cosh, sinh, 4);
  check("cosh", [](auto z) { return ebb::cosh(z); }, small, cosh, sinh, cosh, 4);
  const auto tanh = [](auto z) { return std::sinh(z) / std::cosh(z); };
  const auto tan = [](auto z) { return std::sin(z) / std::cos(z); };
  check("tanh", [](auto z) { return ebb::tanh(z); }, small, tanh, [](auto z) { return 1.0L / (std::cosh(z) * std::cosh(z)); },
        [=](auto z) { return -2.0L * tanh(z) / (std::cosh(z) * std::cosh(z)); }, 6, 1);
  check("tan", [](auto z) { return ebb::tan(z); }, small, tan, [](auto z) { return 1.0L / (std::cos(z) * std::cos(z)); },
        [=](auto z) { return 2.0L * tan(z) / (std::cos(z) * std::cos(z)); }, 6, 1);
  check("reciprocal", [](auto z) { return ebb::reciprocal(z); }, all, [](auto z) { return 1.0L / z; }, [](auto z) { return -1.0L / z / z; },
        [](auto z) { return 2.0L / z / z / z; }, 5);
  check("square", [](auto z) { return ebb::square(z); }, all, [](auto z) { return z * z; }, [](auto z) { return 2.0L * z; },
        [](auto) { return wide_complex(2); }, 3);
  check("pow", [](auto z) { return ebb::pow(z, -3); }, small, [](auto z) { return 1.0L / (z * z * z); },
        [](auto z) { return -3.0L / (z * z * z * z); }, [](auto z) { return 12.0L / (z * z * z * z * z); }, 12);
  const wide_complex k(0.5L, 2), top = k + 6.0L;
  check("quotient", [](auto z) { return (2.0 * z + 1.0) / (z * std::complex<double>(0.5, 2) - 3.0); }, points({1e-12, 0.3, 0.9}),
        [=](auto z) { return (2.0L * z + 1.0L) / (z * k - 3.0L); }, [=](auto z) { return -top / ((z * k - 3.0L) * (z * k - 3.0L)); },
        [=](auto z) { return 2.0L * top * k / ((z * k - 3.0L) * (z * k - 3.0L) * (z * k - 3.0L)); }, 20);
}

/// One program for all functions, so that the test compiles fast.
constexpr auto all_functions = [](auto w) {
  return std::tuple(ebb::sqrt(w), ebb::log(w), ebb::exp(w), ebb::tanh(w), ebb::pow(w, 2.5), ebb::pow(w, 0));
};

TEST_CASE("a complex logarithm keeps its digits near the circle |z| = 1, where its real part is small") {
  const auto z = points({1e-300, 1e-3, 0.999999999, 1, 1.000000001, 1e300});
  const auto y = std::get<1>(ebb::compile(all_functions)(arrays_of(z)));
  for (std::size_t i = 0; i < z.size(); ++i) {
    const wide_complex exact = std::log(wide_complex(z[i].real(), z[i].imag()));
    CHECK(std::fabs(y.re(i) - exact.real()) <= 2.3e-16L * std::max(1.0L, std::fabs(exact.real())));
    CHECK(std::fabs(y.im(i) - exact.imag()) <= 4.5e-16L);
  }
}

TEST_CASE("complex functions keep finite what does not overflow, and continue over branch cuts as the sign of zero says") {
  const double inf = std::numeric_limits<double>::infinity();
  const auto z = arrays_of({{-4, 0.0}, {-4, -0.0}, {0, 0}, {4, 0}, {0, -2}});
  const auto results = ebb::compile(all_functions)(z);
  const auto& root = std::get<0>(results);
  CHECK(ebb::all_equal(root.re, ebb::tensor<double, 5>{0, 0, 0, 2, 1}));
  CHECK(ebb::all_equal(root.im, ebb::tensor<double, 5>{2, -2, 0, 0, -1}));
  const auto& log = std::get<1>(results);
  CHECK(log.im(0) == Approx(3.14159265358979));
  CHECK(log.im(1) == Approx(-3.14159265358979));
  CHECK(log.re(2) == -inf);
  const auto e = std::get<2>(ebb::compile(all_functions)(arrays_of({{1000, 0}, {-inf, 3}})));
  CHECK(ebb::all_equal(e.re, ebb::tensor<double, 2>{inf, 0}));
  CHECK((e.im(0) == 0 && e.im(1) == 0));
  const auto t = std::get<3>(ebb::compile(all_functions)(arrays_of({{800, 2}, {-800, 2}, {-0.0, 0}})));
  CHECK(ebb::all_equal(t.re, ebb::tensor<double, 3>{1, -1, 0}));
  CHECK(std::signbit(t.re(2)));
  const auto a = arrays_of({{1e300, 1e300}, {1e-300, 0}}), b = arrays_of({{1e300, -1e300}, {0, 1e-300}});
  const auto q = ebb::compile([](auto above, auto below) { return above / below; })(a, b);
  CHECK(ebb::all_equal(q.re, ebb::tensor<double, 2>{0, 0}));
  CHECK(ebb::all_equal(q.im, ebb::tensor<double, 2>{1, -1}));
  CHECK(std::get<4>(results).re(2) == 0);
  CHECK(std::get<4>(results).re(3) == Approx(32));
  CHECK(ebb::all_equal(std::get<5>(results).re, ebb::tensor<double, 5>{1, 1, 1, 1, 1}));
}

TEST_CASE("complex functions have PyTorch's recorded values and gradients") {
  const golden::bounds b{.value = 8, .grad = 32, .second = -1, .spread = true};
  const auto recorded = [&](const char* name, auto f) {
    using linalg_test::wide;
    using F = decltype(f);
    linalg_test::check_named<wide<5>, wide<5>, wide<5>, wide<5>>(
        "ops2", name,
        [](auto re, auto im, auto c, auto d) {
          const auto v = F{}(ebb::complex{re, im}, ebb::complex{c, d});
          return std::tuple(v.re, v.im);
        },
        {"re", "im"}, b);
  };
  recorded("complex_mul", [](auto z, auto w) { return z * w; });
  recorded("complex_div", [](auto z, auto w) { return z / w; });
  recorded("complex_exp", [](auto z, auto) { return ebb::exp(z); });
  recorded("complex_log", [](auto z, auto) { return ebb::log(z); });
  recorded("complex_sqrt", [](auto z, auto) { return ebb::sqrt(z); });
  recorded("complex_pow", [](auto z, auto w) { return ebb::pow(z, w); });
  recorded("complex_sin", [](auto z, auto) { return ebb::sin(z); });
  recorded("complex_tanh", [](auto z, auto) { return ebb::tanh(z); });
  recorded("complex_reciprocal", [](auto, auto w) { return 1 / w; });
  using ebb::term;
  linalg_test::check_named<term<double, 4>, term<double, 4>>(
      "ops2", "complex_abs_arg",
      [](auto a, auto c) {
        const ebb::complex z{a, c};
        return std::tuple(ebb::abs(z), ebb::arg(z));
      },
      {"abs", "arg"}, b);
  const auto length = [](auto a, auto c) { return ebb::abs(ebb::complex{a, c}); };
  linalg_test::check_recorded<term<double, 1>, term<double, 1>>("ops2", "complex_abs_at_zero", length, b);
  linalg_test::check_named<term<double, 2, 3>, term<double, 2, 3>, term<double, 3, 2>, term<double, 3, 2>>(
      "ops2", "complex_matmul",
      [](auto a, auto c, auto d, auto e) {
        const auto v = ebb::matmul(ebb::complex{a, c}, ebb::complex{d, e});
        return std::tuple(v.re, v.im);
      },
      {"re", "im"}, b);
}

/// The characteristic function of Heston's model, in the form that stays on one branch.
constexpr auto heston = [](auto u, auto k, auto r, auto s, auto h, auto t, auto v0) {
  const std::complex<double> i(0, 1);
  const auto b = k - r * s * (i * u);
  const auto d = ebb::sqrt(b * b + s * s * (i * u + u * u));
  const auto g = (b - d) / (b + d), e = ebb::exp(-(d * t));
  return ebb::exp(k * h / (s * s) * ((b - d) * t - 2 * ebb::log((1 - g * e) / (1 - g))) + v0 / (s * s) * (b - d) * (1 - e) / (1 - g * e));
};

TEST_CASE("Heston's characteristic function and its gradients are PyTorch's") {
  using number = ebb::term<double>;
  linalg_test::check_named<number, number, number, number, number, number>(
      "ops2", "heston_like",
      [](auto k, auto r, auto s, auto h, auto t, auto v0) {
        const auto v = heston(ebb::stack<0>(0 * k + 0.7, 0 * k + 1.4, 0 * k + 2.1, 0 * k + 2.8, 0 * k + 3.5), k, r, s, h, t, v0);
        return std::tuple(v.re, v.im);
      },
      {"re", "im"}, {.value = 64, .grad = 4096, .second = -1, .spread = true});
}

// Systems tell a right side that is a vector from a matrix on the tape and in contexts, too.
using negated_variable = decltype(-std::declval<ebb::variable<double, 2, 2>>());
static_assert(ebb::detail::rank_in_type<negated_variable>() == 2 && ebb::detail::rank_in_type<ebb::tensor<double, 2>>() == 1);
static_assert(ebb::detail::rank_in_type<ebb::term_under<ebb::autocast<ebb::bfloat16>, float, 2, 2>>() == 2);

TEST_CASE("complex arrays are directions and rows of map; sums, elements and systems act on both parts") {
  const auto z = arrays_of({{1, 2}, {3, -1}, {0.5, 4}, {-2, 1}});
  const auto sums = ebb::compile([](auto w) {
    const auto inner = ebb::parts([](auto x) { return ebb::slice<0, 1, 3>(x); }, w);
    return std::tuple(ebb::sum(w), ebb::mean(w), w[1], ebb::conj(w), inner, ebb::abs_squared(w));
  })(z);
  CHECK(std::get<0>(sums).re == 2.5);
  CHECK(std::get<0>(sums).im == 6);
  CHECK(std::get<1>(sums).im == 1.5);
  CHECK(std::get<2>(sums).im == -1);
  CHECK(std::get<3>(sums).im(2) == -4);
  CHECK(ebb::all_equal(std::get<4>(sums).re, ebb::tensor<double, 2>{3, 0.5}));
  CHECK(std::get<5>(sums)(2) == 16.25);

  const auto push = ebb::jvp([](auto w) { return ebb::exp(w); })(z, z);
  const std::complex<double> first(1, 2), e = first * std::exp(first);
  CHECK(std::get<1>(push).re(0) == Approx(e.real()));
  CHECK(std::get<1>(push).im(0) == Approx(e.imag()));
  const auto rows = ebb::map([](auto w) { return w * w; }, z);
  CHECK(rows.im(3) == -4);

  const auto a = ebb::parts([](const auto& x) { return ebb::reshape<2, 2>(x); }, z);
  const ebb::complex b{ebb::tensor<double, 2>{1, 2}, ebb::tensor<double, 2>{3, -1}};
  const auto x = ebb::compile([](auto m, auto y) { return ebb::matmul(m, ebb::solve(m, y)); })(a, b);
  for (std::size_t i = 0; i < 2; ++i) CHECK((x.re(i) == Approx(b.re(i)) && x.im(i) == Approx(b.im(i))));
}

}  // namespace

// test/stats/draw.cpp — samples of arrays of parameters: distribution functions, moments, bits, derivatives, special parameters.
// SPDX-License-Identifier: BSL-1.0
// covers: draw.hpp implicit.hpp
#include "../linalg/oracle.hpp"

#include <ebb/stats/draw.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace {

using ebb::dyn;
using draw_row = ebb::tensor<double, dyn>;
using draw_key = ebb::tensor<std::int64_t>;
using draw_numbers = std::vector<double>;
constexpr double draw_inf = std::numeric_limits<double>::infinity(), draw_nan = std::numeric_limits<double>::quiet_NaN();

// Most functions are evaluated equation by equation: no program is compiled for them. f takes K rows of parameters, all of one length.
template <class F, std::size_t K>
std::vector<draw_numbers> drawn_by(const ebb::graph& g, const draw_numbers (&rows)[K], std::size_t seeds) {
  draw_numbers all;
  for (const draw_numbers& r : rows) all.insert(all.end(), r.begin(), r.end());
  std::vector<draw_numbers> in{all};
  if (seeds != 0) in.emplace_back(seeds, 1.0);
  return linalg_test::evaluated(g, in, {linalg_test::extents_of({K, rows[0].size()})});
}
template <class F, std::size_t K>
const ebb::graph& draw_graph() {
  static const ebb::graph g = ebb::trace_of<F, ebb::term<double, K, dyn>>::make();
  return g;
}
template <class F, std::size_t K>
draw_numbers drawn(F, const draw_numbers (&rows)[K]) {
  return drawn_by<F, K>(draw_graph<F, K>(), rows, 0)[0];
}
/// The gradient of the sum of all results, and the gradient of this one's sum where `second` is asked for.
template <class F, std::size_t K>
draw_numbers slopes(F, const draw_numbers (&rows)[K], bool second = false) {
  const ebb::graph& f = draw_graph<F, K>();
  const ebb::graph g = second ? linalg_test::with_second_derivative(f) : ebb::prune(ebb::joint(f, {0}));
  return drawn_by<F, K>(g, rows, drawn_by<F, K>(f, rows, 0)[0].size()).back();
}

constexpr std::size_t draws = 12000;
// The distance that a test on so many numbers exceeds once in a million keys. The keys are fixed.
const double draw_far = 2.8 / std::sqrt(static_cast<double>(draws));

/// Some parameters in turns: an array of parameters, not one number.
draw_numbers cycled(std::initializer_list<double> v) {
  draw_numbers r;
  for (std::size_t i = 0; i < draws; ++i) r.push_back(v.begin()[i % v.size()]);
  return r;
}
/// The distance of Kolmogorov and Smirnov between cdf(i, x(i)) and the uniform distribution: each element has parameters of its own.
template <class Cdf>
double draw_distance(const draw_numbers& x, Cdf cdf) {
  std::vector<long double> p(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) p[i] = cdf(i, static_cast<long double>(x[i]));
  std::sort(p.begin(), p.end());
  long double worst = 0;
  const auto n = static_cast<long double>(p.size());
  for (std::size_t i = 0; i < p.size(); ++i)
    worst = std::max({worst, std::fabs(p[i] - static_cast<long double>(i) / n), std::fabs(p[i] - static_cast<long double>(i + 1) / n)});
  return static_cast<double>(worst);
}

long double normal_cdf_at(long double x) { return std::erfc(-x / std::sqrt(2.0L)) / 2; }
/// gammainc by a series of positive terms, from log x: right for tiny x.
long double gamma_cdf_at(long double a, long double x) {
  if (x <= 0) return 0;
  long double sum = 0, term = 1;
  for (int i = 1; i < 20000 && term > sum * 1e-22L; ++i) {
    sum += term;
    term *= x / (a + i);
  }
  return std::min(1.0L, sum * std::exp(a * std::log(x) - x - std::lgamma(a + 1)));
}
/// I_x(a, b), likewise.
long double beta_cdf_at(long double a, long double b, long double x) {
  if (x > (a + 1) / (a + b + 2)) return 1 - beta_cdf_at(b, a, 1 - x);
  if (x <= 0) return 0;
  long double sum = 0, term = 1;
  for (int i = 1; i < 20000 && term > sum * 1e-22L; ++i) {
    sum += term;
    term *= (a + b + i - 1) / (a + i) * x;
  }
  return sum * std::exp(a * std::log(x) + b * std::log1p(-x) - std::lgamma(a) - std::lgamma(b) + std::lgamma(a + b)) / a;
}

constexpr auto uniform_of = [](auto v) { return ebb::uniform_sample(1, v[0], v[0] + v[1]); };
constexpr auto normal_of = [](auto v) { return ebb::normal_sample(2, v[0], v[1]); };
constexpr auto exponential_of = [](auto v) { return ebb::exponential_sample(3, v[0]); };
constexpr auto gamma_of = [](auto v) { return ebb::gamma_sample(4, v[0], v[1]); };
constexpr auto beta_of = [](auto v) { return ebb::beta_sample(5, v[0], v[1]); };
constexpr auto student_of = [](auto v) { return ebb::student_t_sample(6, v[0], v[1], v[2]); };
constexpr auto truncated_of = [](auto v) { return ebb::truncated_normal_sample(7, v[0], v[1], v[2], v[3]); };
constexpr auto poisson_of = [](auto v) { return ebb::poisson_sample(8, v[0]); };
constexpr auto binomial_of = [](auto v) { return ebb::binomial_sample(9, v[0], v[1]); };
constexpr auto dirichlet_of = [](auto v) { return ebb::dirichlet_sample(10, ebb::transpose<1, 0>(v)); };
constexpr auto class_of = [](auto v) { return ebb::cast<double>(ebb::categorical_sample(11, ebb::transpose<1, 0>(v))); };

TEST_CASE("samples with arrays of parameters have their distribution functions, element by element") {
  const draw_numbers a = cycled({0.2, 1, 3.5}), b = cycled({2, 0.5, 7, 40}), one = cycled({1});
  const auto at = [](const draw_numbers& p, std::size_t i) { return static_cast<long double>(p[i]); };
  const auto to_one = [&](std::size_t i, long double x) { return (x - at(a, i)) / at(b, i); };
  CHECK(draw_distance(drawn(uniform_of, {a, b}), to_one) < draw_far);
  CHECK(draw_distance(drawn(normal_of, {a, b}), [&](std::size_t i, long double x) { return normal_cdf_at(to_one(i, x)); }) < draw_far);
  CHECK(draw_distance(drawn(exponential_of, {b}), [&](std::size_t i, long double x) { return -std::expm1(-at(b, i) * x); }) < draw_far);
  const auto gammas = [&](std::size_t i, long double x) { return gamma_cdf_at(at(a, i), at(b, i) * x); };
  CHECK(draw_distance(drawn(gamma_of, {a, b}), gammas) < draw_far);
  CHECK(draw_distance(drawn(gamma_of, {cycled({0.22, 1.1, 3.85}), b}), gammas) > draw_far);  // the test can tell
  CHECK(draw_distance(drawn(beta_of, {a, b}), [&](std::size_t i, long double x) { return beta_cdf_at(at(a, i), at(b, i), x); }) < draw_far);
  CHECK(draw_distance(drawn(student_of, {b, a, one}), [&](std::size_t i, long double x) {
    const long double nu = at(b, i), z = x - at(a, i), tail = beta_cdf_at(nu / 2, 0.5L, nu / (nu + z * z)) / 2;
    return z < 0 ? tail : 1 - tail;
  }) < draw_far);
  const draw_numbers lo = cycled({-draw_inf, 0.5, 4, -9}), hi = cycled({0.25, draw_inf, 5, -7});
  CHECK(draw_distance(drawn(truncated_of, {cycled({0.25}), cycled({1.5}), lo, hi}), [&](std::size_t i, long double x) {
    REQUIRE((x >= at(lo, i) && x <= at(hi, i)));
    const long double s = at(lo, i) > 0.25L ? -1 : 1;  // mirrored: the upper tail would cancel
    const auto tail = [&](long double y) { return normal_cdf_at(s * (y - 0.25L) / 1.5L); };
    return (tail(x) - tail(at(lo, i))) / (tail(at(hi, i)) - tail(at(lo, i)));
  }) < draw_far);
}

TEST_CASE("counts and classes of arrays of parameters have their probabilities, Dirichlet vectors their moments") {
  const draw_numbers k = drawn(poisson_of, {cycled({0.5, 12})}), s = drawn(binomial_of, {cycled({4, 60}), cycled({0.25, 0.5})});
  for (std::size_t phase = 0; phase < 2; ++phase) {
    const double n = draws / 2.0, rate = phase ? 12 : 0.5, trials = phase ? 60 : 4, p = phase ? 0.5 : 0.25;
    for (int most = 0; most < (phase ? 40 : 4); ++most) {
      double counts = 0, successes = 0;
      for (std::size_t i = phase; i < draws; i += 2) {
        REQUIRE((k[i] >= 0 && std::floor(k[i]) == k[i] && s[i] >= 0 && s[i] <= trials));
        counts += k[i] <= most;
        successes += s[i] <= most;
      }
      CHECK(std::fabs(counts / n - static_cast<double>(1 - gamma_cdf_at(most + 1, rate))) < 1.5 * draw_far);
      CHECK(std::fabs(successes / n - static_cast<double>(beta_cdf_at(trials - most, most + 1, 1 - p))) < 1.5 * draw_far);
    }
  }
  const double alpha[] = {0.5, 2, 7.5};
  const draw_numbers x = drawn(dirichlet_of, {cycled({0.5}), cycled({2}), cycled({7.5})});
  const draw_numbers classes = drawn(class_of, {cycled({std::log(0.5)}), cycled({std::log(2)}), cycled({std::log(7.5)})});
  for (std::size_t j = 0; j < 3; ++j) {
    double mean = 0, square = 0, share = 0;
    for (std::size_t i = 0; i < draws; ++i) {
      mean += x[3 * i + j] / draws, square += x[3 * i + j] * x[3 * i + j] / draws;
      share += static_cast<double>(classes[i] == static_cast<double>(j)) / draws;
    }
    const double m = alpha[j] / 10, variance = m * (1 - m) / 11;
    CHECK(std::fabs(mean - m) < 5 * std::sqrt(variance / draws));
    CHECK(square - mean * mean == Approx(variance).epsilon(0.08));
    CHECK(std::fabs(share - m) < 5 * std::sqrt(m * (1 - m) / draws));
  }
  CHECK(x[51] + x[52] + x[53] == Approx(1).epsilon(1e-14));
}

constexpr auto draw_gamma = [](auto key, auto a, auto rate) { return ebb::gamma_sample(key, a, rate); };
constexpr auto draw_fused = [](auto key, auto a, auto rate) {
  return ebb::log(ebb::exp(ebb::gamma_sample(key, a * 1.0, rate))) * 0.0 + draw_gamma(key, a, rate);
};
constexpr auto of_seed = [](auto v) {
  const std::int64_t seed = -0x7edc'ba98'7654'3210;
  return ebb::stack<0>(ebb::normal_sample(seed, v[0], v[1]), ebb::exponential_sample(seed, v[1]),
                       ebb::poisson_sample(seed, v[0] * 0.0 + 12.0));
};

TEST_CASE("a sample has the bits of its key, place and parameters alone: those of sample and normal, also in kernels, rows and maps") {
  const std::int64_t seed = -0x7edc'ba98'7654'3210;
  const draw_numbers mu{1, 2, 3, 4, 5, 6, 7}, sigma{0.5, 1, 2, 4, 8, 16, 32};
  const auto z = ebb::normal<double, 7>(seed), e = ebb::sample<double, 7>(seed, ebb::exponential_distribution{1});
  const auto counts = ebb::sample<double, 7>(seed, ebb::poisson_distribution{12});
  const draw_numbers all = drawn(of_seed, {mu, sigma});
  const draw_row rate(sigma), shape(mu), g = draw_gamma(draw_key(seed), shape, rate);
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK((all[i] == mu[i] + sigma[i] * z(i) && all[7 + i] == e(i) / sigma[i] && all[14 + i] == counts(i)));
    const draw_row own = ebb::sample<double, dyn>(seed, i + 1, ebb::gamma_distribution{mu[i], sigma[i]});
    CHECK(g.data()[i] == Approx(own.data()[i]).epsilon(4e-15));  // exp differs from portable_exp in the last bits
  }
  // In float: the same numbers, rounded once.
  const ebb::tensor<float, dyn> narrow =
      ebb::normal_sample(draw_key(seed), ebb::tensor<float, dyn>{1, 2, 3}, ebb::tensor<float, dyn>{0.5f, 1, 2});
  for (std::size_t i = 0; i < 3; ++i) CHECK(narrow.data()[i] == static_cast<float>(all[i]));
  // The equations one after another, a kernel, and one in which other work is fused. A shorter array is the beginning of a longer one.
  const draw_numbers a = cycled({0.3, 2, 9}), two = cycled({2}), by_equations = drawn(gamma_of, {a, two});
  const draw_row one = draw_gamma(draw_key(4), draw_row(a), draw_row(two)),
                 fused = ebb::compile(draw_fused)(draw_key(4), draw_row(a), draw_row(two));
  std::size_t differ = 0;
  for (std::size_t i = 0; i < draws; ++i)
    differ += one.data()[i] != fused.data()[i] || std::fabs(one.data()[i] / by_equations[i] - 1) > 1e-14;
  CHECK(differ == 0);
  const draw_row few = draw_gamma(draw_key(4), draw_row{0.3, 2, 9}, draw_row{2, 2, 2}),
                 other = draw_gamma(draw_key(5), draw_row{0.3, 2, 9}, draw_row{2, 2, 2});
  const auto rows = ebb::tensor<double, dyn, dyn>::full(2, 2, 3);
  const ebb::tensor<double, dyn, dyn> shapes{{0.3, 2, 9}, {0.3, 2, 9}};
  const ebb::tensor<double, dyn, dyn> mapped = ebb::map(draw_gamma, ebb::tensor<std::int64_t, dyn>{4, 5}, shapes, rows);
  for (std::size_t j = 0; j < 3; ++j) {
    CHECK((few.data()[j] == one.data()[j] && mapped(0, j) == few.data()[j] && mapped(1, j) == other.data()[j] &&
           mapped(0, j) != mapped(1, j)));
  }
}

/// -(dF/dp) / (dF/dx) at x, by differences in long double: the derivative of the number whose cdf is fixed.
template <class Cdf>
long double implicit_slope(Cdf cdf, long double p, long double x) {
  const auto slope = [](auto f, long double t) {
    const long double h = t * 1e-4L;
    return (8 * (f(t + h) - f(t - h)) - (f(t + 2 * h) - f(t - 2 * h))) / (12 * h);
  };
  return -slope([&](long double q) { return cdf(q, x); }, p) / slope([&](long double y) { return cdf(p, y); }, x);
}
/// The same of the logarithm of a gamma number: of its logarithm.
long double log_slope_of_gamma(long double a, long double l) { return implicit_slope(gamma_cdf_at, a, std::exp(l)) / std::exp(l); }
double log_gamma_at(std::int64_t key, std::size_t place, double a) {
  ebb::random_source source(key, place);
  return ebb::detail::log_of_gamma(source, a);
}

TEST_CASE("gradients of gamma, beta and Dirichlet numbers are the implicit ones, by differences of the cdf in long double") {
  const draw_numbers a{0.05, 0.3, 1, 2.5, 8, 40, 200}, b{2, 0.5, 1, 3, 0.25, 4, 150};
  const draw_numbers x = drawn(gamma_of, {a, b}), by = slopes(gamma_of, {a, b}), share = drawn(beta_of, {a, b}),
                     by_beta = slopes(beta_of, {a, b});
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(by[i] ==
          Approx(static_cast<double>(implicit_slope(gamma_cdf_at, a[i], static_cast<long double>(x[i]) * b[i]) / b[i])).epsilon(1e-8));
    CHECK(by[7 + i] == Approx(-x[i] / b[i]).epsilon(1e-13));
    // The gamma numbers of x / (x + y) are those of places 2 i and 2 i + 1.
    const long double l = log_gamma_at(5, 2 * i, a[i]), m = log_gamma_at(5, 2 * i + 1, b[i]), p = share[i], both = p * (1 - p);
    CHECK(share[i] == Approx(static_cast<double>(1 / (1 + std::exp(m - l)))).epsilon(1e-13));
    CHECK(by_beta[i] == Approx(static_cast<double>(both * log_slope_of_gamma(a[i], l))).epsilon(1e-7).margin(1e-300));
    CHECK(by_beta[7 + i] == Approx(static_cast<double>(-both * log_slope_of_gamma(b[i], m))).epsilon(1e-7).margin(1e-300));
  }
  // There is no second derivative by a shape: the first one is an op without a pull, which the compiler names.
  const auto names_slope = [](const ebb::graph& f) {
    const ebb::graph g = ebb::prune(ebb::joint(f, {0}));
    const int k = ebb::first_without_pull(g, {g.input(0)});
    return k >= 0 && std::string_view(g.op(k).name) == "gamma_log_slope";
  };
  CHECK((names_slope(draw_graph<decltype(gamma_of), 2>()) && names_slope(draw_graph<decltype(beta_of), 2>())));
  CHECK((names_slope(draw_graph<decltype(dirichlet_of), 3>()) && !names_slope(draw_graph<decltype(normal_of), 2>())));
  // The first share moves by its own shape and by the others'.
  constexpr auto first_share = [](auto v) { return ebb::take(ebb::dirichlet_sample(6, v[0]), 0); };
  const draw_numbers alpha{0.5, 2, 7}, by_alpha = slopes(first_share, {alpha});
  long double sum = 0, e[3];
  for (std::size_t j = 0; j < 3; ++j) sum += e[j] = std::exp(static_cast<long double>(log_gamma_at(6, j, alpha[j])));
  for (std::size_t j = 0; j < 3; ++j) {
    const long double slope = log_slope_of_gamma(alpha[j], std::log(e[j]));
    CHECK(by_alpha[j] == Approx(static_cast<double>(e[0] / sum * ((j == 0) - e[j] / sum) * slope)).epsilon(1e-7));
  }
}

TEST_CASE("the implicit derivative of a gamma number far below the mean, far above it, and for large shapes") {
  const auto slope = [](double a, double l) { return ebb::op::gamma_log_slope::value(a, l); };
  // z underflows: there gammainc is z^a / gamma(a + 1), so that log z is (log(u) + lgamma(a + 1)) / a.
  for (const double l : {-5000.0, -800.0, -60.0}) CHECK(slope(0.01, l) == Approx((ebb::lane::digamma(1.01) - l) / 0.01).epsilon(1e-12));
  // a = 1: u is 1 - e^-z. Its upper tail is below the least number, and the derivative has still its digits.
  CHECK((std::isfinite(slope(1, std::log(900.0))) && slope(1, std::log(900.0)) > 0 && slope(1, std::log(900.0)) < 0.02));
  // At a = 1e6 the two formulas meet; the numbers are about a, so that the derivative is about 1 / a.
  for (const double d : {-3e-3, 0.0, 3e-3}) {
    const double l = std::log(1e6) + d;
    CHECK(slope(1e6, l) == Approx(slope(1000001.0, l)).epsilon(3e-6));
    CHECK(slope(1e6, l) == Approx(1e-6).epsilon(0.01));
  }
  CHECK((std::isnan(slope(0, 1)) && std::isnan(slope(-1, 1)) && std::isnan(slope(draw_nan, 1)) && std::isnan(slope(1, draw_nan)) &&
         std::isnan(slope(1, draw_inf))));
  CHECK(ebb::op::gamma_log_slope::value(2.5f, 0.5f) == Approx(slope(2.5, 0.5)).epsilon(1e-5));
}

TEST_CASE("gradients of samples by location, scale and bounds are those at fixed bits, and second ones follow") {
  // Central differences of the same function with the same key: the bits do not depend on the parameters.
  const auto check = [](auto f, const draw_numbers& p) {
    const auto sum = [](const draw_numbers& y) {
      double total = 0;
      for (double e : y) total += e;
      return total;
    };
    const draw_numbers g = slopes(f, {p}), gg = slopes(f, {p}, true);
    for (std::size_t i = 0; i < p.size(); ++i) {
      draw_numbers above = p, below = p;
      const double h = 1e-5 * std::max(1.0, std::fabs(p[i]));
      above[i] += h, below[i] -= h;
      CHECK(g[i] == Approx((sum(drawn(f, {above})) - sum(drawn(f, {below}))) / (2 * h)).epsilon(1e-6).margin(1e-8));
      CHECK(gg[i] == Approx((sum(slopes(f, {above})) - sum(slopes(f, {below}))) / (2 * h)).epsilon(1e-5).margin(1e-6));
    }
  };
  check([](auto v) { return uniform_of(ebb::concat<0>(v, ebb::square(v))); }, {2, 3, 4.5});
  check([](auto v) { return normal_of(ebb::concat<0>(v, ebb::square(v))); }, {2, 3, 4.5});
  check(exponential_of, {2, 0.3, 4.5});
  check([](auto v) { return ebb::gamma_sample(4, 2.5, v[0]); }, {2, 0.3, 4.5});
  check([](auto v) { return ebb::student_t_sample(6, 4.0, v[0], ebb::square(v[0])); }, {2, 0.3, 4.5});
  check([](auto v) { return ebb::truncated_normal_sample(4, v[0], 1.5, ebb::square(v[0]) - 6, 8.0); }, {0.5, 2, -1.5, 2.8});
  check([](auto v) { return ebb::truncated_normal_sample(4, 0.5, v[0], 3.0, draw_inf); }, {0.5, 2, 1.5});
}

TEST_CASE("samples at special parameters: no elements, NaN, infinities, zeros, one number") {
  const draw_numbers bad{0, -1, draw_nan, draw_inf, -0.0}, ones(5, 1.0), zeros(5, 0.0);
  const auto all_nan = [](const draw_numbers& x) { return std::all_of(x.begin(), x.end(), [](double v) { return std::isnan(v); }); };
  CHECK((all_nan(drawn(exponential_of, {bad})) && all_nan(drawn(gamma_of, {bad, ones})) && all_nan(drawn(gamma_of, {ones, bad}))));
  CHECK((all_nan(drawn(beta_of, {bad, ones})) && all_nan(drawn(beta_of, {ones, bad})) && all_nan(drawn(student_of, {bad, zeros, ones}))));
  CHECK((all_nan(drawn(student_of, {ones, zeros, bad})) && all_nan(drawn(truncated_of, {zeros, bad, zeros, ones}))));
  CHECK((all_nan(drawn(dirichlet_of, {bad, ones})) && all_nan(drawn(normal_of, {{0, 0}, {-1, draw_nan}}))));
  CHECK((all_nan(drawn(poisson_of, {{-1, draw_nan, draw_inf}})) && all_nan(drawn(uniform_of, {{0}, {draw_nan}}))));
  CHECK(all_nan(drawn(binomial_of, {{-1, 2.5, draw_nan, 4, 4, 4}, {0.5, 0.5, 0.5, -0.1, 1.1, draw_nan}})));
  CHECK((drawn(gamma_of, {{}, {}}).empty() && drawn(poisson_of, {{}}).empty() && drawn(normal_of, {{}, {}}).empty() &&
         drawn(class_of, {{}, {}}).empty()));
  CHECK((drawn(poisson_of, {{0, 0}}) == draw_numbers{0, 0} && drawn(normal_of, {{3}, {0}}) == draw_numbers{3} &&
         drawn(gamma_of, {{1e-5}, {1}})[0] >= 0));
  for (double v : drawn(beta_of, {{1e-5, 1e-5, 1e-5}, {1e-5, 1e-5, 1e-5}})) CHECK((v >= 0 && v <= 1));
  CHECK(drawn(truncated_of, {{0, 0}, {1, 1}, {50, -60}, {60, -50}}) == draw_numbers{50, -50});
  CHECK(drawn(class_of, {draw_numbers(4, -draw_inf), {0, 5, -3, 1}}) == draw_numbers(4, 1.0));
  // Integers give float.
  static_assert(
      std::is_same_v<std::remove_cvref_t<decltype(ebb::gamma_sample(1, ebb::tensor<std::int32_t, 2>{1, 2}, 1))>, ebb::tensor<float, 2>>);
}

TEST_CASE("a sample of extents that do not fit is thrown at the call") {
  CHECK_THROWS_WITH(draw_gamma(draw_key(1), draw_row{1, 2}, draw_row{1, 2, 3}), Catch::Contains("gamma_sample"));
}

}  // namespace

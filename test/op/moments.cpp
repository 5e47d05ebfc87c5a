// test/op/moments.cpp — variances, deviations, norms: recorded values, long double, derivatives; huge, tiny, zero and non-finite elements.
// SPDX-License-Identifier: BSL-1.0
#include "golden.hpp"
#include "hyper_dual.hpp"

#include <functional>
#include <random>

namespace {

using ebb::dyn;
using golden::of;
using golden::real;
using any_matrix = of<real, dyn, dyn>;

// The gradients of a variance sum to 0, and so do the rows of its Hessian.
const golden::bounds summed{.value = 4, .grad = 8, .second = 16, .second_floor = 1, .spread = true};

/// Checks f on the recorded matrix, with static and with dyn extents.
const auto both = [](const char* name, auto f, golden::bounds b = summed) {
  golden::check<of<real, 3, 4>>("reductions", name, f, b);
  golden::check<any_matrix>("reductions", name, f, b);
};
/// Checks f on a float64 array with these extents, as recorded.
template <std::size_t... E>
void wide(const char* name, auto f, golden::bounds b = summed) {
  golden::check_traced("ops2", name, "/float64", ebb::trace_of<decltype(f), ebb::term<double, E...>>::make(), b);
  golden::check_traced("ops2", name, "/float64", ebb::trace_of<decltype(f), ebb::term<double, dyn, dyn>>::make(), b);
}

bool is_near(double x, double want, double relative) { return std::fabs(x - want) <= relative * std::fabs(want); }

/// The norms of an array, and their gradients for seeds of 1.
template <class T, class F>
std::vector<std::vector<T>> run(F, std::vector<T> x) {
  ebb::graph g = ebb::joint(ebb::trace_of<F, ebb::term<T, dyn>>::make(), {0});
  ebb::extent_list n;
  n.rank = 1;
  n.e[0] = x.size();
  ebb::cell_array cells;
  for (T v : x) cells.push(ebb::to_cell(v));
  std::vector<std::vector<T>> r;
  for (const auto& out : ebb::evaluate(g, {cells, {ebb::to_cell(T(1))}}, ebb::symbol_values(g, {n}))) {
    r.emplace_back();
    for (ebb::cell c : out) r.back().push_back(ebb::from_cell<T>(c));
  }
  return r;
}

TEST_CASE("variances and deviations give PyTorch's recorded values") {
  both("var_all", [](auto x) { return ebb::var(x); });
  both("var_axis_0", [](auto x) { return ebb::var<0>(x); });
  both("var_axis_1", [](auto x) { return ebb::var<1>(x); });
  both("var_axis_0_1", [](auto x) { return ebb::var<0, 1>(x); });
  both("var_keepdim", [](auto x) { return ebb::var<1>(x, ebb::keep_dims); });
  both("var_negative_axis", [](auto x) { return ebb::var<-1>(x); });
  both("var_population", [](auto x) { return ebb::var<1>(x, ebb::correction<0>); });
  both("var_mean", [](auto x) { return ebb::var_mean<0>(x); });
  both("std_all", [](auto x) { return ebb::stddev(x); });
  both("std_axis_0", [](auto x) { return ebb::stddev<0>(x); });
  both("std_axis_1", [](auto x) { return ebb::stddev<1>(x); });
  both("std_axis_0_1", [](auto x) { return ebb::stddev<0, 1>(x); });
  both("std_keepdim", [](auto x) { return ebb::stddev<1>(x, ebb::keep_dims); });
  both("std_negative_axis", [](auto x) { return ebb::stddev<-1>(x); });
  both("std_population", [](auto x) { return ebb::stddev<1>(x, ebb::correction<0>); });
  golden::check<golden::any_vector>("reductions", "std_constant", [](auto x) { return ebb::stddev(x); });
  for (const char* points : {"zeros", "ties", "nonfinite"}) {
    golden::check<any_matrix>("reductions", std::string("var_") + points, [](auto x) { return ebb::var<1>(x); }, summed);
    golden::check<any_matrix>("reductions", std::string("std_") + points, [](auto x) { return ebb::stddev<1>(x); }, summed);
  }
}

TEST_CASE("var and stddev take corrections, use two passes, and have a gradient at a deviation of 0") {
  wide<3, 5>("var_correction_0", [](auto x) { return ebb::var<1>(x, ebb::correction<0>); });
  wide<3, 5>("var_correction_1", [](auto x) { return ebb::var<1>(x); });
  wide<3, 5>("var_correction_2", [](auto x) { return ebb::var<1>(x, ebb::correction<2>); });
  wide<3, 5>("std_correction_0", [](auto x) { return ebb::stddev<1>(x, ebb::correction<0>); });
  wide<3, 5>("std_correction_1", [](auto x) { return ebb::stddev<1>(x, ebb::correction<1>); });
  wide<3, 5>("std_correction_2", [](auto x) { return ebb::stddev<1>(x, ebb::correction<2>); });
  // PyTorch updates its mean in one pass, and the mean is rounded to 1.5e-8 here: the next test shows how exact two passes are.
  wide<3, 5>("var_shifted", [](auto x) { return ebb::var<-1>(x + 1e8); }, {.value = 3e7, .grad = 3e8, .spread = true});
  wide<2, 4>("std_constant_row", [](auto x) { return ebb::stddev<1>(x); });
}

TEST_CASE("a large mean costs the variance no digits") {
  constexpr auto v = [](auto x) { return ebb::var(x); };
  std::vector<double> x;
  for (int i = 0; i < 100; ++i) x.push_back(1e8 + std::sin(i));
  long double mean = 0, want = 0;
  for (double e : x) mean += e / 100.L;
  for (double e : x) want += (e - mean) * (e - mean) / 99;
  const auto r = run<double>(v, x);
  CHECK(is_near(r[0][0], static_cast<double>(want), 1e-14));
  for (std::size_t i = 0; i < 100; ++i) CHECK(std::fabs(r[1][i] - static_cast<double>(2 * (x[i] - mean) / 99)) < 1e-9);
}

TEST_CASE("norms give PyTorch's recorded values") {
  both("norm_all", [](auto x) { return ebb::norm(x); });
  both("norm_axis_0", [](auto x) { return ebb::norm<0>(x); });
  both("norm_axis_1", [](auto x) { return ebb::norm<1>(x); });
  both("norm_axis_0_1", [](auto x) { return ebb::norm<0, 1>(x); });
  both("norm_keepdim", [](auto x) { return ebb::norm<1>(x, ebb::keep_dims); });
  both("norm_negative_axis", [](auto x) { return ebb::norm<-1>(x); });
  golden::check<golden::any_vector>("reductions", "norm_at_zero", [](auto x) { return ebb::norm(x); });
  for (const char* points : {"zeros", "ties", "nonfinite"}) {
    const auto name = [&](const char* order) { return std::string("norm_") + order + "_" + points; };
    golden::check<any_matrix>("reductions", name("0"), [](auto x) { return ebb::norm<1>(x, ebb::order<0>); }, summed);
    golden::check<any_matrix>("reductions", name("1"), [](auto x) { return ebb::norm<1>(x, ebb::order<1>); }, summed);
    golden::check<any_matrix>("reductions", name("2"), [](auto x) { return ebb::norm<1>(x, ebb::order<2>); }, summed);
    golden::check<any_matrix>("reductions", name("3"), [](auto x) { return ebb::norm<1>(x, ebb::order<3>); }, summed);
    golden::check<any_matrix>("reductions", name("inf"), [](auto x) { return ebb::norm<1>(x, ebb::order_inf); }, summed);
    golden::check<any_matrix>("reductions", name("-inf"), [](auto x) { return ebb::norm<1>(x, ebb::order_minus_inf); }, summed);
  }
  wide<3, 5>("norm_1", [](auto x) { return ebb::norm<1>(x, ebb::order<1>); });
  wide<3, 5>("norm_1.5", [](auto x) { return ebb::norm<1>(x, ebb::order<3, 2>); });
  wide<3, 5>("norm_2", [](auto x) { return ebb::norm<1>(x); });
  wide<3, 5>("norm_3", [](auto x) { return ebb::norm<1>(x, ebb::order<3>); });
  wide<3, 5>("norm_0.5", [](auto x) { return ebb::norm<1>(x, ebb::order<1, 2>); });
  wide<3, 5>("norm_inf", [](auto x) { return ebb::norm<1>(x, ebb::order_inf); });
  wide<3, 5>("norm_-inf", [](auto x) { return ebb::norm<1>(x, ebb::order_minus_inf); });
  wide<3, 5>("norm_0", [](auto x) { return ebb::norm<1>(x, ebb::order<0>); });
  wide<3, 3>("norm_inf_ties", [](auto x) { return ebb::norm<1>(x, ebb::order_inf); });
  wide<3, 5>("norm_2_scaled", [](auto x) { return ebb::norm<1>(x * 1e-100) * 1e100; });
}

constexpr auto two = [](auto x) { return ebb::norm(x); };
constexpr auto three = [](auto x) { return ebb::norm(x, ebb::order<3>); };
constexpr auto half = [](auto x) { return ebb::norm(x, ebb::order<1, 2>); };
constexpr auto minus_one = [](auto x) { return ebb::norm(x, ebb::order<-1>); };

TEST_CASE("a norm neither overflows nor underflows in its intermediate results") {
  // PyTorch gives inf with a gradient of 0, or 0, here.
  const double scales[] = {1e200, 1e-200, 1e307, 1e-300, 0x1p-1040, 1};
  for (double s : scales) {
    INFO(s);
    const auto r = run<double>(two, {3 * s, -4 * s});
    CHECK(is_near(r[0][0], 5 * s, s < 1e-305 ? 1e-9 : 1e-15));
    CHECK(is_near(r[1][0], 0.6, s < 1e-305 ? 1e-9 : 1e-15));
    CHECK(is_near(r[1][1], -0.8, s < 1e-305 ? 1e-9 : 1e-15));
    const auto cube = run<double>(three, {s, s, -s});
    CHECK(is_near(cube[0][0], std::cbrt(3.) * s, s < 1e-305 ? 1e-9 : 1e-14));
    CHECK(is_near(cube[1][2], -std::pow(3., -2. / 3), 1e-9));
  }
  for (float s : {1e30f, 1e-30f, 1e38f, 1e-36f}) {
    const auto r = run<float>(two, {1.2f * s, 1.6f * s});
    CHECK(is_near(r[0][0], 2. * static_cast<double>(s), 1e-6));
    CHECK(is_near(r[1][0], 0.6, 1e-6));
  }
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(run<double>(two, {1.7e308, 1.7e308})[0][0] == inf);  // the norm itself overflows
  CHECK(run<double>(two, {})[0][0] == 0);
}

TEST_CASE("a norm has the derivative 0 at zero elements, for orders below 1 and below 0 too") {
  CHECK(is_near(run<double>(half, {0, 4, 9})[0][0], 25, 1e-15));
  const auto of_half = run<double>(half, {0, 4, 9})[1];
  CHECK((of_half[0] == 0 && is_near(of_half[1], 2.5, 1e-15) && is_near(of_half[2], 5. / 3, 1e-15)));
  CHECK(run<double>(half, {0, 0})[1] == std::vector<double>{0, 0});
  CHECK(run<double>(three, {0, 0, 2})[1] == std::vector<double>{0, 0, 1});
  // 1 / (1 / 2 + 1 / 2), and 0 if one element is 0.
  CHECK(is_near(run<double>(minus_one, {2, -2})[0][0], 1, 1e-15));
  CHECK(is_near(run<double>(minus_one, {2, -2})[1][1], -0.25, 1e-15));
  CHECK(run<double>(minus_one, {2, 0})[0][0] == 0);
  CHECK(run<double>(minus_one, {2, 0})[1] == std::vector<double>{0, 0});
}

/// Moments and norms over all elements, written for hyper-dual numbers.
test::hyper_dual power_of(test::hyper_dual x, long double p) {
  return test::chain(x, std::pow(x.v, p), p * std::pow(x.v, p - 1), p * (p - 1) * std::pow(x.v, p - 2));
}
using oracle = std::function<test::hyper_dual(const std::vector<test::hyper_dual>&)>;
oracle moment(int correction, bool root) {
  return [=](const std::vector<test::hyper_dual>& x) {
    test::hyper_dual mean{}, sum{};
    const auto n = static_cast<double>(x.size());
    for (auto e : x) mean = mean + (1 / n) * e;
    for (auto e : x) sum = sum + (e - mean) * (e - mean);
    const auto v = (1 / (n - correction)) * sum;
    return root ? power_of(v, 0.5L) : v;
  };
}
oracle norm_of(long double p) {
  return [=](const std::vector<test::hyper_dual>& x) {
    test::hyper_dual sum{};
    for (auto e : x) sum = sum + power_of(e.v < 0 ? -e : e, p);
    return power_of(sum, 1 / p);
  };
}

/// Value, gradient and all second derivatives against hyper-dual numbers. The result is squared, so that its seed is not constant.
template <class F>
void check_derivatives(const char* name, F, const oracle& f) {
  constexpr int n = 7;
  std::mt19937_64 next(7);
  std::uniform_real_distribution<double> number(0.3, 2);
  std::vector<double> x;
  for (int i = 0; i < n; ++i) x.push_back(i % 2 ? number(next) : -number(next));
  constexpr auto squared = [](auto v) { return ebb::square(F{}(v)); };
  ebb::graph g = ebb::joint(ebb::trace_of<std::remove_const_t<decltype(squared)>, ebb::term<double, dyn>>::make(), {0});
  const int of = g.out[1];
  for (int i = 0; i < n; ++i) g.out.push(of);
  ebb::extent_list extents;
  extents.rank = 1;
  extents.e[0] = n;
  ebb::cell_array cells;
  for (double v : x) cells.push(ebb::to_cell(v));
  const auto first = ebb::evaluate(g, {cells, {ebb::to_cell(1.)}}, ebb::symbol_values(g, {extents}));
  INFO(name);
  const auto at = [&](int i, int j) {
    std::vector<test::hyper_dual> duals;
    for (int k = 0; k < n; ++k) duals.push_back({x[static_cast<std::size_t>(k)], k == i ? 1.L : 0.L, k == j ? 1.L : 0.L, 0});
    const auto y = f(duals);
    return y * y;
  };
  const double size = std::max(1., static_cast<double>(at(0, 0).v));
  CHECK(std::fabs(ebb::from_cell<double>(first[0][0]) - static_cast<double>(at(0, 0).v)) < 1e-14 * size);
  for (int i = 0; i < n; ++i) CHECK(std::fabs(ebb::from_cell<double>(first[1][i]) - static_cast<double>(at(i, i).a)) < 1e-14 * size);
  // The pull of each element of the gradient is one row of the Hessian.
  for (int i = 0; i < n; ++i) {
    ebb::graph h = g;
    const int seed = h.op(of).kit->input(h, h.eq[of].shape, 2);
    h.inputs = 3;
    h.out = {ebb::or_zeros(h, ebb::pull_back(h, {h.input(0)}, {of}, {seed})[0], h.input(0))};
    ebb::cell_array unit(n, ebb::to_cell(0.));
    unit[i] = ebb::to_cell(1.);
    const auto row = ebb::evaluate(ebb::prune(h), {cells, {ebb::to_cell(1.)}, unit}, ebb::symbol_values(h, {extents}));
    for (int j = 0; j < n; ++j) CHECK(std::fabs(ebb::from_cell<double>(row[0][j]) - static_cast<double>(at(i, j).c)) < 1e-14 * size);
  }
}

TEST_CASE("moments and norms have the first and second derivatives of hyper-dual numbers in long double") {
  check_derivatives("var", [](auto x) { return ebb::var(x); }, moment(1, false));
  check_derivatives("var, n", [](auto x) { return ebb::var(x, ebb::correction<0>); }, moment(0, false));
  check_derivatives("stddev", [](auto x) { return ebb::stddev(x); }, moment(1, true));
  check_derivatives("norm 2", [](auto x) { return ebb::norm(x); }, norm_of(2));
  check_derivatives("norm 1", [](auto x) { return ebb::norm(x, ebb::order<1>); }, norm_of(1));
  check_derivatives("norm 3", [](auto x) { return ebb::norm(x, ebb::order<3>); }, norm_of(3));
  check_derivatives("norm 5/2", [](auto x) { return ebb::norm(x, ebb::order<5, 2>); }, norm_of(2.5L));
  check_derivatives("norm 1/2", [](auto x) { return ebb::norm(x, ebb::order<1, 2>); }, norm_of(0.5L));
  check_derivatives("norm -2", [](auto x) { return ebb::norm(x, ebb::order<-2>); }, norm_of(-2));
}

TEST_CASE("moments and norms of too few elements, and of none, follow PyTorch") {
  constexpr auto v = [](auto x) { return ebb::var(x); };
  constexpr auto three_less = [](auto x) { return ebb::var(x, ebb::correction<3>); };
  CHECK(std::isnan(run<float>(v, {2})[0][0]));
  CHECK(std::isnan(run<float>(v, {})[0][0]));
  CHECK(run<float>(three_less, {1, 2})[0][0] == std::numeric_limits<float>::infinity());  // as in PyTorch: 0.5 over 0
  CHECK(run<float>(v, {2, 4})[0][0] == 2);
}

TEST_CASE("moments of integers and narrow floats are computed in float and rounded once") {
  constexpr auto all = [](auto x) { return std::tuple(ebb::var(x), ebb::stddev(x), ebb::norm(x), ebb::norm(x, ebb::order_inf)); };
  const ebb::graph i = ebb::trace_of<std::remove_const_t<decltype(all)>, ebb::term<int, 4>>::make();
  for (int o : i.out) CHECK(i.op(o).result == ebb::dtype::f32);
  const ebb::graph b = ebb::trace_of<std::remove_const_t<decltype(all)>, ebb::term<ebb::bf16, 4>>::make();
  ebb::cell_array x;
  for (float e : {1.f, 2.f, 3.f, 5.f}) x.push(ebb::to_cell(ebb::bf16(e)));
  const auto r = ebb::evaluate(b, {x}, {});
  const float want[] = {35.f / 12, std::sqrt(35.f / 12), std::sqrt(39.f), 5};
  for (int o = 0; o < 4; ++o) {
    CHECK(b.op(b.out[o]).result == ebb::dtype::bf16);
    CHECK(ebb::from_cell<ebb::bf16>(r[o][0]) == ebb::bf16(want[o]));
  }
}

}  // namespace

// test/reductions/sums.cpp — reductions of some elements, differences, moments: recorded values, derivatives, elements that do not count.
// SPDX-License-Identifier: BSL-1.0
// covers: sums.hpp differences.hpp moments.hpp
#include "../linalg/oracle.hpp"

#include <ebb/functional.hpp>
#include <ebb/reductions.hpp>

namespace {

using ebb::dyn;
using golden::of;
using golden::real;

template <class... A, class F>
void reduces_as_recorded(const std::string& name, F, double bound) {
  const ebb::graph g = ebb::trace_of<F, A...>::make();
  REQUIRE_FALSE(ebb::first_error(g));
  golden::check_traced("ops2", name, "", g, {.value = bound, .grad = bound, .second = bound, .second_floor = 1, .spread = true});
}

TEST_CASE("sums without NaN, differences, integrals, covariances and correlations have PyTorch's recorded values") {
  using matrix = ebb::term<double, dyn, dyn>;
  const golden::bounds summed{.value = 2, .grad = 2, .spread = true};
  golden::check<of<real, dyn, dyn>>("reductions", "nansum_all", [](auto x) { return ebb::nansum(x); }, summed);
  golden::check<of<real, 3, 4>>("reductions", "nansum_axis_0", [](auto x) { return ebb::nansum<0>(x); }, summed);
  golden::check<of<real, dyn, dyn>>("reductions", "nansum_keepdim", [](auto x) { return ebb::nansum<1>(x, ebb::keep_dims); }, summed);
  reduces_as_recorded<matrix>("nansum_mean", [](auto x) { return std::tuple(ebb::nansum<1>(x), ebb::nanmean<-1>(x)); }, 2);
  reduces_as_recorded<matrix>("aminmax", [](auto x) { return ebb::aminmax<1>(x); }, 0);
  reduces_as_recorded<matrix>("diff_2", [](auto x) { return ebb::diff<-1, 2>(x); }, 2);
  reduces_as_recorded<ebb::term<double, 3, 5>, ebb::term<double, 5>>("trapezoid", [](auto y, auto x) { return ebb::trapezoid(y, x); }, 4);
  reduces_as_recorded<matrix>("cumulative_trapezoid", [](auto y) { return ebb::cumulative_trapezoid(y, 0.5); }, 4);
  reduces_as_recorded<ebb::term<double, 3, 5>>("cov", [](auto x) { return ebb::cov(x); }, 8);
  reduces_as_recorded<matrix>("cov", [](auto x) { return ebb::cov(x); }, 8);
  reduces_as_recorded<matrix>("corrcoef", [](auto x) { return ebb::corrcoef(x); }, 16);
}

using linalg_test::long_numbers;

/// The sum of f over the elements of x in rows of three, for each row.
long_numbers of_rows(const long_numbers& x, const std::function<long double(const long_numbers&)>& f) {
  long_numbers r;
  for (std::size_t i = 0; i + 3 <= x.size(); i += 3) r.push_back(f({x[i], x[i + 1], x[i + 2]}));
  return r;
}
long double moment(const long_numbers& x, int order) {
  const long double mean = (x[0] + x[1] + x[2]) / 3;
  long double sum = 0;
  for (long double e : x) sum += std::pow(e - mean, static_cast<long double>(order));
  return sum / 3;
}

TEST_CASE("first and second derivatives of reductions are those of central differences in long double") {
  const auto compare = [](const char* name, auto f, const std::function<long double(const long_numbers&)>& oracle) {
    linalg_test::against_differences<ebb::term<double, 4, 3>>(
        name, f, linalg_test::random_numbers(12, 9), linalg_test::extents_of({4, 3}),
        [&](const long_numbers& x) { return of_rows(x, oracle); }, 1e-9L, 1e-5L);
  };
  compare("norm_squared", [](auto x) { return ebb::norm_squared<1>(x); },
          [](const long_numbers& x) { return x[0] * x[0] + x[1] * x[1] + x[2] * x[2]; });
  compare("vecdot", [](auto x) { return ebb::vecdot(x, ebb::flip<1>(x) * x); },
          [](const long_numbers& x) { return x[0] * x[0] * x[2] * 1 + x[1] * x[1] * x[1] + x[2] * x[2] * x[0]; });
  compare("weighted_mean", [](auto x) { return ebb::weighted_mean<1>(x, ebb::square(x) + 1); }, [](const long_numbers& x) {
    long double sum = 0, weights = 0;
    for (long double e : x) sum += e * (e * e + 1), weights += e * e + 1;
    return sum / weights;
  });
  compare("log_mean_exp", [](auto x) { return ebb::log_mean_exp<-1>(x); },
          [](const long_numbers& x) { return std::log((std::exp(x[0]) + std::exp(x[1]) + std::exp(x[2])) / 3); });
  compare("weighted_logsumexp", [](auto x) { return std::get<0>(ebb::weighted_logsumexp<1>(3 * x, x - 2)); }, [](const long_numbers& x) {
    long double sum = 0;
    for (long double e : x) sum += (e - 2) * std::exp(3 * e);
    return std::log(std::fabs(sum));
  });
  compare(
      "skew", [](auto x) { return ebb::skew<1>(x); }, [](const long_numbers& x) { return moment(x, 3) / std::pow(moment(x, 2), 1.5L); });
  compare("kurtosis", [](auto x) { return ebb::kurtosis<1>(x); },
          [](const long_numbers& x) { return moment(x, 4) / (moment(x, 2) * moment(x, 2)) - 3; });
  compare("simpson", [](auto x) { return ebb::simpson(x * x * x, 0.5); }, [](const long_numbers& x) {
    return 0.5L / 3 * (x[0] * x[0] * x[0] + 4 * x[1] * x[1] * x[1] + x[2] * x[2] * x[2]);
  });
  compare("masked_mean", [](auto x) { return ebb::masked_mean<1>(ebb::square(x), ebb::iota<1>(x) > 0); },
          [](const long_numbers& x) { return (x[1] * x[1] + x[2] * x[2]) / 2; });
}

/// NaN in place of the element in the middle of each row.
constexpr auto holed = [](auto x) { return ebb::where(ebb::iota<1>(x) == 1, std::numeric_limits<double>::quiet_NaN(), x); };

TEST_CASE("extrema, masked and other reductions of x^3 have the first and second derivatives of the elements that they take") {
  const auto check = [](const char* name, auto f, const std::function<long double(const long_numbers&)>& oracle) {
    const auto of_cubes = [](auto x) { return ebb::square(decltype(f){}(x * x * x)) + x[0][0]; };
    const auto each = [&](const long_numbers& x) {
      long_numbers cubes;
      for (const long double e : x) cubes.push_back(e * e * e);
      long_numbers r = of_rows(cubes, oracle);
      for (long double& e : r) e = e * e + x[0];
      return r;
    };
    const auto x = linalg_test::random_numbers(12, 4);
    linalg_test::against_differences<ebb::term<double, 4, 3>>(name, of_cubes, x, linalg_test::extents_of({4, 3}), each, 1e-9L, 1e-5L);
    linalg_test::against_differences<ebb::term<double, dyn, dyn>>(name, of_cubes, x, linalg_test::extents_of({4, 3}), each, 1e-9L, 1e-5L);
  };
  const auto largest = [](const long_numbers& x) { return std::max({x[0], x[1], x[2]}); };
  const auto smallest = [](const long_numbers& x) { return std::min({x[0], x[1], x[2]}); };
  check("amax", [](auto x) { return ebb::amax<1>(x); }, largest);
  check("amin", [](auto x) { return ebb::amin<-1>(x); }, smallest);
  check("max_with_index", [](auto x) { return std::get<0>(ebb::max_with_index(x)); }, largest);
  check("min_with_index", [](auto x) { return std::get<0>(ebb::min_with_index<1>(x)); }, smallest);
  // The element in the middle is NaN, or has the mask false.
  check("nanmax", [](auto x) { return ebb::nanmax<1>(holed(x)); }, [](const long_numbers& x) { return std::max(x[0], x[2]); });
  check("nanmin", [](auto x) { return ebb::nanmin<1>(holed(x)); }, [](const long_numbers& x) { return std::min(x[0], x[2]); });
  check(
      "masked_max", [](auto x) { return ebb::masked_max<1>(x, ebb::iota<1>(x) != 1); },
      [](const long_numbers& x) { return std::max(x[0], x[2]); });
  check(
      "masked_min", [](auto x) { return ebb::masked_min<1>(x, ebb::iota<1>(x) != 1); },
      [](const long_numbers& x) { return std::min(x[0], x[2]); });
  check("masked_sum", [](auto x) { return ebb::masked_sum<1>(x, x > 0); },
        [](const long_numbers& x) { return std::max(x[0], 0.0L) + std::max(x[1], 0.0L) + std::max(x[2], 0.0L); });
  check("softmin", [](auto x) { return ebb::sum<1>(ebb::softmin(x) * x * x); }, [](const long_numbers& x) {
    long double sum = 0, weights = 0;
    for (const long double e : x) sum += std::exp(-e) * e * e, weights += std::exp(-e);
    return sum / weights;
  });
}

TEST_CASE("amin shares the gradient among equal elements, and has the value of NaN, infinities and zeros") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const ebb::tensor<double, 3, 3> x{{2, 1, 1}, {inf, inf, inf}, {0.5, -inf, 3}};
  CHECK(ebb::all_equal(ebb::amin<1>(x), ebb::tensor<double, 3>{1, inf, -inf}));
  CHECK(ebb::amin(x) == -inf);
  const auto slope = ebb::grad([](auto v) { return ebb::sum(ebb::amin<1>(v)); })(x);
  const double third = 1 / 3.0;
  CHECK(ebb::all_equal(slope, ebb::tensor<double, 3, 3>{{0, 0.5, 0.5}, {third, third, third}, {0, 1, 0}}));
  CHECK(std::isnan(ebb::amin(ebb::tensor<double, 3>{1, nan, -1})));
  CHECK(ebb::amin<0>(ebb::tensor<double, dyn, dyn>(2, 0)).size() == 0);
  CHECK(test::says(test::raised([] { static_cast<void>(ebb::amin<1>(ebb::tensor<double, dyn, dyn>(2, 0))); }),
                   {"ebb::amin over no elements", "[2, 0]"}));
  CHECK(test::says(test::raised([] { static_cast<void>(ebb::amax<1>(ebb::tensor<double, dyn, dyn>(2, 0))); }),
                   {"ebb::amax over no elements"}));
  CHECK(
      test::says(test::raised([] { static_cast<void>(ebb::aminmax<1>(ebb::tensor<double, dyn, dyn>(2, 0))); }), {"ebb::aminmax over no"}));
}

TEST_CASE("elements that do not count have no gradient, and rows without any have a value") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const ebb::tensor<float, 2, 3> x{{1, nan, 2}, {nan, nan, nan}};
  const auto mean = ebb::nanmean<1>(x), max = ebb::nanmax<1>(x), min = ebb::nanmin<1>(x);
  CHECK((mean(0) == 1.5f && std::isnan(mean(1)) && max(0) == 2 && std::isnan(max(1)) && min(0) == 1 && std::isnan(min(1))));
  CHECK((ebb::nansum(x) == 3 && ebb::nansum<1>(x)(1) == 0));
  constexpr auto slope = ebb::grad([](auto v) { return ebb::nansum(v) + ebb::nanmax(v) + ebb::masked_sum(v, v > 1.5f); });
  CHECK(ebb::all_equal(slope(x), ebb::tensor<float, 2, 3>{{1, 0, 3}, {0, 0, 0}}));
  const ebb::tensor<float, 2, 3> y{{-inf, 4, 4}, {inf, 1, 0}};
  CHECK(ebb::masked_sum(y, ebb::isfinite(y)) == 9);
  CHECK(ebb::all_equal(ebb::masked_max<1>(y, y < 4), ebb::tensor<float, 2>{-inf, 1}));
  CHECK(ebb::all_equal(ebb::masked_min<1>(y, ebb::tensor<bool, 3>{false, true, true}), ebb::tensor<float, 2>{4, 0}));
  CHECK(ebb::masked_min(ebb::tensor<int, 2>{3, 4}, ebb::tensor<bool, 2>{false, false}) == std::numeric_limits<int>::max());
  CHECK(ebb::masked_mean(ebb::tensor<int, 3>{3, 4, 100}, ebb::tensor<bool, 3>{true, true, false}) == 3.5f);
  const auto [largest, at] = ebb::max_with_index(y);
  CHECK((largest(0) == 4 && at(0) == 1 && largest(1) == inf && at(1) == 0));
  const auto [smallest, first] = ebb::min_with_index<0>(y);
  CHECK((smallest(1) == 1 && first(1) == 1 && smallest(0) == -inf && first(2) == 1));
  constexpr auto to_first = ebb::grad([](auto v) { return ebb::sum(std::get<0>(ebb::max_with_index(v))); });
  CHECK(ebb::all_equal(to_first(y), ebb::tensor<float, 2, 3>{{0, 1, 0}, {1, 0, 0}}));
  CHECK(
      ebb::all_equal(ebb::grad([](auto v) { return ebb::sum(ebb::amax<1>(v)); })(y), ebb::tensor<float, 2, 3>{{0, 0.5f, 0.5f}, {1, 0, 0}}));
  const ebb::tensor<ebb::bf16, 300> ones = ebb::tensor<ebb::bf16, 300>::full(ebb::bf16(1.f));
  CHECK((ebb::norm_squared(ones) == ebb::bf16(300.f) && ebb::vecdot(ones, ones) == ebb::bf16(300.f)));
  CHECK(ebb::vecdot(ebb::tensor<int, 2>{3, 4}, ebb::tensor<int, 2>{5, 6}) == 39);
  CHECK(ebb::log_mean_exp(ebb::tensor<double, 2>{1000, 1000}) == 1000);
  const auto [size, sign] = ebb::weighted_logsumexp(ebb::tensor<double, 2>{1000, 1000}, ebb::tensor<double, 2>{1, -3});
  CHECK((size == Approx(1000 + std::log(2.0)) && sign == -1));
  CHECK(std::get<0>(ebb::weighted_logsumexp(ebb::tensor<double, 2>{-inf, 3}, 0.0)) == -inf);
  const auto small = ebb::softmin(ebb::tensor<double, 2>{0, std::log(3.0)});
  CHECK((small(0) == Approx(0.75) && small(1) == Approx(0.25)));
}

TEST_CASE("count_nonzero counts NaN and infinities, but no zero of either sign") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ebb::tensor<double, ebb::dyn, ebb::dyn> x{{0, nan, -2}, {-0.0, 0, std::numeric_limits<double>::infinity()}};
  CHECK(ebb::count_nonzero(x) == 3);
  CHECK(ebb::all_equal(ebb::count_nonzero<1>(x), ebb::tensor<std::int64_t, ebb::dyn>{2, 1}));
  CHECK(ebb::all_equal(ebb::count_nonzero<0>(x, ebb::keep_dims), ebb::tensor<std::int64_t, ebb::dyn, ebb::dyn>{{0, 1, 2}}));
  CHECK(ebb::count_nonzero(ebb::tensor<bool, 3>{true, false, true}) == 2);
  CHECK(ebb::count_nonzero(ebb::tensor<int, ebb::dyn>(0)) == 0);
}

}  // namespace

// test/order/quantile.cpp — quantile, nanquantile, median, nanmedian: recorded values, rules, axes, gradients by x and by q, special rows.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"

#include "../random_array.hpp"

#include <ebb/functional.hpp>
#include <ebb/graph/valid.hpp>
#include <ebb/order.hpp>

namespace {

using ebb::between, ebb::dyn;

template <class... A, class F>
void quantiles_as_recorded(const std::string& name, F, double bound) {
  const ebb::graph g = ebb::trace_of<F, A...>::make();
  REQUIRE_FALSE(ebb::first_error(g));
  golden::check_traced("ops2", name, "", g, {.value = bound, .grad = 2, .spread = true});
}

template <between Rule>
constexpr auto three_quantiles = [](auto x) {
  return ebb::stack<0>(ebb::quantile<-1, Rule>(x, 0.1), ebb::quantile<1, Rule>(x, 0.5), ebb::quantile<-1, Rule>(x, 0.77));
};

TEST_CASE("quantiles and medians give PyTorch's recorded values and gradients") {
  using matrix = ebb::term<double, dyn, dyn>;
  quantiles_as_recorded<matrix>("quantile_linear", three_quantiles<between::line>, 4);
  quantiles_as_recorded<ebb::term<double, 3, 5>>("quantile_lower", three_quantiles<between::lower>, 0);
  quantiles_as_recorded<matrix>("quantile_higher", three_quantiles<between::higher>, 0);
  quantiles_as_recorded<matrix>("quantile_nearest", three_quantiles<between::nearest>, 0);
  quantiles_as_recorded<matrix>("quantile_midpoint", three_quantiles<between::midpoint>, 1);
  quantiles_as_recorded<matrix>("quantile_nan", [](auto x) { return ebb::quantile(x, 0.5); }, 0);
  quantiles_as_recorded<ebb::term<double, 2, 3>>("nanquantile", [](auto x) { return ebb::nanquantile(x, 0.3); }, 2);
  const auto median = [](auto x) { return ebb::median(x); };
  quantiles_as_recorded<matrix>("median_even", median, 0);
  quantiles_as_recorded<matrix>("nanmedian", [](auto x) { return std::get<0>(ebb::nanmedian(x)); }, 0);
  const golden::bounds exact{.value = 0, .grad = 0, .sign_is_open = true, .value_sign_is_open = true};
  using golden::of, golden::real;
  golden::check<of<real, 3, 4>>("reductions", "median_axis_0", [](auto x) { return std::get<0>(ebb::median<0>(x)); }, exact);
  golden::check<of<real, dyn, 4>>("reductions", "median_axis_1", [](auto x) { return std::get<0>(ebb::median<1>(x)); }, exact);
  golden::check<of<real, dyn, 4>>("reductions", "median_zeros", median, exact);
  golden::check<of<real, dyn, 4>>("reductions", "median_ties", median, exact);
  golden::check<of<real, dyn, 4>>("reductions", "median_nonfinite", median, exact);
}

TEST_CASE("a vector of q gives one result each, along any axis, with derivatives by x and by q") {
  const auto x = test::random_array<ebb::tensor<double, 7, 3>>(4);
  const ebb::tensor<double, 4> q{0, 0.25, 0.6, 1};
  const auto r = ebb::quantile<0>(x, q);
  const auto kept = ebb::quantile<0>(x, q, ebb::keep_dims);
  REQUIRE((r.extent(0) == 4 && r.extent(1) == 3 && kept.extent(1) == 1 && kept.extent(2) == 3));
  for (std::size_t j = 0; j < 3; ++j) {
    std::vector<double> column;
    for (std::size_t i = 0; i < 7; ++i) column.push_back(x(i, j));
    std::sort(column.begin(), column.end());
    for (std::size_t k = 0; k < 4; ++k) {
      const long double at = static_cast<long double>(q(k)) * 6, below = std::floor(at);
      const auto a = static_cast<std::size_t>(below), b = static_cast<std::size_t>(std::ceil(at));
      const long double want = column[a] + (static_cast<long double>(column[b]) - column[a]) * (at - below);
      CHECK(std::fabs(r(k, j) - want) < 1e-15L);
      CHECK(kept(k, 0, j) == r(k, j));
    }
  }
  // q (n - 1) = 2.4: between elements 2 and 3 of the order. The derivative by q is their distance times n - 1, that by x 0.6 and 0.4.
  constexpr auto loss = [](auto v, auto p) { return ebb::square(ebb::quantile(v, p)); };
  const ebb::tensor<double, 7> row{4, 1, 7, 2, 9, 3, 8};
  const double by_q = ebb::grad<1>(loss)(row, 0.4);
  CHECK(by_q == Approx(2 * 3.4 * 6).epsilon(1e-14));
  const auto by_x = ebb::grad(loss)(row, 0.4);
  CHECK(by_x(5) == Approx(2 * 3.4 * 0.6).epsilon(1e-14));
  CHECK(by_x(0) == Approx(2 * 3.4 * 0.4).epsilon(1e-14));
  CHECK(ebb::sum(ebb::abs(by_x)) == Approx(2 * 3.4).epsilon(1e-14));
  const auto h = ebb::hessian(loss)(row, 0.4);
  CHECK(h(5, 0) == Approx(2 * 0.6 * 0.4).epsilon(1e-14));
  CHECK(h(5, 5) == Approx(2 * 0.6 * 0.6).epsilon(1e-14));
}

TEST_CASE("a number q is not rounded to the dtype of x, called on arrays or compiled") {
  constexpr auto tenths = [](auto x) { return ebb::quantile(x, 0.3); };
  const auto same = [&]<class T>(T) {
    const auto x = ebb::cast<T>(ebb::tensor<float, dyn>{320, 0, 640, 64, 192, 576, 128, 384, 512, 256, 448});
    CHECK(tenths(x) == T(192.f));  // the element 3: with a rounded 0.3 it is 192 and some 64 * 10 ulp of 0.3
    CHECK(ebb::compile(tenths)(x) == T(192.f));
  };
  same(float{}), same(ebb::f16{});
  const ebb::tensor<float, 5> x{4, 1, 64, 2, 9};
  const float below = ebb::quantile<-1, between::lower>(x, 0.7499999999);  // rounded to float, that is 0.75: the next element
  CHECK(below == 4);
  CHECK(ebb::compile([](auto v) { return ebb::quantile<-1, between::lower>(v, 0.7499999999); })(x) == below);
  CHECK(ebb::quantile(ebb::tensor<int, 3>{1, 2, 5}, 1) == 5.f);
}

TEST_CASE("special rows: infinities, NaN alone, one element, integers, narrow floats; maps; errors") {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  using row = ebb::tensor<double, dyn>;
  const row ends{inf, -inf, -inf, 1, inf};
  CHECK(ebb::quantile(ends, 0.1) == -inf);
  CHECK(ebb::quantile(ends, 0.5) == 1);
  CHECK(ebb::quantile(ends, 0.9) == inf);
  CHECK(ebb::quantile(ends, 0.6) == inf);
  CHECK(std::isnan(ebb::nanquantile(row{nan, nan}, 0.5)));
  const auto [middle, place] = ebb::nanmedian(row{nan, nan});
  CHECK((std::isnan(middle) && place == 0));
  CHECK(ebb::quantile(row{3}, 0.7) == 3);
  const ebb::tensor<std::int64_t, 4> whole{(std::int64_t{1} << 60) + 1, 5, (std::int64_t{1} << 60), 7};
  CHECK(std::get<0>(ebb::median(whole)) == 7);
  CHECK(std::get<0>(ebb::median(ebb::tensor<std::int64_t, 3>{(std::int64_t{1} << 60) + 1, 5, (std::int64_t{1} << 60)})) == std::int64_t{1}
                                                                                                                               << 60);
  CHECK(ebb::quantile(ebb::tensor<int, 4>{1, 2, 4, 3}, 0.5f) == 2.5f);
  const ebb::tensor<ebb::bf16, 2> narrow{ebb::bf16(1.f), ebb::bf16(2.f)};
  CHECK(ebb::quantile(narrow, 0.25f) == ebb::bf16(1.25f));
  const auto x = test::random_array<ebb::tensor<float, dyn, dyn>>(3, std::size_t{5}, std::size_t{40});
  const auto each = ebb::map([](auto v) { return ebb::quantile(v, 0.375); }, x);
  CHECK(ebb::all_equal(each, ebb::quantile(x, 0.375)));
  CHECK(test::says(test::raised([&] { ebb::quantile(x, 1.5); }), {"quantile", "40"}));
  CHECK(test::says(test::raised([&] { ebb::quantile(row(0), 0.5); }), {"quantile", "0"}));
  CHECK(test::says(test::raised([&] { ebb::median(row(0)); }), {"median", "0"}));
  static_assert(ebb::quantile(ebb::tensor<double, 3>{3.0, 1.0, 2.0}, 0.75) == 2.5);
}

TEST_CASE("medians and quantiles of x^3 have the first and second derivatives of the elements that they take") {
  const auto check = [](const char* name, auto f, auto middle) {
    const auto of_cubes = [](auto x) { return ebb::square(decltype(f){}(x * x * x)); };
    const auto oracle = [&](const linalg_test::long_numbers& x) {
      linalg_test::long_numbers r;
      for (std::size_t i = 0; i < x.size(); i += 4) {
        linalg_test::long_numbers row;
        for (std::size_t j = 0; j < 4; ++j) row.push_back(x[i + j] * x[i + j] * x[i + j]);
        r.push_back(std::pow(middle(row), 2.0L));
      }
      return r;
    };
    linalg_test::against_differences<ebb::term<double, 3, 4>>(name, of_cubes, linalg_test::random_numbers(12, 6),
                                                              linalg_test::extents_of({3, 4}), oracle, 1e-9L, 1e-5L);
  };
  const auto sorted = [](linalg_test::long_numbers row, std::size_t first) {
    std::sort(row.begin() + static_cast<std::ptrdiff_t>(first), row.end());
    return linalg_test::long_numbers(row.begin() + static_cast<std::ptrdiff_t>(first), row.end());
  };
  check("median", [](auto x) { return std::get<0>(ebb::median(x)); }, [&](const auto& row) { return sorted(row, 0)[1]; });
  // The first element of each row is NaN.
  check("nanmedian", [](auto x) { return std::get<0>(ebb::nanmedian(ebb::where(ebb::iota<1>(x) == 0, std::nan(""), x))); },
        [&](const auto& row) { return sorted(row, 1)[1]; });
  check("nanquantile", [](auto x) { return ebb::nanquantile(ebb::where(ebb::iota<1>(x) == 0, std::nan(""), x), 0.3); },
        [&](const auto& row) { return 0.4L * sorted(row, 1)[0] + 0.6L * sorted(row, 1)[1]; });
}

}  // namespace

// test/reductions/differences.cpp — differences, integrals and covariances of arrays: short rows, dtypes, axes, maps, errors.
// SPDX-License-Identifier: BSL-1.0
// covers: differences.hpp moments.hpp
#include "../catch.hpp"

#include "../random_array.hpp"

#include <ebb/functional.hpp>
#include <ebb/reductions.hpp>

namespace {

using ebb::dyn;

TEST_CASE("differences and integrals of short rows, other dtypes and axes, and errors; rows of one variable") {
  using row = ebb::tensor<double, dyn>;
  CHECK(ebb::all_equal(ebb::diff(ebb::tensor<std::int64_t, 4>{1, 4, 9, 16}), ebb::tensor<std::int64_t, 3>{3, 5, 7}));
  CHECK(ebb::all_equal(ebb::diff<-1, 0>(row{1, 2}), row{1, 2}));
  CHECK(ebb::diff<0, 2>(row{1, 2}).size() == 0);
  CHECK(test::says(test::raised([] { ebb::diff<0, 3>(row{1, 2}); }), {"diff<0, 3>", "[2]"}));
  CHECK(ebb::trapezoid(row{5}) == 0);
  CHECK(ebb::cumulative_trapezoid(row{5}).size() == 0);
  CHECK(ebb::trapezoid(ebb::tensor<int, 3>{1, 2, 4}) == 4.5f);
  CHECK(test::says(test::raised([] { ebb::trapezoid(row(0)); }), {"trapezoid", "[0]"}));
  CHECK(test::says(test::raised([] { ebb::trapezoid(row{1, 2}, row{1, 2, 3}); }), {"trapezoid"}));
  const ebb::tensor<double, 3, 2> y{{1, 10}, {2, 20}, {4, 40}};
  CHECK(ebb::all_equal(ebb::trapezoid<0>(y, 2.0), ebb::tensor<double, 2>{9, 90}));
  CHECK(ebb::all_equal(ebb::trapezoid<0>(y, ebb::tensor<double, 3>{0, 1, 3}), ebb::tensor<double, 2>{7.5, 75}));
  CHECK(ebb::all_equal(ebb::cumulative_trapezoid<0>(y, y)(1), ebb::tensor<double, 2>{7.5, 750}));
  // Simpson's rule is exact for parabolas, and for cubes if the number of intervals is even.
  constexpr auto integrals = [](auto count) {
    constexpr std::size_t n = decltype(count)::value;
    const auto at = ebb::tensor<double, 2, n>::generate([](std::size_t i) {
      const double x = 0.5 * static_cast<double>(i % n);
      return i < n ? 3 * x * x - x + 2 : 4 * x * x * x;
    });
    const double end = 0.5 * (n - 1), parabola = end * end * end - end * end / 2 + 2 * end, cube = end * end * end * end;
    const auto r = ebb::simpson(at, 0.5);
    CHECK(r(0) == Approx(n == 2 ? 0.25 * (2 + 2.25) : parabola).margin(1e-15));
    if (n % 2 == 1) CHECK(r(1) == Approx(cube).margin(1e-15));
    CHECK(ebb::all_equal(ebb::simpson<0>(ebb::tensor<double, n, 2>(ebb::transpose(at)), 0.5), r));
  };
  integrals(std::integral_constant<std::size_t, 1>{});
  integrals(std::integral_constant<std::size_t, 2>{});
  integrals(std::integral_constant<std::size_t, 4>{});
  integrals(std::integral_constant<std::size_t, 7>{});
  integrals(std::integral_constant<std::size_t, 8>{});
  constexpr auto by_width = ebb::grad<1>([](auto v, auto w) { return ebb::simpson(v, w); });
  CHECK(by_width(ebb::tensor<double, 3>{1, 1, 1}, 0.25) == Approx(2));
  CHECK(ebb::simpson(ebb::tensor<int, 3>{0, 1, 4}) == Approx(8.0 / 3));
  CHECK(ebb::cov(row{1, 2, 6}) == 7);
  CHECK(ebb::cov(row{1, 2, 6}, ebb::correction<0>) == Approx(14.0 / 3));
  CHECK(ebb::corrcoef(row{1, 2, 6}) == Approx(1));
  CHECK(std::isnan(ebb::corrcoef(row{2, 2})));
  const auto x = test::random_array<ebb::tensor<double, 4, 3, 6>>(8);
  const auto each = ebb::map([](auto m) { return ebb::corrcoef(m); }, x);
  CHECK(ebb::all_equal(each, ebb::corrcoef(x)));
}

}  // namespace

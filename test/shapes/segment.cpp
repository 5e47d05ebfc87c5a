// test/shapes/segment.cpp — segments: recorded values, derivatives, counts known at the call, narrow dtypes, NaN, empty ones, errors.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"
#include "../random_array.hpp"

#include <ebb/ebb.hpp>
#include <ebb/shapes.hpp>

namespace {

using ebb::dyn;
using golden::of;
using golden::real;

TEST_CASE("segments have PyTorch's recorded values and derivatives") {
  using numbers = of<std::int64_t, dyn>;
  const auto sums = [](auto x, auto i) { return ebb::segment_sum<3>(x, i); };
  golden::check<of<real, 6>, of<std::int64_t, 6>>("indexing", "segment_sum", sums, {.value = 2, .grad = 0, .spread = true});
  const auto means = [](auto x, auto i) { return ebb::segment_mean<4>(x, i); };
  golden::check_wide<golden::any_vector, numbers>("indexing", "segment_mean", means, {.value = 4, .grad = 2, .spread = true});
  const auto soft = [](auto x, auto i) { return ebb::segment_softmax<3>(x, i); };
  golden::check_wide<golden::any_vector, numbers>("indexing", "segment_softmax", soft,
                                                  {.value = 4, .grad = 8, .second_floor = 1, .spread = true});
}

TEST_CASE("derivatives of segments are those of loops") {
  const auto f = [](auto x) {
    const auto i = (2 * ebb::iota<0>(x)) % 3;  // 0 2 1 0 2
    const auto rows = ebb::segment_max(ebb::sin(x), i, ebb::slice<0, 1, 4>(x)) * ebb::segment_mean<3>(x * x, i) -
                      ebb::segment_min<3>(x, i) * ebb::segment_sum<3>(ebb::exp(x), i);
    return ebb::concat<0>(rows, ebb::segment_softmax<3>(3 * x, i) * x);
  };
  const auto oracle = [](const std::vector<long double>& x) {
    std::vector<long double> r(16);
    for (std::size_t k = 0; k < 2; ++k) {
      for (std::size_t s = 0; s < 3; ++s) {
        long double largest = -10, least = 10, squares = 0, sum = 0, powers = 0, count = 0;
        for (std::size_t e = 0; e < 5; ++e) {
          if (2 * e % 3 != s) continue;
          const long double at = x[e * 2 + k];
          largest = std::max(largest, std::sin(at)), least = std::min(least, at);
          squares += at * at, sum += std::exp(at), powers += std::exp(3 * at), ++count;
        }
        r[s * 2 + k] = largest * squares / count - least * sum;
        for (std::size_t e = 0; e < 5; ++e)
          if (2 * e % 3 == s) r[6 + e * 2 + k] = std::exp(3 * x[e * 2 + k]) / powers * x[e * 2 + k];
      }
    }
    return r;
  };
  const auto x = linalg_test::random_numbers(10, 7);
  linalg_test::against_differences<ebb::term<double, 5, 2>>("static", f, x, linalg_test::extents_of({5, 2}), oracle, 1e-10L, 1e-8L);
}

TEST_CASE("segments of arrays: counts known at the call, ties, NaN, empty segments, narrow dtypes, map, errors") {
  using vector = ebb::tensor<double, dyn>;
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const ebb::tensor<int, dyn> i{2, 0, 2, 0, 2};
  const vector x{1, 5, 3, 5, 3}, like(4);
  CHECK(ebb::all_equal(ebb::segment_max(x, i, like), vector{5, -inf, 3, -inf}));
  CHECK(ebb::all_equal(ebb::segment_mean(x, i, like), vector{5, 0, 7. / 3, 0}));
  const auto taken = [](auto a, auto k) { return ebb::sum(ebb::take(ebb::segment_max<4>(a, k), k)); };
  CHECK(ebb::all_equal(ebb::grad(taken)(x, i), vector{0, 1, 1.5, 1, 1.5}));
  const auto with_nan = ebb::segment_max(vector{1, nan, 3, 5, 2}, i, like);
  CHECK((std::isnan(with_nan(0)) && with_nan(2) == 3));
  // 1 + 256 times 2^-8 in bfloat16: sums are rounded once.
  const auto many = ebb::cast<ebb::bf16>(ebb::tensor<float, dyn>::generate([](std::size_t e) { return e == 0 ? 1.0f : 0.00390625f; }, 257));
  const ebb::tensor<std::int64_t, dyn> zeros(257);
  CHECK(static_cast<float>(ebb::segment_sum<1>(many, zeros)(0)) == 2);
  CHECK(static_cast<float>(ebb::segment_max<1>(many, zeros)(0)) == 1);
  CHECK(ebb::all_equal(ebb::segment_min<3>(ebb::tensor<int, dyn>{4, -2, 7, 1, 6}, i),
                       ebb::tensor<int, 3>{-2, std::numeric_limits<int>::max(), 4}));
  const auto m = test::random_array<ebb::tensor<double, dyn, dyn>>(3, 2, 5);
  const auto rows = ebb::map([](auto a, auto k) { return ebb::segment_max<3>(a, k); }, m, ebb::whole(i));
  for (std::size_t r = 0; r < 2; ++r) CHECK(rows(r, 2) == std::max({m(r, 0), m(r, 2), m(r, 4)}));
  CHECK(ebb::segment_sum<2>(vector(0), ebb::tensor<int, dyn>(0))(1) == 0);
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::segment_mean<2>(x, i)); }), {"ebb::segment_mean", "is 2, and there are 2"}));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::segment_softmax<2>(x, i)); }),
                   {"ebb::segment_softmax", "is 2, and there are 2"}));
  CHECK(test::says(test::raised([&] { static_cast<void>(ebb::segment_sum(like, i, like)); }), {"ebb::segment_sum", "[4]", "[5]"}));
}

}  // namespace

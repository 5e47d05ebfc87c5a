// test/shapes/frequencies.cpp — fftfreq and rfftfreq against quotients in long double, fftshift and ifftshift against loops; derivatives.
// SPDX-License-Identifier: BSL-1.0
#include "../linalg/oracle.hpp"
#include "../same_bits.hpp"

#include <ebb/shapes.hpp>

namespace {

using ebb::dyn;
using linalg_test::numbers;

template <int N>
void check_frequencies(double spacing) {
  CAPTURE(N, spacing);
  const auto all = ebb::fftfreq<N>(spacing);
  const auto half = ebb::rfftfreq<N>(spacing);
  REQUIRE((all.size() == N && half.size() == N / 2 + 1));
  const auto close = [](double got, long double want) {
    return std::fabs(got - want) <= std::numeric_limits<double>::epsilon() * std::fabs(want);
  };
  for (int i = 0; i < N; ++i) {
    const int k = 2 * i < N ? i : i - N;  // for even N the frequency N / 2 is negative
    CHECK(close(all.data()[i], k / (static_cast<long double>(N) * spacing)));
  }
  if (N > 0)
    for (int i = 0; i <= N / 2; ++i) CHECK(close(half.data()[i], i / (static_cast<long double>(N) * spacing)));
}

TEST_CASE("fftfreq and rfftfreq are the quotients that define them") {
  for (const double spacing : {1.0, 0.5, 0.3, -2.0, 1e-200}) {
    check_frequencies<0>(spacing);
    check_frequencies<1>(spacing);
    check_frequencies<2>(spacing);
    check_frequencies<5>(spacing);
    check_frequencies<8>(spacing);
    check_frequencies<99>(spacing);
  }
  CHECK(ebb::all_equal(ebb::fftfreq<4>(), ebb::tensor<double, 4>{0, 0.25, -0.5, -0.25}));
  CHECK(ebb::all_equal(ebb::rfftfreq<4>(2), ebb::tensor<double, 3>{0, 0.125, 0.25}));
  static_assert(std::is_same_v<decltype(ebb::fftfreq<4>(ebb::tensor<float>(2.0F))), ebb::tensor<float, 4>>);
  static_assert(std::is_same_v<decltype(ebb::rfftfreq<4>(ebb::tensor<int>(2))), ebb::tensor<float, 3>>);
  // A distance of 0: the frequency 0 is 0 / 0, the others are infinite.
  const auto bad = ebb::fftfreq<4>(ebb::tensor<double>(0.0));
  CHECK((std::isnan(bad(0)) && bad(1) == std::numeric_limits<double>::infinity() && bad(3) == -std::numeric_limits<double>::infinity()));
  CHECK(std::isnan(ebb::rfftfreq<4>(std::numeric_limits<double>::quiet_NaN())(2)));
}

TEST_CASE("frequencies have the derivatives of k / (n spacing) by the spacing, twice") {
  const auto f = [](auto s) { return std::tuple(ebb::fftfreq<5>(s), ebb::rfftfreq<6>(s)); };
  const auto oracle = [](const linalg_test::long_numbers& s) {
    linalg_test::long_numbers r;
    for (const int k : {0, 1, 2, -2, -1}) r.push_back(k / (5 * s[0]));
    for (const int k : {0, 1, 2, 3}) r.push_back(k / (6 * s[0]));
    return r;
  };
  linalg_test::against_differences<ebb::term<double>>("spacing", f, {0.4}, linalg_test::extents_of({}), oracle, 1e-9L, 1e-7L);
}

/// x with element (i - steps) mod n at i, for each axis of a matrix.
template <class T>
std::vector<T> shifted(const T* x, std::size_t m, std::size_t n, std::size_t down, std::size_t right) {
  std::vector<T> r(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) r[(i + down) % m * n + (j + right) % n] = x[i * n + j];
  return r;
}
template <class Shape>
void check_shifts(const Shape& x, std::size_t m, std::size_t n) {
  CAPTURE(m, n);
  using T = typename Shape::value_type;
  const auto equal = [&](const auto& got, const std::vector<T>& want) {
    CHECK((got.extent(0) == m && got.extent(1) == n));
    CHECK((got.size() == want.size() && std::equal(want.begin(), want.end(), got.data())));
  };
  equal(ebb::fftshift(x), shifted(x.data(), m, n, m / 2, n / 2));
  equal(ebb::ifftshift(x), shifted(x.data(), m, n, m - m / 2, n - n / 2));
  equal(ebb::fftshift<-1>(x), shifted(x.data(), m, n, 0, n / 2));
  equal(ebb::ifftshift<0>(x), shifted(x.data(), m, n, m - m / 2, 0));
  CHECK(ebb::all_equal(ebb::ifftshift(ebb::fftshift(x)), x));
  CHECK(ebb::all_equal(ebb::fftshift<1, 0>(x), ebb::fftshift(x)));
  // The gradient moves weights back; the Hessian of the cubes is diagonal.
  constexpr auto loss = [](auto a, auto w) {
    return ebb::sum(ebb::fftshift(a) * ebb::fftshift(a) * ebb::fftshift(a) * w + ebb::ifftshift<1>(a) * w);
  };
  Shape w(x);
  for (std::size_t i = 0; i < m * n; ++i) w.mutable_data()[i] = static_cast<T>(i % 7) - 3;
  const auto slope = ebb::grad<0>(loss)(x, w);
  const auto back = shifted(w.data(), m, n, m - m / 2, n - n / 2), back_second = shifted(w.data(), m, n, 0, n / 2);
  Shape ones(x);
  for (std::size_t i = 0; i < m * n; ++i) ones.mutable_data()[i] = 1;
  const auto bend = ebb::hvp<0>(loss)(x, w, ones);
  for (std::size_t i = 0; i < m * n; ++i) {
    const double e = static_cast<double>(x.data()[i]);
    CHECK(slope.data()[i] == Approx(3 * e * e * back[i] + back_second[i]));
    CHECK(bend.data()[i] == Approx(6 * e * back[i]));
  }
}

TEST_CASE("fftshift and ifftshift move elements by half of each axis, and gradients back") {
  for (const std::size_t m : {1u, 2u, 5u})
    for (const std::size_t n : {1u, 3u, 4u, 7u}) {
      ebb::tensor<double, dyn, dyn> x(m, n);
      const numbers from = linalg_test::random_numbers(m * n, m * n);
      std::copy(from.begin(), from.end(), x.mutable_data());
      check_shifts(x, m, n);
    }
  check_shifts(ebb::tensor<double, 3, 4>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 3, 4);
  check_shifts(ebb::tensor<double, 2, 5>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 2, 5);
}

TEST_CASE("shifts keep the bits of NaN, infinities and zeros, integers, empty arrays and numbers; frequencies come in their order") {
  const double inf = std::numeric_limits<double>::infinity();
  const ebb::tensor<double, 5> x{std::numeric_limits<double>::quiet_NaN(), -0.0, inf, -inf, 5e-324};
  CHECK(test::same_bits(ebb::fftshift(x), ebb::tensor<double, 5>{-inf, 5e-324, std::numeric_limits<double>::quiet_NaN(), -0.0, inf}));
  CHECK(test::same_bits(ebb::ifftshift(x), ebb::tensor<double, 5>{inf, -inf, 5e-324, std::numeric_limits<double>::quiet_NaN(), -0.0}));
  CHECK(ebb::all_equal(ebb::fftshift(ebb::tensor<int, 4>{1, 2, 3, 4}), ebb::tensor<int, 4>{3, 4, 1, 2}));
  CHECK(ebb::fftshift(ebb::tensor<float, dyn, dyn>(0, 3)).extent(1) == 3);
  CHECK(ebb::ifftshift(ebb::tensor<float, dyn, dyn>(3, 0)).extent(0) == 3);
  CHECK(ebb::fftshift(ebb::tensor<double>(4.0)) == 4);
  const auto sorted = ebb::fftshift(ebb::fftfreq<9>());
  for (std::size_t i = 0; i < 9; ++i) CHECK(sorted(i) == Approx((static_cast<double>(i) - 4) / 9));
}

}  // namespace

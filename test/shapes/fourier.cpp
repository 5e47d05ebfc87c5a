// test/shapes/fourier.cpp — fft, fft2, rfft2 and inverses against sums in long double; derivatives, bits, dtypes, special values, errors.
// SPDX-License-Identifier: BSL-1.0
// covers: fft.hpp
#include "../linalg/oracle.hpp"
#include "../same_bits.hpp"

#include <ebb/shapes.hpp>

#include <algorithm>
#include <complex>
#include <cstring>

namespace {

using ebb::dyn;
using linalg_test::numbers, linalg_test::long_numbers;
using wide_complex = std::complex<long double>;
constexpr long double whole_turn = 6.28318530717958647692528676655900577L;

/// The sum of z_j e^(side 2 pi i j k / n) for each k: side -1 is the transform, 1 its adjoint.
std::vector<wide_complex> transformed(const std::vector<wide_complex>& z, int side) {
  const std::size_t n = z.size();
  std::vector<wide_complex> r(n);
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t j = 0; j < n; ++j) {
      const long double angle = whole_turn * static_cast<long double>(j * k % n) / static_cast<long double>(n);
      r[k] += z[j] * wide_complex(std::cos(angle), static_cast<long double>(side) * std::sin(angle));
    }
  return r;
}
/// The same along both axes of m rows.
std::vector<wide_complex> transformed2(std::vector<wide_complex> z, std::size_t m, int side) {
  const std::size_t n = z.size() / m;
  for (std::size_t i = 0; i < m; ++i) {
    const auto row = transformed({&z[i * n], &z[i * n] + n}, side);
    for (std::size_t j = 0; j < n; ++j) z[i * n + j] = row[j];
  }
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<wide_complex> column;
    for (std::size_t i = 0; i < m; ++i) column.push_back(z[i * n + j]);
    column = transformed(column, side);
    for (std::size_t i = 0; i < m; ++i) z[i * n + j] = column[i];
  }
  return z;
}
/// The bound that is documented, in units of the sum of all magnitudes.
long double bound_for(std::size_t n) {
  long double bound = 1;
  for (std::size_t p = 2; n > 1; n % p == 0 ? (n /= p, bound += 2 + (p > 4 ? static_cast<long double>(p) : 0)) : ++p) {}
  return bound;
}
template <class T, std::size_t... E>
ebb::tensor<T, E...> random_array(std::uint64_t key, auto... extents) {
  ebb::tensor<T, E...> r(extents...);
  const numbers from = linalg_test::random_numbers(r.size(), key);
  for (std::size_t i = 0; i < r.size(); ++i)
    r.mutable_data()[i] = static_cast<T>(static_cast<std::conditional_t<sizeof(T) == 2, float, double>>(from[i]));
  return r;
}
std::vector<wide_complex> joined(const auto* re, const auto* im, std::size_t n) {
  std::vector<wide_complex> z;
  for (std::size_t i = 0; i < n; ++i) z.emplace_back(static_cast<long double>(re[i]), im ? static_cast<long double>(im[i]) : 0.0L);
  return z;
}
long double size_of(const std::vector<wide_complex>& z) {
  long double r = 0;
  for (const auto& e : z) r += std::fabs(e.real()) + std::fabs(e.imag());
  return r;
}
/// Element i of re + i im is want[i], within `bound` ulp of `size`.
template <class T>
void check_close(const T* re, const T* im, const std::vector<wide_complex>& want, long double bound, long double size) {
  const long double allowed = bound * std::numeric_limits<T>::epsilon() * size;
  for (std::size_t i = 0; i < want.size(); ++i) {
    CAPTURE(i);
    CHECK(std::fabs(static_cast<long double>(re[i]) - want[i].real()) <= allowed);
    CHECK(std::fabs(static_cast<long double>(im[i]) - want[i].imag()) <= allowed);
  }
}

TEMPLATE_TEST_CASE("fft and ifft are the sums that define them, for every length", "", float, double) {
  using T = TestType;
  const auto all = ebb::compile([](auto re, auto im) { return std::tuple_cat(ebb::fft(re, im), ebb::ifft(re, im), ebb::fft(re)); });
  for (const std::size_t n :
       std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 20, 25, 27, 32, 49, 60, 97, 210, 256, 1000}) {
    CAPTURE(n);
    const auto re = random_array<T, dyn, dyn>(n, 2, n), im = random_array<T, dyn, dyn>(n + 1, 2, n);
    const auto [a, b, c, d, e, f] = all(re, im);
    REQUIRE((a.extent(0) == 2 && a.extent(1) == n && f.size() == 2 * n));
    for (std::size_t row = 0; row < 2; ++row) {
      const auto z = joined(re.data() + row * n, im.data() + row * n, n);
      const std::size_t at = row * n;
      check_close(a.data() + at, b.data() + at, transformed(z, -1), bound_for(n), size_of(z));
      auto back = transformed(z, 1);
      for (auto& x : back) x /= static_cast<long double>(n);
      check_close(c.data() + at, d.data() + at, back, bound_for(n) + 1, size_of(z) / static_cast<long double>(n));
      const auto real = joined(re.data() + at, static_cast<const T*>(nullptr), n);
      check_close(e.data() + at, f.data() + at, transformed(real, -1), bound_for(n), size_of(real));
    }
  }
}

TEMPLATE_TEST_CASE("fft2, ifft2, rfft2 and irfft2 are sums over both axes", "", float, double) {
  using T = TestType;
  const auto all = ebb::compile([](auto re, auto im) { return std::tuple_cat(ebb::fft2(re, im), ebb::ifft2(re, im), ebb::rfft2(re)); });
  for (const auto& [m, n] :
       std::vector<std::pair<std::size_t, std::size_t>>{{1, 1}, {1, 6}, {5, 1}, {2, 2}, {3, 4}, {4, 3}, {6, 10}, {7, 5}, {16, 8}}) {
    CAPTURE(m, n);
    const std::size_t size = m * n, k = n / 2 + 1;
    const auto re = random_array<T, dyn, dyn, dyn>(size, 2, m, n), im = random_array<T, dyn, dyn, dyn>(size + 1, 2, m, n);
    const auto [a, b, c, d, e, f] = all(re, im);
    REQUIRE((a.extent(0) == 2 && a.extent(1) == m && a.extent(2) == n && e.extent(1) == m && e.extent(2) == k));
    const long double bound = bound_for(m) + bound_for(n);
    for (std::size_t batch = 0; batch < 2; ++batch) {
      const std::size_t at = batch * size;
      const auto z = joined(re.data() + at, im.data() + at, size);
      check_close(a.data() + at, b.data() + at, transformed2(z, m, -1), bound, size_of(z));
      auto back = transformed2(z, m, 1);
      for (auto& x : back) x /= static_cast<long double>(size);
      check_close(c.data() + at, d.data() + at, back, bound + 1, size_of(z) / static_cast<long double>(size));
      const auto real = joined(re.data() + at, static_cast<const T*>(nullptr), size);
      const auto want = transformed2(real, m, -1);
      std::vector<wide_complex> half;
      for (std::size_t i = 0; i < size; ++i)
        if (i % n < k) half.push_back(want[i]);
      check_close(e.data() + batch * m * k, f.data() + batch * m * k, half, bound, size_of(real));
    }
    if (n % 2 == 0) {
      const auto again = ebb::irfft2(e, f);
      REQUIRE((again.extent(0) == 2 && again.extent(1) == m && again.extent(2) == n));
      for (std::size_t i = 0; i < 2 * size; ++i)
        CHECK(std::fabs(again.data()[i] - re.data()[i]) <= 8 * bound * std::numeric_limits<T>::epsilon());
    }
  }
  const ebb::tensor<T, 2, 3> odd{1, -2, 0.5, 3, 0.25, -1};
  const auto [re, im] = ebb::rfft2(odd);
  const auto again = ebb::irfft2<3>(re, im);
  static_assert(std::is_same_v<std::remove_const_t<decltype(again)>, ebb::tensor<T, 2, 3>>);
  for (std::size_t i = 0; i < 6; ++i) CHECK(again.data()[i] == Approx(odd.data()[i]).margin(1e-6));
}

/// All transforms of numbers that follow from x [m, n], so that second derivatives are not 0.
constexpr auto of_one = [](auto x) {
  const auto y = x * x;
  const auto [re, im] = ebb::fft(x, y);
  const auto [a, b] = ebb::ifft(re * im, re);
  const auto [c, d] = ebb::fft2(y, x);
  const auto [e, f] = ebb::ifft2(c * d, y);
  const auto [g, h] = ebb::rfft2(y);
  return std::tuple(re, im, a, b, c, d, e, f, g, h, ebb::irfft2<4>(g * g, g * h));
};
long_numbers of_one_in_long_double(const long_numbers& x) {
  constexpr std::size_t m = 3, n = 4;
  long_numbers r;
  const auto put = [&](const std::vector<wide_complex>& z) {
    for (const auto& e : z) r.push_back(e.real());
    for (const auto& e : z) r.push_back(e.imag());
  };
  const auto of_rows = [&](const std::vector<wide_complex>& z, int side, long double scale) {
    std::vector<wide_complex> out;
    for (std::size_t i = 0; i < m; ++i)
      for (const auto& e : transformed({&z[i * n], &z[i * n] + n}, side)) out.push_back(e * scale);
    return out;
  };
  const auto pairs = [](const std::vector<wide_complex>& z, auto re, auto im) {
    std::vector<wide_complex> out;
    for (std::size_t i = 0; i < z.size(); ++i) out.emplace_back(re(i), im(i));
    return out;
  };
  std::vector<wide_complex> z, square_first;
  for (const long double e : x) z.emplace_back(e, e * e), square_first.emplace_back(e * e, e);
  const auto first = of_rows(z, -1, 1);
  put(first);
  put(of_rows(pairs(
                  first, [&](auto i) { return first[i].real() * first[i].imag(); }, [&](auto i) { return first[i].real(); }),
              1, 1.0L / n));
  const auto plane = transformed2(square_first, m, -1);
  put(plane);
  auto back = transformed2(pairs(z, [&](auto i) { return plane[i].real() * plane[i].imag(); }, [&](auto i) { return z[i].imag(); }), m, 1);
  for (auto& e : back) e /= m * n;
  put(back);
  std::vector<wide_complex> squares;
  for (const long double e : x) squares.emplace_back(e * e, 0.0L);
  const auto whole = transformed2(squares, m, -1);
  std::vector<wide_complex> half;
  for (std::size_t i = 0; i < m * n; ++i)
    if (i % n < 3) half.push_back(whole[i]);
  put(half);
  // irfft2: the inverse along columns, then the real inverse of rows, which ignores the imaginary parts of frequencies 0 and 2.
  std::vector<wide_complex> columns(m * 3);
  for (std::size_t k = 0; k < 3; ++k) {
    std::vector<wide_complex> column;
    for (std::size_t i = 0; i < m; ++i)
      column.emplace_back(half[i * 3 + k].real() * half[i * 3 + k].real(), half[i * 3 + k].real() * half[i * 3 + k].imag());
    column = transformed(column, 1);
    for (std::size_t i = 0; i < m; ++i) columns[i * 3 + k] = column[i] / static_cast<long double>(m);
  }
  for (std::size_t i = 0; i < m; ++i) {
    const auto at = [&](std::size_t k) { return columns[i * 3 + k]; };
    for (const auto& e : transformed({at(0).real(), at(1), at(2).real(), std::conj(at(1))}, 1)) r.push_back(e.real() / n);
  }
  return r;
}

TEST_CASE("derivatives of complex transforms are those of sums, twice") {
  const numbers x = linalg_test::random_numbers(12, 5);
  const auto shape = linalg_test::extents_of({3, 4});
  linalg_test::against_differences<ebb::term<double, 3, 4>>("static", of_one, x, shape, &of_one_in_long_double, 1e-8L, 2e-6L);
  linalg_test::against_differences<ebb::term<double, dyn, dyn>>("dyn", of_one, x, shape, &of_one_in_long_double, 1e-8L, 2e-6L);
}

TEST_CASE("the gradient of fft is the adjoint transform, its jvp the transform, and the second derivative of |fft|^2 is 2 n") {
  const std::size_t n = 15;
  const auto re = random_array<double, dyn>(1, n), im = random_array<double, dyn>(2, n), u = random_array<double, dyn>(3, n),
             v = random_array<double, dyn>(4, n);
  const auto weighted = [](auto a, auto b, auto p, auto q) {
    const auto [c, d] = ebb::fft(a, b);
    return ebb::sum(c * p + d * q);
  };
  const auto [da, db] = ebb::grad<0, 1>(weighted)(re, im, u, v);
  const auto seed = joined(u.data(), v.data(), n);
  check_close(da.data(), db.data(), transformed(seed, 1), bound_for(n), size_of(seed));

  const auto push = ebb::jvp([](auto a, auto b) { return ebb::fft(a, b); })(re, im, u, v);
  const auto& [pa, pb] = std::get<1>(push);
  check_close(pa.data(), pb.data(), transformed(seed, -1), bound_for(n), size_of(seed));

  const auto power = [](auto a, auto b) {
    const auto [c, d] = ebb::fft(a, b);
    return ebb::sum(c * c + d * d);
  };
  const auto [ha, hb] = ebb::hvp<0, 1>(power)(re, im, u, v);
  std::vector<wide_complex> bend;
  for (const auto& e : seed) bend.push_back(e * (2.0L * n));
  check_close(ha.data(), hb.data(), bend, 4 * bound_for(n), size_of(bend));
}

TEST_CASE("transforms of lengths 0 and 1, of empty batches, of zeros, NaN and infinities") {
  const auto [zero_re, zero_im] = ebb::fft(ebb::tensor<double, dyn, dyn>(3, 0), ebb::tensor<double, dyn, dyn>(3, 0));
  CHECK((zero_re.extent(0) == 3 && zero_re.extent(1) == 0 && zero_im.size() == 0));
  CHECK(std::get<1>(ebb::ifft(ebb::tensor<float, dyn>(0), ebb::tensor<float, dyn>(0))).size() == 0);
  CHECK(std::get<0>(ebb::fft(ebb::tensor<float, dyn, dyn>(0, 7))).extent(1) == 7);
  CHECK(std::get<0>(ebb::ifft2(ebb::tensor<float, dyn, dyn>(0, 7), ebb::tensor<float, dyn, dyn>(0, 7))).extent(1) == 7);
  const auto flat = ebb::rfft2(ebb::tensor<float, dyn, dyn, dyn>(2, 0, 6));
  CHECK((std::get<0>(flat).extent(0) == 2 && std::get<0>(flat).extent(1) == 0 && std::get<1>(flat).extent(2) == 4));
  CHECK(ebb::irfft2(std::get<0>(flat), std::get<1>(flat)).extent(2) == 6);
  constexpr auto power = [](auto a) {
    const auto [c, d] = ebb::fft2(a);
    return ebb::sum(c * c + d * d);
  };
  CHECK(ebb::grad(power)(ebb::tensor<double, dyn, dyn>(0, 3)).extent(1) == 3);

  // One element is itself, with its sign.
  const auto [one, none] = ebb::fft(ebb::tensor<double, 1>{-0.0}, ebb::tensor<double, 1>{3});
  CHECK((std::signbit(one(0)) && none(0) == 3));
  const auto [a, b] = ebb::ifft(ebb::tensor<double, 4>{0, 0, 0, 0}, ebb::tensor<double, 4>{0, 0, 0, 0});
  CHECK((ebb::all_equal(a, ebb::tensor<double, 4>{0, 0, 0, 0}) && ebb::all_equal(b, a)));

  // A NaN or an infinity reaches all elements of its own row, and no other row.
  const double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), inf, -inf})
    for (const std::size_t n : std::vector<std::size_t>{4, 5, 6, 12}) {
      CAPTURE(bad, n);
      auto x = random_array<double, dyn, dyn>(n, 2, n);
      const auto y = random_array<double, dyn, dyn>(n + 1, 2, n);
      const auto [c, d] = ebb::fft(x, y);
      x.mutable_data()[n + 1] = bad;
      const auto [e, f] = ebb::fft(x, y);
      for (std::size_t k = 0; k < n; ++k) {
        CHECK((e(0, k) == c(0, k) && f(0, k) == d(0, k)));
        CHECK(!(std::isfinite(e(1, k)) && std::isfinite(f(1, k))));
      }
      CHECK((std::isnan(bad) ? std::isnan(e(1, 0)) : e(1, 0) == bad));
    }
}

/// A row alone is computed in other lanes than in a group, and `evaluate` computes one number after another.
TEMPLATE_TEST_CASE("rows have the same bits alone, in groups and ragged groups, and evaluated", "", float, double) {
  using T = TestType;
  const auto f = [](auto x, auto y) { return std::tuple_cat(ebb::fft(x, y), ebb::ifft(x, y), ebb::rfft(x), std::tuple(ebb::irfft(x, y))); };
  const auto all = ebb::compile(f);
  const ebb::graph g = ebb::lower(ebb::trace_of<decltype(f), ebb::term<T, dyn, dyn>, ebb::term<T, dyn, dyn>>::make());
  for (const std::size_t n : std::vector<std::size_t>{2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 30, 36, 64, 105, 128})
    for (const std::size_t rows : std::vector<std::size_t>{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 19, 33}) {
      CAPTURE(n, rows);
      const auto x = random_array<T, dyn, dyn>(n, rows, n), y = random_array<T, dyn, dyn>(n + 1, rows, n);
      const auto together = all(x, y);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < rows; ++i) {
        ebb::tensor<T, dyn, dyn> a(1, n), b(1, n);
        std::copy_n(x.data() + i * n, n, a.mutable_data());
        std::copy_n(y.data() + i * n, n, b.mutable_data());
        const auto alone = all(a, b);
        const auto compare = [&](const auto& many, const auto& one) {
          wrong += std::memcmp(many.data() + i * one.size(), one.data(), one.size() * sizeof(T)) != 0;
        };
        [&]<std::size_t... J>(std::index_sequence<J...>) {
          (compare(std::get<J>(together), std::get<J>(alone)), ...);
        }(std::make_index_sequence<7>{});
      }
      CHECK(wrong == 0);
      if (rows != 3 || n > 40) continue;
      const auto extents = linalg_test::extents_of({3, n});
      ebb::cell_array want;
      const auto a = linalg_test::cells_of_results(x), b = linalg_test::cells_of_results(y);
      for (const auto& out : ebb::evaluate(g, {a, b}, ebb::symbol_values(g, {extents, extents})))
        for (int i = 0; i < out.size(); ++i) want.push(out[i]);
      CHECK((linalg_test::cells_of_results(together) == want));
    }
}

TEST_CASE("known transforms are exact: an impulse, a constant, a wave of a quarter turn") {
  using four = ebb::tensor<double, 4>;
  const auto check_fft = [](const four& re, const four& im, const four& want_re, const four& want_im) {
    const auto [a, b] = ebb::fft(re, im);
    CHECK((ebb::all_equal(a, want_re) && ebb::all_equal(b, want_im)));
    const auto [c, d] = ebb::ifft(want_re, want_im);
    CHECK((ebb::all_equal(c, re) && ebb::all_equal(d, im)));
  };
  check_fft({0, 1, 0, 0}, {0, 0, 0, 0}, {1, 0, -1, 0}, {0, -1, 0, 1});
  check_fft({2, 2, 2, 2}, {1, 1, 1, 1}, {8, 0, 0, 0}, {4, 0, 0, 0});
  check_fft({1, 0, -1, 0}, {0, 1, 0, -1}, {0, 4, 0, 0}, {0, 0, 0, 0});  // e^(+i pi j / 2): the frequency 1
  static_assert(std::get<1>(ebb::fft(ebb::tensor<double, 4>{0, 1, 0, 0}))(1) == -1);
}

TEST_CASE("complex transforms have the same bits compiled, in map, on the tape, and evaluated; dtypes, contexts, errors") {
  const auto f = [](auto x, auto y) { return std::tuple_cat(ebb::fft(x, y), ebb::ifft(y, x)); };
  const auto x = random_array<double, dyn, dyn>(1, 3, 30), y = random_array<double, dyn, dyn>(2, 3, 30);
  const auto once = ebb::compile(f)(x, y);
  const auto mapped = ebb::compile([](auto a, auto b) { return ebb::map(decltype(f){}, a, b); })(x, y);
  CHECK((test::same_bits(std::get<0>(once), std::get<0>(mapped)) && test::same_bits(std::get<3>(once), std::get<3>(mapped))));
  const ebb::graph g = ebb::lower(ebb::trace_of<decltype(f), ebb::term<double, dyn, dyn>, ebb::term<double, dyn, dyn>>::make());
  const auto extents = linalg_test::extents_of({3, 30});
  ebb::cell_array want;
  for (const auto& out :
       ebb::evaluate(g, {linalg_test::cells_of_results(x), linalg_test::cells_of_results(y)}, ebb::symbol_values(g, {extents, extents})))
    for (int i = 0; i < out.size(); ++i) want.push(out[i]);
  CHECK((linalg_test::cells_of_results(once) == want));
  constexpr auto power = [](auto a, auto b) {
    const auto [re, im] = ebb::ifft2(a, b);
    return ebb::sum(re * re * im);
  };
  const auto slope = ebb::grad<0, 1>(power)(x, y);
  const ebb::variable<double, dyn, dyn> p(x), q(y);
  constexpr auto region = ebb::compile(power);
  ebb::backward(region(p, q));
  CHECK((test::same_bits(p.grad().value(), std::get<0>(slope)) && test::same_bits(q.grad().value(), std::get<1>(slope))));

  static_assert(std::is_same_v<decltype(ebb::fft(ebb::tensor<int, 6>())), std::tuple<ebb::tensor<float, 6>, ebb::tensor<float, 6>>>);
  static_assert(std::is_same_v<decltype(ebb::ifft(ebb::tensor<float, 6>(), ebb::tensor<double, 6>())),
                               std::tuple<ebb::tensor<double, 6>, ebb::tensor<double, 6>>>);
  static_assert(std::is_same_v<decltype(ebb::rfft2(ebb::tensor<ebb::bfloat16, 2, 6>())),
                               std::tuple<ebb::tensor<ebb::bfloat16, 2, 4>, ebb::tensor<ebb::bfloat16, 2, 4>>>);
  // Narrow floats are computed in float, and rounded once.
  const auto narrow = random_array<ebb::float16, dyn>(6, 30);
  ebb::tensor<float, dyn> wide(30);
  for (std::size_t i = 0; i < 30; ++i) wide.mutable_data()[i] = static_cast<float>(narrow(i));
  const auto [low_re, low_im] = ebb::fft(narrow, narrow);
  const auto [re, im] = ebb::fft(wide, wide);
  for (std::size_t i = 0; i < 30; ++i)
    CHECK((low_re(i) == static_cast<ebb::float16>(re(i)) && low_im(i) == static_cast<ebb::float16>(im(i))));

  const auto lengths = test::raised([&] { static_cast<void>(ebb::fft(ebb::tensor<double, dyn>(4), ebb::tensor<double, dyn>(5))); });
  CHECK(test::says(lengths, {"fft", "[4]", "[5]"}));
  const auto frequencies =
      test::raised([&] { static_cast<void>(ebb::irfft2<5>(ebb::tensor<double, dyn, dyn>(2, 4), ebb::tensor<double, dyn, dyn>(2, 4))); });
  CHECK(test::says(frequencies, {"irfft2", "4"}));
}

}  // namespace

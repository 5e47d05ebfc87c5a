// test/linalg/banded.cpp — Cholesky factors of bands against dense ones in long double, and the functions of their derivatives.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

#include "../random_array.hpp"

namespace {

using namespace linalg_test;
using bands = ebb::op::of_bands;

constexpr auto factor = [](auto a) { return ebb::banded_cholesky(a); };

/// A lower triangle from its band, and the band of a matrix, which is 0 outside of it. Elements outside of the matrix are not read.
long_numbers dense(std::size_t r, std::size_t n, const long double* band) {
  long_numbers a(n * n);
  for (std::size_t k = 0; k < r; ++k)
    for (std::size_t j = 0; j + k < n; ++j) a[(j + k) * n + j] = band[k * n + j];
  return a;
}
long_numbers banded(std::size_t r, std::size_t n, const long_numbers& a) {
  long_numbers band(r * n);
  for (std::size_t k = 0; k < r; ++k)
    for (std::size_t j = 0; j + k < n; ++j) band[k * n + j] = a[(j + k) * n + j];
  return band;
}
/// x y, or x y^T.
long_numbers times(std::size_t n, const long_numbers& x, const long_numbers& y, bool transposed = false) {
  long_numbers r(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < n; ++k) r[i * n + j] += x[i * n + k] * (transposed ? y[j * n + k] : y[k * n + j]);
  return r;
}
/// l^-1 b, by rows.
long_numbers solved(std::size_t n, const long_numbers& l, long_numbers b) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < i; ++k) b[i * n + j] -= l[i * n + k] * b[k * n + j];
      b[i * n + j] /= l[i * n + i];
    }
  return b;
}
long_numbers turned(std::size_t n, const long_numbers& x) {
  long_numbers r(n * n);
  for (std::size_t i = 0; i < n * n; ++i) r[i] = x[i % n * n + i / n];
  return r;
}
long_numbers factor_of(std::size_t r, std::size_t n, const long_numbers& band) {
  const long_numbers a = dense(r, n, band.data());
  long_numbers l(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      long double s = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) s -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = i == j ? std::sqrt(s) : s / l[j * n + j];
    }
  return banded(r, n, l);
}
/// The derivative of the factor l along h, of which the lower triangle is given: l phi(l^-1 h l^-T).
long_numbers pushed(std::size_t r, std::size_t n, const long double* l, const long double* h) {
  const long_numbers of_l = dense(r, n, l);
  long_numbers s = dense(r, n, h);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) s[j * n + i] = s[i * n + j];
  long_numbers inner = solved(n, of_l, turned(n, solved(n, of_l, s)));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i; j < n; ++j) inner[i * n + j] *= i == j ? 0.5L : 0;
  return banded(r, n, times(n, of_l, inner));
}
long_numbers spread(std::size_t r, std::size_t n, const long double* x, const long double* y) {
  const long_numbers w = dense(r, n, x), d = dense(r, n, y);
  long_numbers sum = times(n, w, d, true);
  const long_numbers other = times(n, d, w, true);
  for (std::size_t i = 0; i < n * n; ++i) sum[i] += other[i];
  return banded(r, n, sum);
}
/// The adjoint of a linear f along g: its element i is sum(g * f(unit vector i)).
long_numbers adjoint(std::size_t size, const long double* g, const std::function<long_numbers(const long double*)>& f) {
  long_numbers r(size);
  for (std::size_t i = 0; i < size; ++i) {
    long_numbers unit(size);
    unit[i] = 1;
    const long_numbers along = f(unit.data());
    for (std::size_t k = 0; k < size; ++k) r[i] += g[k] * along[k];
  }
  return r;
}

/// Diagonals of a matrix that is positive definite, or of a factor: random, but for the main one.
numbers random_band(std::size_t r, std::size_t n, std::uint64_t key) {
  numbers x = random_numbers(r * n, key, 0.5);
  for (std::size_t j = 0; j < n; ++j) x[j] += 2 + static_cast<double>(r);
  return x;
}

TEST_CASE("Cholesky factors of bands have the values and the first and second derivatives of dense ones in long double") {
  for (const auto& [r, n] : {std::pair<std::size_t, std::size_t>{1, 3}, {2, 1}, {2, 5}, {3, 4}, {4, 4}, {3, 2}}) {
    const auto oracle = [r = r, n = n](const long_numbers& x) { return factor_of(r, n, x); };
    against_differences<wide<dyn, dyn>>("banded_cholesky", factor, random_band(r, n, r + n), extents_of({r, n}), oracle, 1e-12L, 1e-7L);
  }
  against_differences<wide<2, 3>>("of static extents", factor, random_band(2, 3, 1), extents_of({2, 3}), [](const long_numbers& x) {
    return factor_of(2, 3, x);
  }, 1e-12L, 1e-7L);
}

template <bands::which Which>
struct of_both {
  template <class T>
  static constexpr auto apply(ebb::operand<T> x) {
    const auto [a, b] = std::pair(half(x, 0), half(x, ebb::stride::at_the_end));
    return bands::of(Which, a, b);
  }
  template <class T>
  static constexpr auto half(ebb::operand<T> x, std::int64_t from) {
    const int rows = x.rank() - 2;
    return ebb::cut(x, rows, from, x.g->syms.derive(ebb::extent_rule::quotient, x.extent(rows), 2));
  }
};

TEST_CASE("the functions that derivatives of banded_cholesky are made of have their first and second derivatives") {
  for (const auto& [r, n] : {std::pair<std::size_t, std::size_t>{1, 2}, {2, 4}, {3, 4}, {3, 2}}) {
    const std::size_t size = r * n;
    using of_two = std::function<long_numbers(const long double*, const long double*)>;
    const auto check = [&, r = r, n = n](const char* name, auto f, const of_two& of) {
      numbers x = random_band(r, n, 2 * n + r);
      for (double y : random_numbers(size, 5 * n + r)) x.push_back(y);
      against_differences<wide<dyn, dyn>>(name, f, x, extents_of({2 * r, n}), [&](const long_numbers& both) {
        return of(both.data(), both.data() + size);
      }, 1e-12L, 1e-7L);
    };
    check("push", [](auto x) { return ebb::call<of_both<bands::push>>{}(x); }, [r = r, n = n](auto l, auto h) {
      return pushed(r, n, l, h);
    });
    check("pull", [](auto x) { return ebb::call<of_both<bands::pull_back>>{}(x); }, [=, r = r, n = n](auto l, auto g) {
      return adjoint(size, g, [=](const long double* h) { return pushed(r, n, l, h); });
    });
    check("turn", [](auto x) { return ebb::call<of_both<bands::turn>>{}(x); }, [=, r = r, n = n](auto q, auto d) {
      return adjoint(size, q, [=](const long double* e) { return spread(r, n, e, d); });
    });
    check("spread", [](auto x) { return ebb::call<of_both<bands::spread>>{}(x); }, [r = r, n = n](auto w, auto d) {
      return spread(r, n, w, d);
    });
  }
}

/// The factor of a band with the given diagonals, the first one made larger.
constexpr auto of_rows = [](auto a) {
  const auto [p, q, s] = ebb::unbind<-2>(ebb::slice<-2, 0, 3>(a));
  return ebb::banded_cholesky(ebb::stack<-2>(p + 4, q, s));
};

TEST_CASE("factors of bands and their gradients have the same bits compiled, in batches and maps, and evaluated") {
  same_bits_everywhere<double>(of_rows, 5, 3, 6);
  same_bits_everywhere<float>(of_rows, 3, 3, 1);
  same_bits_everywhere<ebb::bfloat16>(of_rows, 3, 3, 4);
  const auto gradients = [](auto a) {
    return ebb::grad([](auto x) { return ebb::sum(ebb::exp(of_rows(x))); })(a);
  };
  const auto many = test::random_array<ebb::tensor<double, 4, 3, 5>>(3);
  const ebb::tensor<double, 4, 3, 5> all = gradients(many);
  for (std::size_t i = 0; i < 4; ++i) {
    const ebb::tensor<double, 3, 5> own = gradients(ebb::tensor<double, 3, 5>(many.row(i)));
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t j = 0; j < 5; ++j) {
        CHECK(own(k, j) == all(i, k, j));
        CHECK((own(k, j) == 0) == (k + j >= 5));  // what is not read
      }
  }
}

TEST_CASE("bands: an error names the matrix that is not positive definite, a tag makes it NaN; NaN that is not read, no places, refusals") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ebb::tensor<double, dyn, 2, 3> a(3);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) a.at(i, 0, j) = 4, a.at(i, 1, j) = j == 2 ? nan : 2;
  const auto l = ebb::banded_cholesky(a);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK((l(i, 0, 0) == 2 && l(i, 1, 0) == 1 && l(i, 0, 1) == std::sqrt(3.0)));
    CHECK(l(i, 1, 2) == 0);
  }
  a.at(1, 0, 1) = 1;
  CHECK(test::raised([&] { ebb::banded_cholesky(a); }) ==
        "ebb::banded_cholesky: matrix 1 of 3 is not positive definite: its leading minor of order 2 is not positive");
  const auto some = ebb::banded_cholesky(a, ebb::nan_if_not);
  CHECK((some(0, 0, 0) == 2 && some(2, 1, 1) == l(2, 1, 1) && some(1, 1, 2) == 0));
  for (const auto& [k, j] : {std::pair<std::size_t, std::size_t>{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}}) CHECK(std::isnan(some(1, k, j)));
  a.at(1, 0, 1) = nan;
  CHECK(test::says(test::raised([&] { ebb::banded_cholesky(a); }), {"matrix 1 of 3", "order 2"}));
  CHECK(ebb::banded_cholesky(ebb::tensor<double, dyn, dyn>(2, 0)).extent(1) == 0);
  CHECK(ebb::banded_cholesky(ebb::tensor<double, dyn, 2, 3>(0)).extent(0) == 0);
  static_assert(ebb::banded_cholesky(ebb::tensor<double, 2, 2>{{4.0, 10.0}, {2.0, 0.0}})(0, 1) == 3);
}

}  // namespace

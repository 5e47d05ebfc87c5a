// test/linalg/determinant.cpp — determinants and their cofactors against recorded values and expansions in long double; inverses and
// lengths from Cholesky factors.
// SPDX-License-Identifier: BSL-1.0
// covers: determinant.hpp cofactors.hpp matrix.hpp op/table.hpp op/whole.hpp
#include "oracle.hpp"

#include "../op/hyper_dual.hpp"
#include "../random_array.hpp"
#include "../same_bits.hpp"

#include <cstring>

namespace {

using namespace linalg_test;
using golden::of;
using golden::real;

constexpr auto det = [](auto x) { return ebb::det(x); };

struct cofactors {
  static constexpr auto apply(auto x) { return ebb::of_matrices<ebb::op::cofactors>(x); }
};

/// By the definition: along the first row.
template <class N>
N expanded(std::size_t n, const std::vector<N>& a) {
  if (n == 0) return {1};
  N sum = {0};
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<N> minor;
    for (std::size_t i = 1; i < n; ++i)
      for (std::size_t k = 0; k < n; ++k)
        if (k != j) minor.push_back(a[i * n + k]);
    const N term = a[j] * expanded(n - 1, minor);
    sum = j % 2 ? sum - term : sum + term;
  }
  return sum;
}
/// The second derivative of the determinant of a along g and h.
long double curved(std::size_t n, const long_numbers& a, const numbers& g, const numbers& h) {
  std::vector<test::hyper_dual> x(a.begin(), a.end());
  for (std::size_t i = 0; i < n * n; ++i) x[i].a = g[i], x[i].b = h[i];
  return expanded(n, x).c;
}

TEST_CASE("determinants have PyTorch's recorded values, gradients and second derivatives") {
  const golden::bounds b{.value = 64, .grad = 256, .second = 1024, .spread = true};
  for (const char* size : {"2", "3", "5", "8"}) golden::check<of<real, dyn, dyn>>("linalg", std::string("det_") + size, det, b);
  check_recorded<wide<3, 3>>("linalg", "det_second_3", det, b);
  check_recorded<wide<dyn, dyn>>("linalg", "det_second_3", det, b);
  check_recorded<wide<dyn, dyn>>("linalg", "det_second_6", det, b);
  // Singular, of rank n - 1: PyTorch's gradient is 0, ebb's is that of the cofactors, see below.
  const golden::bounds near_zero{.value = 1, .grad = -1, .value_floor = 1, .spread = true};
  check_recorded<wide<dyn, dyn>>("linalg", "det_singular", det, near_zero);
  check_recorded<wide<3, 3>>("linalg", "det_singular_3", det, near_zero);
  check_recorded<wide<3, 3>>("linalg", "det_singular_rank_1", det, {.value = 0, .sign_is_open = true, .value_sign_is_open = true});
  const auto inverse = [](auto x) { return ebb::cholesky_inverse(ebb::cholesky((x + ebb::transpose(x)) / 2)); };
  check_recorded<wide<3, 3>>("linalg", "cholesky_inverse_3", inverse, {.value = 64, .grad = 256, .second = 2048, .spread = true});
  check_recorded<wide<dyn, dyn>>("linalg", "cholesky_inverse_6", inverse, {.value = 64, .grad = 256, .second = 2048, .spread = true});
}

TEST_CASE("determinants of small matrices have the same bits at every place of a batch, and alone") {
  const auto check = []<class T>(T, std::size_t n) {
    using squares = ebb::tensor<T, dyn, dyn, dyn>;
    const squares a = test::random_array<squares>(n, 40, n, n);
    for (const std::size_t batch : {1u, 2u, 3u, 4u, 7u, 8u, 9u, 16u, 17u, 23u, 24u, 31u, 32u, 40u}) {
      CAPTURE(n, batch);
      const auto all = ebb::compile(det)(ebb::view<const T, dyn, dyn, dyn>(a.data(), batch, n, n));
      std::size_t wrong = 0;
      for (std::size_t k = 0; k < batch; ++k) {
        const T one = ebb::detail::expansion<T>::small(static_cast<std::ptrdiff_t>(n), a.data() + k * n * n);
        wrong += std::memcmp(&one, all.data() + k, sizeof(T)) != 0;
      }
      CHECK(wrong == 0);
    }
  };
  for (const std::size_t n : {1u, 2u, 3u, 4u}) {
    check(0.0f, n);
    check(0.0, n);
  }
}

TEST_CASE("determinants have the derivatives of their expansion, of singular matrices too") {
  const auto check = [](const char* name, std::size_t n, numbers a) {
    against_differences<wide<dyn, dyn>>(name, det, a, extents_of({n, n}), [n](const long_numbers& x) {
      return long_numbers{expanded(n, x)};
    }, 1e-13L, 1e-9L);
  };
  for (const std::size_t n : {1u, 2u, 3u, 4u, 5u, 6u}) {
    numbers a = random_numbers(n * n, n);
    for (std::size_t i = 0; i < n; ++i) a[i * (n + 1)] += 2;
    check("regular", n, a);
  }
  // Static extents up to 3 have another rule.
  against_differences<wide<3, 3>>("singular", det, {1, 2, 3, 4, 5, 6, 7, 8, 9}, extents_of({3, 3}), [](const long_numbers& x) {
    return long_numbers{expanded(3, x)};
  }, 1e-13L, 1e-9L);
  against_differences<wide<2, 2>>("zeros", det, {0, 0, 0, 0}, extents_of({2, 2}), [](const long_numbers& x) {
    return long_numbers{expanded(2, x)};
  }, 1e-13L, 1e-9L);
  // The gradient of a large matrix of rank n - 1 and of rank n - 2.
  const ebb::graph gradient = ebb::prune(ebb::joint(ebb::trace_of<std::remove_const_t<decltype(det)>, wide<dyn, dyn>>::make(), {0}));
  for (const std::size_t n : {4u, 5u, 7u})
    for (const std::size_t lost : {1u, 2u}) {
      CAPTURE(n, lost);
      numbers a;
      for (double x : random_numbers(n * n, n + lost, 4)) a.push_back(std::round(x));
      for (std::size_t k = 0; k < lost; ++k)
        for (std::size_t j = 0; j < n; ++j) a[k * n + j] = a[(n - 1) * n + j] * (k == 0 ? 1 : -2);
      const auto out = evaluated(gradient, {a, {1}}, {extents_of({n, n})});
      CHECK(std::fabs(out[0][0]) < 1e-9);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          long_numbers minor;
          for (std::size_t k = 0; k < n * n; ++k)
            if (k / n != i && k % n != j) minor.push_back(a[k]);
          const long double want = ((i + j) % 2 ? -1 : 1) * expanded(n - 1, minor);
          CHECK(out[1][i * n + j] == Approx(static_cast<double>(want)).epsilon(1e-12).margin(lost == 1 ? 1e-10 : 1e-8));
        }
    }
}

struct slope {
  static constexpr auto apply(auto a, auto g) { return ebb::op::cofactor_slope::along(a, g); }
};
constexpr auto slope_of = [](auto a, auto g) { return ebb::call<slope>{}(a, g); };

TEST_CASE("determinants have finite second derivatives at singular matrices of every rank, and third ones at regular matrices") {
  for (const std::size_t n : {1u, 2u, 3u, 4u, 5u, 6u})
    for (std::size_t lost = 0; lost <= std::min<std::size_t>(n, 3); ++lost) {
      CAPTURE(n, lost);
      // Whole numbers: the last rows are sums of others, exactly.
      numbers a;
      for (double x : random_numbers(n * n, n + lost, 4)) a.push_back(std::round(x));
      for (std::size_t k = 0; k < lost; ++k)
        for (std::size_t j = 0; j < n; ++j)
          a[(n - 1 - k) * n + j] = n > lost ? a[j] * (k == 0 ? 1 : -2) + (n > lost + 1 ? a[n + j] * static_cast<double>(k) : 0) : 0;
      const numbers g = random_numbers(n * n, 7 * n + lost), h = random_numbers(n * n, 9 * n + lost);
      const long_numbers at(a.begin(), a.end());
      const ebb::graph f =
          ebb::joint(ebb::trace_of<std::remove_const_t<decltype(slope_of)>, wide<dyn, dyn>, wide<dyn, dyn>>::make(), {0, 1});
      const auto square = extents_of({n, n});
      const auto value =
          evaluated(ebb::prune(ebb::trace_of<std::remove_const_t<decltype(slope_of)>, wide<dyn, dyn>, wide<dyn, dyn>>::make()), {a, g},
                    {square, square})[0];
      for (std::size_t i = 0; i < n * n; ++i) {
        numbers one(n * n, 0.0);
        one[i] = 1;
        CHECK(within(1e-11L, value[i], curved(n, at, g, one)));
      }
      // By autodiff of det itself, along ones.
      const auto second = evaluated(with_second_derivative(ebb::trace_of<std::remove_const_t<decltype(det)>, wide<dyn, dyn>>::make()),
                                    {a, {1}}, {square}).back();
      for (std::size_t i = 0; i < n * n; ++i) {
        numbers one(n * n, 0.0);
        one[i] = 1;
        CHECK(within(1e-11L, second[i], curved(n, at, numbers(n * n, 1.0), one)));
      }
      if (lost > 0) {
        // By elimination some of these matrices are regular: a pivot is rounded.
        if (n == lost)
          CHECK(test::says(test::raised([&] { evaluated(ebb::prune(f), {a, g, h}, {square, square}); }), {"inverse", "singular"}));
        continue;
      }
      for (std::size_t i = 0; i < n; ++i) a[i * (n + 1)] += 9;
      const auto third = evaluated(ebb::prune(f), {a, g, h}, {square, square});
      for (std::size_t i = 0; i < n * n; ++i) {
        long_numbers more(a.begin(), a.end()), less = more;
        numbers one(n * n, 0.0);
        more[i] += 1e-3L, less[i] -= 1e-3L, one[i] = 1;
        // The second derivative is linear in each element: the difference is exact.
        CHECK(within(1e-10L, third[1][i], (curved(n, more, g, h) - curved(n, less, g, h)) / 2e-3L));
        CHECK(within(1e-11L, third[2][i], curved(n, long_numbers(a.begin(), a.end()), one, h)));
      }
    }
}

TEST_CASE("derivatives of cofactors of NaN are NaN, and those of no rows are none") {
  const auto f = ebb::compile(slope_of);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ebb::tensor<double, 5, 5> hidden{}, ones{};
  for (std::size_t i = 0; i < 25; ++i) ones.mutable_data()[i] = 1;
  for (std::size_t i = 0; i < 5; ++i) hidden.mutable_data()[6 * i] = 2;
  hidden.mutable_data()[7] = nan;
  const auto r = f(hidden, ones);
  std::size_t count = 0;
  for (const double e : r) count += std::isnan(e);
  CHECK(count > 12);
  CHECK(f(ebb::tensor<double, dyn, dyn>(0, 0), ebb::tensor<double, dyn, dyn>(0, 0)).size() == 0);
}

TEST_CASE("determinants and their gradients have the same bits compiled and evaluated, in batches and maps, and in narrow dtypes") {
  const auto both = [](auto x) {
    const auto d = ebb::det(x);
    return std::tuple(d, ebb::call<cofactors>{}(x), slope_of(x, x + 1));
  };
  for (const std::size_t n : {0u, 1u, 2u, 3u, 4u, 5u, 9u}) same_bits_everywhere<double>(both, 3, n, n);
  same_bits_everywhere<ebb::bfloat16>(both, 3, 6, 6);
}

TEST_CASE("special determinants: no rows, no matrices, NaN, integers, constant expressions, the tape") {
  CHECK(ebb::det(ebb::tensor<double, dyn, dyn>(0, 0)) == 1);
  CHECK(ebb::det(ebb::tensor<double, dyn, 5, 5>(0)).extent(0) == 0);
  CHECK(ebb::det(ebb::tensor<std::int64_t, 2, 2>{{3, 5}, {1, 2}}) == 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(ebb::det(ebb::tensor<double, 2, 2>{{nan, 1.0}, {1.0, 0.0}})));
  ebb::tensor<double, 5, 5> hidden{};
  hidden.mutable_data()[7] = nan;
  CHECK(std::isnan(ebb::det(hidden)));
  static_assert(ebb::det(ebb::tensor<double, 3, 3>{{2.0, 0.0, 1.0}, {1.0, 3.0, 2.0}, {1.0, 1.0, 1.0}}) == 0);
  CHECK(test::says(test::raised([&] { ebb::det(ebb::tensor<double, dyn, dyn>(2, 3)); }), {"ebb::det", "[2, 3]"}));
  const auto start = test::random_array<ebb::tensor<double, 3, 3>>(1);
  ebb::tensor<double, 3, 3> gradient[2];
  for (const bool captured : {false, true}) {
    ebb::variable v(start);
    ebb::backward(ebb::square(ebb::det(v)), {.compiled_autograd = captured});
    gradient[captured] = v.grad().value();
  }
  CHECK(test::same_bits(gradient[0], gradient[1]));
  CHECK(gradient[0](0, 0) == Approx(2 * ebb::det(start) * (start(1, 1) * start(2, 2) - start(1, 2) * start(2, 1))));
}

TEST_CASE("lengths by a Cholesky factor are those of the inverse, for all shapes of vectors and factors") {
  const auto root = test::random_array<ebb::tensor<double, 2, 3, 3>>(1);
  ebb::tensor<double, 2, 3, 3> l{};
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j <= i; ++j) l.mutable_data()[9 * b + 3 * i + j] = root(b, i, j) + (i == j ? 2 : 0);
  const auto inverse = ebb::cholesky_inverse(l);
  const auto length = [&](std::size_t b, auto&& x) {
    double sum = 0;
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) sum += x(i) * inverse(b, i, j) * x(j);
    return sum;
  };
  const auto x = test::random_array<ebb::tensor<double, 2, 3>>(2);
  const auto many = test::random_array<ebb::tensor<double, 5, 3>>(3);
  const ebb::tensor<double, 3, 3> first(l.row(0));
  const auto each = ebb::mahalanobis(x, l);
  const auto rows = ebb::mahalanobis(many, first);
  const auto one = ebb::mahalanobis(ebb::tensor<double, 3>(x.row(1)), l);
  for (std::size_t b = 0; b < 2; ++b) {
    CHECK(each(b) == Approx(length(b, [&](std::size_t i) { return x(b, i); })));
    CHECK(one(b) == Approx(length(b, [&](std::size_t i) { return x(1, i); })));
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) {
        CHECK(inverse(b, i, j) == inverse(b, j, i));
        double product = 0;
        for (std::size_t k = 0; k < 3; ++k)
          for (std::size_t m = 0; m < 3; ++m) product += l(b, i, k) * l(b, m, k) * inverse(b, m, j);
        CHECK(product == Approx(i == j).margin(1e-13));
      }
  }
  for (std::size_t i = 0; i < 5; ++i) CHECK(rows(i) == Approx(length(0, [&](std::size_t k) { return many(i, k); })));
  const auto of_factor = [](auto m) {
    const auto lower = ebb::cholesky((m + ebb::transpose(m)) / 2);
    return ebb::sum(ebb::mahalanobis(m, lower));
  };
  against_differences<wide<2, 2>>("mahalanobis", of_factor, {3, 1, 0.5, 2}, extents_of({2, 2}), [](const long_numbers& a) {
    const long double off = (a[1] + a[2]) / 2, d = a[0] * a[3] - off * off;
    const auto along = [&](long double p, long double q) { return (p * p * a[3] - 2 * p * q * off + q * q * a[0]) / d; };
    return long_numbers{along(a[0], a[1]) + along(a[2], a[3])};
  }, 1e-13L, 1e-9L);
}

TEST_CASE("mahalanobis of zeros, of infinities and NaN, of empty batches") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const ebb::tensor<double, 2, 2> l{{2, 0}, {1, 0.5}};
  CHECK(ebb::mahalanobis(ebb::tensor<double, 2>{0, 0}, l) == 0);
  CHECK(ebb::mahalanobis(ebb::tensor<double, 2>{0, -inf}, l) == inf);
  CHECK(ebb::mahalanobis(ebb::tensor<double, 2>{inf, 0}, l) == inf);
  // A NaN stays in its row.
  const auto each = ebb::mahalanobis(ebb::tensor<double, 3, 2>{{2, 1}, {1, nan}, {2, 2}}, l);
  CHECK((each(0) == 1 && std::isnan(each(1)) && each(2) == 5));
  CHECK(ebb::mahalanobis(ebb::tensor<double, dyn, dyn>(0, 2), l).size() == 0);
}

}  // namespace

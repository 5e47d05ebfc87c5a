// test/linalg/exponential.cpp — exponentials of matrices against power series in long double and recorded values; Sylvester's equation.
// SPDX-License-Identifier: BSL-1.0
// covers: exponential.hpp sylvester.hpp
#include "oracle.hpp"

#include "../random_array.hpp"
#include "../same_bits.hpp"

namespace {

using namespace linalg_test;

constexpr auto matrix_exp = [](auto x) { return ebb::matrix_exp(x); };

TEST_CASE("exponentials of matrices have PyTorch's recorded values and derivatives") {
  const golden::bounds b{.value = 256, .grad = 1024, .second = 4096, .spread = true};
  check_recorded<wide<3, 3>>("linalg", "matrix_exp_3", matrix_exp, b);
  for (const char* name : {"matrix_exp_3", "matrix_exp_6", "matrix_exp_large_3", "matrix_exp_large_6"})
    check_recorded<wide<dyn, dyn>>("linalg", name, matrix_exp, b);
  check_recorded<wide<dyn, dyn>>("linalg", "matrix_exp_nilpotent", matrix_exp, {.value = 2, .grad = 4, .second = 8, .spread = true});
  check_recorded<wide<2, 2>>("linalg", "matrix_exp_zero", matrix_exp, {.value = 0, .grad = 4, .second = 8, .spread = true});
}

long_numbers product(std::size_t n, const long_numbers& a, const long_numbers& b) {
  long_numbers r(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < n; ++j) r[i * n + j] += a[i * n + k] * b[k * n + j];
  return r;
}
/// 40 terms of the series of a / 64, squared six times.
long_numbers series(std::size_t n, long_numbers a) {
  long_numbers sum(n * n), term(n * n);
  for (long double& x : a) x /= 64;
  for (std::size_t i = 0; i < n; ++i) sum[i * (n + 1)] = term[i * (n + 1)] = 1;
  for (int k = 1; k < 40; ++k) {
    term = product(n, term, a);
    for (long double& x : term) x /= k;
    for (std::size_t i = 0; i < n * n; ++i) sum[i] += term[i];
  }
  for (int k = 0; k < 6; ++k) sum = product(n, sum, sum);
  return sum;
}

TEST_CASE("exponentials are those of the series for every degree of the approximation, in float and double") {
  const auto check = []<class T>(T, double size) {
    CAPTURE(size, sizeof(T));
    for (const std::size_t n : {1u, 2u, 5u}) {
      const numbers from = random_numbers(n * n, n, size);
      ebb::tensor<T, dyn, dyn> a(n, n);
      long_numbers exact;
      for (std::size_t i = 0; i < n * n; ++i) exact.push_back(a.mutable_data()[i] = static_cast<T>(from[i]));
      const auto got = ebb::matrix_exp(a);
      const long_numbers want = series(n, exact);
      long double largest = 0;
      for (long double x : want) largest = std::max(largest, std::fabs(x));
      for (std::size_t i = 0; i < n * n; ++i)
        CHECK(std::fabs(got.data()[i] - want[i]) <= 64 * std::numeric_limits<T>::epsilon() * largest);
    }
  };
  // Both sides of each bound of the 1-norm, and squarings.
  for (const double size : {1e-3, 0.01, 0.1, 0.3, 0.8, 1.8, 4.0}) check(0.0, size);
  for (const double size : {0.05, 0.3, 1.5, 4.0}) check(0.0f, size);
  against_differences<wide<dyn, dyn>>("small", matrix_exp, random_numbers(9, 1, 0.2), extents_of({3, 3}), [](const long_numbers& x) {
    return series(3, x);
  }, 1e-12L, 1e-8L);
  against_differences<wide<2, 2>>("large", matrix_exp, {3, -2, 1, 2.5}, extents_of({2, 2}), [](const long_numbers& x) {
    return series(2, x);
  }, 1e-12L, 1e-8L);
}

TEST_CASE("exponentials of special matrices, the same bits everywhere, the tape") {
  const ebb::tensor<double, 2, 2> zeros{}, identity{{1.0, 0.0}, {0.0, 1.0}};
  CHECK(ebb::all_equal(ebb::matrix_exp(zeros), identity));
  const auto turn = ebb::matrix_exp(ebb::tensor<double, 2, 2>{{0.0, -100.0}, {100.0, 0.0}});
  CHECK(turn(0, 0) == Approx(std::cos(100.0)).epsilon(1e-12));
  CHECK(turn(1, 0) == Approx(std::sin(100.0)).epsilon(1e-12));
  CHECK(ebb::matrix_exp(ebb::tensor<double, 1, 1>{{-1000.0}})(0, 0) == 0);
  CHECK(std::isnan(ebb::matrix_exp(ebb::tensor<double, 2, 2>{{std::numeric_limits<double>::quiet_NaN(), 0.0}, {0.0, 0.0}})(1, 1)));
  CHECK(ebb::matrix_exp(ebb::tensor<double, dyn, dyn>(0, 0)).extent(0) == 0);
  CHECK(test::says(test::raised([&] { ebb::matrix_exp(ebb::tensor<double, dyn, dyn>(2, 3)); }), {"ebb::matrix_exp", "[2, 3]"}));
  same_bits_everywhere<double>(matrix_exp, 2, 3, 3, 4);
  same_bits_everywhere<ebb::bfloat16>(matrix_exp, 2, 2, 2);
  const auto start = test::random_array<ebb::tensor<double, 3, 3>>(1);
  ebb::tensor<double, 3, 3> gradient[2];
  for (const bool captured : {false, true}) {
    ebb::variable x(start);
    ebb::backward(ebb::trace(ebb::matrix_exp(x)), {.compiled_autograd = captured});
    gradient[captured] = x.grad().value();
  }
  CHECK(test::same_bits(gradient[0], gradient[1]));
  // The derivative of the trace is the transposed exponential.
  const auto value = ebb::matrix_exp(start);
  for (std::size_t i = 0; i < 9; ++i) CHECK(gradient[0].data()[i] == Approx(value(i % 3, i / 3)).epsilon(1e-12));
}

TEST_CASE("solutions of Sylvester's equation fulfil it, in batches, and have its derivatives") {
  const auto a = test::random_array<ebb::tensor<double, 2, 3, 3>>(1);
  const auto b = test::random_array<ebb::tensor<double, 2, 2>>(2);
  const auto c = test::random_array<ebb::tensor<double, 3, 2>>(3);
  const auto x = ebb::solve_sylvester(a, b, c);
  for (std::size_t k = 0; k < 2; ++k)
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 2; ++j) {
        double sum = 0;
        for (std::size_t l = 0; l < 3; ++l) sum += a(k, i, l) * x(k, l, j);
        for (std::size_t l = 0; l < 2; ++l) sum += x(k, i, l) * b(l, j);
        CHECK(sum == Approx(c(i, j)).margin(1e-12));
      }
  const auto lyapunov = [](auto m, auto r) { return ebb::solve_sylvester(m, ebb::transpose(m), r); };
  const golden::bounds bound{.value = 256, .grad = 4096, .second = 16384, .spread = true};
  check_recorded<wide<3, 3>, wide<3, 3>>("linalg", "lyapunov_3", lyapunov, bound);
  check_recorded<wide<dyn, dyn>, wide<dyn, dyn>>("linalg", "lyapunov_6", lyapunov, bound);
  const ebb::tensor<double, 1, 1> one{{1.0}}, other{{-1.0}};
  CHECK(test::says(test::raised([&] { ebb::solve_sylvester(one, other, one); }), {"solve_sylvester", "singular"}));
  const ebb::tensor<double, dyn, dyn> square(2, 2), side(3, 1);
  CHECK(test::says(test::raised([&] { ebb::solve_sylvester(square, one, side); }), {"solve_sylvester", "[2, 2]", "[3, 1]"}));
}

}  // namespace

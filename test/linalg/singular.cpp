// test/linalg/singular.cpp — pinv, matrix_rank, condition_number and matrix_norm against their definitions and recorded values.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

#include "../random_array.hpp"
#include "../same_bits.hpp"

namespace {

using namespace linalg_test;

constexpr auto pinv = [](auto x) { return ebb::pinv(x); };

TEST_CASE("pseudoinverses and matrix norms have PyTorch's recorded values and derivatives") {
  const golden::bounds b{.value = 128, .grad = 4096, .second = 65536, .spread = true};
  check_recorded<wide<5, 3>>("linalg", "pinv_tall_3", pinv, b);
  for (const char* name : {"pinv_tall_3", "pinv_tall_6", "pinv_wide_3", "pinv_wide_6"})
    check_recorded<wide<dyn, dyn>>("linalg", name, pinv, b);
  for (const char* size : {"3", "6"}) {
    const auto check = [&](const char* name, auto f) {
      check_recorded<wide<dyn, dyn>>("linalg", std::string("matrix_norm_") + name + size, f, b);
    };
    check("fro_", [](auto x) { return ebb::matrix_norm(x); });
    check("nuc_", [](auto x) { return ebb::matrix_norm(x, ebb::nuclear); });
    check("2_", [](auto x) { return ebb::matrix_norm(x, ebb::spectral); });
    check("1_", [](auto x) { return ebb::matrix_norm(x, ebb::order<1>); });
    check("inf_", [](auto x) { return ebb::matrix_norm(x, ebb::order_inf); });
  }
}

/// The four equations of Penrose: a p a = a, p a p = p, a p and p a symmetric.
void check_penrose(std::size_t m, std::size_t n, const numbers& from) {
  CAPTURE(m, n);
  ebb::tensor<double, dyn, dyn> a(m, n);
  std::copy(from.begin(), from.end(), a.mutable_data());
  const auto p = ebb::pinv(a);
  REQUIRE((p.extent(0) == n && p.extent(1) == m));
  const auto ap = ebb::matmul(a, p), pa = ebb::matmul(p, a);
  const auto apa = ebb::matmul(ap, a), pap = ebb::matmul(pa, p);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) CHECK((apa(i, j) == Approx(a(i, j)).margin(1e-12) && pap(j, i) == Approx(p(j, i)).margin(1e-12)));
    for (std::size_t j = 0; j < m; ++j) CHECK(ap(i, j) == Approx(ap(j, i)).margin(1e-13));
  }
  for (std::size_t i = 0; i < n * n; ++i) CHECK(pa(i / n, i % n) == Approx(pa(i % n, i / n)).margin(1e-13));
}

TEST_CASE("pseudoinverses fulfil Penrose's equations, with any rank, and have the derivative of a constant rank") {
  for (const auto& [m, n] : {std::pair(1u, 1u), {4u, 2u}, {2u, 4u}, {3u, 3u}}) {
    check_penrose(m, n, random_numbers(m * n, m * 10 + n));
    numbers deficient;
    for (std::size_t i = 0; i < m * n; ++i) deficient.push_back(static_cast<double>((1 + i / n) * (1 + i % n)));
    check_penrose(m, n, deficient);
    check_penrose(m, n, numbers(m * n));
  }
  // Of a column: x^T / |x|^2.
  against_differences<wide<dyn, dyn>>("pinv", pinv, {1, -2, 0.5}, extents_of({3, 1}), [](const long_numbers& x) {
    const long double squares = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
    return long_numbers{x[0] / squares, x[1] / squares, x[2] / squares};
  }, 1e-12L, 1e-8L);
  // Rank 1 along x y^T, where y is fixed: pinv is y x^T / (|x|^2 |y|^2).
  const auto of_rank_one = [](auto x) { return ebb::pinv(ebb::outer(x, ebb::concat<0>(ebb::slice<0, 0, 2>(x), ebb::slice<0, 1, 2>(x)))); };
  against_differences<wide<3>>("rank 1", of_rank_one, {1, -2, 0.5}, extents_of({3}), [](const long_numbers& x) {
    const long double y[] = {x[0], x[1], x[1]};
    const long double squares = (x[0] * x[0] + x[1] * x[1] + x[2] * x[2]) * (x[0] * x[0] + 2 * x[1] * x[1]);
    long_numbers r;
    for (const long double i : y)
      for (const long double j : x) r.push_back(i * j / squares);
    return r;
  }, 1e-11L, 1e-7L);
}

TEST_CASE("ranks, condition numbers and norms of special matrices") {
  const ebb::tensor<double, 3, 2, 2> a{{{1.0, 2.0}, {2.0, 4.0}}, {{3.0, 0.0}, {0.0, -1e-8}}, {{0.0, 0.0}, {0.0, 0.0}}};
  const auto rank = ebb::matrix_rank(a);
  CHECK((rank(0) == 1 && rank(1) == 2 && rank(2) == 0));
  CHECK(ebb::matrix_rank<-20>(a)(1) == 1);
  CHECK(ebb::pinv<-20>(a)(1, 1, 1) == 0);
  CHECK(ebb::matrix_rank(ebb::tensor<int, 2, 3>{{1, 2, 3}, {4, 5, 6}}) == 2);
  const auto condition = ebb::condition_number(a);
  CHECK(condition(0) > 1e15);
  CHECK(condition(1) == Approx(3e8));
  CHECK(std::isnan(condition(2)));
  CHECK(ebb::matrix_norm(a, ebb::nuclear)(1) == Approx(3 + 1e-8));
  CHECK(ebb::matrix_norm(a, ebb::spectral)(0) == Approx(5));
  CHECK(ebb::matrix_norm(a, ebb::order<1>)(0) == 6);
  CHECK(ebb::matrix_norm(a)(0) == 5);
  CHECK(ebb::matrix_norm(ebb::tensor<double, dyn, dyn>(0, 3)) == 0);
  CHECK(ebb::matrix_norm(ebb::tensor<double, dyn, dyn>(0, 3), ebb::nuclear) == 0);
  CHECK(test::says(test::raised([&] { ebb::matrix_norm(ebb::tensor<double, dyn, dyn>(0, 3), ebb::spectral); }), {"matrix_norm"}));
  CHECK(test::says(test::raised([&] { ebb::condition_number(ebb::tensor<double, dyn, dyn>(0, 3)); }), {"ebb::condition_number"}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(ebb::matrix_rank(ebb::tensor<double, 1, 2>{{nan, 1.0}}) == 0);
  CHECK(std::isnan(ebb::pinv(ebb::tensor<double, 1, 2>{{nan, 1.0}})(0, 0)));
  same_bits_everywhere<double>(pinv, 3, 4, 2);
  same_bits_everywhere<ebb::bfloat16>(pinv, 2, 2, 3);
  same_bits_everywhere<float>([](auto x) { return std::tuple(ebb::condition_number(x), ebb::matrix_norm(x, ebb::order<1>)); }, 2, 2, 3);
}

TEST_CASE("condition numbers have the first and second derivatives of the quotient of singular values in closed form") {
  // s1^2 + s2^2 is the sum of squares, s1 s2 the size of the determinant.
  const auto oracle = [](const long_numbers& x) {
    const long double sum = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3], det = std::fabs(x[0] * x[3] - x[1] * x[2]);
    return long_numbers{(sum + std::sqrt(sum * sum - 4 * det * det)) / (2 * det)};
  };
  const auto f = [](auto x) { return ebb::condition_number(x); };
  for (const numbers& x : {numbers{1, 0.5, -0.25, 2}, numbers{0.5, 3, -1, 0.25}}) {
    against_differences<wide<2, 2>>("static", f, x, extents_of({2, 2}), oracle, 1e-9L, 1e-5L);
    against_differences<wide<dyn, dyn>>("dyn", f, x, extents_of({2, 2}), oracle, 1e-9L, 1e-5L);
  }
}

}  // namespace

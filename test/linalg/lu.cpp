// test/linalg/lu.cpp — triangular factors with pivots: residuals, recorded values, derivatives in long double.
// SPDX-License-Identifier: BSL-1.0
#include "oracle.hpp"

#include "../random_array.hpp"
#include "../same_bits.hpp"

namespace {

using namespace linalg_test;

constexpr auto lu = [](auto x) { return ebb::lu(x); };
constexpr auto solved = [](auto x, auto b) {
  const auto [p, l, u] = ebb::lu(x);
  return ebb::lu_solve(p, l, u, b);
};

TEST_CASE("triangular factors and solutions by them have PyTorch's recorded values and derivatives") {
  const golden::bounds b{.value = 64, .grad = 1024, .second = 8192, .spread = true};
  const auto factors = [](auto x) {
    const auto [p, l, u] = ebb::lu(x);
    return std::tuple(l, u, ebb::matmul(p, ebb::matmul(l, u)));
  };
  check_named<wide<3, 3>>("linalg", "lu_3", factors, {"L", "U", "PLU"}, b);
  check_named<wide<dyn, dyn>>("linalg", "lu_6", factors, {"L", "U", "PLU"}, b);
  check_recorded<wide<3, 3>, wide<3, 2>>("linalg", "lu_solve_3", solved, b);
  check_recorded<wide<dyn, dyn>, wide<dyn, dyn>>("linalg", "lu_solve_6", solved, b);
}

TEST_CASE("P L U is the matrix, P a permutation, L and U triangles with the largest pivots") {
  for (const std::size_t n : {0u, 1u, 2u, 5u, 20u, 150u})
    for (const bool singular : {false, true}) {
      CAPTURE(n, singular);
      numbers from = random_numbers(n * n, n);
      for (std::size_t i = 0; i < n && singular; ++i) from[i * n] = 0;
      ebb::tensor<double, dyn, dyn> a(n, n);
      std::copy(from.begin(), from.end(), a.mutable_data());
      const auto [p, l, u] = ebb::lu(a);
      long double worst = 0;
      for (std::size_t i = 0; i < n; ++i) {
        double row = 0, column = 0;
        std::size_t at = 0;
        for (std::size_t j = 0; j < n; ++j) {
          row += p(i, j), column += p(j, i);
          if (p(i, j) == 1) at = j;
          if (j > i && l(i, j) != 0) FAIL_CHECK("L has an element above its diagonal");
          if (j < i && (u(i, j) != 0 || std::fabs(l(i, j)) > 1)) FAIL_CHECK("U below its diagonal, or a multiplier above 1");
        }
        CHECK((row == 1 && column == 1 && l(i, i) == 1));
        for (std::size_t j = 0; j < n; ++j) {
          long double sum = -static_cast<long double>(a(i, j));
          for (std::size_t k = 0; k < n; ++k) sum += static_cast<long double>(l(at, k)) * u(k, j);
          worst = std::max(worst, std::fabs(sum));
        }
      }
      CHECK(worst <= 4e-16L * static_cast<long double>(n));
    }
}

TEMPLATE_TEST_CASE("factors and determinants by blocks have the bits of elimination in order", "", float, double) {
  using T = TestType;
  for (const std::ptrdiff_t n : {32, 33, 100})
    for (const bool singular : {false, true}) {
      CAPTURE(n, singular);
      const auto size = static_cast<std::size_t>(n * n), row = static_cast<std::size_t>(n);
      std::vector<T> a, scratch(2 * size + 40 * row), blocked(size + 2 * row), in_order(blocked);
      for (double x : random_numbers(size, static_cast<std::uint64_t>(n))) a.push_back(static_cast<T>(x));
      for (std::size_t i = 0; i < row && singular; ++i) a[i * row + 7] = 0;
      const auto same = [&]<class Op>(Op) {
        ebb::matrix_call<T> call{n, n, 0, a.data(), blocked.data(), scratch.data()};
        const bool computed = Op::compute_blocked(call) == -1;
        CHECK(computed == !singular);
        call.out = in_order.data();
        CHECK(Op::compute(call) == -1);
        if (computed) CHECK(std::memcmp(blocked.data(), in_order.data(), blocked.size() * sizeof(T)) == 0);
      };
      same(ebb::op::lu{});
      same(ebb::op::det{});
    }
}

TEST_CASE("triangular factors have the derivatives of elimination in long double") {
  // Dominant from the second row on: row 1 is the first pivot.
  const auto without_p = [](auto x) {
    const auto [p, l, u] = ebb::lu(x);
    return std::tuple(l, u);
  };
  const numbers x{0.5, 1, -0.25, 4, 0.5, 1, 1, -0.5, 3};
  against_differences<wide<dyn, dyn>>("lu", without_p, x, extents_of({3, 3}), [](const long_numbers& a) {
    long_numbers u{a[3], a[4], a[5], a[0], a[1], a[2], a[6], a[7], a[8]}, l{1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t i = k + 1; i < 3; ++i) {
        l[i * 3 + k] = u[i * 3 + k] / u[k * 4];
        for (std::size_t j = 0; j < 3; ++j) u[i * 3 + j] = j <= k ? 0 : u[i * 3 + j] - l[i * 3 + k] * u[k * 3 + j];
      }
    l.insert(l.end(), u.begin(), u.end());
    return l;
  }, 1e-12L, 1e-8L);
}

TEST_CASE("factors for many right sides: batches, vectors, errors, the same bits everywhere") {
  const auto a = test::random_array<ebb::tensor<double, 2, 3, 3>>(1);
  const auto b = test::random_array<ebb::tensor<double, 2, 3>>(2);
  const auto sides = test::random_array<ebb::tensor<double, 3, 4>>(3);
  const auto [p, l, u] = ebb::lu(a);
  const auto x = ebb::lu_solve(p, l, u, b);
  const auto y = ebb::lu_solve(p, l, u, sides);
  const auto want = ebb::solve(a, b);
  for (std::size_t i = 0; i < 6; ++i) CHECK(x.data()[i] == Approx(want.data()[i]));
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 3; ++k) sum += a(i, j, k) * y(i, k, 3);
      CHECK(sum == Approx(sides(j, 3)));
    }
  CHECK(test::says(test::raised([&] { ebb::lu(ebb::tensor<double, dyn, dyn>(2, 3)); }), {"ebb::lu", "[2, 3]"}));
  const auto second = ebb::grad([](auto m) { return ebb::sum(std::get<2>(ebb::lu(m))); });
  CHECK(test::says(test::raised([&] { second(ebb::tensor<double, 2, 2>{{1.0, 2.0}, {2.0, 4.0}}); }), {"singular", "pivot 1 is 0"}));
  same_bits_everywhere<double>(lu, 3, 4, 4);
  same_bits_everywhere<ebb::bfloat16>(lu, 2, 3, 3);
  // More rows than bf16 has integers: the permutation that reverses them.
  ebb::tensor<ebb::bfloat16, dyn, dyn> reversed(300, 300);
  for (std::size_t i = 0; i < 300; ++i) reversed.mutable_data()[i * 300 + 299 - i] = ebb::bfloat16(1.0f);
  const auto turned = std::get<0>(ebb::lu(reversed));
  CHECK(ebb::all_equal(turned, reversed));
  const auto start = test::random_array<ebb::tensor<double, 3, 3>>(4);
  const auto side = test::random_array<ebb::tensor<double, 3>>(5);
  const auto loss = [](const auto& m, const auto& r) { return ebb::sum(ebb::square(solved(m, r))); };
  ebb::variable v(start);
  ebb::backward(loss(v, side));
  const auto functional = ebb::grad<0>(loss)(start, side), direct = ebb::grad<0>([](auto m, auto r) {
    return ebb::sum(ebb::square(ebb::solve(m, r)));
  })(start, side);
  for (std::size_t i = 0; i < 9; ++i) {
    CHECK(v.grad().value().data()[i] == Approx(functional.data()[i]).epsilon(1e-10));
    CHECK(direct.data()[i] == Approx(functional.data()[i]).epsilon(1e-10));
  }
}

}  // namespace

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
  check_named<wide<5, 3>>("linalg", "lu_tall_3", factors, {"L", "U", "PLU"}, b);
  check_named<wide<3, 5>>("linalg", "lu_wide_3", factors, {"L", "U", "PLU"}, b);
  for (const char* name : {"lu_3", "lu_tall_3", "lu_wide_3", "lu_tall_6", "lu_wide_6"})
    check_named<wide<dyn, dyn>>("linalg", name, factors, {"L", "U", "PLU"}, b);
  check_recorded<wide<3, 3>, wide<3, 2>>("linalg", "lu_solve_3", solved, b);
  check_recorded<wide<dyn, dyn>, wide<dyn, dyn>>("linalg", "lu_solve_6", solved, b);
}

/// Elimination with the first of the largest pivots: the rows in their new order, then L [m, k], then U [k, n], one after another.
long_numbers eliminated(std::size_t m, std::size_t n, long_numbers a) {
  const std::size_t k = std::min(m, n);
  std::vector<std::size_t> from(m);
  for (std::size_t i = 0; i < m; ++i) from[i] = i;
  for (std::size_t c = 0; c < k; ++c) {
    std::size_t best = c;
    for (std::size_t i = c; i < m; ++i)
      if (std::fabs(a[i * n + c]) > std::fabs(a[best * n + c])) best = i;
    for (std::size_t j = 0; j < n; ++j) std::swap(a[c * n + j], a[best * n + j]);
    std::swap(from[c], from[best]);
    for (std::size_t i = c + 1; i < m && a[c * n + c] != 0; ++i) {
      a[i * n + c] /= a[c * n + c];
      for (std::size_t j = c + 1; j < n; ++j) a[i * n + j] -= a[i * n + c] * a[c * n + j];
    }
  }
  long_numbers r(from.begin(), from.end());
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < k; ++j) r.push_back(i == j ? 1 : j < i ? a[i * n + j] : 0);
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < n; ++j) r.push_back(j < i ? 0 : a[i * n + j]);
  return r;
}

template <class T>
void check_factors(std::size_t m, std::size_t n, const numbers& given, bool singular) {
  CAPTURE(m, n, singular, sizeof(T));
  const std::size_t k = std::min(m, n);
  ebb::tensor<T, dyn, dyn> a(m, n);
  long_numbers from;
  for (std::size_t i = 0; i < m * n; ++i) from.push_back(a.mutable_data()[i] = static_cast<T>(singular && i % n == 0 ? 0 : given[i]));
  const auto [p, l, u] = ebb::lu(a);
  REQUIRE((p.extent(0) == m && p.extent(1) == m && l.extent(0) == m && l.extent(1) == k && u.extent(0) == k && u.extent(1) == n));
  const long double unit = std::numeric_limits<T>::epsilon();
  const long_numbers want = eliminated(m, n, from);
  std::size_t others = 0, above = 0;
  long double residual = 0, distance = 0;
  for (std::size_t i = 0; i < m; ++i) {
    const auto row = static_cast<std::size_t>(want[i]);  // row i of l u
    for (std::size_t j = 0; j < m; ++j) others += p(j, i) != (j == row);
    for (std::size_t j = 0; j < k; ++j) {
      above += l(i, j) != 1 ? j == i || (j > i && l(i, j) != 0) || std::fabs(l(i, j)) > 1 : j > i;
      distance = std::max(distance, std::fabs(l(i, j) - want[m + i * k + j]));
    }
    for (std::size_t j = 0; j < n; ++j) {
      if (i < k) {
        above += j < i && u(i, j) != 0;
        distance = std::max(distance, std::fabs(u(i, j) - want[m + m * k + i * n + j]));
      }
      long double sum = -from[row * n + j];
      for (std::size_t c = 0; c < k; ++c) sum += static_cast<long double>(l(i, c)) * u(c, j);
      residual = std::max(residual, std::fabs(sum));
    }
  }
  CHECK(others == 0);
  CHECK(above == 0);
  CHECK(residual <= 2 * unit * static_cast<long double>(k));
  CHECK(distance <= 400 * unit * static_cast<long double>(k));
}

TEST_CASE("P, L and U are those of elimination in long double: square, tall, wide, singular and empty matrices") {
  for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{0, 0},
                             {1, 1},
                             {2, 2},
                             {5, 5},
                             {20, 20},
                             {150, 150},
                             {1, 5},
                             {5, 1},
                             {4, 3},
                             {3, 4},
                             {7, 2},
                             {2, 7},
                             {16, 9},
                             {40, 33},
                             {33, 40},
                             {70, 64},
                             {200, 33},
                             {33, 200},
                             {200, 3},
                             {3, 200},
                             {0, 3},
                             {3, 0}})
    for (const bool singular : {false, true}) {
      check_factors<double>(m, n, random_numbers(m * n, 10 * m + n), singular);
      check_factors<float>(m, n, random_numbers(m * n, 10 * m + n), singular);
    }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto [p, l, u] = ebb::lu(ebb::tensor<double, 3, 2>{{nan, 1.0}, {0.0, 1.0}, {1.0, 2.0}});
  CHECK((p(0, 0) == 1 && std::isnan(u(0, 0)) && std::isnan(l(1, 0)) && std::isnan(u(1, 1))));
  const auto [q, lower, upper] = ebb::lu(ebb::tensor<int, 2, 3>{{1, 2, 3}, {2, 6, 8}});
  static_assert(std::is_same_v<decltype(lower), const ebb::tensor<float, 2, 2>> &&
                std::is_same_v<decltype(upper), const ebb::tensor<float, 2, 3>>);
  CHECK((q(1, 0) == 1 && lower(1, 0) == 0.5f && upper(0, 2) == 8.0f && upper(1, 1) == -1.0f && upper(1, 2) == -1.0f));
}

TEMPLATE_TEST_CASE("factors and determinants by blocks have the bits of elimination in order", "", float, double) {
  using T = TestType;
  using sizes = std::pair<std::ptrdiff_t, std::ptrdiff_t>;
  for (const auto& [m, n] : {sizes{32, 32}, {33, 33}, {100, 100}, {100, 33}, {33, 100}, {70, 64}, {64, 70}, {65, 65}, {200, 64},
                             {64, 200}, {300, 35}, {35, 300}, {9, 5}, {5, 9}})
    for (const bool singular : {false, true}) {
      CAPTURE(m, n, singular);
      const auto size = static_cast<std::size_t>(m * n), row = static_cast<std::size_t>(n), rows = static_cast<std::size_t>(m);
      std::vector<T> a, scratch(2 * size + 40 * rows), blocked(size + 2 * (rows + row)), in_order(blocked);
      for (double x : random_numbers(size, static_cast<std::uint64_t>(m + n))) a.push_back(static_cast<T>(x));
      for (std::size_t i = 0; i < rows && singular; ++i) a[i * row + 4] = 0;
      const auto same = [&]<class Op>(Op) {
        ebb::matrix_call<T> call{m, n, 0, a.data(), blocked.data(), scratch.data()};
        const bool computed = Op::compute_blocked(call) == -1;  // panels leave singular matrices to `compute`
        CHECK((computed || singular));
        call.out = in_order.data();
        CHECK(Op::compute(call) == -1);
        if (computed) CHECK(std::memcmp(blocked.data(), in_order.data(), blocked.size() * sizeof(T)) == 0);
      };
      same(ebb::op::lu{});
      if (m == n && m >= ebb::op::det::blocked) same(ebb::op::det{});
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

constexpr auto without_p = [](auto x) {
  const auto [p, l, u] = ebb::lu(x);
  return std::tuple(l, u);
};

TEST_CASE("factors of tall and wide matrices have the first and second derivatives of elimination in long double") {
  for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{3, 2}, {2, 3}, {4, 1}, {1, 4}, {5, 3}, {3, 5}}) {
    CAPTURE(m, n);
    // The pivots are far from others: the order of rows is that of all points nearby.
    numbers x = random_numbers(m * n, 100 * m + n);
    for (std::size_t i = 0; i < std::min(m, n); ++i) x[(m - 1 - i) * n + i] += 4;
    const auto oracle = [m = m, n = n](const long_numbers& a) {
      long_numbers r = eliminated(m, n, a);
      r.erase(r.begin(), r.begin() + static_cast<std::ptrdiff_t>(m));
      return r;
    };
    against_differences<wide<dyn, dyn>>("lu", without_p, x, extents_of({m, n}), oracle, 1e-11L, 1e-7L);
    if (m == 5) against_differences<wide<5, 3>>("lu", without_p, x, extents_of({m, n}), oracle, 1e-11L, 1e-7L);
    if (n == 5) against_differences<wide<3, 5>>("lu", without_p, x, extents_of({m, n}), oracle, 1e-11L, 1e-7L);
  }
}

/// The sum of w . d, d the derivative of the results along v, is that of v and the gradient by w: forward mode and backward.
template <class A>
void check_directions(const A& a, const A& v) {
  const auto [value, along] = ebb::jvp(without_p)(a, v);
  const auto [result, pull] = ebb::vjp(without_p)(a);
  const auto back = pull(std::get<0>(value), std::get<1>(value));
  long double forward = 0, backward = 0;
  const auto add = [&](const auto& w, const auto& d) {
    for (std::size_t i = 0; i < w.size(); ++i) forward += static_cast<long double>(w.data()[i]) * d.data()[i];
  };
  add(std::get<0>(value), std::get<0>(along));
  add(std::get<1>(value), std::get<1>(along));
  for (std::size_t i = 0; i < v.size(); ++i) backward += static_cast<long double>(back.data()[i]) * v.data()[i];
  CHECK(std::fabs(forward - backward) <= 1e-11L * std::max(1.0L, std::fabs(forward)));
  // Both triangles together give the matrix: d(l u) = dl u + l du is the direction, row by row.
  const auto [p, l, u] = ebb::lu(a);
  const auto sum = ebb::matmul(p, ebb::matmul(std::get<0>(along), u) + ebb::matmul(l, std::get<1>(along)));
  for (std::size_t i = 0; i < v.size(); ++i) CHECK(sum.data()[i] == Approx(v.data()[i]).margin(1e-11));
}

TEST_CASE("derivatives of factors along directions are the transposes of their gradients, on batches too") {
  check_directions(test::random_array<ebb::tensor<double, 3, 5, 3>>(1), test::random_array<ebb::tensor<double, 3, 5, 3>>(2));
  check_directions(test::random_array<ebb::tensor<double, 3, 2, 4>>(3), test::random_array<ebb::tensor<double, 3, 2, 4>>(4));
  check_directions(test::random_array<ebb::tensor<double, 2, 4, 4>>(5), test::random_array<ebb::tensor<double, 2, 4, 4>>(6));
  using any = ebb::tensor<double, dyn, dyn, dyn>;
  check_directions(test::random_array<any>(7, 2u, 6u, 4u), test::random_array<any>(8, 2u, 6u, 4u));
  check_directions(test::random_array<any>(9, 2u, 40u, 70u), test::random_array<any>(10, 2u, 40u, 70u));
}

TEST_CASE("factors of tall and wide matrices: the same bits everywhere, the tape, empty matrices, errors") {
  for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{4, 4}, {5, 3}, {3, 5}, {16, 1}, {16, 15}}) {
    same_bits_everywhere<double>(lu, 11, m, n);
    same_bits_everywhere<float>(lu, 21, m, n);
  }
  for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{5, 3}, {3, 5}, {40, 33}, {33, 40}}) {
    same_bits_everywhere<double>(lu, 3, m, n);
    same_bits_everywhere<float>(lu, 3, m, n);
    same_bits_everywhere<ebb::bfloat16>(lu, 2, m, n);
  }
  const auto alone = [](const auto& x) {  // one small matrix of known extents goes straight to its kernel
    const auto [p, l, u] = ebb::lu(x);
    const auto [ps, ls, us] = ebb::lu(ebb::tensor<double, dyn, dyn>(x));
    CHECK((test::same_bits(p, ps) && test::same_bits(l, ls) && test::same_bits(u, us)));
  };
  alone(test::random_array<ebb::tensor<double, 4, 2>>(7));
  alone(test::random_array<ebb::tensor<double, 1, 4>>(8));
  // A singular matrix among others that are factored side by side, and one with a NaN. No NaN's sign is promised.
  const auto same = [](const double* x, const auto& y) {
    return std::equal(y.begin(), y.end(), x,
                      [](double a, double b) { return ebb::to_cell(a) == ebb::to_cell(b) || (std::isnan(a) && std::isnan(b)); });
  };
  auto some = test::random_array<ebb::tensor<double, 9, 5, 3>>(3);
  for (std::size_t i = 0; i < 5; ++i) some.mutable_data()[2 * 15 + 3 * i + 1] = 0;
  some.mutable_data()[4 * 15] = std::numeric_limits<double>::quiet_NaN();
  const auto [ps, ls, us] = ebb::lu(some);
  for (std::size_t b = 0; b < 9; ++b) {
    const auto [p, l, u] = ebb::lu(ebb::tensor<double, 5, 3>(some.row(b)));
    CHECK((same(ps.data() + 25 * b, p) && same(ls.data() + 15 * b, l) && same(us.data() + 9 * b, u)));
  }
  CHECK((us(2, 1, 1) == 0 && us(2, 2, 2) != 0 && std::isnan(us(4, 0, 0)) && !std::isnan(us(5, 2, 2))));
  const auto loss = [](const auto& m) {
    const auto [p, l, u] = ebb::lu(m);
    return ebb::sum(ebb::sin(l)) + ebb::sum(ebb::square(u));
  };
  const auto start = test::random_array<ebb::tensor<double, 2, 4, 3>>(4);
  const auto functional = ebb::grad(loss)(start);
  for (const bool captured : {false, true}) {
    ebb::variable v(start);
    ebb::backward(loss(v), {.compiled_autograd = captured});
    for (std::size_t i = 0; i < 24; ++i) CHECK(v.grad().value().data()[i] == Approx(functional.data()[i]).epsilon(1e-12));
  }
  const auto empty = ebb::grad(loss)(ebb::tensor<double, dyn, dyn>(3, 0));
  CHECK((empty.extent(0) == 3 && empty.size() == 0));
  CHECK(ebb::grad(loss)(ebb::tensor<double, dyn, dyn, dyn>(2, 0, 3)).size() == 0);
  CHECK(ebb::all_equal(std::get<0>(ebb::lu(ebb::tensor<double, 2, 0>())), ebb::tensor<double, 2, 2>{{1.0, 0.0}, {0.0, 1.0}}));
  const auto error_of = [&](const auto& x) { return test::raised([&] { ebb::grad(loss)(x); }); };
  CHECK(test::says(error_of(ebb::tensor<double, 3, 2>{{1.0, 2.0}, {2.0, 4.0}, {4.0, 8.0}}), {"singular", "pivot 1 is 0"}));
  CHECK(test::says(error_of(ebb::tensor<double, dyn, dyn>(2, 3)), {"singular", "pivot 0 is 0"}));
  // Any block of a tall or wide matrix may be a solution's, but its factors are none of a system.
  const auto tall = test::random_array<ebb::tensor<double, dyn, dyn>>(5, 4u, 3u),
             wider = test::random_array<ebb::tensor<double, dyn, dyn>>(6, 3u, 4u);
  const auto b = test::random_array<ebb::tensor<double, dyn, dyn>>(7, 4u, 2u),
             c = test::random_array<ebb::tensor<double, dyn, dyn>>(8, 3u, 2u);
  CHECK(test::says(test::raised([&] { solved(tall, b); }), {"ebb::", "4", "3"}));
  CHECK(test::says(test::raised([&] { solved(wider, c); }), {"ebb::", "4", "3"}));
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

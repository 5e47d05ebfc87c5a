// test/op/solve.cpp — solve and inverse: values, first and second derivatives against elimination in hyper-dual numbers.
// SPDX-License-Identifier: BSL-1.0
#include "hyper_dual.hpp"

#include "../catch.hpp"

#include <ebb/exec/evaluate.hpp>
#include <ebb/graph/valid.hpp>
#include <ebb/pass/pipeline.hpp>
#include <ebb/trace/trace.hpp>

#include <random>

namespace {

using test::hyper_dual;
constexpr auto dyn = ebb::dyn;

/// n x n and n x m systems, row-major. Gauss-Jordan with pivots by magnitude: another order than the library's.
std::vector<hyper_dual> solved(int n, int m, std::vector<hyper_dual> a, std::vector<hyper_dual> b) {
  const auto at = [](auto& x, int width, int i, int j) -> hyper_dual& { return x[static_cast<std::size_t>(i * width + j)]; };
  for (int k = 0; k < n; ++k) {
    int p = k;
    for (int i = k; i < n; ++i)
      if (std::fabs(at(a, n, i, k).v) > std::fabs(at(a, n, p, k).v)) p = i;
    for (int j = 0; j < n; ++j) std::swap(at(a, n, k, j), at(a, n, p, j));
    for (int j = 0; j < m; ++j) std::swap(at(b, m, k, j), at(b, m, p, j));
    const hyper_dual by = reciprocal(at(a, n, k, k));
    for (int j = 0; j < n; ++j) at(a, n, k, j) = at(a, n, k, j) * by;
    for (int j = 0; j < m; ++j) at(b, m, k, j) = at(b, m, k, j) * by;
    for (int i = 0; i < n; ++i) {
      if (i == k) continue;
      const hyper_dual l = at(a, n, i, k);
      for (int j = 0; j < n; ++j) at(a, n, i, j) = at(a, n, i, j) - l * at(a, n, k, j);
      for (int j = 0; j < m; ++j) at(b, m, i, j) = at(b, m, i, j) - l * at(b, m, k, j);
    }
  }
  return b;
}
std::vector<hyper_dual> identity(int n) {
  std::vector<hyper_dual> r(static_cast<std::size_t>(n * n));
  for (int i = 0; i < n; ++i) r[static_cast<std::size_t>(i * (n + 1))] = {1};
  return r;
}

/// Random elements; the diagonal of a square matrix is larger.
std::vector<double> random_array(int rows, int columns, int seed) {
  std::mt19937_64 next(static_cast<std::uint64_t>(seed));
  std::vector<double> r;
  for (int i = 0; i < rows * columns; ++i)
    r.push_back(static_cast<float>(std::uniform_real_distribution<double>(-1, 1)(next) + (rows == columns && i % (rows + 1) == 0 ? 2 : 0)));
  return r;
}
template <class T>
ebb::cell_array cells(const std::vector<double>& x) {
  ebb::cell_array r;
  for (double e : x) r.push(ebb::to_cell(static_cast<T>(static_cast<float>(e))));
  return r;
}
template <class T>
long double number(ebb::cell c) {
  if constexpr (std::is_arithmetic_v<T>) return ebb::from_cell<T>(c);
  else return static_cast<float>(ebb::from_cell<T>(c));
}
ebb::extent_list extents(std::initializer_list<std::size_t> e) {
  ebb::extent_list r;
  for (std::size_t x : e) r.e[r.rank++] = x;
  return r;
}

/// f(a, b) of hyper-dual matrices against the traced f: the value, the gradients of its weighted sum, and the second derivatives along the
/// direction in which all elements of a grow alike.
template <class T, class A, class B, class F>
void check(F, int n, int m, auto oracle, double bound) {
  CAPTURE(n, m, sizeof(T));
  const std::vector<double> a = random_array(n, n, n), b = random_array(n, m, 100 + m);
  const ebb::graph traced = ebb::trace_of<F, A, B>::make();
  REQUIRE_FALSE(ebb::first_error(traced));
  ebb::graph g = ebb::joint(traced, {0, 1});
  const int from = g.out[1];
  const auto second = ebb::pull_back(g, {g.input(0), g.input(1)}, {from}, {g.op(from).kit->literal(g, g.eq[from].shape, 1)});
  for (int j = 0; j < 2; ++j) g.out.push(ebb::or_zeros(g, second[j], g.input(j)));
  g = ebb::prune(g);
  REQUIRE_FALSE(ebb::first_error(g));

  const std::vector<hyper_dual> value = oracle(std::vector<hyper_dual>(a.begin(), a.end()), std::vector<hyper_dual>(b.begin(), b.end()));
  const std::vector<double> weights = random_array(1, static_cast<int>(value.size()), 7);
  const auto un = static_cast<std::size_t>(n), um = static_cast<std::size_t>(m);
  const ebb::vec<ebb::extent_list> shapes{extents({un, un}), extents({un, um})};
  const auto out = ebb::evaluate(g, {cells<T>(a), cells<T>(b), cells<T>(weights)}, ebb::symbol_values(g, shapes));

  const auto compare = [&](const char* what, const ebb::cell_array& got, auto want) {
    long double largest = 1e-3L, worst = 0;
    for (int i = 0; i < got.size(); ++i) {
      const long double w = want(static_cast<std::size_t>(i));
      largest = std::max(largest, std::fabs(w));
      worst = std::max(worst, std::fabs(number<T>(got[i]) - w));
    }
    INFO(what);
    CHECK(static_cast<double>(worst / largest) < bound * static_cast<double>(std::numeric_limits<T>::epsilon()));
  };
  compare("value", out[0], [&](std::size_t i) { return value[i].v; });
  for (int of = 0; of < 2; ++of) {
    const auto along = [&](std::size_t i) {
      std::vector<hyper_dual> x(a.begin(), a.end()), y(b.begin(), b.end());
      for (hyper_dual& e : x) e.a = 1;
      (of == 0 ? x : y)[i].b = 1;
      hyper_dual sum;
      const std::vector<hyper_dual> r = oracle(x, y);
      for (std::size_t k = 0; k < r.size(); ++k) sum = sum + weights[k] * r[k];
      return sum;
    };
    compare(of == 0 ? "gradient of a" : "gradient of b", out[1 + of], [&](std::size_t i) { return along(i).b; });
    compare(of == 0 ? "second, a" : "second, b", out[3 + of], [&](std::size_t i) { return along(i).c; });
  }
}

constexpr auto solve = [](auto a, auto b) { return ebb::solve(a, b); };
constexpr auto solve_transposed = [](auto a, auto b) { return ebb::solve(ebb::transpose(a), b); };
constexpr auto solve_column = [](auto a, auto b) { return ebb::solve(a, ebb::squeeze<1>(b)); };
constexpr auto times_inverse = [](auto a, auto b) { return ebb::matmul(ebb::inverse(a), b); };
constexpr auto inverse_only = [](auto a, auto b) { return ebb::inverse(a) + 0 * ebb::sum(b); };

std::vector<hyper_dual> transposed(int n, const std::vector<hyper_dual>& a) {
  const auto rows = static_cast<std::size_t>(n);
  std::vector<hyper_dual> r;
  for (std::size_t i = 0; i < a.size(); ++i) r.push_back(a[i % rows * rows + i / rows]);
  return r;
}

template <class T>
void check_all(double bound) {
  const auto by = [](int n, int m) { return [=](auto a, auto b) { return solved(n, m, a, b); }; };
  check<T, ebb::term<T, 3, 3>, ebb::term<T, 3, 2>>(solve, 3, 2, by(3, 2), bound);
  check<T, ebb::term<T, dyn, dyn>, ebb::term<T, dyn, dyn>>(solve, 5, 3, by(5, 3), bound);
  check<T, ebb::term<T, dyn, 4>, ebb::term<T, 4, 1>>(solve, 4, 1, by(4, 1), bound);
  check<T, ebb::term<T, 1, 1>, ebb::term<T, 1, 1>>(solve, 1, 1, by(1, 1), bound);
  check<T, ebb::term<T, 4, 4>, ebb::term<T, dyn, 1>>(solve_column, 4, 1, by(4, 1), bound);
  check<T, ebb::term<T, 3, 3>, ebb::term<T, 3, 4>>(
      solve_transposed, 3, 4, [](auto a, auto b) { return solved(3, 4, transposed(3, a), b); }, bound);
  check<T, ebb::term<T, 4, 4>, ebb::term<T, 4, 2>>(times_inverse, 4, 2, by(4, 2), bound);
  check<T, ebb::term<T, dyn, dyn>, ebb::term<T, 3, 1>>(
      inverse_only, 3, 1, [](auto a, auto) { return solved(3, 3, a, identity(3)); }, bound);
}

TEST_CASE("solutions and inverses have exact first and second derivatives") {
  check_all<double>(64);
  check_all<float>(64);
}

TEST_CASE("systems of bfloat16 and float16 are solved in float and rounded once") {
  const auto run = []<class T>(T) {
    const std::vector<double> a = random_array(4, 4, 1), b = random_array(4, 2, 2);
    ebb::cell_array x = cells<T>(a), y = cells<T>(b);
    std::vector<hyper_dual> rounded_a, rounded_b;
    for (ebb::cell c : x) rounded_a.push_back({number<T>(c)});
    for (ebb::cell c : y) rounded_b.push_back({number<T>(c)});
    const ebb::graph g = ebb::trace_of<decltype(solve), ebb::term<T, 4, 4>, ebb::term<T, 4, 2>>::make();
    const auto want = solved(4, 2, rounded_a, rounded_b);
    const auto got = ebb::evaluate(g, {x, y}, {});
    for (int i = 0; i < 8; ++i)  // float's error is far below half a unit here
      CHECK(got[0][i] == ebb::to_cell(T(static_cast<float>(want[static_cast<std::size_t>(i)].v))));
  };
  run(ebb::bfloat16{});
  run(ebb::float16{});
}

TEST_CASE("a system of integers is converted to float") {
  const auto f = [](auto a) { return ebb::inverse(a); };
  const ebb::graph g = ebb::trace_of<decltype(f), ebb::term<int, 2, 2>>::make();
  CHECK(g.op(g.out[0]).result == ebb::dtype::f32);
  const auto r = ebb::evaluate(g, {{ebb::to_cell(0), ebb::to_cell(2), ebb::to_cell(-4), ebb::to_cell(2)}}, {});
  const float want[] = {0.25f, -0.25f, 0.5f, 0};
  for (int i = 0; i < 4; ++i) CHECK(ebb::from_cell<float>(r[0][i]) == want[i]);
}

/// solve on these shapes of a and b; each of the `count` systems of the result is made of matrix a_of(i) and right side b_of(i).
template <class A, class B>
void check_batches(ebb::extent_list ea, ebb::extent_list eb, ebb::extent_list result, int m, int count, auto a_of, auto b_of) {
  constexpr int n = 3;
  const ebb::graph g = ebb::trace_of<decltype(solve), A, B>::make();
  std::vector<double> a, b;
  for (int i = 0; i < static_cast<int>(ea.volume()) / (n * n); ++i)
    for (double x : random_array(n, n, i)) a.push_back(x);
  for (int i = 0; i < static_cast<int>(eb.volume()) / (n * m); ++i)
    for (double x : random_array(n, m, 50 + i)) b.push_back(x);
  const auto symbols = ebb::symbol_values(g, {ea, eb});
  const ebb::extent_list given = ebb::extents_at(g.shape_of(g.out[0]), symbols.data());
  REQUIRE(given.rank == result.rank);
  for (int i = 0; i < given.rank; ++i) CHECK(given.e[i] == result.e[i]);
  const auto got = ebb::evaluate(g, {cells<double>(a), cells<double>(b)}, symbols);
  REQUIRE(got[0].size() == count * n * m);
  for (int i = 0; i < count; ++i) {
    const auto part = [](const std::vector<double>& x, int number, int size) {
      return std::vector<hyper_dual>(x.begin() + number * size, x.begin() + (number + 1) * size);
    };
    const auto want = solved(n, m, part(a, a_of(i), n * n), part(b, b_of(i), n * m));
    for (int j = 0; j < n * m; ++j)
      CHECK(std::fabs(number<double>(got[0][i * n * m + j]) - want[static_cast<std::size_t>(j)].v) < 1e-14L);
  }
}

TEST_CASE("leading axes of a system are batches") {
  using d = double;
  const auto same = [](int i) { return i; };
  const auto first = [](int) { return 0; };
  check_batches<ebb::term<d, 2, 3, 3>, ebb::term<d, 2, 3, 4>>(extents({2, 3, 3}), extents({2, 3, 4}), extents({2, 3, 4}), 4, 2, same, same);
  check_batches<ebb::term<d, dyn, 3, 3>, ebb::term<d, dyn, 3, dyn>>(extents({2, 3, 3}), extents({2, 3, 1}), extents({2, 3, 1}), 1, 2,
                                                                   same, same);
  check_batches<ebb::term<d, 2, 3, 3>, ebb::term<d, 3, 2>>(extents({2, 3, 3}), extents({3, 2}), extents({2, 3, 2}), 2, 2, same, first);
  check_batches<ebb::term<d, 2, 1, 3, 3>, ebb::term<d, 2, 3, 2>>(extents({2, 1, 3, 3}), extents({2, 3, 2}), extents({2, 2, 3, 2}), 2, 4,
                                                               [](int i) { return i / 2; }, [](int i) { return i % 2; });
  // One vector for each matrix, or one for all.
  check_batches<ebb::term<d, 2, 3, 3>, ebb::term<d, 2, 3>>(extents({2, 3, 3}), extents({2, 3}), extents({2, 3}), 1, 2, same, same);
  check_batches<ebb::term<d, dyn, 3, 3>, ebb::term<d, dyn, dyn>>(extents({2, 3, 3}), extents({2, 3}), extents({2, 3}), 1, 2, same, same);
  check_batches<ebb::term<d, 2, 3, 3>, ebb::term<d, 3>>(extents({2, 3, 3}), extents({3}), extents({2, 3}), 1, 2, same, first);
  check_batches<ebb::term<d, 3, 3, 3>, ebb::term<d, 3, 3>>(extents({3, 3, 3}), extents({3, 3}), extents({3, 3}), 1, 3, same, same);
}

TEST_CASE("one matrix for a batch of right sides is factored once") {
  using d = double;
  const auto first = [](int) { return 0; };
  const auto same = [](int i) { return i; };
  check_batches<ebb::term<d, 3, 3>, ebb::term<d, 2, 3, 4>>(extents({3, 3}), extents({2, 3, 4}), extents({2, 3, 4}), 4, 2, first, same);
  check_batches<ebb::term<d, dyn, dyn>, ebb::term<d, 2, dyn, 3, dyn>>(extents({3, 3}), extents({2, 2, 3, 2}), extents({2, 2, 3, 2}), 2, 4,
                                                                     first, same);
  const ebb::graph g = ebb::trace_of<decltype(solve), ebb::term<d, 3, 3>, ebb::term<d, 5, 3, 2>>::make();
  for (int k = 0; k < g.size(); ++k)
    if (g.op(k).what == ebb::kind::solve) CHECK(g.shape_of(k).rank == 2);

  // Also if a pass makes the batch: for a jacobian or for map.
  const auto f = [](auto a, auto rows) { return ebb::map([](auto row, auto m) { return ebb::solve(m, row); }, rows, ebb::whole(a)); };
  const ebb::graph mapped = ebb::trace_of<decltype(f), ebb::term<d, dyn, dyn>, ebb::term<d, dyn, 3>>::make();
  REQUIRE_FALSE(ebb::first_error(mapped));
  for (int k = 0; k < mapped.size(); ++k)
    if (mapped.op(k).what == ebb::kind::solve) CHECK(mapped.shape_of(k).rank == 2);
  const std::vector<double> a = random_array(3, 3, 1), rows = random_array(4, 3, 2);
  const auto got = ebb::evaluate(mapped, {cells<d>(a), cells<d>(rows)}, ebb::symbol_values(mapped, {extents({3, 3}), extents({4, 3})}));
  for (int i = 0; i < 4; ++i) {
    const auto want = solved(3, 1, {a.begin(), a.end()}, {rows.begin() + 3 * i, rows.begin() + 3 * (i + 1)});
    for (int j = 0; j < 3; ++j) CHECK(std::fabs(number<d>(got[0][3 * i + j]) - want[static_cast<std::size_t>(j)].v) < 1e-14L);
  }
}

TEST_CASE("a system with a transposed matrix is solved without a transpose") {
  const ebb::graph g = ebb::prune(ebb::trace_of<decltype(solve_transposed), ebb::term<float, 3, 3>, ebb::term<float, 3>>::make());
  for (int k = 0; k < g.size(); ++k) CHECK(g.op(k).name != "permute");
}

TEST_CASE("a solution saves the matrix and the solution, an inverse saves the inverse") {
  const ebb::graph s = ebb::joint(ebb::trace_of<decltype(solve), ebb::term<float, 3, 3>, ebb::term<float, 3, 2>>::make(), {0, 1});
  for (int k = 0; k < s.size(); ++k)
    for (int i : s.operands(k)) CHECK((i != s.input(1) || k == s.out[0]));
  const ebb::graph v = ebb::joint(ebb::trace_of<decltype(inverse_only), ebb::term<float, 3, 3>, ebb::term<float, 3, 1>>::make(), {0});
  int solves = 0;
  for (int k = 0; k < v.size(); ++k) solves += v.op(k).what == ebb::kind::solve;
  CHECK(solves == 1);
}

TEST_CASE("a solution has its derivative along a direction") {
  const ebb::graph g = ebb::push_forward(ebb::trace_of<decltype(solve), ebb::term<double, 3, 3>, ebb::term<double, 3, 2>>::make(), {0, 1});
  const std::vector<double> a = random_array(3, 3, 1), b = random_array(3, 2, 2), u = random_array(3, 3, 3), v = random_array(3, 2, 4);
  const auto got = ebb::evaluate(g, {cells<double>(a), cells<double>(b), cells<double>(u), cells<double>(v)}, {});
  std::vector<hyper_dual> x, y;
  for (std::size_t i = 0; i < 9; ++i) x.push_back({a[i], u[i]});
  for (std::size_t i = 0; i < 6; ++i) y.push_back({b[i], v[i]});
  const auto want = solved(3, 2, x, y);
  for (int i = 0; i < 6; ++i) CHECK(std::fabs(number<double>(got[1][i]) - want[static_cast<std::size_t>(i)].a) < 1e-13L);
}

TEST_CASE("a singular matrix is an error, not an array of infinities") {
  const ebb::graph g = ebb::trace_of<decltype(solve), ebb::term<float, 2, 2>, ebb::term<float, 2>>::make();
  const std::string said = test::raised([&] { ebb::evaluate(g, {cells<float>({1, 2, 2, 4}), cells<float>({1, 1})}, {}); });
  CHECK(said == "ebb::evaluate: solve: a matrix is singular");
}

}  // namespace

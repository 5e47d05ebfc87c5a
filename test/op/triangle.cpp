// test/op/triangle.cpp — Cholesky factors, triangular systems and log-determinants against recorded values and hyper-dual numbers.
// SPDX-License-Identifier: BSL-1.0
#include "golden.hpp"
#include "hyper_dual.hpp"

#include <ebb/graph/print.hpp>
#include <ebb/graph/valid.hpp>

#include <functional>
#include <random>

namespace {

using ebb::dyn;
using golden::of;
using golden::real;
using test::hyper_dual;

constexpr auto cholesky = [](auto a) { return ebb::cholesky(a); };
constexpr auto factored_logdet = [](auto a) { return ebb::logdet_spd(a); };
constexpr auto lower = [](auto t, auto b) { return ebb::solve_triangular(t, b); };
constexpr auto upper = [](auto t, auto b) { return ebb::solve_triangular(t, b, ebb::upper); };
constexpr auto right = [](auto t, auto b) { return ebb::solve_triangular(t, b, ebb::from_right); };
constexpr auto unit = [](auto t, auto b) { return ebb::solve_triangular(t, b, ebb::unit_diagonal); };
constexpr auto of_spd = [](auto a, auto b) { return ebb::cholesky_solve(b, ebb::cholesky(a)); };
constexpr auto logdet = [](auto a) { return ebb::logdet(a); };
constexpr auto signed_logdet = [](auto a) { return ebb::slogdet(a); };

/// Adds a multiple of the identity to a matrix.
template <int By>
struct plus_identity {
  template <class T>
  static constexpr auto apply(ebb::operand<T> x) {
    const auto row = ebb::index_along<int>(*x.g, x.shape_number(), x.rank() - 2);
    const auto column = ebb::index_along<int>(*x.g, x.shape_number(), x.rank() - 1);
    return ebb::emit_on<ebb::op::where>({}, ebb::emit_on<ebb::op::equal>({}, row, column), x + By, x);
  }
};
struct swap_last {
  static constexpr auto apply(auto x) { return ebb::transposed_matrix(x); }
};
template <int By>
constexpr auto gram = [](auto x) {
  return ebb::cholesky(ebb::call<plus_identity<By>>{}(ebb::matmul(x, ebb::call<swap_last>{}(x))));
};
constexpr auto mahalanobis = [](auto x, auto b) {
  return ebb::sum(ebb::square(ebb::solve_triangular(ebb::cholesky((x + ebb::transpose(x)) / 2), b)));
};

TEST_CASE("factors and triangular systems give PyTorch's recorded values") {
  // Bounds are in units of the largest element: the condition number of these matrices is below 50.
  const golden::bounds b{.value = 32, .grad = 256, .second = 1024, .spread = true};
  using any = of<real, dyn, dyn>;
  for (const char* size : {"2", "3", "5", "8"}) {
    const auto check = [&]<class... A>(const char* name, auto f, std::type_identity<A>...) {
      golden::check<A...>("linear", std::string(name) + size, f, b);
    };
    const std::type_identity<any> m;
    check("cholesky_", cholesky, m);
    check("cholesky_logdet_", factored_logdet, m);
    check("solve_triangular_lower_", lower, m, m);
    check("solve_triangular_upper_", upper, m, m);
    check("solve_triangular_right_", right, m, m);
    check("solve_triangular_unit_", unit, m, m);
    check("cholesky_solve_", of_spd, m, m);
    check("logdet_", logdet, m);
    check("slogdet_", signed_logdet, m);
  }
  // x x^T + 2, and x x^T + 1.
  golden::check<of<real, 2, 3, 3>>("linear", "cholesky_batched", gram<2>, b);
  golden::check<of<real, dyn, dyn, dyn>>("linear", "cholesky_batched", gram<2>, b);
  golden::check_traced("ops2", "cholesky_batched", "", ebb::trace_of<decltype(gram<1>), ebb::term<double, 2, dyn, 2, 2>>::make(), b);
  golden::check<of<real, 2, 2>>("linear", "logdet_negative", logdet, {.sign_is_open = true});
}

template <std::size_t... E>
using wide = ebb::term<double, E...>;
template <class... A>
void of_breadth(const char* name, auto f,
                golden::bounds b = {.value = 32, .grad = 256, .second = 2048, .second_floor = 1, .spread = true}) {
  golden::check_traced("ops2", name, "", ebb::trace_of<decltype(f), A...>::make(), b);
}

TEST_CASE("second derivatives of factors and triangular systems give PyTorch's recorded values") {
  const auto factor = [](auto x) { return ebb::cholesky((x + ebb::transpose(x)) / 2); };
  const auto log_of = [](auto x) { return ebb::logdet_spd((x + ebb::transpose(x)) / 2); };
  const auto squares = [](auto t, auto b) { return ebb::sum(ebb::square(ebb::solve_triangular(t, b))); };
  const auto transposed = [](auto t, auto b) { return ebb::solve_triangular(t, b, ebb::taken_transposed); };
  const auto looked_through = [](auto t, auto b) { return ebb::solve_triangular(ebb::transpose(t), b, ebb::upper); };
  const auto log_size = [](auto x) { return std::get<1>(ebb::slogdet(x)); };
  of_breadth<wide<3, 3>>("cholesky_3", factor);
  of_breadth<wide<dyn, dyn>>("cholesky_6", factor);
  of_breadth<wide<3, 3>>("logdet_spd_3", log_of);
  of_breadth<wide<dyn, dyn>>("logdet_spd_6", log_of);
  of_breadth<wide<3, 3>, wide<3>>("mahalanobis_3", mahalanobis);
  of_breadth<wide<dyn, dyn>, wide<dyn>>("mahalanobis_6", mahalanobis);
  of_breadth<wide<3, 3>, wide<3, 2>>("solve_triangular_second_3", squares);
  of_breadth<wide<dyn, dyn>, wide<dyn, dyn>>("solve_triangular_second_6", squares);
  of_breadth<wide<3, 3>>("slogdet_second_3", log_size);
  of_breadth<wide<dyn, dyn>>("slogdet_second_6", log_size);
  for (const char* name : {"solve_triangular_transposed_3", "solve_triangular_transposed_6"}) {
    of_breadth<wide<dyn, dyn>, wide<dyn, dyn>>(name, transposed);
    of_breadth<wide<dyn, dyn>, wide<dyn, dyn>>(name, looked_through);
  }
}

/// The definitions in hyper-dual long double, row by row: another order than the library's.
using matrix = std::vector<hyper_dual>;
hyper_dual& at(matrix& a, int width, int i, int j) { return a[static_cast<std::size_t>(i * width + j)]; }
hyper_dual root(hyper_dual x) {
  const long double r = std::sqrt(x.v);
  return test::chain(x, r, 0.5L / r, -0.25L / (r * x.v));
}
matrix factor_of(int n, matrix a) {
  matrix l(a.size());
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      hyper_dual s = at(a, n, i, j);
      for (int k = 0; k < j; ++k) s = s - at(l, n, i, k) * at(l, n, j, k);
      at(l, n, i, j) = i == j ? root(s) : s / at(l, n, j, j);
    }
  return l;
}
matrix solved(int n, int m, matrix t, matrix b, bool is_upper, bool is_unit) {
  for (int step = 0; step < n; ++step) {
    const int i = is_upper ? n - 1 - step : step;
    for (int j = 0; j < m; ++j) {
      for (int k = is_upper ? i + 1 : 0; k < (is_upper ? n : i); ++k) at(b, m, i, j) = at(b, m, i, j) - at(t, n, i, k) * at(b, m, k, j);
      if (!is_unit) at(b, m, i, j) = at(b, m, i, j) / at(t, n, i, i);
    }
  }
  return b;
}

ebb::extent_list extents(std::initializer_list<std::size_t> e) {
  ebb::extent_list r;
  for (std::size_t x : e) r.e[r.rank++] = x;
  return r;
}
ebb::cell_array cells(const std::vector<double>& x) {
  ebb::cell_array r;
  for (double e : x) r.push(ebb::to_cell(e));
  return r;
}

/// f(a, b) of n x n and n x m against the oracle: value, gradients of a weighted sum, and one row of second derivatives.
template <class F>
void against_duals(const char* name, F, int n, int m, const std::function<matrix(const matrix&, const matrix&)>& oracle) {
  INFO(name);
  std::mt19937_64 next(static_cast<std::uint64_t>(n * 10 + m));
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<double> a, b;
  for (int i = 0; i < n * n; ++i) a.push_back(number(next) / n + (i % (n + 1) == 0 ? 2 : 0));
  for (int i = 0; i < n * m; ++i) b.push_back(number(next));
  ebb::graph g = ebb::joint(ebb::trace_of<F, wide<dyn, dyn>, wide<dyn, dyn>>::make(), {0, 1});
  const int from = g.out[1];
  const auto second = ebb::pull_back(g, {g.input(0), g.input(1)}, {from}, {g.op(from).kit->literal(g, g.eq[from].shape, 1)});
  for (int j = 0; j < 2; ++j) g.out.push(ebb::or_zeros(g, second[j], g.input(j)));
  REQUIRE_FALSE(ebb::first_error(g));
  const matrix value = oracle(matrix(a.begin(), a.end()), matrix(b.begin(), b.end()));
  std::vector<double> weights;
  for (std::size_t i = 0; i < value.size(); ++i) weights.push_back(number(next));
  const auto un = static_cast<std::size_t>(n), um = static_cast<std::size_t>(m);
  const auto out = ebb::evaluate(ebb::prune(g), {cells(a), cells(b), cells(weights)},
                                 ebb::symbol_values(g, {extents({un, un}), extents({un, um})}));
  for (std::size_t i = 0; i < value.size(); ++i)
    CHECK(std::fabs(ebb::from_cell<double>(out[0][static_cast<int>(i)]) - value[i].v) < 1e-14L);
  for (const bool of_b : {false, true})
    for (std::size_t i = 0; i < (of_b ? b : a).size(); ++i) {
      matrix x(a.begin(), a.end()), y(b.begin(), b.end());
      for (hyper_dual& e : x) e.a = 1;
      (of_b ? y : x)[i].b = 1;
      hyper_dual sum;
      const matrix r = oracle(x, y);
      for (std::size_t k = 0; k < r.size(); ++k) sum = sum + weights[k] * r[k];
      CHECK(std::fabs(ebb::from_cell<double>(out[1 + of_b][static_cast<int>(i)]) - sum.b) < 1e-13L);
      CHECK(std::fabs(ebb::from_cell<double>(out[3 + of_b][static_cast<int>(i)]) - sum.c) < 1e-12L);
    }
}

TEST_CASE("factors and triangular systems have the first and second derivatives of hyper-dual numbers in long double") {
  for (const int n : {1, 2, 5})
    for (const int m : {1, 3}) {
      const auto triangle = [=](bool is_upper, bool is_unit) {
        return [=](const matrix& a, const matrix& b) { return solved(n, m, a, b, is_upper, is_unit); };
      };
      against_duals("lower", lower, n, m, triangle(false, false));
      against_duals("upper", upper, n, m, triangle(true, false));
      against_duals("unit", unit, n, m, triangle(false, true));
      against_duals("upper, unit, transposed twice", [](auto t, auto b) {
        return ebb::solve_triangular(ebb::transpose(t), b, ebb::taken_transposed, ebb::unit_diagonal);
      }, n, m, triangle(true, true));
      // The library's gradient is that of the symmetric part.
      against_duals("cholesky", [](auto a, auto b) { return ebb::cholesky_solve(b, ebb::cholesky((a + ebb::transpose(a)) / 2)); }, n, m,
                    [=](const matrix& a, const matrix& b) {
                      matrix s = a, t = a;
                      for (int i = 0; i < n; ++i)
                        for (int j = 0; j < n; ++j) at(s, n, i, j) = 0.5 * (at(t, n, i, j) + at(t, n, j, i));
                      matrix l = factor_of(n, s);
                      for (int i = 0; i < n; ++i)
                        for (int j = 0; j < n; ++j) at(t, n, i, j) = at(l, n, j, i);
                      return solved(n, m, t, solved(n, m, l, b, false, false), true, false);
                    });
      against_duals("logdet", [](auto a, auto b) { return ebb::logdet(a) * b; }, n, m, [=](const matrix& a, const matrix& b) {
        // The product of the pivots: a is diagonally dominant.
        matrix u = a, r;
        hyper_dual sum;
        for (int k = 0; k < n; ++k) {
          for (int i = k + 1; i < n; ++i) {
            const hyper_dual f = at(u, n, i, k) / at(u, n, k, k);
            for (int j = k; j < n; ++j) at(u, n, i, j) = at(u, n, i, j) - f * at(u, n, k, j);
          }
          sum = sum + test::oracle(ebb::op::log{}, at(u, n, k, k));
        }
        for (hyper_dual e : b) r.push_back(sum * e);
        return r;
      });
    }
}

auto evaluated(const ebb::graph& g, const std::vector<std::vector<double>>& in, const std::vector<ebb::extent_list>& shapes) {
  ebb::vec<ebb::cell_array> arguments;
  ebb::vec<ebb::extent_list> extents;
  for (const auto& x : in) arguments.push(cells(x));
  for (const auto& e : shapes) extents.push(e);
  return ebb::evaluate(g, arguments, ebb::symbol_values(g, extents));
}
template <class F>
ebb::graph of_one(F) {
  return ebb::trace_of<F, wide<dyn, dyn>>::make();
}

TEST_CASE("a matrix that is not positive definite is an error or NaN; singular, empty and NaN matrices have their log-determinants") {
  const auto two = extents({2, 2});
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const std::vector<std::vector<double>> indefinite{{1, 0, 2, 4},   {0, 0, 0, 0},   {-1, 0, 0, 1},
                                                    {nan, 0, 0, 1}, {1, 0, nan, 1}, {1, 0, inf, 1}};
  for (const std::vector<double>& a : indefinite) {
    CHECK(test::raised([&] { evaluated(of_one(cholesky), {a}, {two}); }) == "ebb::evaluate: cholesky: a matrix is not positive definite");
    const auto r = evaluated(of_one([](auto x) { return ebb::cholesky(x, ebb::nan_if_not); }), {a}, {two});
    for (int i : {0, 2, 3}) CHECK(std::isnan(ebb::from_cell<double>(r[0][i])));
    CHECK(ebb::from_cell<double>(r[0][1]) == 0);
  }
  // The upper triangle is not read.
  const auto l = evaluated(of_one(cholesky), {{4, nan, 2, 10}}, {two});
  for (const auto& [i, want] : {std::pair(0, 2.), {1, 0.}, {2, 1.}, {3, 3.}}) CHECK(ebb::from_cell<double>(l[0][i]) == want);
  CHECK(evaluated(of_one(cholesky), {{}}, {extents({0, 0})})[0].size() == 0);
  CHECK(ebb::from_cell<double>(evaluated(of_one(factored_logdet), {{}}, {extents({0, 0})})[0][0]) == 0);
  CHECK(ebb::from_cell<double>(evaluated(of_one(logdet), {{}}, {extents({0, 0})})[0][0]) == 0);

  // A 0 on the diagonal gives infinities, not an error.
  const auto x = evaluated(ebb::trace_of<std::remove_const_t<decltype(lower)>, wide<dyn, dyn>, wide<dyn, dyn>>::make(),
                           {{0, 0, 1, 2}, {1, 1}}, {two, extents({2, 1})});
  CHECK(ebb::from_cell<double>(x[0][0]) == inf);
  CHECK(ebb::from_cell<double>(x[0][1]) == -inf);

  const auto singular = evaluated(of_one(signed_logdet), {{1, 2, 2, 4}}, {two});
  CHECK(ebb::from_cell<double>(singular[0][0]) == 0);
  CHECK(ebb::from_cell<double>(singular[1][0]) == -inf);
  CHECK(ebb::from_cell<double>(evaluated(of_one(logdet), {{1, 2, 2, 4}}, {two})[0][0]) == -inf);
  const auto swapped = evaluated(of_one(signed_logdet), {{0, 1, 1, 0}}, {two});
  CHECK(ebb::from_cell<double>(swapped[0][0]) == -1);
  CHECK(ebb::from_cell<double>(swapped[1][0]) == 0);
  const auto unknown = evaluated(of_one(signed_logdet), {{nan, 1, 1, 0}}, {two});
  CHECK(std::isnan(ebb::from_cell<double>(unknown[0][0])));
  CHECK(std::isnan(ebb::from_cell<double>(unknown[1][0])));
}

TEST_CASE("the log-determinant of a singular matrix has an infinite gradient and NaN as its second derivative, and other matrices theirs") {
  const auto sizes = [](auto a) { return ebb::sum(std::get<1>(ebb::slogdet(a))); };
  ebb::graph g = ebb::joint(ebb::trace_of<decltype(sizes), wide<dyn, 2, 2>>::make(), {0});
  const int from = g.out[1];
  const auto second = ebb::pull_back(g, {g.input(0)}, {from}, {g.op(from).kit->literal(g, g.eq[from].shape, 1)});
  g.out.push(second[0]);
  REQUIRE_FALSE(ebb::first_error(g));
  const auto out = ebb::evaluate(ebb::prune(g), {cells({1, 2, 2, 4, 4, 2, 3, 2, 0, 0, 0, 0}), cells({1})},
                                 ebb::symbol_values(g, {extents({3, 2, 2})}));
  const double inf = std::numeric_limits<double>::infinity();
  const auto number = [&](int of, int i) { return ebb::from_cell<double>(out[of][i]); };
  CHECK(number(0, 0) == -inf);
  // The transposed inverse of (4, 2; 3, 2), and minus the product of that, of ones, and of that.
  const double regular[] = {1, -1.5, -1, 2}, of_regular[] = {0, 0.25, 0, -0.5};
  for (int i = 0; i < 4; ++i) {
    CHECK(number(1, i) == inf);
    CHECK(number(1, 4 + i) == regular[i]);
    CHECK(number(2, 4 + i) == of_regular[i]);
    CHECK(number(1, 8 + i) == inf);
    CHECK(std::isnan(number(2, i)));
    CHECK(std::isnan(number(2, 8 + i)));
  }
}

TEST_CASE("a triangular system with a 0 on its diagonal has the infinities of its formula as derivatives, or is an error with a tag") {
  const auto sum_of = [](auto t, auto b) { return ebb::sum(ebb::solve_triangular(t, b)); };
  const double inf = std::numeric_limits<double>::infinity();
  const ebb::graph g = ebb::joint(ebb::trace_of<decltype(sum_of), wide<dyn, dyn>, wide<dyn, dyn>>::make(), {0, 1});
  const auto run = [](const ebb::graph& f, const std::vector<double>& t, const std::vector<std::vector<double>>& more) {
    std::vector<std::vector<double>> in{t, {1, 1}};
    in.insert(in.end(), more.begin(), more.end());
    return evaluated(f, in, {extents({2, 2}), extents({2, 1})});
  };
  const auto out = run(g, {0, 0, 1, 2}, {{1}});
  // PyTorch 2.13 has the same numbers.
  const double of_t[] = {-inf, 0, -inf, inf}, of_b[] = {inf, 0.5};
  for (int i = 0; i < 4; ++i) CHECK(ebb::from_cell<double>(out[1][i]) == of_t[i]);
  for (int i = 0; i < 2; ++i) CHECK(ebb::from_cell<double>(out[2][i]) == of_b[i]);
  const auto checked = [](auto t, auto b) { return ebb::solve_triangular(t, b, ebb::error_if_singular); };
  const auto of_unit = [](auto t, auto b) { return ebb::solve_triangular(t, b, ebb::unit_diagonal, ebb::error_if_singular); };
  const ebb::graph c = ebb::trace_of<decltype(checked), wide<dyn, dyn>, wide<dyn, dyn>>::make();
  CHECK(test::raised([&] { run(c, {1, 0, 1, 0}, {}); }) == "ebb::evaluate: solve_triangular: a matrix is singular");
  CHECK(ebb::from_cell<double>(run(c, {1, 0, 1, 2}, {})[0][1]) == 0);
  CHECK(ebb::from_cell<double>(run(ebb::trace_of<decltype(of_unit), wide<dyn, dyn>, wide<dyn, dyn>>::make(), {0, 0, 3, 0}, {})[0][1]) ==
        -2);
}

TEST_CASE("one factor serves its three uses, and a triangular system is printed with its tags") {
  const auto likelihood = [](auto k, auto y) {
    const auto l = ebb::cholesky(k);
    return ebb::sum(y * ebb::cholesky_solve(y, l)) + ebb::logdet_spd(k);
  };
  const ebb::graph g = ebb::joint(ebb::trace_of<decltype(likelihood), wide<dyn, dyn>, wide<dyn>>::make(), {0});
  int factors = 0;
  for (int k = 0; k < g.size(); ++k) factors += g.op(k).what == ebb::kind::factor;
  CHECK(factors == 1);
  const auto f = [](auto t, auto b) {
    return ebb::solve_triangular(t, ebb::solve_triangular(t, b, ebb::upper, ebb::unit_diagonal, ebb::taken_transposed));
  };
  CHECK(ebb::to_string(ebb::trace_of<decltype(f), ebb::term<float, 2, 2>, ebb::term<float, 2, 3>>::make()) ==
        "a = input 0 : f32[2, 2]\nb = input 1 : f32[2, 3]\nc = solve_triangular a^T b upper unit : f32[2, 3]\n"
        "d = solve_triangular a c lower : f32[2, 3]\nreturn d\n");
}

}  // namespace

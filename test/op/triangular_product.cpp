// test/op/triangular_product.cpp — products with triangles: shapes, values and derivatives against hyper-dual numbers, batches of graphs.
// SPDX-License-Identifier: BSL-1.0
// covers: triangular_product.hpp graph/batch.hpp
#include "../catch.hpp"
#include "hyper_dual.hpp"

#include <ebb/exec/evaluate.hpp>
#include <ebb/graph/print.hpp>
#include <ebb/graph/valid.hpp>
#include <ebb/pass/pipeline.hpp>
#include <ebb/trace/trace.hpp>

#include <random>
#include <string>
#include <vector>

namespace {

using ebb::dyn;
using test::hyper_dual;
using matrix = std::vector<hyper_dual>;

template <std::size_t... E>
using wide = ebb::term<double, E...>;

template <bool Upper, bool Unit>
constexpr auto triangle_of(auto q) {
  if constexpr (Upper && Unit) return ebb::upper(q, ebb::unit_diagonal);
  else if constexpr (Upper) return ebb::upper(q);
  else if constexpr (Unit) return ebb::lower(q, ebb::unit_diagonal);
  else return ebb::lower(q);
}
/// matmul(triangle, x), matmul(x, triangle) and those of the transposed triangle.
template <bool Upper, bool Unit, bool Transposed, bool Right>
struct product {
  static constexpr auto operator_of(auto q) {
    if constexpr (Transposed) return ebb::transpose(triangle_of<Upper, Unit>(q));
    else return triangle_of<Upper, Unit>(q);
  }
  constexpr auto operator()(auto q, auto x) const {
    if constexpr (Right) return ebb::matmul(x, operator_of(q));
    else return ebb::matmul(operator_of(q), x);
  }
};

ebb::cell_array cells(const std::vector<double>& x) {
  ebb::cell_array r;
  for (double e : x) r.push(ebb::to_cell(e));
  return r;
}
ebb::extent_list extents(std::initializer_list<std::size_t> e) {
  ebb::extent_list r;
  for (std::size_t x : e) r.e[r.rank++] = x;
  return r;
}

/// The definition, with zeros in place of the other triangle: `count` products of q [n, n], or of one for each, and x.
matrix definition(bool upper, bool unit, bool transposed, bool right, int n, int m, int count, bool shared, const matrix& q,
                  const matrix& x) {
  matrix r;
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  for (int b = 0; b < count; ++b) {
    const auto of_q = [&](int i, int j) {
      if (transposed) std::swap(i, j);
      if (unit && i == j) return hyper_dual{1};
      return (upper ? j >= i : j <= i) ? q[at((shared ? 0 : b * n * n) + i * n + j)] : hyper_dual{};
    };
    const int rows = right ? m : n, columns = right ? n : m;
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) {
        hyper_dual sum;
        for (int p = 0; p < n; ++p) {
          const hyper_dual of_x = x[at(b * n * m + (right ? i * n + p : p * m + j))];
          sum = sum + (right ? of_x * of_q(p, j) : of_q(i, p) * of_x);
        }
        r.push_back(sum);
      }
  }
  return r;
}

/// f(q, x) against the oracle: value, gradients of a weighted sum, and one row of second derivatives. Bounds are a few ulp of the sums.
template <class Q, class X, class F>
void against_duals(F, const ebb::extent_list& of_q, const ebb::extent_list& of_x, auto&& oracle) {
  std::mt19937_64 next(of_q.volume() * 64 + of_x.volume());
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<double> q(of_q.volume()), x(of_x.volume()), weights(2 * x.size());  // one for each element of the result, or more
  for (std::vector<double>* all : {&q, &x, &weights})
    for (double& e : *all) e = number(next);
  ebb::graph g = ebb::joint(ebb::trace_of<F, Q, X>::make(), {0, 1});
  const auto second = ebb::pull_back(g, {g.input(0), g.input(1)}, {g.out[1]}, {g.op(g.out[1]).kit->literal(g, g.eq[g.out[1]].shape, 1)});
  for (int j = 0; j < 2; ++j) g.out.push(ebb::or_zeros(g, second[j], g.input(j)));
  REQUIRE_FALSE(ebb::first_error(g));
  ebb::vec<ebb::extent_list> given;
  given.push(of_q);
  given.push(of_x);
  const matrix value = oracle(matrix(q.begin(), q.end()), matrix(x.begin(), x.end()));
  weights.resize(value.size());
  const auto out = ebb::evaluate(ebb::prune(g), {cells(q), cells(x), cells(weights)}, ebb::symbol_values(g, given));
  const auto number_of = [&](int k, std::size_t i) { return ebb::from_cell<double>(out[k][static_cast<int>(i)]); };
  REQUIRE(static_cast<int>(value.size()) == out[0].size());
  for (std::size_t i = 0; i < value.size(); ++i) CHECK(std::fabs(number_of(0, i) - value[i].v) < 1e-14L);
  for (const bool of_second : {false, true})
    for (std::size_t i = 0; i < (of_second ? x : q).size(); ++i) {
      matrix a(q.begin(), q.end()), b(x.begin(), x.end());
      for (hyper_dual& e : a) e.a = 1;
      (of_second ? b : a)[i].b = 1;
      hyper_dual sum;
      const matrix r = oracle(a, b);
      for (std::size_t k = 0; k < r.size(); ++k) sum = sum + weights[k] * r[k];
      CHECK(std::fabs(number_of(1 + of_second, i) - sum.b) < 1e-13L);
      CHECK(std::fabs(number_of(3 + of_second, i) - sum.c) < 1e-13L);
    }
}

template <int Which>
void one_form() {
  constexpr bool upper = Which & 1, unit = Which & 2, transposed = Which & 4, right = Which & 8;
  CAPTURE(upper, unit, transposed, right);
  using f = product<upper, unit, transposed, right>;
  const auto oracle = [](int n, int m, int count, bool shared) {
    return [=](const matrix& q, const matrix& x) { return definition(upper, unit, transposed, right, n, m, count, shared, q, x); };
  };
  for (const std::size_t n : {1u, 2u, 5u})
    for (const std::size_t m : {1u, 3u})
      against_duals<wide<dyn, dyn>, wide<dyn, dyn>>(f{}, extents({n, n}), right ? extents({m, n}) : extents({n, m}),
                                                    oracle(static_cast<int>(n), static_cast<int>(m), 1, true));
  using known = std::conditional_t<right, wide<4, 3>, wide<3, 4>>;
  against_duals<wide<3, 3>, known>(f{}, extents({3, 3}), right ? extents({4, 3}) : extents({3, 4}), oracle(3, 4, 1, true));
  against_duals<wide<dyn, dyn>, wide<dyn>>(f{}, extents({4, 4}), extents({4}), oracle(4, 1, 1, true));
  // One matrix for a batch, one for each, and a vector for each of a batch of matrices.
  against_duals<wide<dyn, dyn>, wide<dyn, dyn, dyn>>(f{}, extents({3, 3}), right ? extents({2, 4, 3}) : extents({2, 3, 4}),
                                                     oracle(3, 4, 2, true));
  using batch = std::conditional_t<right, wide<dyn, 2, 3>, wide<dyn, 3, 2>>;
  against_duals<wide<2, 3, 3>, batch>(f{}, extents({2, 3, 3}), right ? extents({2, 2, 3}) : extents({2, 3, 2}), oracle(3, 2, 2, false));
  against_duals<wide<2, 3, 3>, wide<3>>(f{}, extents({2, 3, 3}), extents({3}), [&](const matrix& q, const matrix& x) {
    matrix twice = x;
    twice.insert(twice.end(), x.begin(), x.end());
    return oracle(3, 1, 2, false)(q, twice);
  });
}

TEST_CASE("products with triangles have the values and derivatives of hyper-dual numbers in long double") {
  [&]<int... Which>(std::integer_sequence<int, Which...>) { (one_form<Which>(), ...); }(std::make_integer_sequence<int, 16>{});
}

TEST_CASE("the triangle of a transposed matrix is the other triangle of the matrix, and is read in place") {
  const auto f = [](auto q, auto x) { return ebb::matmul(ebb::upper(ebb::transpose(q)), x); };
  CHECK(ebb::to_string(ebb::trace_of<decltype(f), ebb::term<float, 2, 2>, ebb::term<float, 2, 3>>::make()) ==
        "a = input 0 : f32[2, 2]\nb = input 1 : f32[2, 3]\nc = permute a by 1 0 : f32[2, 2]\n"
        "d = triangular_product a^T b lower : f32[2, 3]\nreturn d\n");
  const auto g = [](auto q, auto x) { return ebb::matmul(x, ebb::transpose(ebb::upper(q, ebb::unit_diagonal))); };
  CHECK(ebb::to_string(ebb::trace_of<decltype(g), ebb::term<float, 2, 2>, ebb::term<float, 3, 2>>::make()) ==
        "a = input 0 : f32[2, 2]\nb = input 1 : f32[3, 2]\nc = triangular_product a^T b upper unit from the right : f32[3, 2]\nreturn c\n");
  const auto twice = [](auto q, auto x) { return ebb::matmul(ebb::transpose(ebb::transpose(ebb::lower(q))), x); };
  const auto once = [](auto q, auto x) { return ebb::matmul(ebb::lower(q), x); };
  using any = wide<dyn, dyn>;
  CHECK(ebb::to_string(ebb::trace_of<decltype(twice), any, any>::make()) ==
        ebb::to_string(ebb::trace_of<decltype(once), any, any>::make()));
}

TEST_CASE("a triangle that all rows of a map share stays one matrix") {
  const auto products = [](const ebb::graph& g) {
    int n = 0;
    for (int k = 0; k < g.size(); ++k) {
      CHECK(g.op(k).what != ebb::kind::broadcast);
      if (g.op(k).what != ebb::kind::triangle) continue;
      ++n;
      CHECK(g.shape_of(g.operand(k, 0)).rank == 2);
    }
    return n;
  };
  const auto f = [](auto q, auto x) {
    return ebb::map(
        [](auto e, auto t) {
          return std::tuple(ebb::matmul(ebb::lower(t), e), ebb::matmul(ebb::transpose(e), ebb::upper(t)),
                            ebb::matmul(ebb::lower(t), ebb::sum<1>(e)));
        },
        x, ebb::whole(q));
  };
  CHECK(products(ebb::trace_of<decltype(f), wide<dyn, dyn>, wide<dyn, dyn, 3>>::make()) == 3);
  const auto inner = [](auto q, auto x) {
    return ebb::map(
        [](auto row, auto t) { return ebb::map([](auto e, auto s) { return ebb::matmul(ebb::lower(s), e); }, row, ebb::whole(t)); }, x,
        ebb::whole(q));
  };
  CHECK(products(ebb::trace_of<decltype(inner), wide<dyn, dyn>, wide<dyn, dyn, dyn>>::make()) == 1);
}

}  // namespace

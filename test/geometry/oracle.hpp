// test/geometry/oracle.hpp — rotations in hyper-dual numbers by their definitions: power series, products of quaternions.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../linalg/oracle.hpp"
#include "../op/hyper_dual.hpp"
#include "../same_bits.hpp"

#include <ebb/geometry.hpp>

#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>

namespace geometry_test {

using ebb::dyn;
using test::hyper_dual;
using duals = std::vector<hyper_dual>;
inline constexpr long double pi = 3.14159265358979323846264338327950288L;

/// The power series of c_k, and its derivatives by u, term by term.
inline hyper_dual stumpff(int k, hyper_dual u) {
  long double f = 0, d = 0, dd = 0, term = 1;
  for (int i = 2; i <= k; ++i) term /= i;
  long double power[3] = {1, 0, 0};  // u^j and its derivatives
  for (int j = 0; j < 90; ++j) {
    f += term * power[0], d += term * power[1], dd += term * power[2];
    power[2] = power[2] * u.v + 2 * power[1];
    power[1] = power[1] * u.v + power[0];
    power[0] *= u.v;
    term /= -static_cast<long double>((2 * j + k + 1) * (2 * j + k + 2));
  }
  return test::chain(u, f, d, dd);
}
/// atan2(sqrt p, w) / sqrt p: near p = 0 a series in p / w^2.
inline hyper_dual angle_ratio(hyper_dual p, hyper_dual w) {
  if (w.v > 0 && p.v < 0.01L * w.v * w.v) {
    const hyper_dual t = p / (w * w);
    hyper_dual sum;
    for (int j = 30; j-- > 0;) sum = hyper_dual{(j % 2 ? -1.0L : 1.0L) / (2 * j + 1)} + t * sum;
    return sum / w;
  }
  const hyper_dual s = oracle(ebb::op::sqrt{}, p);
  return oracle(ebb::op::atan2{}, s, w) / s;
}

inline hyper_dual dot(const duals& a, const duals& b) {
  hyper_dual sum;
  for (std::size_t i = 0; i < a.size(); ++i) sum = sum + a[i] * b[i];
  return sum;
}
inline duals scaled(duals a, hyper_dual by) {
  for (auto& x : a) x = by * x;
  return a;
}
inline duals part(const duals& a, std::size_t first, std::size_t count) {
  return {a.begin() + static_cast<std::ptrdiff_t>(first), a.begin() + static_cast<std::ptrdiff_t>(first + count)};
}
inline duals joined(duals a, const duals& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
/// Hamilton's table: unit i times unit j is sign[i][j] times unit i ^ j.
inline duals product(const duals& a, const duals& b) {
  constexpr int sign[4][4] = {{1, 1, 1, 1}, {1, -1, 1, -1}, {1, -1, -1, 1}, {1, 1, -1, -1}};
  duals r(4);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) r[i ^ j] = r[i ^ j] + static_cast<long double>(sign[i][j]) * (a[i] * b[j]);
  return r;
}
inline duals conjugate(const duals& q) { return {q[0], -q[1], -q[2], -q[3]}; }
inline duals rotated(const duals& q, const duals& v) {
  return part(product(product(q, joined({hyper_dual{}}, v)), conjugate(q)), 1, 3);
}
inline duals quaternion_exp(const duals& w) {
  const hyper_dual u = 0.25L * dot(w, w);
  return joined({stumpff(0, u)}, scaled(w, 0.5L * stumpff(1, u)));
}
inline duals quaternion_log(duals q) {
  if (q[0].v < 0) q = scaled(q, hyper_dual{-1});
  const duals v = part(q, 1, 3);
  return scaled(v, 2 * angle_ratio(dot(v, v), q[0]));
}

inline duals hat(const duals& w) {
  return {hyper_dual{}, -w[2], w[1], w[2], hyper_dual{}, -w[0], -w[1], w[0], hyper_dual{}};
}
/// The product of matrices with n columns and n rows.
inline duals matmul(const duals& a, const duals& b, std::size_t n) {
  const std::size_t rows = a.size() / n, columns = b.size() / n;
  duals r(rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      for (std::size_t k = 0; k < n; ++k) r[i * columns + j] = r[i * columns + j] + a[i * n + k] * b[k * columns + j];
  return r;
}
/// Sum of A^i / (i + shift)!: the exponential, and with shift 1 the left Jacobian.
inline duals power_series(const duals& a, std::size_t n, int shift) {
  duals term(n * n), sum(n * n);
  for (std::size_t i = 0; i < n; ++i) term[i * n + i] = {1};
  for (int i = 0; i < 80; ++i) {
    for (std::size_t k = 0; k < n * n; ++k) sum[k] = sum[k] + term[k];
    term = scaled(matmul(term, a, n), hyper_dual{1.0L / (i + 1 + shift)});
  }
  return sum;
}

/// Values, first and second derivatives of F, of one vector of n numbers, against those of `oracle`: of sum(w1 out1 + w2 out2 ...), and of
/// the sum of this gradient.
template <class Term, class F, class Oracle>
void against_duals(const char* name, F, const linalg_test::numbers& x, Oracle oracle, long double bound, long double second_bound) {
  INFO(name);
  const ebb::graph f = ebb::trace_of<F, Term>::make();
  const auto shape = linalg_test::extents_of({x.size()});
  const auto value = linalg_test::evaluated(f, {x}, {shape})[0];
  const auto weights = linalg_test::random_numbers(value.size(), 5);
  const auto results = linalg_test::evaluated(linalg_test::with_second_derivative(f), {x, weights}, {shape});
  const linalg_test::numbers &gradient = results[1], &hessian = results.back();
  for (std::size_t i = 0; i < x.size(); ++i) {
    duals at;
    for (std::size_t j = 0; j < x.size(); ++j) at.push_back({x[j], j == i ? 1.0L : 0.0L, 1, 0});
    const duals want = oracle(at);
    REQUIRE(want.size() == value.size());
    hyper_dual loss;
    for (std::size_t k = 0; k < want.size(); ++k) {
      if (i == 0) CHECK(linalg_test::within(bound, value[k], want[k].v));
      loss = loss + weights[k] * want[k];
    }
    CAPTURE(i, gradient[i], hessian[i]);
    CHECK(linalg_test::within(bound, gradient[i], loss.a));
    CHECK(linalg_test::within(second_bound, hessian[i], loss.c));
  }
}

/// F on a batch of vectors gives the same bits compiled, in map, and evaluated element by element; its gradient does on the tape too.
template <class T, class F>
void same_bits_everywhere(F f, const ebb::tensor<T, dyn, dyn>& x) {
  constexpr auto total = [](auto a) { return ebb::sum(F{}(a)); };
  const auto once = ebb::compile(f)(x), mapped = ebb::compile([](auto a) { return ebb::map(F{}, a); })(x);
  CHECK(test::same_bits(once, mapped));
  ebb::cell_array given;
  for (const auto e : x) given.push(ebb::to_cell(e));
  const ebb::graph g = ebb::lower(ebb::trace_of<F, ebb::term<T, dyn, dyn>>::make());
  const auto extents = linalg_test::extents_of({x.extent(0), x.extent(1)});
  CHECK((linalg_test::cells_of_results(once) == ebb::evaluate(g, {given}, ebb::symbol_values(g, {extents}))[0]));
  const auto slope = ebb::grad(total)(x);
  const ebb::variable<T, dyn, dyn> leaf(x);
  constexpr auto region = ebb::compile(total);
  ebb::backward(region(leaf));
  CHECK(test::same_bits(leaf.grad().value(), slope));
  CHECK(ebb::compile(f)(ebb::tensor<T, dyn, dyn>(0, x.extent(1))).size() == 0);
}

/// Some rows of random numbers.
template <class T>
ebb::tensor<T, dyn, dyn> random_rows(std::size_t rows, std::size_t columns, std::uint64_t key) {
  ebb::tensor<T, dyn, dyn> r(rows, columns);
  const auto x = linalg_test::random_numbers(rows * columns, key);
  for (std::size_t i = 0; i < x.size(); ++i) r.mutable_data()[i] = static_cast<T>(static_cast<float>(x[i]));
  return r;
}

/// F on rows of random numbers returns a tuple. A NaN in row 1 reaches row 1 of the results that depend on its column, no other result and
/// no other row; no rows give none. `columns` has a letter for each column of a row, `depends` the letters of each result.
template <class F>
void rows_apart(F f, const std::string& columns, const std::vector<std::string>& depends) {
  const auto x = random_rows<double>(3, columns.size(), 7);
  const auto call = ebb::compile(f);
  const auto want = call(x), none = call(ebb::tensor<double, dyn, dyn>(0, columns.size()));
  constexpr std::size_t count = std::tuple_size_v<std::remove_const_t<decltype(want)>>;
  REQUIRE(depends.size() == count);
  [&]<std::size_t... I>(std::index_sequence<I...>) { CHECK(((std::get<I>(none).size() == 0) && ...)); }(std::make_index_sequence<count>());
  for (std::size_t column = 0; column < columns.size(); ++column) {
    CAPTURE(column);
    auto y = x;
    y.at(1, column) = std::numeric_limits<double>::quiet_NaN();
    const auto got = call(y);
    const auto check = [&](std::size_t which, const auto& before, const auto& after) {
      CAPTURE(which);
      const bool reached = depends[which].find(columns[column]) != std::string::npos;
      const std::size_t length = before.size() / 3;
      bool has_nan = false;
      for (std::size_t i = 0; i < before.size(); ++i)
        if (reached && i / length == 1) has_nan |= std::isnan(after.data()[i]);
        else CHECK(std::memcmp(before.data() + i, after.data() + i, sizeof(double)) == 0);
      CHECK(has_nan == reached);
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (check(I, std::get<I>(want), std::get<I>(got)), ...);
    }(std::make_index_sequence<count>());
  }
}

}  // namespace geometry_test

// test/linalg/oracle.hpp — matrices for tests: named blocks of recorded values, long double matrices, central differences.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../op/golden.hpp"

#include <ebb/ebb.hpp>
#include <ebb/graph/valid.hpp>
#include <ebb/linalg.hpp>

#include <functional>
#include <random>

namespace linalg_test {

using ebb::dyn;
template <std::size_t... E>
using wide = ebb::term<double, E...>;

/// Compares F with a block whose outputs have these names, in the order of F's results.
template <class... A, class F>
void check_named(const std::string& family, const std::string& name, F, std::vector<std::string> outputs, golden::bounds allowed) {
  const auto& blocks = golden::family(family);
  const auto at = blocks.find(name);
  INFO(family << ": " << name);
  REQUIRE(at != blocks.end());
  golden::block renamed = at->second;
  for (golden::line& l : renamed.lines)
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if ((l.kind == "value" || l.kind == "seed") && l.name == outputs[i]) {
        l.name = outputs.size() == 1 ? "out" : "out" + std::to_string(i);
        break;
      }
  golden::check_graph(ebb::trace_of<F, A...>::make(), renamed, allowed);
}
/// The same for one output without a name.
template <class... A, class F>
void check_recorded(const std::string& family, const std::string& name, F f, golden::bounds allowed) {
  check_named<A...>(family, name, f, {"out"}, allowed);
}

using numbers = std::vector<double>;
using long_numbers = std::vector<long double>;

inline numbers random_numbers(std::size_t count, std::uint64_t key, double size = 1) {
  std::mt19937_64 next(key);
  std::uniform_real_distribution<double> number(-size, size);
  numbers r;
  for (std::size_t i = 0; i < count; ++i) r.push_back(number(next));
  return r;
}
inline ebb::cell_array cells_of(const numbers& x) {
  ebb::cell_array r;
  for (double e : x) r.push(ebb::to_cell(e));
  return r;
}
inline ebb::extent_list extents_of(std::initializer_list<std::size_t> e) {
  ebb::extent_list r;
  for (std::size_t x : e) r.e[r.rank++] = x;
  return r;
}
inline std::vector<numbers> evaluated(const ebb::graph& g, const std::vector<numbers>& in, const std::vector<ebb::extent_list>& shapes) {
  ebb::vec<ebb::cell_array> arguments;
  ebb::vec<ebb::extent_list> extents;
  for (const numbers& x : in) arguments.push(cells_of(x));
  for (const auto& e : shapes) extents.push(e);
  std::vector<numbers> r;
  for (const ebb::cell_array& out : ebb::evaluate(g, arguments, ebb::symbol_values(g, extents))) {
    r.emplace_back();
    for (int i = 0; i < out.size(); ++i) r.back().push_back(ebb::from_cell<double>(out[i]));
  }
  return r;
}

/// The results of f of one argument, the gradient of sum(w1 out1 + w2 out2 ...), and that of this gradient's sum. The weights follow the
/// argument.
inline ebb::graph with_second_derivative(const ebb::graph& f) {
  ebb::graph g = ebb::joint(f, {0});
  const int from = g.out[f.out.size()];
  const auto second = ebb::pull_back(g, {g.input(0)}, {from}, {g.op(from).kit->literal(g, g.eq[from].shape, 1)});
  g.out.push(ebb::or_zeros(g, second[0], g.input(0)));
  REQUIRE_FALSE(ebb::first_error(g));
  return ebb::prune(g);
}
/// Whether a number is as far from the expected one as `bound` times the larger of 1 and that one, at most.
inline bool within(long double bound, double got, long double want) {
  return std::fabs(got - want) <= bound * std::max(1.0L, std::fabs(want));
}

/// The first and second derivatives of sum(w1 out1 + w2 out2 ...) of F with one argument of the given extents, against central
/// differences of `oracle` in long double: it computes all results in a row. The second derivative is that of the gradient's sum.
template <class Term, class F>
void against_differences(const char* name, F, const numbers& x, const ebb::extent_list& shape,
                         const std::function<long_numbers(const long_numbers&)>& oracle, long double bound, long double second_bound) {
  INFO(name);
  const ebb::graph f = ebb::trace_of<F, Term>::make();
  const long_numbers at(x.begin(), x.end()), value = oracle(at);
  std::vector<numbers> arguments{x};
  std::size_t place = 0;
  long_numbers weights;
  for (const numbers& out : evaluated(f, {x}, {shape})) {
    arguments.push_back(random_numbers(out.size(), out.size() + place));
    for (std::size_t i = 0; i < out.size(); ++i, ++place) {
      weights.push_back(arguments.back()[i]);
      CHECK(within(bound, out[i], value[place]));
    }
  }
  REQUIRE(place == value.size());
  const auto loss = [&](const long_numbers& y) {
    const long_numbers r = oracle(y);
    long double sum = 0;
    for (std::size_t i = 0; i < r.size(); ++i) sum += weights[i] * r[i];
    return sum;
  };
  const auto results = evaluated(with_second_derivative(f), arguments, {shape});
  const numbers &gradient = results[static_cast<std::size_t>(f.out.size())], &hessian = results.back();
  // Steps for the first and for the second derivative, of fourth order.
  const auto slope = [&](const std::function<long double(long double)>& along, long double h) {
    return (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h);
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto moved = [&](long double by, long double all) {
      long_numbers y = at;
      for (long double& e : y) e += all;
      y[i] += by;
      return loss(y);
    };
    const long double first = slope([&](long double h) { return moved(h, 0); }, 1e-4L);
    CHECK(within(bound, gradient[i], first));
    const long double mixed = slope([&](long double h) { return slope([&](long double t) { return moved(h, t); }, 1e-3L); }, 1e-3L);
    CHECK(within(second_bound, hessian[i], mixed));
  }
}

/// The cells of one array or of a tuple of arrays, one after another.
template <class R>
ebb::cell_array cells_of_results(const R& r) {
  ebb::cell_array cells;
  const auto put = [&](const auto& x) {
    for (const auto e : x) cells.push(ebb::to_cell(e));
  };
  if constexpr (requires { std::tuple_size<R>::value; }) std::apply([&](const auto&... x) { (put(x), ...); }, r);
  else put(r);
  return cells;
}

/// F has the same bits on a batch of matrices, compiled, in a map over them, and evaluated element by element.
template <class T, class F>
void same_bits_everywhere(F f, std::size_t count, std::size_t rows, std::size_t columns, double size = 1) {
  CAPTURE(count, rows, columns);
  const numbers from = random_numbers(count * rows * columns, rows * 100 + columns, size);
  ebb::tensor<T, dyn, dyn, dyn> a(count, rows, columns);
  ebb::cell_array given;
  for (std::size_t i = 0; i < from.size(); ++i) {
    a.mutable_data()[i] = static_cast<T>(static_cast<float>(from[i]));
    given.push(ebb::to_cell(a.data()[i]));
  }
  const ebb::graph g = ebb::lower(ebb::trace_of<F, ebb::term<T, dyn, dyn, dyn>>::make());
  ebb::cell_array want;
  for (const ebb::cell_array& out : ebb::evaluate(g, {given}, ebb::symbol_values(g, {extents_of({count, rows, columns})})))
    for (int i = 0; i < out.size(); ++i) want.push(out[i]);
  CHECK((cells_of_results(ebb::compile(f)(a)) == want));
  CHECK((cells_of_results(ebb::compile([](auto x) { return ebb::map(F{}, x); })(a)) == want));
}

}  // namespace linalg_test

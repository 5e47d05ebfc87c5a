// test/trace/scan.cpp — scan and fori in traced functions: forms, directions, options, what they are together with map and derivatives.
// SPDX-License-Identifier: BSL-1.0
// covers: scan.hpp kept_carries.hpp numbers_among_terms.hpp
#include "../build.hpp"
#include "../catch.hpp"

#include <ebb/exec/evaluate.hpp>
#include <ebb/pass/pipeline.hpp>
#include <ebb/trace/functions.hpp>
#include <ebb/trace/scan.hpp>

#include <tuple>

namespace {

using ebb::dyn;
using ebb::term;
using ebb::graph;

template <template <class, std::size_t...> class Array>
struct state_of {
  using vector = Array<double, 3>;
  using number = Array<double>;
  BOOST_HANA_DEFINE_STRUCT(state_of, (vector, position), (number, energy));
};

/// Two steps of a pendulum's kind: a struct of states, a row, two arrays for all steps.
struct step {
  template <class S>
  constexpr auto operator()(const S& s, auto force, auto w, auto damping) const {
    S next = s;
    next.position = ebb::tanh(ebb::matmul(w, s.position) + force) * damping;
    next.energy = s.energy + ebb::sum(next.position * force);
    return std::tuple(next, std::tuple(next.energy, next.position));
  }
};
template <auto... Option>
struct run {
  constexpr auto operator()(auto position, auto energy, auto forces, auto w, auto damping) const {
    state_of<term> s;
    s.position = position;
    s.energy = energy;
    return ebb::scan<Option...>(step{}, s, forces, ebb::whole(w), ebb::whole(damping));
  }
};
template <std::size_t N, auto... Option>
graph traced() {
  using F = run<Option...>;
  return ebb::trace_of<F, term<double, 3>, term<double>, term<double, N, 3>, term<double, 3, 3>, term<double, 3>>::make();
}
/// The joint graph on random arguments, where dyn extents are `steps`; equal seeds give equal arguments.
ebb::vec<ebb::cell_array> pulled(const graph& g, std::size_t steps, std::uint64_t seed) {
  const graph j = ebb::joint(g, {0, 1, 2, 3, 4});
  REQUIRE(test::error_text(j) == "");
  const test::call c = test::random_call(j, seed, steps, false);
  return ebb::evaluate(j, c.arguments, c.symbols);
}

template <std::size_t N>
void check_options(std::size_t steps) {
  const auto all = pulled(traced<N>(), steps, steps);
  const auto backwards = pulled(traced<N, ebb::reversed>(), steps, steps);
  CHECK((steps < 2 || all[0] != backwards[0]));
  CHECK(pulled(traced<N, ebb::keep_all>(), steps, steps) == all);
  CHECK(pulled(traced<N, ebb::keep_carries>(), steps, steps) == all);
  CHECK(pulled(traced<N, ebb::keep_every<1>>(), steps, steps) == all);
  CHECK(pulled(traced<N, ebb::keep_every<2>>(), steps, steps) == all);
  CHECK(pulled(traced<N, ebb::keep_every<3>>(), steps, steps) == all);
  CHECK(pulled(traced<N, ebb::keep_every<100>>(), steps, steps) == all);
  CHECK(pulled(traced<N, ebb::recompute>(), steps, steps) == all);
  CHECK(pulled(traced<N, ebb::reversed, ebb::keep_every<3>>(), steps, steps) == backwards);
  CHECK(pulled(traced<N, ebb::keep_every<2>, ebb::reversed>(), steps, steps) == backwards);
  CHECK(pulled(traced<N, ebb::recompute, ebb::reversed>(), steps, steps) == backwards);
  CHECK(pulled(traced<N, ebb::keep_sqrt>(), steps, steps) == all);
  CHECK(pulled(traced<N, ebb::reversed, ebb::keep_sqrt>(), steps, steps) == backwards);
}

/// The bytes of what the forward half saves, where dyn extents are `steps`.
std::size_t saved_bytes(const graph& g, std::size_t steps = 0) {
  const ebb::halves h = ebb::split(ebb::joint(g, {0, 1, 2, 3, 4}), g.inputs, g.out.size());
  const test::call c = test::random_call(h.forward, 1, steps, false);
  std::size_t bytes = 0;
  for (int o = g.out.size(); o < h.forward.out.size(); ++o)
    bytes += ebb::volume(h.forward.shape_of(h.forward.out[o]), c.symbols.data()) * ebb::size_of(h.forward.op(h.forward.out[o]).result);
  return bytes;
}

template <class F, class... A>
ebb::vec<ebb::cell_array> values(std::uint64_t seed = 1) {
  const graph g = ebb::trace_of<F, A...>::make();
  CHECK(test::error_text(g) == "");
  const test::call c = test::random_call(g, seed, 3, false);
  return ebb::evaluate(g, c.arguments, c.symbols);
}
void check_close(const ebb::vec<ebb::cell_array>& a, const ebb::vec<ebb::cell_array>& b, double relative) {
  REQUIRE(a.size() == b.size());
  for (int i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].size() == b[i].size());
    for (int k = 0; k < a[i].size(); ++k)
      CHECK(ebb::from_cell<double>(a[i][k]) == Approx(ebb::from_cell<double>(b[i][k])).epsilon(relative).margin(relative));
  }
}

struct counting {
  constexpr auto operator()(auto x) const {
    const auto f = [](auto i, auto carry) { return carry * 2 + i; };
    return std::tuple(ebb::fori(4, f, x), ebb::fori<ebb::reversed>(4, f, x), ebb::fori(0, f, x), ebb::fori<ebb::keep_every<3>>(4, f, x));
  }
};
struct counts {
  constexpr auto operator()(auto x) const {
    return ebb::scan([](auto carry, auto e) {
      const auto [n, any, sum] = carry;
      return std::tuple(std::tuple(n + ebb::cast<int>(e > 0), any || e > 2, sum + e), n);
    }, std::tuple(0, false, 0.0), x);
  }
};
struct sums {
  constexpr auto operator()(auto x) const {
    return ebb::scan([](auto s, auto e) { return std::tuple(s + e * e, s); }, 0.0, x);
  }
};
struct inner {
  constexpr auto operator()(auto h, auto x, auto w) const {
    const auto next = ebb::tanh(h * w + x);
    return std::tuple(next, next * next);
  }
};
struct nested {
  constexpr auto operator()(auto h, auto xs, auto w) const {
    return ebb::scan([](auto carry, auto rows, auto u) {
      const auto [end, ys] = ebb::scan(inner{}, carry, rows, ebb::whole(u));
      return std::tuple(end + ebb::sum(ys), ys);
    }, h, xs, ebb::whole(w));
  }
};
struct scan_of_rows {
  constexpr auto operator()(auto h, auto xs, auto w) const {
    return ebb::map([](auto h0, auto x, auto u) { return ebb::scan(inner{}, h0, x, ebb::whole(u)); }, h, xs, ebb::whole(w));
  }
};
struct of_map {
  constexpr auto operator()(auto h, auto xs, auto w) const {
    return ebb::scan([](auto carry, auto x, auto u) {
      const auto next = ebb::map([](auto a, auto b, auto v) { return ebb::tanh(a * v + b); }, carry, x, ebb::whole(u));
      return std::tuple(next, next * next);
    }, h, ebb::transpose(xs), ebb::whole(w));
  }
};
struct of_loop {
  constexpr auto operator()(auto h, auto xs, auto w) const {
    const auto [end, ys] = ebb::scan([](auto carry, auto x, auto u) {
      const auto next = ebb::sin(carry * u + x) + carry;
      return std::tuple(next, next * x);
    }, h, xs, ebb::whole(w));
    return ebb::sum(end * end) + ebb::sum(ys);
  }
};
struct of_steps {
  constexpr auto operator()(auto h, auto xs, auto w) const {
    const auto a = ebb::sin(h * w + xs[0]) + h, b = ebb::sin(a * w + xs[1]) + a, c = ebb::sin(b * w + xs[2]) + b;
    return ebb::sum(c * c) + (ebb::sum(a * xs[0]) + ebb::sum(b * xs[1]) + ebb::sum(c * xs[2]));
  }
};

}  // namespace

TEST_CASE("what a scan keeps changes no bit of a value or a gradient") {
  check_options<7>(7);
  check_options<9>(9);
  check_options<1>(1);
  check_options<dyn>(8);
  check_options<dyn>(6);
  check_options<dyn>(1);
  check_options<dyn>(0);
}

TEST_CASE("what a scan keeps is what its documentation says") {
  constexpr std::size_t carry = (3 + 1) * sizeof(double), n = 100;
  // The energy is no operand of its own derivative: of the carry only the position is kept.
  constexpr std::size_t position = 3 * sizeof(double);
  static_assert(position < carry);
  CHECK(saved_bytes(traced<n>()) == 2 * n * position);  // and what tanh gave
  CHECK(saved_bytes(traced<n, ebb::keep_carries>()) == n * position);
  CHECK(saved_bytes(traced<n, ebb::keep_every<1>>()) == n * position);
  CHECK(saved_bytes(traced<n, ebb::keep_every<20>>()) == 5 * position);
  CHECK(saved_bytes(traced<n, ebb::keep_sqrt>()) == 10 * position);
  CHECK(saved_bytes(traced<n, ebb::recompute>()) == position);
  CHECK(saved_bytes(traced<dyn, ebb::keep_every<20>>(), n) == 5 * position);
  CHECK(saved_bytes(traced<dyn, ebb::keep_sqrt>(), n) == 10 * position);
  CHECK(saved_bytes(traced<dyn, ebb::recompute>(), n) == position);
}

TEST_CASE("fori counts, in both directions, and over nothing") {
  const graph g = ebb::trace_of<counting, term<double>>::make();
  REQUIRE(test::error_text(g) == "");
  const auto out = ebb::evaluate(g, {{ebb::to_cell(1.0)}}, {});
  CHECK(ebb::from_cell<double>(out[0][0]) == (((1. * 2 + 0) * 2 + 1) * 2 + 2) * 2 + 3);
  CHECK(ebb::from_cell<double>(out[1][0]) == (((1. * 2 + 3) * 2 + 2) * 2 + 1) * 2 + 0);
  CHECK(ebb::from_cell<double>(out[2][0]) == 1);
  CHECK(out[3] == out[0]);
  const ebb::cell_array zero{ebb::to_cell(0.0)}, one{ebb::to_cell(1.0)};
  const auto d = ebb::evaluate(ebb::joint(g, {0}), {one, one, zero, zero, zero}, {});
  CHECK(ebb::from_cell<double>(d[4][0]) == 16);
}

TEST_CASE("numbers are carries, integers and truth values too") {
  const graph g = ebb::trace_of<counts, term<double, 4>>::make();
  const ebb::cell_array x{ebb::to_cell(1.), ebb::to_cell(-1.), ebb::to_cell(3.), ebb::to_cell(0.5)};
  const auto out = ebb::evaluate(g, {x}, {});
  CHECK(ebb::from_cell<std::int32_t>(out[0][0]) == 3);
  CHECK(ebb::from_cell<bool>(out[1][0]));
  CHECK(ebb::from_cell<double>(out[2][0]) == 3.5);
  CHECK(ebb::from_cell<std::int32_t>(out[3][2]) == 1);
  const auto d = ebb::evaluate(ebb::joint(g, {0}), {x, {ebb::to_cell(2.)}}, {});
  for (int i = 0; i < 4; ++i) CHECK(ebb::from_cell<double>(d[4][i]) == 2);
}

TEST_CASE("a scan is evaluated in constant expressions") {
  constexpr double last = [] {
    const graph g = ebb::joint(ebb::trace_of<sums, term<double, 3>>::make(), {0});
    const ebb::cell_array x{ebb::to_cell(1.), ebb::to_cell(2.), ebb::to_cell(3.)},
        seeds{ebb::to_cell(0.), ebb::to_cell(0.), ebb::to_cell(1.)};
    const auto out = ebb::evaluate(g, {x, {ebb::to_cell(1.)}, seeds}, {});
    return ebb::from_cell<double>(out[0][0]) * 100 + ebb::from_cell<double>(out[2][1]);
  }();
  static_assert(last == 1400 + 8);
}

TEST_CASE("scans in scans, maps of scans and scans of maps have the bits of their rows") {
  using Xs = term<double, 4, 5>;
  const graph g = ebb::joint(ebb::trace_of<nested, term<double>, Xs, term<double>>::make(), {0, 1, 2});
  CHECK(test::error_text(g) == "");

  const auto by_rows = values<scan_of_rows, term<double, 4>, Xs, term<double>>(),
             of_maps = values<of_map, term<double, 4>, Xs, term<double>>();
  CHECK(by_rows[0] == of_maps[0]);
  for (int i = 0; i < 4; ++i)
    for (int t = 0; t < 5; ++t) CHECK(by_rows[1][i * 5 + t] == of_maps[1][t * 4 + i]);
}

TEST_CASE("pushes and second derivatives are those of the steps written out") {
  const auto graph_of = [](auto f) { return ebb::trace_of<decltype(f), term<double, 2>, term<double, 3, 2>, term<double, 2>>::make(); };
  const auto run = [](const graph& g) {
    CHECK(test::error_text(g) == "");
    const test::call c = test::random_call(g, 9, 3, false);
    return ebb::evaluate(g, c.arguments, c.symbols);
  };
  for (const ebb::vec<int>& wrt : {ebb::vec<int>{0, 1, 2}, ebb::vec<int>{2}, ebb::vec<int>{1}, ebb::vec<int>{0}}) {
    check_close(run(ebb::push_forward(graph_of(of_loop{}), wrt)), run(ebb::push_forward(graph_of(of_steps{}), wrt)), 1e-13);
    check_close(run(ebb::hessian_vector_product(graph_of(of_loop{}), wrt)), run(ebb::hessian_vector_product(graph_of(of_steps{}), wrt)),
                1e-12);
    // The third order.
    const auto third = [&](const graph& g) {
      graph h = ebb::hessian_vector_product(g, wrt);
      return ebb::joint(h, wrt);
    };
    check_close(run(third(graph_of(of_loop{}))), run(third(graph_of(of_steps{}))), 1e-11);
  }
}

// test/exec/loop.cpp — loops that run: compiled, from tables, on the tape, captured; the bits are those of the evaluator.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>

#include "../autograd/allocations.hpp"
#include "../catch.hpp"
#include "../pass/random_loop.hpp"

#include <array>
#include <cstring>
#include <thread>
#include <tuple>
#include <vector>

namespace {

using ebb::dyn;
using ebb::tensor;

template <class T, std::size_t... E>
tensor<T, E...> some(std::array<std::size_t, sizeof...(E)> extents, std::uint64_t seed) {
  auto x = tensor<T, E...>::uninitialized(typename tensor<T, E...>::layout_type("test", extents));
  test::random r{seed};
  for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = static_cast<T>(r.between(-1, 1));
  return x;
}
template <class T, std::size_t... E>
  requires((E != dyn) && ...)
tensor<T, E...> some(std::uint64_t seed) {
  return some<T, E...>({E...}, seed);
}

/// A recurrent cell over a tuple of two states, with a row of two arrays and two whole arguments.
struct cell {
  constexpr auto operator()(auto carry, auto row, auto w, auto b) const {
    const auto [h, c] = carry;
    const auto [x, gate] = row;
    const auto next = ebb::tanh(ebb::matmul(w, h) + x + b);
    const auto sum = c * ebb::sigmoid(gate) + next;
    return std::tuple(std::tuple(next, sum), ebb::sum(sum * sum));
  }
};
struct cells_of {
  constexpr auto operator()(auto h, auto c, auto x, auto gate, auto w, auto b) const {
    return ebb::scan(cell{}, std::tuple(h, c), std::tuple(x, gate), ebb::whole(w), ebb::whole(b));
  }
};
struct loss_of_cells {
  constexpr auto operator()(auto h, auto c, auto x, auto gate, auto w, auto b) const {
    const auto [carry, ys] = cells_of{}(h, c, x, gate, w, b);
    return ebb::sum(ebb::square(std::get<0>(carry))) + ebb::sum(std::get<1>(carry)) + ebb::mean(ys);
  }
};
/// The same with its steps written out.
template <int Steps>
struct unrolled_loss {
  constexpr auto operator()(auto h, auto c, auto x, auto gate, auto w, auto b) const {
    auto carry = std::tuple(h, c);
    auto sum = cell{}(carry, std::tuple(x[0], gate[0]), w, b);
    auto total = std::get<1>(sum);
    carry = std::get<0>(sum);
    for (int t = 1; t < Steps; ++t) {
      sum = cell{}(carry, std::tuple(x[t], gate[t]), w, b);
      carry = std::get<0>(sum);
      total = total + std::get<1>(sum);
    }
    return ebb::sum(ebb::square(std::get<0>(carry))) + ebb::sum(std::get<1>(carry)) + total / Steps;
  }
};

/// The carries, with the steps written out.
template <int Steps>
struct unrolled_cells {
  constexpr auto operator()(auto h, auto c, auto x, auto gate, auto w, auto b) const {
    auto carry = std::get<0>(cell{}(std::tuple(h, c), std::tuple(x[0], gate[0]), w, b));
    for (int t = 1; t < Steps; ++t) carry = std::get<0>(cell{}(carry, std::tuple(x[t], gate[t]), w, b));
    return carry;
  }
};

void check_close(const auto& a, const auto& b, double relative) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    CHECK(static_cast<double>(a.data()[i]) == Approx(static_cast<double>(b.data()[i])).epsilon(relative).margin(relative));
}

/// Elements in memory that is exactly as large, so that AddressSanitizer sees who leaves it.
struct memory {
  ebb::dtype type;
  std::vector<char> bytes;

  memory(ebb::dtype d, const ebb::cell_array& c) : type(d), bytes(static_cast<std::size_t>(c.size()) * ebb::size_of(d)) {
    ebb::with_dtype(type, [&]<class T>(T) {
      for (int i = 0; i < c.size(); ++i) {
        const T x = ebb::from_cell<T>(c[i]);
        std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(T), &x, sizeof x);
      }
    });
  }
  bool holds(const ebb::cell_array& c) const {
    bool same = bytes.size() == static_cast<std::size_t>(c.size()) * ebb::size_of(type);
    ebb::with_dtype(type, [&]<class T>(T) {
      for (int i = 0; same && i < c.size(); ++i) {
        T x;
        std::memcpy(&x, bytes.data() + static_cast<std::size_t>(i) * sizeof(T), sizeof x);
        same = test::same_cell(type, ebb::to_cell(x), c[i]);
      }
    });
    return same;
  }
};

/// What G is for these arguments, evaluated element by element.
template <class G, class... A>
ebb::vec<ebb::cell_array> evaluated(const A&... a) {
  ebb::vec<ebb::cell_array> cells;
  ebb::vec<ebb::extent_list> extents;
  const auto put = [&](const auto& x) {
    ebb::cell_array c;
    for (std::size_t i = 0; i < x.size(); ++i) c.push(ebb::to_cell(x.data()[i]));
    cells.push(c);
    ebb::extent_list e;
    for (std::size_t i = 0; i < x.shape().size(); ++i) e.e[e.rank++] = x.shape()[i];
    extents.push(e);
  };
  (put(a), ...);
  const ebb::graph g = G::g.thaw();
  return ebb::evaluate(g, cells, ebb::symbol_values(g, extents));
}
template <class T>
ebb::cell_array cells_in(const T& x) {
  ebb::cell_array c;
  for (std::size_t i = 0; i < x.size(); ++i) c.push(ebb::to_cell(x.data()[i]));
  return c;
}

}  // namespace

TEST_CASE("compiled loops have the bits of the evaluator, and gradients those of the steps written out") {
  const auto h = some<double, 5>(1), c = some<double, 5>(2), b = some<double, 5>(3);
  const auto x = some<double, 7, 5>(4), gate = some<double, 7, 5>(5);
  const auto w = some<double, 5, 5>(6);
  const auto [carry, ys] = ebb::compile(cells_of{})(h, c, x, gate, w, b);
  using G = ebb::traced<cells_of, ebb::term<double, 5>, ebb::term<double, 5>, ebb::term<double, 7, 5>, ebb::term<double, 7, 5>,
                        ebb::term<double, 5, 5>, ebb::term<double, 5>>;
  const auto expected = evaluated<G>(h, c, x, gate, w, b);
  CHECK(cells_in(std::get<0>(carry)) == expected[0]);
  CHECK(cells_in(std::get<1>(carry)) == expected[1]);
  CHECK(cells_in(ys) == expected[2]);

  const auto loop = ebb::value_and_grad<0, 1, 2, 3, 4, 5>(loss_of_cells{})(h, c, x, gate, w, b);
  const auto unrolled = ebb::value_and_grad<0, 1, 2, 3, 4, 5>(unrolled_loss<7>{})(h, c, x, gate, w, b);
  CHECK(std::get<0>(loop) == Approx(std::get<0>(unrolled)).epsilon(1e-14));
  CHECK(cells_in(std::get<1>(loop)) == cells_in(std::get<1>(unrolled)));
  CHECK(cells_in(std::get<2>(loop)) == cells_in(std::get<2>(unrolled)));
  CHECK(cells_in(std::get<3>(loop)) == cells_in(std::get<3>(unrolled)));
  CHECK(cells_in(std::get<4>(loop)) == cells_in(std::get<4>(unrolled)));
  CHECK(cells_in(std::get<5>(loop)) == cells_in(std::get<5>(unrolled)));
  CHECK(cells_in(std::get<6>(loop)) == cells_in(std::get<6>(unrolled)));
}

TEST_CASE("extents that the call decides: any number of steps, none too, and arrays that do not fit are refused") {
  const auto b = some<double, dyn>({4}, 3), h = some<double, dyn>({4}, 1), c = some<double, dyn>({4}, 2);
  const auto w = some<double, dyn, dyn>({4, 4}, 6);
  for (const std::size_t steps : {std::size_t{7}, std::size_t{1}, std::size_t{0}, std::size_t{40}}) {
    const auto x = some<double, dyn, dyn>({steps, 4}, 4), gate = some<double, dyn, dyn>({steps, 4}, 5);
    const auto [carry, ys] = ebb::compile(cells_of{})(h, c, x, gate, w, b);
    REQUIRE(ys.size() == steps);
    if (steps == 0) CHECK(cells_in(std::get<1>(carry)) == cells_in(c));
    if (steps == 7) {
      const auto loop = ebb::grad<2, 4>(loss_of_cells{})(h, c, x, gate, w, b);
      const auto unrolled = ebb::grad<2, 4>(unrolled_loss<7>{})(h, c, x, gate, w, b);
      check_close(std::get<0>(loop), std::get<0>(unrolled), 1e-13);
      check_close(std::get<1>(loop), std::get<1>(unrolled), 1e-13);
    }
    if (steps == 0) {
      const auto [dh, dw] = ebb::grad<1, 4>([](auto h0, auto c0, auto xs, auto gates, auto v, auto bias) {
        return ebb::sum(std::get<1>(std::get<0>(cells_of{}(h0, c0, xs, gates, v, bias))));
      })(h, c, x, gate, w, b);
      for (std::size_t i = 0; i < 4; ++i) CHECK(dh.data()[i] == 1);
      for (std::size_t i = 0; i < 16; ++i) CHECK(dw.data()[i] == 0);
    }
  }
  const auto x = some<double, dyn, dyn>({3, 4}, 4), gate = some<double, dyn, dyn>({2, 4}, 5), wide = some<double, dyn, dyn>({3, 5}, 5);
  CHECK(test::says(test::raised([&] { ebb::compile(cells_of{})(h, c, x, gate, w, b); }), {"[3, 4]", "[2, 4]"}));
  CHECK(test::says(test::raised([&] { ebb::compile(cells_of{})(h, c, x, wide, w, b); }), {"[3, 5]"}));
}

TEST_CASE("a steady state of loops allocates nothing") {
  const auto h = some<float, 5>(1), c = some<float, 5>(2), b = some<float, 5>(3);
  const auto x = some<float, dyn, 5>({300, 5}, 4), gate = some<float, dyn, 5>({300, 5}, 5);
  const auto w = some<float, 5, 5>(6);
  float value = 0;
  tensor<float, 5> dh, db;
  tensor<float, 5, 5> dw;
  auto dx = x;
  const auto f = ebb::value_and_grad<0, 2, 4, 5>(loss_of_cells{});
  const auto run = [&] { f(ebb::into(value, dh, dx, dw, db), h, c, x, gate, w, b); };
  run();
  const float first = value;
  const auto before = allocations::made;
  for (int i = 0; i < 3; ++i) run();
  CHECK(allocations::made == before);
  CHECK(value == first);
}

TEST_CASE("results may be written over the arguments of a loop") {
  const auto f = ebb::compile([](auto h, auto xs) {
    return ebb::scan([](auto carry, auto x) { return std::tuple(carry + x, carry * x); }, h, xs);
  });
  auto h = some<double, 6>(1);
  auto xs = some<double, 9, 6>(2);
  const auto expected = f(h, xs);
  f(ebb::into(h, xs), h, xs);
  CHECK(cells_in(h) == cells_in(std::get<0>(expected)));
  CHECK(cells_in(xs) == cells_in(std::get<1>(expected)));
}

TEST_CASE("the rows of a loop are not written over an array that each step reads whole") {
  const auto f = ebb::compile([](auto h, auto xs, auto w) {
    return ebb::scan([](auto carry, auto x, auto all) {
      const auto next = carry * 0.5 + x;
      return std::tuple(next, next * ebb::sum(all));
    }, h, xs, ebb::whole(w));
  });
  const auto xs = some<double, 6>(1);
  auto w = some<double, 6>(2);
  tensor<double> h, last;
  h.at() = 0.25;
  const auto [expected_last, expected] = f(h, xs, w);
  f(ebb::into(last, w), h, xs, w);
  CHECK(cells_in(w) == cells_in(expected));
  CHECK(last() == expected_last);
}

TEST_CASE("carries that change places, and rows that are carries") {
  const auto f = [](auto a, auto b, auto xs) {
    return ebb::scan([](auto carry, auto x) {
      const auto [p, q] = carry;
      return std::tuple(std::tuple(q, p), std::tuple(p, x, p, q + x));
    }, std::tuple(a, b), xs);
  };
  const auto a = some<float, 3>(1), b = some<float, 3>(2);
  for (const std::size_t steps : {std::size_t{3}, std::size_t{4}}) {
    const auto xs = some<float, dyn, 3>({steps, 3}, 3);
    const auto [carry, ys] = ebb::compile(f)(a, b, xs);
    CHECK(cells_in(std::get<0>(carry)) == cells_in(steps % 2 ? b : a));
    CHECK(cells_in(std::get<1>(ys)) == cells_in(xs));
    for (std::size_t i = 0; i < 3; ++i) CHECK(std::get<0>(ys).data()[3 + i] == b.data()[i]);
    CHECK(cells_in(std::get<2>(ys)) == cells_in(std::get<0>(ys)));
  }
}

TEST_CASE("a carry is written in its place only if the step reads it no more") {
  const auto f = ebb::compile([](auto a, auto b, auto c, auto xs, auto w) {
    return ebb::scan([](auto carry, auto x, auto by) {
      const auto [p, q, sum] = carry;
      return std::tuple(std::tuple(p * 0.5 + q, ebb::matmul(by, p), sum + x), ebb::sum(sum));  // a product reads all of the old p
    }, std::tuple(a, b, c), xs, ebb::whole(w));
  });
  tensor<double, 3> a{8, -16, 24}, b{2, 4, -6}, c{1, 2, 3};
  const tensor<double, 5, 3> xs{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {-1, -2, -3}, {0.5, 0.25, 4}};
  const tensor<double, 3, 3> w{{1, -2, 0}, {0.5, 0, 1}, {2, 1, -1}};
  const auto [carry, ys] = f(a, b, c, xs, w);  // all numbers are exact
  for (std::size_t t = 0; t < 5; ++t) {
    CHECK(ys(t) == c(0) + c(1) + c(2));
    const tensor<double, 3> p = a;
    for (std::size_t i = 0; i < 3; ++i) {
      a.at(i) = 0.5 * p(i) + b(i);
      c.at(i) += xs(t, i);
    }
    for (std::size_t i = 0; i < 3; ++i) b.at(i) = w(i, 0) * p(0) + w(i, 1) * p(1) + w(i, 2) * p(2);
  }
  CHECK(cells_in(std::get<0>(carry)) == cells_in(a));
  CHECK(cells_in(std::get<1>(carry)) == cells_in(b));
  CHECK(cells_in(std::get<2>(carry)) == cells_in(c));
}

TEST_CASE("random loops and their gradients run from tables with the bits of the evaluator") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    constexpr int counts[] = {0, 1, 5, -1};
    const test::random_loop l = test::make_random_loop(seed, counts[seed % 4]);
    ebb::vec<int> wrt;
    for (int i = 0; i < l.g.inputs; ++i) wrt.push(i);
    for (const ebb::graph& made : {l.g, ebb::joint(l.g, wrt)}) {
      const ebb::graph g = ebb::lower(made);
      const test::call c = test::random_call(g, seed, 3, seed % 3 == 0);
      const auto expected = ebb::evaluate(g, c.arguments, c.symbols);
      std::vector<memory> in, out;
      for (int i = 0; i < g.inputs; ++i) in.emplace_back(g.op(g.input(i)).result, c.arguments[i]);
      for (int o = 0; o < g.out.size(); ++o)
        out.emplace_back(g.op(g.out[o]).result, ebb::cell_array(expected[o].size(), 0));
      std::vector<void*> from(in.size() + 1), to(out.size() + 1);
      for (std::size_t i = 0; i < in.size(); ++i) from[i] = in[i].bytes.data();
      for (std::size_t o = 0; o < out.size(); ++o) to[o] = out[o].bytes.data();
      ebb::block_program program(g);
      for (int again = 0; again < 2; ++again) {
        program.run(from.data(), to.data(), c.symbols.data());
        INFO("seed " << seed << "\n" << ebb::to_string(g));
        for (int o = 0; o < g.out.size(); ++o) REQUIRE(out[static_cast<std::size_t>(o)].holds(expected[o]));
        for (int i = 0; i < g.inputs; ++i) REQUIRE(in[static_cast<std::size_t>(i)].holds(c.arguments[i]));
      }
    }
  }
}

TEST_CASE("a loop in a region is one node: its backward, twice, and captured") {
  const auto h = some<double, 5>(1), c = some<double, 5>(2), b = some<double, 5>(3);
  const auto x = some<double, 7, 5>(4), gate = some<double, 7, 5>(5);
  const auto w = some<double, 5, 5>(6);
  const auto expected = ebb::grad<4, 5>(loss_of_cells{})(h, c, x, gate, w, b);
  const auto region = ebb::compile(loss_of_cells{});
  for (const bool captured : {false, true, true}) {
    ebb::variable v(w);
    ebb::variable bias(b);
    ebb::backward(region(h, c, x, gate, v, bias), {.compiled_autograd = captured});
    CHECK(cells_in(v.grad()) == cells_in(std::get<0>(expected)));
    CHECK(cells_in(bias.grad()) == cells_in(std::get<1>(expected)));
  }

  // The gradient of the square of a gradient, on the tape and in one program.
  const auto squared = [](auto h0, auto c0, auto xs, auto gates, auto u, auto p) {
    return ebb::sum(ebb::square(ebb::grad<4>(loss_of_cells{})(h0, c0, xs, gates, u, p)));
  };
  ebb::variable v(w);
  const auto dv = ebb::grad(region(h, c, x, gate, v, b), ebb::wrt(v), {.create_graph = true});
  ebb::backward(ebb::compile([](auto d) { return ebb::sum(ebb::square(d)); })(dv));
  check_close(v.grad(), ebb::grad<4>(squared)(h, c, x, gate, w, b), 1e-12);

  // The unrolled program agrees.
  const auto squared_unrolled = [](auto h0, auto c0, auto xs, auto gates, auto u, auto p) {
    return ebb::sum(ebb::square(ebb::grad<4>(unrolled_loss<7>{})(h0, c0, xs, gates, u, p)));
  };
  check_close(v.grad(), ebb::grad<4>(squared_unrolled)(h, c, x, gate, w, b), 1e-11);
}

TEST_CASE("in an autocast context a step is what it is outside of a loop, and so are its pulls") {
  using bf16 = ebb::autocast<ebb::bf16>;
  const auto h = some<float, 5>(1), c = some<float, 5>(2), b = some<float, 5>(3);
  const auto x = some<float, 7, 5>(4), gate = some<float, 7, 5>(5);
  const auto w = some<float, 5, 5>(6);
  const auto carry = std::get<0>(ebb::compile(ebb::under<bf16>(cells_of{}))(h, c, x, gate, w, b));
  const auto expected = ebb::compile(ebb::under<bf16>(unrolled_cells<7>{}))(h, c, x, gate, w, b);
  CHECK(cells_in(std::get<0>(carry)) == cells_in(std::get<0>(expected)));
  CHECK(cells_in(std::get<1>(carry)) == cells_in(std::get<1>(expected)));
  CHECK(cells_in(std::get<0>(carry)) != cells_in(std::get<0>(ebb::compile(unrolled_cells<7>{})(h, c, x, gate, w, b))));

  const auto of_loop = ebb::compile<ebb::backward_pass_autocast<bf16>>(ebb::under<bf16>(loss_of_cells{}));
  const auto of_steps = ebb::compile<ebb::backward_pass_autocast<bf16>>(ebb::under<bf16>(unrolled_loss<7>{}));
  ebb::variable v(w), u(w);
  of_loop(h, c, x, gate, v, b).backward();
  of_steps(h, c, x, gate, u, b).backward();
  CHECK(cells_in(v.grad()) == cells_in(u.grad()));
}

TEST_CASE("threads run one loop at once") {
  const auto h = some<double, 5>(1), c = some<double, 5>(2), b = some<double, 5>(3);
  const auto x = some<double, 7, 5>(4), gate = some<double, 7, 5>(5);
  const auto w = some<double, 5, 5>(6);
  const auto f = ebb::grad<4>(loss_of_cells{});
  const auto expected = cells_in(f(h, c, x, gate, w, b));
  std::array<int, 4> same{};
  std::array<std::thread, 4> threads;
  for (std::size_t i = 0; i < 4; ++i)
    threads[i] = std::thread([&, i] {
      for (int k = 0; k < 50; ++k) same[i] += cells_in(f(h, c, x, gate, w, b)) == expected;
    });
  for (std::thread& t : threads) t.join();
  for (int n : same) CHECK(n == 50);
}

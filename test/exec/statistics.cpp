// test/exec/statistics.cpp — variances, norms, layer_norm and cumsum compiled: equal bits everywhere, on the tape and in constant
// expressions.
// SPDX-License-Identifier: BSL-1.0
// covers: op/moments.hpp op/normalize.hpp op/scan.hpp
#include <ebb/ebb.hpp>

#include "../catch.hpp"
#include "../random_array.hpp"
#include "../same_bits.hpp"

namespace {

constexpr auto dyn = ebb::dyn;
using test::random_array;

constexpr auto loss = [](auto x, auto w) {
  const auto n = ebb::layer_norm(ebb::tanh(x), w, w, 1e-3);
  const auto spread = ebb::stddev<0>(n) + ebb::var<0>(x, ebb::correction<0>);
  return ebb::norm(spread, ebb::order<3>) + ebb::norm(n) + ebb::sum(ebb::norm<1>(x, ebb::order_inf)) +
         ebb::sum(ebb::square(ebb::cumsum(n) * ebb::cumsum<0>(x, ebb::reversed)));
};

TEST_CASE("statistics have the same bits compiled and evaluated") {
  const auto check = []<class T>(T, std::size_t n, std::size_t m) {
    using matrix = ebb::tensor<T, dyn, dyn>;
    using vector = ebb::tensor<T, dyn>;
    const auto x = random_array<matrix>(n, n, m);
    const auto w = random_array<vector>(m, m);
    const ebb::graph g = ebb::lower(ebb::value_and_gradient(
        ebb::trace_of<std::remove_const_t<decltype(loss)>, ebb::term<T, dyn, dyn>, ebb::term<T, dyn>>::make(), {0, 1}));
    ebb::extent_list ex, ew;
    ex.rank = 2, ew.rank = 1;
    ex.e[0] = n, ex.e[1] = ew.e[0] = m;
    const auto cells = [](auto& a) {
      ebb::cell_array r;
      for (T e : a) r.push(ebb::to_cell(e));
      return r;
    };
    const auto want = ebb::evaluate(g, {cells(x), cells(w)}, ebb::symbol_values(g, {ex, ew}));
    const auto [value, of_x, of_w] = ebb::value_and_grad<0, 1>(loss)(x, w);
    CHECK(ebb::to_cell(value) == want[0][0]);
    CHECK((cells(of_x) == want[1]));
    CHECK((cells(of_w) == want[2]));
  };
  check(0.0, 5, 3);
  check(0.0, 17, 70);
  check(0.0f, 33, 129);
}

constexpr auto one = [](auto r, auto v) {
  return ebb::layer_norm(r, v) * ebb::stddev(r) + ebb::norm(r) * ebb::norm(r, ebb::order<1>) * ebb::cumsum(r);
};

TEST_CASE("statistics of a map's rows have the bits of each row alone") {
  const auto x = random_array<ebb::tensor<double, dyn, 6>>(1, 4);
  const auto w = random_array<ebb::tensor<double, 6>>(2);
  const auto all = ebb::compile([](auto rows, auto v) { return ebb::map(one, rows, ebb::whole(v)); })(x, w);
  const auto d_all = ebb::grad([](auto rows, auto v) { return ebb::sum(ebb::map(one, rows, ebb::whole(v))); })(x, w);
  for (std::size_t i = 0; i < 4; ++i) {
    const ebb::tensor<double, 6> row(x.row(i));
    CHECK(test::same_bits(ebb::tensor<double, 6>(all.row(i)), ebb::compile(one)(row, w)));
    CHECK(test::same_bits(ebb::tensor<double, 6>(d_all.row(i)), ebb::grad([](auto r, auto v) { return ebb::sum(one(r, v)); })(row, w)));
  }
}

TEST_CASE("statistics on the tape have the same bits plain and captured, and second derivatives") {
  const auto start = random_array<ebb::tensor<double, 5, 4>>(3);
  const auto weight = random_array<ebb::tensor<double, 4>>(4);
  ebb::tensor<double, 5, 4> gradient[2];
  for (const bool captured : {false, true}) {
    ebb::variable x(start);
    ebb::variable w(weight);
    for (int step = 0; step < 3; ++step) {
      x.zero_grad(), w.zero_grad();
      const auto n = ebb::layer_norm(x, w, w);
      ebb::backward(ebb::norm(ebb::cumsum<0>(n)) + ebb::sum(ebb::stddev<0>(n)) + ebb::var(x), {.compiled_autograd = captured});
      const ebb::tensor<double, 5, 4> now = x.grad().value();
      if (step > 0) CHECK(test::same_bits(now, gradient[captured]));
      gradient[captured] = now;
    }
  }
  CHECK(test::same_bits(gradient[0], gradient[1]));
  const auto functional = ebb::grad([](auto x, auto w) {
    const auto n = ebb::layer_norm(x, w, w);
    return ebb::norm(ebb::cumsum<0>(n)) + ebb::sum(ebb::stddev<0>(n)) + ebb::var(x);
  })(start, weight);
  for (std::size_t i = 0; i < 20; ++i) CHECK(gradient[0].data()[i] == Approx(functional.data()[i]).epsilon(1e-12));

  // d/dt of the squared gradient along x: twice the Hessian times the gradient.
  const ebb::variable x(ebb::tensor<double, 3>{1.0, 2.0, 4.0});
  const auto g = ebb::grad(ebb::norm(x), ebb::wrt(x), {.create_graph = true});
  const auto h = ebb::grad(ebb::sum(g), ebb::wrt(x));
  const double n = std::sqrt(21.0);
  for (std::size_t i = 0; i < 3; ++i) {
    const double e[] = {1, 2, 4};
    CHECK(h.value()(i) == Approx(1 / n - e[i] * 7 / (n * n * n)).epsilon(1e-14));
  }
}

TEST_CASE("scans overwrite their argument, and run block by block") {
  auto x = random_array<ebb::tensor<float, 30, 50>>(5);
  const auto plain = ebb::cumsum<0>(x);
  ebb::compile([](auto a) { return ebb::cumsum<0>(a); })(ebb::into(x), x);
  CHECK(test::same_bits(x, plain));
}

TEST_CASE("statistics take arrays eagerly, and a number as epsilon") {
  const auto x = ebb::tensor<float, 2, 2>{1.f, 3.f, 2.f, 6.f};
  CHECK(ebb::all_equal(ebb::var<1>(x), ebb::tensor<float, 2>{2.f, 8.f}));
  CHECK(ebb::all_equal(ebb::stddev<0>(x, ebb::correction<0>), ebb::tensor<float, 2>{0.5f, 1.5f}));
  CHECK(ebb::all_equal(ebb::norm<1>(x, ebb::order<1>, ebb::keep_dims), ebb::tensor<float, 2, 1>{4.f, 8.f}));
  CHECK(ebb::layer_norm(x, 0.f)(0, 1) == 1.f);
  CHECK(ebb::layer_norm(x, 3)(0, 1) == 0.5f);
}

// Constant expressions.
static_assert(ebb::all_equal(ebb::compile([](auto x) { return ebb::cumsum(x, ebb::reversed); })(ebb::tensor<double, 3>{1.0, 2.0, 4.0}),
                             ebb::tensor<double, 3>{7.0, 6.0, 4.0}));
constexpr auto in_constants = ebb::compile([](auto x) { return ebb::var(x) + ebb::norm(x) + ebb::sum(ebb::layer_norm(x)); });
static_assert(in_constants(ebb::tensor<double, 2>{3.0, 4.0}) == 5.5);

}  // namespace

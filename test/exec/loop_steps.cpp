// test/exec/loop_steps.cpp — fori with a number of steps that the call decides: an integer argument, or the extent of an axis.
// SPDX-License-Identifier: BSL-1.0
// covers: loop.hpp bind.hpp trace/scan.hpp
#include <ebb/ebb.hpp>

#include "../autograd/allocations.hpp"
#include "../catch.hpp"
#include "numbers.hpp"

#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

namespace loop_steps {

using ebb::dyn;
using ebb::tensor;
using test::numbers;

struct turn {
  constexpr auto operator()(auto i, auto x, auto w) const { return ebb::tanh(ebb::matmul(w, x)) + x * i; }
};
/// The number of steps is an argument.
template <auto... Option>
struct counted {
  constexpr auto operator()(auto n, auto x, auto w) const {
    return ebb::sum(ebb::square(ebb::fori<Option...>(n, turn{}, x, ebb::whole(w))));
  }
};
/// A constant.
template <int Steps, auto... Option>
struct fixed {
  constexpr auto operator()(auto x, auto w) const { return ebb::sum(ebb::square(ebb::fori<Option...>(Steps, turn{}, x, ebb::whole(w)))); }
};

tensor<double, 3> start() { return {0.3, -0.7, 0.2}; }
tensor<double, 3, 3> weights() { return {{0.5, -0.2, 0.1}, {0.3, 0.4, -0.6}, {-0.1, 0.2, 0.7}}; }

template <int Steps, auto... Option>
void check_steps() {
  const auto x = start();
  const auto w = weights();
  const auto expected = numbers(ebb::value_and_grad<0, 1>(fixed<Steps>{})(x, w));
  const auto f = ebb::value_and_grad<1, 2>(counted<Option...>{});
  CHECK(numbers(f(std::int64_t{Steps}, x, w)) == expected);
  CHECK(numbers(f(Steps, x, w)) == expected);
}
template <int Steps>
void check_all_options() {
  check_steps<Steps>();
  check_steps<Steps, ebb::keep_all>();
  check_steps<Steps, ebb::keep_carries>();
  check_steps<Steps, ebb::keep_every<3>>();
  check_steps<Steps, ebb::keep_sqrt>();
  check_steps<Steps, ebb::recompute>();
}

/// A sum over the rows below n, in a scan: the same number in each step.
struct in_a_scan {
  constexpr auto operator()(auto n, auto x, auto rows) const {
    const auto [end, ys] = ebb::scan([](auto h, auto row, auto count) {
      const auto next = ebb::fori(count, [](auto, auto y, auto r) { return ebb::sin(y) * r; }, h, ebb::whole(row));
      return std::tuple(next, ebb::sum(next));
    }, x, rows, ebb::whole(n));
    return ebb::sum(end) + ebb::sum(ys);
  }
};
template <int Steps>
struct in_a_scan_fixed {
  constexpr auto operator()(auto x, auto rows) const {
    const auto [end, ys] = ebb::scan([](auto h, auto row) {
      auto next = h;
      for (int i = 0; i < Steps; ++i) next = ebb::sin(next) * row;
      return std::tuple(next, ebb::sum(next));
    }, x, rows);
    return ebb::sum(end) + ebb::sum(ys);
  }
};
struct of_rows {
  constexpr auto operator()(auto x, auto w, auto v) const {
    return ebb::fori(ebb::extent<0>(x), [](auto i, auto h, auto u) { return h * u + i; }, w, ebb::whole(v));
  }
};
struct mapped {
  constexpr auto operator()(auto n, auto xs, auto w) const {
    return ebb::map([](auto x, auto count, auto v) { return ebb::fori(count, turn{}, x, ebb::whole(v)); }, xs, ebb::whole(n),
                    ebb::whole(w));
  }
};
struct inside {
  constexpr auto operator()(auto n, auto x, auto w) const { return ebb::compile(counted<>{})(n, x, w) * 2; }
};

constexpr double at_compile_time(int n) {
  return ebb::compile([](auto count, auto x) {
    return ebb::fori(count, [](auto i, auto y) { return y * 2 + i; }, x);
  })(n, 1.0);
}

}  // namespace loop_steps

TEST_CASE("a number of steps that is an argument gives the bits of a constant one, whatever is kept") {
  using namespace loop_steps;
  check_all_options<0>();
  check_all_options<1>();
  check_all_options<2>();
  check_all_options<7>();
  CHECK(numbers(ebb::grad<1>(counted<ebb::reversed>{})(7, start(), weights())) ==
        numbers(ebb::grad<0>(fixed<7, ebb::reversed>{})(start(), weights())));
}

TEST_CASE("the number of steps of a call: pushes, second derivatives, maps, a function inside of a function, constant expressions") {
  using namespace loop_steps;
  const auto x = start();
  const auto w = weights();
  const tensor<double, 3> v{1, 0.5, -2};
  CHECK(numbers(ebb::jvp<1>(counted<>{})(4, x, w, v)) == numbers(ebb::jvp<0>(fixed<4>{})(x, w, v)));
  CHECK(numbers(ebb::hvp<1>(counted<>{})(4, x, w, v)) == numbers(ebb::hvp<0>(fixed<4>{})(x, w, v)));
  CHECK(numbers(ebb::compile(inside{})(4, x, w))[0] == 2 * numbers(ebb::compile(fixed<4>{})(x, w))[0]);

  const tensor<double, 2, 3> xs{{0.3, -0.7, 0.2}, {1, 2, 3}};
  const auto both = ebb::compile(mapped{})(std::int64_t{5}, xs, w);
  const auto one = ebb::compile([](auto y, auto u) { return ebb::fori(5, turn{}, y, ebb::whole(u)); })(x, w);
  for (std::size_t i = 0; i < 3; ++i) CHECK(both.data()[i] == one.data()[i]);

  static_assert(at_compile_time(0) == 1);
  static_assert(at_compile_time(3) == ((1. * 2 + 0) * 2 + 1) * 2 + 2);
}

TEST_CASE("the number of steps may be the extent of an axis") {
  using namespace loop_steps;
  const double w = 0.5, v = 1.25;
  double expected = w;
  for (int i = 0; i < 6; ++i) expected = expected * v + i;
  CHECK(ebb::compile(of_rows{})(tensor<float, dyn, 2>(6), w, v) == expected);
  CHECK(ebb::compile(of_rows{})(tensor<float, 6, 2>{}, w, v) == expected);
  CHECK(ebb::compile(of_rows{})(tensor<float, dyn, 2>(0), w, v) == w);
  CHECK(ebb::grad<1>(of_rows{})(tensor<float, dyn, 2>(6), w, v) == std::pow(v, 6));
}

TEST_CASE("an inner loop takes its number of steps from outside of the outer one") {
  using namespace loop_steps;
  const auto x = start();
  const tensor<double, 2, 3> rows{{0.5, -0.2, 0.1}, {0.3, 0.4, -0.6}};
  CHECK(numbers(ebb::grad<1, 2>(in_a_scan{})(3, x, rows)) == numbers(ebb::grad<0, 1>(in_a_scan_fixed<3>{})(x, rows)));
  CHECK(numbers(ebb::grad<1, 2>(in_a_scan{})(1, x, rows)) == numbers(ebb::grad<0, 1>(in_a_scan_fixed<1>{})(x, rows)));
  CHECK(numbers(ebb::grad<1, 2>(in_a_scan{})(0, x, rows)) == numbers(ebb::grad<0, 1>(in_a_scan_fixed<0>{})(x, rows)));
  CHECK(numbers(ebb::hvp<1>(in_a_scan{})(3, x, rows, x)) == numbers(ebb::hvp<0>(in_a_scan_fixed<3>{})(x, rows, x)));
}

TEST_CASE("a number of steps in a region: on the tape, twice, captured, and another one at the next call") {
  using namespace loop_steps;
  const auto x = start();
  const auto region = ebb::compile(counted<>{});
  const auto check = [&]<int Steps>(std::integral_constant<int, Steps>) {
    const auto expected = ebb::grad<1>(fixed<Steps>{})(x, weights());
    for (const bool captured : {false, true, true}) {
      ebb::variable w(weights());
      ebb::backward(region(std::int64_t{Steps}, x, w), {.compiled_autograd = captured});
      CHECK(numbers(w.grad()) == numbers(expected));
    }
    ebb::variable w(weights());
    const auto dw = ebb::grad(region(std::int64_t{Steps}, x, w), ebb::wrt(w), {.create_graph = true});
    ebb::backward(ebb::compile([](auto d) { return ebb::sum(ebb::square(d)); })(dw));
    const auto second = ebb::grad<1>([](auto y, auto u) {
      return ebb::sum(ebb::square(ebb::grad<1>(fixed<Steps>{})(y, u)));
    })(x, weights());
    for (std::size_t i = 0; i < 9; ++i) CHECK(w.grad().data()[i] == Approx(second.data()[i]).epsilon(1e-12));
  };
  check(std::integral_constant<int, 4>{});
  check(std::integral_constant<int, 1>{});
  check(std::integral_constant<int, 0>{});
  check(std::integral_constant<int, 9>{});
}

TEST_CASE("a number of steps that is negative or too large is refused") {
  using namespace loop_steps;
  const auto x = start();
  const auto w = weights();
  CHECK(test::says(test::raised([&] { ebb::compile(counted<>{})(-3, x, w); }),
                   {"ebb::compile: fori: argument 0, the number of steps, is -3"}));
  CHECK(test::says(test::raised([&] { ebb::grad<1>(counted<>{})(std::int64_t{-1}, x, w); }),
                   {"ebb::grad: fori: argument 0, the number of steps, is -1"}));
  CHECK(test::says(test::raised([&] { ebb::compile(counted<>{})(std::int64_t{1} << 31, x, w); }), {"is 2147483648"}));
  ebb::variable v(w);
  CHECK(test::says(test::raised([&] { ebb::compile(counted<>{})(-3, x, v); }), {"the number of steps, is -3"}));
}

TEST_CASE("calls with a number of steps allocate nothing once their memory is there") {
  using namespace loop_steps;
  const auto x = start();
  const auto w = weights();
  double value = 0;
  tensor<double, 3, 3> dw;
  const auto f = ebb::value_and_grad<2>(counted<>{});
  f(ebb::into(value, dw), 50, x, w);
  const auto before = allocations::made;
  for (int n : {3, 50, 0, 7}) f(ebb::into(value, dw), n, x, w);
  CHECK(allocations::made == before);
}

// test/exec/loop_failures.cpp — loops called on arrays, loops whose allocations fail, and loops that threads run at once.
// SPDX-License-Identifier: BSL-1.0
// covers: loop.hpp eager.hpp trace/scan.hpp
#include "../autograd/failing_allocations.hpp"
#include "numbers.hpp"

#include <ebb/ebb.hpp>

#include <array>
#include <memory>
#include <new>
#include <thread>
#include <tuple>
#include <vector>

namespace loop_failures {

using ebb::dyn;
using ebb::tensor;
using test::numbers;

struct cell {
  constexpr auto operator()(auto h, auto x, auto w) const {
    const auto next = ebb::tanh(ebb::matmul(w, h) + x);
    return std::tuple(next, ebb::sum(next * x));
  }
};
/// A cell with a tuple of states, and a tuple as its row.
struct pair_cell {
  constexpr auto operator()(auto carry, auto row, auto w) const {
    const auto [h, n] = carry;
    const auto [x, gate] = row;
    const auto next = h * ebb::sigmoid(gate) + ebb::matmul(w, x);
    return std::tuple(std::tuple(next, n + 1), std::tuple(next, n));
  }
};
template <auto... Option>
struct loss {
  constexpr auto operator()(auto h, auto xs, auto w) const {
    const auto [end, ys] = ebb::scan<Option...>(cell{}, h, xs, ebb::whole(w));
    return ebb::sum(ebb::square(end)) + ebb::sum(ys);
  }
};
struct counted_loss {
  constexpr auto operator()(auto n, auto h, auto w) const {
    const auto end = ebb::fori(n, [](auto i, auto x, auto u) { return ebb::sin(ebb::matmul(u, x)) + i; }, h, ebb::whole(w));
    return ebb::sum(end * end);
  }
};

using vector = tensor<double, dyn>;
using matrix = tensor<double, dyn, dyn>;

template <class Array>
Array filled(Array x, double first) {
  for (std::size_t i = 0; i < x.size(); ++i)
    x.mutable_data()[i] =
        first + 0.37 * static_cast<double>(i) - static_cast<double>(static_cast<int>(0.37 * static_cast<double>(i) + 0.5));
  return x;
}
vector start() { return filled(vector(4), 0.2); }
matrix rows(std::size_t n) { return filled(matrix(n, 4), -0.1); }
matrix weights() { return filled(matrix(4, 4), 0.05); }

template <auto... Option>
void check_eager(const auto& h, const auto& xs, const auto& w) {
  const auto on_arrays = ebb::scan<Option...>(cell{}, h, xs, ebb::whole(w));
  const auto compiled =
      ebb::compile([](auto a, auto b, auto c) { return ebb::scan<Option...>(cell{}, a, b, ebb::whole(c)); })(h, xs, w);
  CHECK(numbers(on_arrays) == numbers(compiled));
}

#if EBB_EXCEPTIONS
/// Whether allocations are those of allocations.hpp: a sanitizer that is linked statically keeps its own, and then none fails.
bool allocations_are_counted() {
  return allocations::in([] { ::operator delete(::operator new(1)); }) == 1;
}
/// fail_each in a new thread for each allocation: there the memory of steps and of carries has yet to be allocated. Each thread runs f once
/// more after it failed, and gives the result.
int fail_each_in_new_threads(auto&& f, auto&& check) {
  for (std::size_t n = 1;; ++n) {
    bool failed = false, reached = false;
    std::thread([&] {
      const pool_limit no_pool(0);
      allocations::fails_in = n;
      try {
        f();
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      reached = allocations::fails_in == 0;
      allocations::fails_in = 0;
      check(f());
    }).join();
    REQUIRE(failed == reached);
    if (!failed) return static_cast<int>(n) - 1;
  }
}
#endif

}  // namespace loop_failures

TEST_CASE("scan on arrays has the bits of the compiled function") {
  using namespace loop_failures;
  check_eager<>(start(), rows(6), weights());
  check_eager<ebb::reversed>(start(), rows(6), weights());
  check_eager<ebb::keep_every<4>>(start(), rows(6), weights());
  check_eager<>(start(), rows(1), weights());
  check_eager<>(start(), rows(0), weights());
  check_eager<>(tensor<float, 2>{1, -1}, tensor<float, 3, 2>{{1, 2}, {0.5, -2}, {3, 0}}, tensor<float, 2, 2>{{0.5, 0.25}, {-1, 1}});

  const auto xs = rows(5), gates = filled(matrix(5, 4), 0.7);
  const auto on_arrays = ebb::scan(pair_cell{}, std::tuple(start(), 3), std::tuple(xs, gates), ebb::whole(weights()));
  const auto compiled = ebb::compile([](auto h, auto n, auto x, auto gate, auto w) {
    return ebb::scan(pair_cell{}, std::tuple(h, n), std::tuple(x, gate), ebb::whole(w));
  })(start(), 3, xs, gates, weights());
  CHECK(numbers(on_arrays) == numbers(compiled));
  CHECK(std::get<1>(std::get<0>(on_arrays)) == 8);

  CHECK(test::says(test::raised([] { ebb::scan(cell{}, filled(vector(3), 1.), rows(6), ebb::whole(weights())); }), {"[3]"}));
}

#if EBB_EXCEPTIONS
TEST_CASE("a carry that changes its extents at the call is an error that names scan and both shapes") {
  using namespace loop_failures;
  constexpr auto swaps = [](auto h, auto xs) {
    return std::get<0>(ebb::scan([](auto c, auto x) { return std::tuple(x * x, c); }, h, xs));
  };
  const tensor<double, dyn> h{1, 2, 3};
  const tensor<double, dyn, dyn> xs{tensor<double, 6, 4>{}};
  const tensor<double, dyn, dyn> fits{tensor<double, 6, 3>{}};
  CHECK(test::says(test::raised([&] { ebb::compile(swaps)(h, xs); }), {"scan", "[3]", "[6, 4]"}));
  CHECK(ebb::compile(swaps)(h, fits).size() == 3);
}

TEST_CASE("each allocation of a loop may fail: no memory is lost, and the next call is right") {
  using namespace loop_failures;
  const auto check = [](auto f, int at_least) {
    const auto expected = numbers(f());
    const int failures = fail_each_in_new_threads(f, [&](const auto& r) { REQUIRE(numbers(r) == expected); });
    CHECK(failures >= (allocations_are_counted() ? at_least : 0));
    const pool_limit no_pool(0);
    const std::ptrdiff_t live = allocations::live;
    fail_each(f, [&](bool) { REQUIRE(allocations::live == live); });
    REQUIRE(numbers(f()) == expected);
  };
  const auto h = start();
  const auto xs = rows(9);
  const auto w = weights();
  check([&] { return ebb::scan(cell{}, h, xs, ebb::whole(w)); }, 3);
  check([&] { return ebb::value_and_grad<0, 1, 2>(loss<>{})(h, xs, w); }, 4);
  check([&] { return ebb::value_and_grad<0, 1, 2>(loss<ebb::keep_every<4>>{})(h, xs, w); }, 4);
  check([&] { return ebb::value_and_grad<1, 2>(counted_loss{})(7, h, w); }, 3);
  check([&] { return ebb::hvp<2>(loss<>{})(h, xs, w, w); }, 2);
}

TEST_CASE("each allocation of a loop on the tape may fail: the gradient is the old or the new one") {
  using namespace loop_failures;
  const auto region = ebb::compile(loss<>{});
  const auto counted = ebb::compile(counted_loss{});
  const auto xs = rows(9);
  const auto expected = numbers(ebb::grad<2>(loss<>{})(start(), xs, weights()));
  const auto expected_counted = numbers(ebb::grad<2>(counted_loss{})(7, start(), weights()));
  const pool_limit no_pool(0);
  for (const bool captured : {false, true}) {
    const auto fail = [&](auto run, const std::vector<double>& right) {
      std::unique_ptr<ebb::variable<double, dyn, dyn>> w;
      const auto again = [&] {
        w.reset();
        w = std::make_unique<ebb::variable<double, dyn, dyn>>(weights());
        run(*w, captured);
      };
      again();
      again();  // captured
      const int failures = fail_each(again, [&](bool failed) {
        const bool is_new = w && w->grad().defined();
        if (is_new) REQUIRE(numbers(w->grad()) == right);
        REQUIRE((failed || is_new));
      });
      CHECK(failures >= (allocations_are_counted() ? 5 : 0));
      w.reset();
      const std::ptrdiff_t live = allocations::live;
      again();
      CHECK(numbers(w->grad()) == right);
      w.reset();
      CHECK(allocations::live == live);
    };
    fail([&](const auto& w, bool c) { ebb::backward(region(start(), xs, w), {.compiled_autograd = c}); }, expected);
    fail([&](const auto& w, bool c) { ebb::backward(counted(7, start(), w), {.compiled_autograd = c}); }, expected_counted);
  }
}
#endif

TEST_CASE("four threads run one body at once, each with its own number of steps") {
  using namespace loop_failures;
  const auto w = weights();
  struct results {
    std::vector<double> value, first, second, tape;
  };
  const auto run = [&](std::size_t i) {
    const auto xs = rows(5 + i);
    const auto h = start();
    results r;
    r.value = numbers(ebb::scan(cell{}, h, xs, ebb::whole(w)));
    r.first = numbers(ebb::value_and_grad<0, 1, 2>(loss<ebb::keep_every<3>>{})(h, xs, w));
    r.second = numbers(ebb::hvp<1>(counted_loss{})(static_cast<int>(3 + i), h, w, h));
    const ebb::variable v(w);
    ebb::backward(ebb::compile(loss<>{})(h, xs, v));
    r.tape = numbers(v.grad());
    return r;
  };
  // The threads come first: so they are the first to use the body.
  std::array<std::vector<results>, 4> made;
  std::array<std::thread, 4> threads;
  for (std::size_t i = 0; i < 4; ++i)
    threads[i] = std::thread([&, i] {
      for (int k = 0; k < 20; ++k) made[i].push_back(run(i));
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < 4; ++i) {
    const results expected = run(i);
    for (const results& r : made[i]) {
      REQUIRE(r.value == expected.value);
      REQUIRE(r.first == expected.first);
      REQUIRE(r.second == expected.second);
      REQUIRE(r.tape == expected.tape);
    }
  }
}

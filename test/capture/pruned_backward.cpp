// test/capture/pruned_backward.cpp — products for operands whose gradient nobody wants are left out, and nobody can tell from the results.
// SPDX-License-Identifier: BSL-1.0
#include "../autograd/failing_allocations.hpp"
#include "../equal.hpp"
#include "shown.hpp"

#include <functional>
#include <string>
#include <vector>

namespace {

namespace ca = ebb::compiled_autograd;

template <class T>
using pruned_matrix = ebb::tensor<T, ebb::dyn, ebb::dyn>;
template <class T>
using pruned_variable = ebb::variable<T, ebb::dyn, ebb::dyn>;

constexpr const char* without_products = "node by node, without products that nobody wants: ";

constexpr auto bent_product = ebb::compile([](auto x, auto w) { return ebb::tanh(ebb::matmul(x, w)); });
constexpr auto two_products = ebb::compile([](auto x, auto w, auto v) { return std::tuple(ebb::matmul(x, w), ebb::matmul(x, v) + x); });
constexpr auto sum_of_all = ebb::compile([](auto x) { return ebb::sum(x); });

template <class T>
pruned_matrix<T> sample_matrix(std::size_t n, std::size_t step) {
  return pruned_matrix<T>::generate([=](std::size_t i, std::size_t j) {
    return T(0.5) - T(0.002) * static_cast<T>((i * 131 + j * step) % 499);
  }, n, n);
}

/// Compares the results of a function, plain, captured and from the cache; returns the plan.
std::string plan_of_same(auto&& f) {
  ca::reset();
  const auto plain = f();
  const ca::enable scope({.compiler = test::keep_shown});
  CHECK(test::equal(f(), plain));
  const auto captures = ebb::counters().compiled_autograd.captures;
  CHECK(test::equal(f(), plain));
  CHECK(ebb::counters().compiled_autograd.captures == captures);
  return test::shown_plan;
}
bool is_pruned(const std::string& plan) { return plan.find(without_products) != std::string::npos; }

}  // namespace

TEST_CASE("the gradient of one factor, of sizes that run pruned and of others: the plain engine's bits") {
  const auto check = [&]<class T>(T, std::size_t n) {
    INFO(n << " x " << n << ", " << sizeof(T) << " bytes an element");
    const pruned_variable<T> x(sample_matrix<T>(n, 7)), w(sample_matrix<T>(n, 31));
    CHECK(is_pruned(plan_of_same([&] { return std::vector{ebb::grad(sum_of_all(bent_product(x, w)), ebb::wrt(w)).value()}; })));
    CHECK(is_pruned(plan_of_same([&] { return std::vector{ebb::grad(sum_of_all(bent_product(x, w)), ebb::wrt(x)).value()}; })));
    CHECK(!is_pruned(plan_of_same([&] {
      const auto [gx, gw] = ebb::grad(sum_of_all(bent_product(x, w)), ebb::wrt(x, w));
      return std::vector{gx.value(), gw.value()};
    })));
    CHECK(is_pruned(plan_of_same([&] {  // a gradient between two nodes is asked for
      const auto h = bent_product(x, w);
      return std::vector{ebb::grad(sum_of_all(bent_product(w, h)), ebb::wrt(h)).value()};
    })));
    CHECK(is_pruned(plan_of_same([&] {
      const pruned_variable<T> a(sample_matrix<T>(n, 3)), b(sample_matrix<T>(n, 5));
      ebb::backward(sum_of_all(bent_product(a, b)), {.inputs = {b}});
      CHECK(!a.grad().defined());
      return std::vector{b.grad().value()};
    })));
  };
  for (const std::size_t n : {1u, 3u, 90u, 91u, 130u}) check(float{}, n);
  for (const std::size_t n : {3u, 64u, 70u}) check(double{}, n);
}

TEST_CASE("a product is left out, too, if the result that it belongs to gets no gradient") {
  constexpr std::size_t n = 100;
  const pruned_variable<float> x(sample_matrix<float>(n, 7)), w(sample_matrix<float>(n, 31)), v(sample_matrix<float>(n, 13));
  CHECK(is_pruned(plan_of_same([&] {
    const auto results = two_products(x, w, v);
    return std::vector{ebb::grad(sum_of_all(std::get<1>(results)), ebb::wrt(v)).value()};
  })));
  // The gradient of x would need zeros for the first result: the compiled backward makes them.
  CHECK(!is_pruned(plan_of_same([&] {
    const auto results = two_products(x, w, v);
    const auto [gx, gv] = ebb::grad(sum_of_all(std::get<1>(results)), ebb::wrt(x, v));
    return std::vector{gx.value(), gv.value()};
  })));
}

TEST_CASE("hooks at a pruned node see what they see in the plain engine") {
  constexpr std::size_t n = 100;
  using hook_on = std::function<void(const pruned_variable<float>&, std::vector<pruned_matrix<float>>&)>;
  const auto run = [&](const hook_on& hook) {
    return plan_of_same([&] {
      std::vector<pruned_matrix<float>> seen;
      const pruned_variable<float> x(sample_matrix<float>(n, 7)), w(sample_matrix<float>(n, 31));
      const pruned_variable<float> h = bent_product(x, w);
      hook(h, seen);
      const auto out = sum_of_all(h);
      seen.push_back(ebb::grad(out, ebb::wrt(w), {.retain_graph = true}).value());
      seen.push_back(ebb::grad(out, ebb::wrt(w)).value());
      return seen;
    });
  };
  const auto look = [](ebb::gradients& out, const ebb::gradients&, std::vector<pruned_matrix<float>>& seen) {
    for (int i = 0; i < 2; ++i) seen.push_back(out.defined(i) ? out.get<float, ebb::dyn, ebb::dyn>(i) : pruned_matrix<float>());
  };
  CHECK(is_pruned(run([](const auto& h, auto& seen) {
    h.register_hook([&](const pruned_matrix<float>& g) { seen.push_back(g); });
    h.register_hook([](auto g) { return g * 0.5; });
  })));
  CHECK(is_pruned(run([](const auto& h, auto&) { h.retain_grad(); })));
  CHECK(is_pruned(run([](const auto& h, auto&) { h.grad_fn().register_prehook([](ebb::gradients&) {}); })));
  CHECK(!is_pruned(run([&](const auto& h, auto& seen) {  // it sees the gradients of both operands
    h.grad_fn().register_hook([&, look](ebb::gradients& out, const ebb::gradients& in) { look(out, in, seen); });
  })));
  (void)run([&](const auto& h, auto& seen) {  // it is registered when the plan has been made
    h.grad_fn().register_prehook([&, look, added = false](ebb::gradients&) mutable {
      if (!std::exchange(added, true))
        h.grad_fn().register_hook([&, look](ebb::gradients& out, const ebb::gradients& in) { look(out, in, seen); });
    });
  });
}

TEST_CASE("with create_graph nothing is left out, and the second derivative is the plain engine's") {
  constexpr std::size_t n = 91;
  const pruned_variable<float> x(sample_matrix<float>(n, 7)), w(sample_matrix<float>(n, 31));
  CHECK(!is_pruned(plan_of_same([&] {
    const auto g = ebb::grad(sum_of_all(bent_product(x, w)), ebb::wrt(w), {.create_graph = true});
    const ca::disable rest;
    return std::vector{g.value(), ebb::grad(sum_of_all(g), ebb::wrt(x)).value()};
  })));
}

TEST_CASE("a pruned node that is run again from the cache allocates no more than the plain engine: what `grad` returns") {
  const pool_limit scope(std::size_t{256} << 20);
  ca::reset();
  const pruned_variable<float> x(sample_matrix<float>(100, 7)), w(sample_matrix<float>(100, 31));
  const auto made = [&](bool captured) {
    const auto step = [&] { (void)ebb::grad(sum_of_all(bent_product(x, w)), ebb::wrt(w), {.compiled_autograd = captured}); };
    for (int i = 0; i < 4; ++i) step();
    return allocations::in([&] {
      for (int i = 0; i < 10; ++i) step();
    });
  };
  CHECK(made(true) == made(false));
  CHECK(ebb::counters().compiled_autograd.hits == 13);
  ca::reset();
}

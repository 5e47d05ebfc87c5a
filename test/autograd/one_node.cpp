// test/autograd/one_node.cpp — a node whose operands are all leaves runs without a pass and gives the results of a pass.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "../same_bits.hpp"

#include <ebb/ebb.hpp>

#include <array>
#include <string>

namespace {

using array = ebb::tensor<float, ebb::dyn>;
using var = ebb::variable<float, ebb::dyn>;

constexpr auto product = ebb::compile([](auto x, auto y) { return ebb::tanh(x * y); });
constexpr auto sum = ebb::compile([](auto x, auto y) { return x + y; });
constexpr auto pair = ebb::compile([](auto x, auto y) { return std::tuple(x * y, ebb::exp(x)); });
constexpr auto product_of_all = ebb::compile([](auto... x) { return (x * ...); });
constexpr auto loss = ebb::compile([](auto x, auto y) { return ebb::sum(x * ebb::tanh(y)); });

array ramp(float from) {
  return array::generate([=](std::size_t i) { return from + 0.03f * static_cast<float>(i); }, 37);
}

template <class T, std::size_t... E>
bool stands_alone(const ebb::variable<T, E...>& v) {
  return ebb::detail::as_one_node(*v.history(), ebb::this_tape()) != nullptr;
}
bool same_bits(const var& a, const var& b) {
  if (a.defined() != b.defined() || !a.defined()) return a.defined() == b.defined();
  return test::same_bits(a, b);
}

/// Checks that two backwards of f(leaves...), as one node and by a pass, leave the same gradients.
template <class F, class... X>
void check_same(F f, const X&... value) {
  const std::array<var, sizeof...(X)> walked{var(value)...}, alone{var(value)...};
  const auto run = [&](const std::array<var, sizeof...(X)>& x, bool looks) {
    for (int times = 0; times < 3; ++times) {
      const ebb::detect_anomaly pass(looks);  // anomaly detection always uses a pass
      const auto y = std::apply(f, x);
      CHECK(stands_alone(y) == !looks);
      ebb::backward(y, {.seeds = {ramp(2.f)}});
    }
  };
  const ebb::compiled_autograd::disable plain;
  run(walked, true);
  run(alone, false);
  CHECK(alone[0].grad().defined());
  for (std::size_t i = 0; i < sizeof...(X); ++i) CHECK(same_bits(alone[i].grad(), walked[i].grad()));
}

}  // namespace

TEST_CASE("the gradients of one node are those of a pass, also if they are added to others") {
  check_same(product, ramp(-0.5f), ramp(0.25f));
  check_same(sum, ramp(-0.5f), ramp(0.25f));  // both leaves share the seed, and get separate gradients
  check_same([](const var& x, const var&) { return product(x, ramp(1.f)); }, ramp(-0.5f), ramp(0.25f));
  check_same(product_of_all, ramp(1), ramp(2), ramp(3), ramp(4), ramp(5), ramp(6), ramp(7), ramp(8));
}

TEST_CASE("one node may get a gradient for its second result only") {
  const ebb::compiled_autograd::disable plain;
  const var x(ramp(0)), y(ramp(1));
  const auto [a, b] = pair(x, y);
  b.backward(array::ones(37));
  for (std::size_t i = 0; i < 37; ++i) CHECK(x.grad().data()[i] == b.data()[i]);
  CHECK_FALSE(y.grad().defined());
}

TEST_CASE("one node frees its saved values unless the graph is retained") {
  const ebb::compiled_autograd::disable plain;
  const var x(ramp(0)), y(ramp(1));
  const auto z = loss(x, y);
  REQUIRE(stands_alone(z));
  ebb::backward(z, {.retain_graph = true});
  const array once = x.grad().value();
  z.backward();
  for (std::size_t i = 0; i < 37; ++i) CHECK(x.grad().data()[i] == 2 * once.data()[i]);
  CHECK(test::says(test::raised([&] { z.backward(); }), {"ebb::backward", "tanh", "retain_graph"}));
  for (std::size_t i = 0; i < 37; ++i) CHECK(x.grad().data()[i] == 2 * once.data()[i]);
}

TEST_CASE("hooks, capture, gradients that meet and several results need a pass") {
  const var x(ramp(0)), y(ramp(1));
  {
    const ebb::compiled_autograd::disable plain;
    CHECK(stands_alone(product(x, y)));
    CHECK_FALSE(stands_alone(product(x, x)));
    CHECK_FALSE(stands_alone(product(product(x, y), y)));
    CHECK_FALSE(stands_alone(x));
    CHECK_FALSE(stands_alone(std::get<1>(pair(x, y))));
    const auto more = [] { return var(ramp(2)); };
    CHECK_FALSE(stands_alone(product_of_all(x, y, more(), more(), more(), more(), more(), more(), more())));

    const var z = product(x, y);
    const auto hook = z.register_hook([](const ebb::any_tensor&) {});
    CHECK_FALSE(stands_alone(z));
  }
  {
    const ebb::compiled_autograd::enable captures;
    CHECK_FALSE(stands_alone(product(x, y)));
  }
  const ebb::compiled_autograd::disable plain;
  const auto on_leaf = y.register_post_accumulate_grad_hook([](var&) {});
  CHECK_FALSE(stands_alone(product(x, y)));
}

TEST_CASE("a leaf that is two operands of a node gets the sum") {
  const ebb::compiled_autograd::disable plain;
  const var x(ramp(0));
  product(x, x).backward(array::ones(37));
  const var copy(ramp(0)), other(ramp(0));
  product(copy, other).backward(array::ones(37));
  for (std::size_t i = 0; i < 37; ++i) CHECK(x.grad().data()[i] == copy.grad().data()[i] + other.grad().data()[i]);
}

// test/autograd/followed.cpp — eager code under autocast scopes has the bits of regions that declare the context.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "../same_bits.hpp"

#include <ebb/autograd/backward.hpp>
#include <ebb/autograd/operators.hpp>
#include <ebb/exec/region.hpp>
#include <ebb/hooks/register.hpp>
#include <ebb/random/random.hpp>
#include <ebb/trace/functions.hpp>

#include <optional>
#include <string>
#include <utility>

namespace {

using ebb::autocast, ebb::bf16, ebb::f16, ebb::off, test::same_bits;
using X = ebb::tensor<float, 3, 4>;
using W = ebb::tensor<float, 4, 4>;

const X x = ebb::normal<float, 3, 4>(1, 0.f, 1.f);
const W weights = ebb::normal<float, 4, 4>(2, 0.f, 1.f);

struct outcome {
  float value;
  W gradient;
};
/// sum((x w)^2) and its gradient; forward and backward each run in their own context.
outcome run(auto product_of, auto forward, auto backward) {
  ebb::variable w(weights);
  std::optional<ebb::variable<float>> loss;
  {
    const ebb::context_switch here(ebb::number_of_context<decltype(forward)>);
    const ebb::variable<float, 3, 4> y = product_of(w);
    loss = ebb::sum(y * y);
  }
  const ebb::context_switch there(ebb::number_of_context<decltype(backward)>);
  loss->backward();
  return {loss->item(), w.grad().value()};
}
bool equal(const outcome& p, const outcome& q) { return p.value == q.value && same_bits(p.gradient, q.gradient); }

constexpr auto product = [](auto p, auto q) { return ebb::matmul(p, q); };

template <class Low>
void check() {
  using C = autocast<Low>;
  const auto eager = [](const auto& w) { return ebb::matmul(x, w); };
  const auto declared = [](const auto& w) { return ebb::compile<ebb::ambient<off, C>>(product)(x, w); };
  const auto called_inside = [](const auto& w) { return ebb::compile<ebb::backward_pass_autocast<C>>(product)(x, w); };

  CHECK(equal(run(eager, C{}, C{}), run(declared, C{}, C{})));
  CHECK(equal(run(eager, off{}, C{}), run(called_inside, off{}, C{})));
  CHECK(equal(run(eager, off{}, off{}), run(declared, off{}, off{})));
  // Outside, each op of the backward computes in the dtypes of its operands, which were cast inside.
  CHECK(equal(run(eager, C{}, off{}), run(declared, C{}, C{})));
  CHECK_FALSE(equal(run(eager, C{}, C{}), run(eager, off{}, off{})));
  CHECK_FALSE(equal(run(eager, off{}, C{}), run(eager, off{}, off{})));
}

}  // namespace

TEST_CASE("eager products and their backward follow the contexts of their callers") {
  check<bf16>();
  check<f16>();
}

TEST_CASE("an expression keeps the context in which it was written") {
  const ebb::variable w(weights);
  const auto inside = [&] {
    const ebb::autocast_scope<bf16> scope;
    return ebb::matmul(x, w);
  }();
  const auto outside = ebb::matmul(x, w);
  constexpr auto widened = ebb::compile([](auto y) { return ebb::cast<float>(y); });
  CHECK(same_bits(inside.value(), X(widened(ebb::under<autocast<bf16>>(product)(x, weights)))));
  const ebb::autocast_scope<bf16> scope;
  CHECK(same_bits(outside.value(), ebb::compile<ebb::ambient<off, autocast<bf16>>>(ebb::no_autocast(product))(x, weights)));
}

#if EBB_EXCEPTIONS
TEST_CASE("an expression from another context, or an unrecorded one, inside a larger one is an error") {
  const ebb::variable w(weights);
  const auto inside = [&] {
    const ebb::autocast_scope<bf16> scope;
    return ebb::matmul(x, w);
  };
  const auto constant = [&] {
    const ebb::no_grad scope;
    return ebb::tanh(w);
  };
  CHECK(test::says(test::raised([&] { ebb::variable(ebb::sum(inside())); }), {"written in another autocast context", "as a variable"}));
  CHECK(test::says(test::raised([&] { ebb::variable(ebb::sum(constant() * w)); }), {"written under no_grad"}));
  const auto named = inside();
  CHECK(ebb::variable(ebb::sum(named)).item() == ebb::sum(ebb::variable<float, 3, 4>(inside()).value()));
  const ebb::no_grad scope;
  CHECK_FALSE(ebb::variable(ebb::sum(constant() * w)).requires_grad());
}
#endif

TEST_CASE("a context changes nothing without an op that has a class") {
  const ebb::variable w(weights);
  const ebb::variable<float, 4, 4> outside = ebb::tanh(w * 2.0) + w;
  const ebb::autocast_scope<f16> scope;
  const ebb::variable<float, 4, 4> inside = ebb::tanh(w * 2.0) + w;
  CHECK(same_bits(outside.value(), inside.value()));
}

TEST_CASE("a backward of a backward follows the contexts too") {
  const auto second = [](auto forward) {
    ebb::variable w(weights);
    const ebb::autocast_scope<bf16> scope;
    const ebb::variable y = forward(w);
    const ebb::variable loss = ebb::sum(y * y * y);
    const auto g = ebb::grad(loss, ebb::wrt(w), {.create_graph = true});
    const ebb::variable again = ebb::sum(g * g);
    again.backward();
    return w.grad().value();
  };
  const auto region = ebb::compile<ebb::ambient<off, autocast<bf16>>>(product);
  const auto eager = [](const auto& w) { return ebb::variable(ebb::matmul(x, w)); };
  CHECK(same_bits(second(eager), second([&](const auto& w) { return region(x, w); })));
}

TEST_CASE("a hook may differentiate twice an expression that its own backward reaches next, in another context") {
  const auto gradient = [](bool differentiates) {
    const ebb::variable w(weights), v(weights);
    const ebb::variable a = v * 2.0, b = v * 3.0, c = v * 4.0, d = v * 5.0;  // they wait with their gradients
    const ebb::variable y = ebb::exp(ebb::tanh(ebb::matmul(weights, w)));            // while this one runs, which saves values
    const ebb::variable p = y * a * b * c * d;
    const ebb::variable loss = ebb::sum(p);
    bool is_inside = false;
    p.register_hook([&](const W&) {
      if (!differentiates || std::exchange(is_inside, true)) return;
      ebb::grad(loss, ebb::wrt(w), {.create_graph = true});
    });
    const ebb::autocast_scope<bf16> scope;
    ebb::backward(loss, {.retain_graph = true});
    return w.grad().value();
  };
  CHECK(same_bits(gradient(false), gradient(true)));
}

TEST_CASE("the casts of an expression are logged once for each context") {
  static std::string said;
  said.clear();
  const ebb::variable w(weights);
  const auto before = ebb::set_log_sink([](ebb::log_topic, std::string_view text) { said += text; });
  ebb::set_log(ebb::log_topic::autocast, true);
  for (int i = 0; i < 2; ++i) {
    const ebb::autocast_scope<f16> scope;
    const ebb::variable<float, 3, 4> y = ebb::matmul(x, ebb::cos(w));
  }
  ebb::set_log(ebb::log_topic::autocast, false);
  ebb::set_log_sink(before);
  CHECK(said ==
        "autocast: an expression of cos+matmul\n  forward    matmul operand 0 f32 -> f16\n  forward    matmul operand 1 f32 -> f16\n");
}

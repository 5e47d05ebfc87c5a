// test/capture/policies.cpp — SW-5: compiled autograd chooses one of several autocast policies that a region declares, as part of its key.
// SPDX-License-Identifier: BSL-1.0
// covers: autograd/other_policy.hpp
#include "../same_bits.hpp"
#include "shown.hpp"

#include <string>
#include <vector>

namespace {

using ebb::ambient, ebb::as_recorded, ebb::autocast, ebb::backward_pass_autocast, ebb::backward_policies, ebb::bf16, ebb::off;
using ebb::same_as_forward;
namespace ca = ebb::compiled_autograd;
using matrix = ebb::tensor<float, 4, 4>;
using variable = ebb::variable<float, 4, 4>;

matrix values(float from) { return matrix::generate([=](std::size_t i) { return from + 0.37f * static_cast<float>(i); }); }

/// Saves the result of tanh; the caller's context casts its products.
constexpr auto layers = [](auto x, auto w) { return ebb::matmul(ebb::tanh(ebb::matmul(x, w)), w) * 0.25f; };
constexpr auto declared = ebb::compile<backward_policies<as_recorded, off, autocast<bf16>>>(layers);

struct gradients {
  matrix x, w;
};
bool same_bits(const gradients& a, const gradients& b) {
  return test::same_bits(a.x, b.x) && test::same_bits(a.w, b.w);
}
template <class F>
gradients gradients_of(F f) {
  const variable x(values(-2)), w(values(-3));
  const auto y = ebb::tanh(f(x * 0.125f, w * 0.125f));
  y.backward(matrix::ones());
  return {x.grad().value(), w.grad().value()};
}
template <class Policy>
gradients under_one_policy() {
  return gradients_of(ebb::compile<backward_pass_autocast<Policy>>(layers));
}

}  // namespace

TEST_CASE("the policy that a scope chooses gives the bits of a region that has no other") {
  ca::reset();
  const ebb::on_mismatch was = ebb::config().autocast_mismatch;
  ebb::config().autocast_mismatch = ebb::on_mismatch::ignore;  // bf16 is an assumption that is wrong here
  const gradients recorded = under_one_policy<as_recorded>(), low = under_one_policy<autocast<bf16>>();
  REQUIRE_FALSE(same_bits(recorded, low));
  CHECK(same_bits(gradients_of(declared), recorded));  // its own policy
  for (int times = 0; times < 3; ++times) {
    const auto chosen = [&](ebb::policy_choice p) {
      const ca::enable scope({.backward_policy = p});
      return gradients_of(declared);
    };
    CHECK(same_bits(chosen({}), recorded));
    CHECK(same_bits(chosen(as_recorded{}), recorded));
    CHECK(same_bits(chosen(off{}), under_one_policy<off>()));
    CHECK(same_bits(chosen(autocast<bf16>{}), low));
    CHECK(same_bits(chosen(backward_pass_autocast<off, autocast<bf16>>{}), low));
  }
  const auto c = ebb::counters().compiled_autograd;
  CHECK(c.captures == 3);  // without a choice, and two policies: a backward out of its context runs uncaptured
  CHECK(c.hits == 6);
  ebb::config().autocast_mismatch = was;
  ca::reset();
}

TEST_CASE("a region keeps the one policy that it has; a list without the chosen one is refused before anything runs") {
  const variable x(values(-2)), w(values(-3));
  const ca::enable scope({.backward_policy = off{}});
  CHECK(same_bits(gradients_of(ebb::compile<backward_pass_autocast<as_recorded>>(layers)), under_one_policy<as_recorded>()));

  const auto y = ebb::compile<backward_policies<as_recorded, same_as_forward>>(layers)(x, w) * x;
  const std::string said = test::raised([&] { y.backward(matrix::ones()); });
  CHECK(test::says(said, {"ebb::backward: matmul+tanh+matmul", "was not compiled under the policy ebb::off",
                          "ebb::backward_policies<ebb::as_recorded, ebb::same_as_forward, ebb::off>"}));
  CHECK_FALSE(x.grad().defined());
  const ca::disable plain;
  y.backward(matrix::ones());
  CHECK(x.grad().defined());
}

#if EBB_EXCEPTIONS
TEST_CASE("the chosen policy is compared with the context of the call") {
  const variable x(values(-2)), w(values(-3));
  const auto y = declared(x, w);
  {
    const ca::enable scope({.backward_policy = autocast<bf16>{}});
    for (int times = 0; times < 2; ++times)
      CHECK(test::says(test::raised([&] { y.backward(matrix::ones()); }),
                       {"was compiled for a call in ebb::autocast<ebb::bf16>, but is called in ebb::off"}));
    CHECK_FALSE(w.grad().defined());
    const ebb::autocast_scope<bf16> there;
    y.backward(matrix::ones());
  }
  CHECK(w.grad().defined());
}
#endif

TEST_CASE("a variant of a region declares what the region does") {
  constexpr auto both = ebb::compile<ambient<off, autocast<bf16>>, backward_policies<same_as_forward, as_recorded>>(layers);
  constexpr auto one = ebb::compile<ambient<off, autocast<bf16>>, backward_pass_autocast<as_recorded>>(layers);
  const ebb::autocast_scope<bf16> there;
  const auto run = [](auto f) {
    const variable x(values(-2)), w(values(-3));
    f(x, w).backward(matrix::ones());
    return gradients{x.grad().value(), w.grad().value()};
  };
  const gradients expected = run(one);
  const ca::enable scope({.backward_policy = as_recorded{}});
  CHECK(same_bits(run(both), expected));
}

TEST_CASE("a checkpointed region declares what the region does") {
  const ebb::on_mismatch was = ebb::config().autocast_mismatch;
  ebb::config().autocast_mismatch = ebb::on_mismatch::ignore;
  const gradients low = under_one_policy<autocast<bf16>>();
  CHECK(same_bits(gradients_of(ebb::checkpoint(declared)), gradients_of(declared)));
  {
    const ca::enable scope({.backward_policy = autocast<bf16>{}});
    CHECK(same_bits(gradients_of(ebb::checkpoint(declared)), low));
  }
  ebb::config().autocast_mismatch = was;
  {
    const variable x(values(-2)), w(values(-3));
    const auto y = ebb::checkpoint(declared)(x, w);
    const ca::enable scope({.backward_policy = autocast<ebb::f16>{}});
    CHECK(test::says(test::raised([&] { y.backward(matrix::ones()); }), {"was not compiled under the policy ebb::autocast<ebb::f16>"}));
  }

  constexpr auto both = ebb::compile<ambient<off, autocast<bf16>>, backward_policies<same_as_forward, as_recorded>>(layers);
  constexpr auto one = ebb::compile<ambient<off, autocast<bf16>>, backward_pass_autocast<as_recorded>>(layers);
  const ebb::autocast_scope<bf16> there;
  const gradients expected = gradients_of(one);
  const ca::enable recorded({.backward_policy = as_recorded{}});
  CHECK(same_bits(gradients_of(ebb::checkpoint(both)), expected));
}

TEST_CASE("a backward under another policy has no graph; a graph's nodes under the own one do") {
  variable x(values(-2)), w(values(-3));
  const auto y = declared(x, w);
  {
    const ca::enable scope({.backward_policy = off{}});
    CHECK(test::says(test::raised([&] { ebb::backward(y, {.seeds = {matrix::ones()}, .create_graph = true}); }),
                     {"ebb::backward: a backward of matmul+tanh+matmul", "under ebb::off has no graph of its own"}));
  }
  CHECK_FALSE(x.grad().defined());
  const ca::enable scope({.backward_policy = as_recorded{}});
  ebb::backward(y, {.seeds = {matrix::ones()}, .create_graph = true});
  CHECK(x.grad().requires_grad());
  x.zero_grad();
  w.zero_grad();
}

TEST_CASE("values that are saved for other policies go through saved-tensor hooks like all others") {
  const variable x(values(-2)), w(values(-3));
  std::vector<ebb::any_tensor> stored;
  const auto record = [&] {
    const ebb::saved_tensors_hooks scope(
        [&](const ebb::any_tensor& v) {
          stored.push_back(v);
          return stored.size() - 1;
        },
        [&](std::size_t place) { return stored[place]; });
    return ebb::compile<backward_policies<as_recorded, off>>([](auto a) { return ebb::tanh(a * 2); })(x);
  };
  const auto y = record();
  REQUIRE(stored.size() == 2);  // tanh's result, and the argument
  const ca::enable scope({.backward_policy = off{}});
  y.backward(matrix::ones());
  const variable again(values(-2));
  ebb::tanh(again * 2).backward(matrix::ones());
  CHECK(ebb::all_equal(x.grad().value(), again.grad().value()));
}

namespace {

/// An op of elements with a low policy: in a scope it computes in that dtype.
constexpr auto low = [](auto g) { return ebb::cast<float>(ebb::matmul(g, ebb::cast<float>(g * 0.5f))) * 0.25f; };

}  // namespace

TEST_CASE("in an autocast scope nodes that do not depend on it are merged, others run by themselves: the bits are the plain engine's") {
  constexpr auto bent = ebb::compile([](auto x) { return ebb::tanh(x) * 0.5f; });
  constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
  const ebb::autocast_scope<bf16> there;
  const auto run = [&](bool captured, bool follows, bool hooked, bool asks) {
    const variable x(values(-2)), w(values(-3));
    const variable a = bent(product(bent(x), w)), b = follows ? variable(ebb::matmul(a, w)) : variable(a * 0.75f);
    const variable c = bent(product(b, a));
    if (hooked) a.register_hook([](auto g) { return ebb::clamp(g, -0.5f, 0.5f); });
    if (asks) a.register_hook(ebb::under<autocast<bf16>>(low));
    ebb::backward(c, {.seeds = {values(1)}, .compiled_autograd = captured});
    return gradients{x.grad().value(), w.grad().value()};
  };
  for (const bool follows : {false, true})
    for (const bool hooked : {false, true})
      for (const bool asks : {false, true}) {
        INFO("follows " << follows << ", hooked " << hooked << ", asks " << asks);
        ca::clear_cache();
        const gradients plain = run(false, follows, hooked, asks);
        const ca::enable scope({.compiler = test::keep_shown});
        for (int times = 0; times < 3; ++times) CHECK(same_bits(run(true, follows, hooked, asks), plain));
        CHECK(test::shown_plan.find("one chain in registers") != std::string::npos);
        CHECK((test::shown_plan.find("node by node") != std::string::npos) == (follows || asks));
      }
#if EBB_EXCEPTIONS
  const variable x(values(-2));
  const variable y = bent(bent(x));
  y.register_hook([](auto g) { return ebb::matmul(g, g); });  // does not depend on contexts
  for (const bool captured : {false, true})
    CHECK(test::says(test::raised([&] { ebb::backward(y, {.seeds = {values(1)}, .retain_graph = true, .compiled_autograd = captured}); }),
                     {"called in ebb::autocast<ebb::bf16>, which the function does not declare"}));
#endif
}

TEST_CASE("the captured graph shows a backward under another policy as a call") {
  static std::string shown;
  const variable x(values(-2)), w(values(-3));
  const auto y = declared(x, w) * x;
  const ca::enable scope({.compiler =
                              [](const ebb::captured_graph& g) {
                                shown = to_string(g);
                                return ebb::backend::merge;
                              },
                          .backward_policy = off{}});
  y.backward(matrix::ones());
  CHECK(shown.find("call_backward matmul+tanh+matmul") != std::string::npos);
}

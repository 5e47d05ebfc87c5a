// test/autograd/grad_dtype.cpp — leaves of 16 bits whose gradients are float: sums, hooks, optimizers, refusals, in both engines.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "../capture/shown.hpp"
#include "../same_bits.hpp"

#include <ebb/ebb.hpp>

#include <boost/hana/define_struct.hpp>

#include <cmath>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace grad_dtype_test {

using ebb::bfloat16, ebb::float16, ebb::dyn;
template <class T>
using row = ebb::tensor<T, dyn>;
template <class T>
using leaf = ebb::variable<T, dyn>;
using test::same_bits;

constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });

/// Numbers of many magnitudes, rounded to T.
template <class T>
row<T> numbers(std::size_t n, std::uint32_t seed) {
  std::mt19937 bits(seed);
  return row<T>::generate([&](std::size_t) {
    const float x = static_cast<float>(static_cast<int>(bits() % 2001) - 1000) / 64;
    return static_cast<T>(std::ldexp(x, static_cast<int>(bits() % 9) - 4));
  }, n);
}
row<float> in_float(const auto& x) {
  return row<float>::generate([&](std::size_t i) { return static_cast<float>(x.data()[i]); }, x.size());
}
bool says(const std::string& text, const char* part) {
  INFO(text);
  CHECK(text.find(part) != text.npos);
  return text.find(part) != text.npos;
}

template <template <class, std::size_t...> class Array>
struct model {
  using wide = Array<float, 2>;
  using narrow = Array<bfloat16, 2>;
  BOOST_HANA_DEFINE_STRUCT(model, (wide, b), (narrow, w));
};

}  // namespace grad_dtype_test

using namespace grad_dtype_test;

TEST_CASE("SW-22: 300 backwards of 1 sum to 300 in float, plain and captured, and to 256 in bfloat16") {
  for (const bool captured : {false, true}) {
    const ebb::tensor<bfloat16, 2> ones{bfloat16(1.f), bfloat16(1.f)};
    const ebb::variable narrow(ones), w(ones, ebb::grad_dtype<float>);
    static_assert(std::is_same_v<decltype(w), const ebb::variable<bfloat16, 2>>);
    static_assert(std::is_same_v<decltype(w.grad<float>()), ebb::variable<float, 2>>);
    CHECK(w.grad_dtype() == ebb::dtype::f32);
    CHECK(narrow.grad_dtype() == ebb::dtype::bf16);
    for (int i = 0; i < 300; ++i) {
      ebb::backward(ebb::sum(narrow), {.compiled_autograd = captured});
      ebb::backward(ebb::sum(w), {.compiled_autograd = captured});
    }
    CHECK(static_cast<float>(narrow.grad().data()[1]) == 256);
    CHECK(w.grad<float>().data()[0] == 300);
    CHECK(w.grad<float>().data()[1] == 300);
  }
}

TEMPLATE_TEST_CASE("SW-22: parts of a gradient and whole gradients are added in float", "", bfloat16, float16) {
  using T = TestType;
  for (const std::size_t n : {0u, 1u, 7u, 64u, 1003u})
    for (const bool captured : {false, true}) {
      INFO(n << " elements" << (captured ? ", captured" : ""));
      leaf<T> w(numbers<T>(n, 1), ebb::grad_dtype<float>);
      std::vector<float> want(n, 0);
      std::vector<long double> exact(n, 0), size(n, 0);
      for (std::uint32_t step = 0; step < 40; ++step) {
        const row<T> c[] = {numbers<T>(n, 10 + step), numbers<T>(n, 100 + step), numbers<T>(n, 1000 + step)};
        const leaf<T> a = product(w, c[0]), b = product(w, c[1]), d = product(w, c[2]);
        const row<T> ones = row<T>::generate([](std::size_t) { return T(1.f); }, n);
        ebb::backward(std::tuple(a, b, d), {.seeds = {ones, ones, ones}, .compiled_autograd = captured});
        for (std::size_t i = 0; i < n; ++i) {
          const auto part = [&](int k) { return static_cast<float>(c[k].data()[i]); };
          const float x = part(0), y = part(1), z = part(2);
          const float arrived = (z + y) + x;  // later nodes give their gradients first
          want[i] = step == 0 ? arrived : want[i] + arrived;
          exact[i] += static_cast<long double>(x) + y + z;
          size[i] += std::fabs(x) + std::fabs(y) + std::fabs(z);
        }
      }
      const row<float> g = w.template grad<float>().value();
      CHECK(same_bits(g, want));
      for (std::size_t i = 0; i < n; ++i) {
        REQUIRE(std::fabs(g.data()[i] - exact[i]) <= 120 * 0x1p-24L * size[i]);
      }
    }
}

TEST_CASE("SW-22: grad rounds the float sum once, to the dtype of its variable") {
  for (const bool captured : {false, true})
    for (const bool records : {false, true}) {
      const leaf<bfloat16> w(row<bfloat16>{bfloat16(3.f)}, ebb::grad_dtype<float>), narrow(w.value());
      const auto parts = [](const leaf<bfloat16>& x) {
        const leaf<bfloat16> one = product(x, row<bfloat16>{bfloat16(1.f)}), same = product(x, row<bfloat16>{bfloat16(1.f)});
        return std::tuple(one, same, leaf<bfloat16>(product(x, row<bfloat16>{bfloat16(256.f)})));
      };
      const row<bfloat16> one{bfloat16(1.f)};
      const ebb::grad_options how{.seeds = {one, one, one}, .create_graph = records, .compiled_autograd = captured};
      CHECK(static_cast<float>(ebb::grad(parts(w), ebb::wrt(w), how).data()[0]) == 258);
      CHECK(static_cast<float>(ebb::grad(parts(narrow), ebb::wrt(narrow), how).data()[0]) == 256);
      CHECK(!w.grad<float>().defined());
      const leaf<bfloat16> product_of_two = product(w, narrow);
      const auto [d, e] = ebb::grad(product_of_two, ebb::wrt(w, narrow), {.seeds = {one}, .compiled_autograd = captured});
      CHECK(static_cast<float>(d.data()[0]) == 3);
      CHECK(static_cast<float>(e.data()[0]) == 3);
    }
}

TEST_CASE("SW-22: a graph of the backward passes through the conversion") {
  for (const bool captured : {false, true}) {
    leaf<bfloat16> w(row<bfloat16>{bfloat16(2.f), bfloat16(-1.5f)}, ebb::grad_dtype<float>);
    const ebb::variable cube = ebb::sum(product(product(w, w), w));
    ebb::backward(cube, {.create_graph = true, .compiled_autograd = captured});
    const leaf<float> g = w.grad<float>();
    CHECK(g.requires_grad());
    CHECK(ebb::all_equal(g.value(), row<float>{12, 6.75f}));
    w.zero_grad();
    const ebb::variable weighted = ebb::sum(g * row<float>{1, 0.5f});
    ebb::backward(weighted, {.create_graph = true, .compiled_autograd = captured});  // 6 w
    CHECK(ebb::all_equal(w.grad<float>().value(), row<float>{12, -4.5f}));
    const ebb::variable again = ebb::sum(w.grad<float>());
    w.zero_grad();
    ebb::backward(again, {.compiled_autograd = captured});
    CHECK(ebb::all_equal(w.grad<float>().value(), row<float>{6, 3}));

    // The derivative of a gradient returned by grad is that of the sum before its rounding.
    const leaf<bfloat16> d = ebb::grad(ebb::sum(product(w, w)), ebb::wrt(w), {.create_graph = true, .compiled_autograd = captured});
    CHECK(d.requires_grad());
    const leaf<bfloat16> second = ebb::grad(ebb::sum(d), ebb::wrt(w), {.compiled_autograd = captured});
    CHECK(ebb::all_equal(in_float(second), row<float>{2, 2}));
    w.zero_grad();
  }
}

TEST_CASE("SW-22: hooks of the leaf see float, and hooks of earlier nodes see those nodes' dtypes") {
  for (const bool captured : {false, true})
    for (int run = 0; run < 3; ++run) {
      leaf<bfloat16> w(row<bfloat16>{bfloat16(1.f), bfloat16(2.f)}, ebb::grad_dtype<float>);
      std::string seen;
      w.register_hook<float>([&](const row<float>& g) { seen += "t" + std::to_string(static_cast<int>(g.data()[0])); });
      w.register_hook<float>([](auto g) { return g + 0.0625f; });
      w.register_hook<float>([&](const leaf<float>& g) { return leaf<float>(g * 2); });
      w.accumulate_node<float>().register_prehook([](auto g) { return g + 1; });
      w.accumulate_node<float>().register_prehook([&](ebb::gradients& g) {
        CHECK(g.get(0).type() == ebb::dtype::f32);
        seen += " p" + std::to_string(g.get<float, dyn>(0).data()[1]).substr(0, 7);
        g.set(0, row<float>{0.001f, 0.125f});
      });
      w.accumulate_node<float>().register_hook([&](ebb::gradients&, const ebb::gradients& in) {
        seen += " n" + std::to_string(in.get<float, dyn>(0).data()[1]).substr(0, 5);
      });
      w.register_post_accumulate_grad_hook([&](leaf<bfloat16>& v) {
        seen += " a" + std::to_string(v.grad<float>().data()[0]).substr(0, 5);
      });
      const auto is_float = [](const std::vector<ebb::any_tensor>& g) { CHECK(g[0].type() == ebb::dtype::f32); };
      ebb::register_multi_grad_hook(is_float, ebb::when::all, w);
      const leaf<bfloat16> y = product(w, row<bfloat16>{bfloat16(3.f), bfloat16(256.f)});
      const leaf<bfloat16> z = product(w, row<bfloat16>{bfloat16(5.f), bfloat16(1.f)});
      y.grad_fn().register_hook([&](ebb::gradients& out, const ebb::gradients&) { CHECK(out.get(0).type() == ebb::dtype::bf16); });

      const row<bfloat16> one{bfloat16(1.f), bfloat16(1.f)};
      ebb::backward(std::tuple(y, z), {.seeds = {one, one}, .compiled_autograd = captured});
      // 3 + 5 and 256 + 1; + 1/16; * 2; + 1
      CHECK(seen == "t8 p515.125 a0.001 n0.125");
      CHECK(ebb::all_equal(w.grad<float>().value(), row<float>{0.001f, 0.125f}));
    }
}

TEST_CASE("SW-22: traced hooks after an accumulation update a value of 16 bits by a float gradient") {
  for (const bool captured : {false, true}) {
    ebb::compiled_autograd::clear_cache();
    leaf<bfloat16> w(row<bfloat16>{bfloat16(1.f), bfloat16(2.f)}, ebb::grad_dtype<float>), v(w.value(), ebb::grad_dtype<float>);
    w.register_post_accumulate_grad_hook<float>([](auto value, auto g) {
      return std::tuple(ebb::cast<bfloat16>(ebb::cast<float>(value) - 0.25f * g), g * 0.5f);
    });
    v.register_hook<float>([](auto g) { return g * 3; });
    v.register_post_accumulate_grad_hook<float>([](auto, auto g) { return std::tuple(ebb::cast<bfloat16>(g), ebb::nothing); });
    for (int step = 0; step < 4; ++step) {
      const row<bfloat16> one{bfloat16(1.f), bfloat16(1.f)};
      const auto value = in_float(w.value());
      const float before = step ? w.grad<float>().data()[1] : 0;
      const leaf<bfloat16> out = product(w, v);
      const float arrives = static_cast<float>(v.data()[1]), other = static_cast<float>(w.data()[1]);
      ebb::backward(out, {.seeds = {one}, .compiled_autograd = captured});
      CHECK(w.grad<float>().data()[1] == (before + arrives) * 0.5f);
      CHECK(static_cast<float>(w.data()[1]) == static_cast<float>(bfloat16(value.data()[1] - 0.25f * (before + arrives))));
      CHECK(static_cast<float>(v.data()[1]) == static_cast<float>(bfloat16(3 * other)));
      CHECK(!v.grad<float>().defined());
    }
  }
}

TEST_CASE("SW-22: Adam, SGD and a rule as a hook take float gradients of parameters of 16 bits") {
  const auto train = [](bool in_backward, bool captured, auto rule) {
    ebb::compiled_autograd::clear_cache();
    leaf<bfloat16> w(numbers<bfloat16>(5, 3), ebb::grad_dtype<float>);
    ebb::optimizer opt(rule, w);
    if (in_backward) opt.step_in_backward();
    std::vector<float> all;
    for (std::uint32_t step = 0; step < 6; ++step) {
      const leaf<bfloat16> a = product(w, numbers<bfloat16>(5, 50 + step)), b = product(w, numbers<bfloat16>(5, 80 + step));
      const row<bfloat16> seed = row<bfloat16>::generate([](std::size_t) { return bfloat16(1.f); }, 5);
      ebb::backward(std::tuple(a, b), {.seeds = {seed, seed}, .compiled_autograd = captured});
      if (!in_backward) opt.step(), opt.zero_grad();
      CHECK(!w.grad<float>().defined());
      for (std::size_t i = 0; i < 5; ++i) all.push_back(static_cast<float>(w.data()[i]));
    }
    return all;
  };
  // The paper's formula in long double, rounded to bfloat16 after each step.
  const ebb::adam adam{.lr = 0.25, .weight_decay = 0.125};
  std::vector<float> want;
  const row<bfloat16> start = numbers<bfloat16>(5, 3);
  std::vector<long double> p(5), m(5, 0), v(5, 0);
  for (std::size_t i = 0; i < 5; ++i) p[i] = static_cast<float>(start.data()[i]);
  for (std::uint32_t step = 0; step < 6; ++step)
    for (std::size_t i = 0; i < 5; ++i) {
      const auto part = [&](std::uint32_t seed) { return static_cast<float>(numbers<bfloat16>(5, seed + step).data()[i]); };
      const float g = part(80) + part(50);
      const long double d = g + 0.125L * p[i], t = step + 1;
      m[i] = 0.9L * m[i] + 0.1L * d;
      v[i] = 0.999L * v[i] + 0.001L * d * d;
      const long double root = std::sqrt(v[i]) / std::sqrt(1 - std::pow(0.999L, t)) + 1e-8L;
      const long double next = p[i] - 0.25L / (1 - std::pow(0.9L, t)) * m[i] / root;
      p[i] = static_cast<float>(bfloat16(static_cast<float>(next)));
      want.push_back(static_cast<float>(p[i]));
    }
  CHECK(train(false, false, adam) == want);
  CHECK(train(true, false, adam) == want);
  CHECK(train(false, true, adam) == want);
  CHECK(train(true, true, adam) == want);
  const auto sgd = train(false, false, ebb::sgd{.lr = 0.125, .momentum = 0.5});
  CHECK(train(true, true, ebb::sgd{.lr = 0.125, .momentum = 0.5}) == sgd);
  CHECK(sgd != want);
}

TEST_CASE("SW-22: clipping, scaling and the states of an optimizer take float gradients") {
  leaf<bfloat16> w(row<bfloat16>{bfloat16(1.f), bfloat16(2.f)}, ebb::grad_dtype<float>);
  w.set_grad<float>(row<float>{300.25f, 400});
  CHECK(ebb::clip_grad_norm(w, 1.0) == Approx(std::sqrt(300.25 * 300.25 + 160000)));
  CHECK(w.grad<float>().data()[1] == Approx(400 / std::sqrt(300.25 * 300.25 + 160000)).epsilon(1e-6));
  w.set_grad<float>(row<float>{300.25f, -0.3f});
  ebb::clip_grad_value(w, 0.7);
  CHECK(ebb::all_equal(w.grad<float>().value(), row<float>{0.7f, -0.3f}));

  // A float16 gradient cannot be unscaled; a float one of a float16 parameter can.
  leaf<float16> narrow(row<float16>{float16(1.f)}, ebb::grad_dtype<float>);
  ebb::grad_scaler scaler({.init_scale = 1024});
  ebb::optimizer opt(ebb::sgd{.lr = 0.5}, narrow);
  scaler.scale(ebb::sum(narrow)).backward();
  CHECK(narrow.grad<float>().data()[0] == 1024);
  CHECK(scaler.step(opt));
  CHECK(static_cast<float>(narrow.data()[0]) == 0.5f);
  scaler.update();
  opt.zero_grad();
  scaler.unscale_in_backward(narrow);
  scaler.scale(ebb::sum(narrow)).backward();
  CHECK(narrow.grad<float>().data()[0] == 1);
  CHECK(says(test::raised([&] { scaler.unscale_in_backward(leaf<float16>(row<float16>{float16(1.f)})); }), "is float16"));

  // States are float for every gradient dtype, so a file can be loaded with either.
  leaf<bfloat16> a(row<bfloat16>{bfloat16(1.f)}, ebb::grad_dtype<float>), b(row<bfloat16>{bfloat16(1.f)});
  ebb::optimizer first(ebb::adam{.lr = 0.1}, a), second(ebb::adam{.lr = 0.1}, b);
  a.set_grad<float>(row<float>{0.5f});
  first.step();
  std::stringstream file;
  first.save(file);
  second.load(file);
  b.assign(a.value());
  b.set_grad(row<bfloat16>{bfloat16(0.5f)});
  first.step();
  second.step();
  CHECK(same_bits(a.value(), b.value()));
  CHECK(first.state(0).step == 2);
}

TEST_CASE("SW-22: structs of variables, copies, inputs and leaves as roots keep the dtype of their gradients") {
  model<ebb::variable> p{ebb::variable(ebb::tensor<float, 2>{1, 2}),
                         ebb::variable(ebb::tensor<bfloat16, 2>{bfloat16(3.f), bfloat16(4.f)})};
  ebb::each_variable([](auto v) { v.set_grad_dtype(ebb::grad_dtype<float>); }, p);
  const auto copy = p.w;
  CHECK(copy.grad_dtype() == ebb::dtype::f32);
  CHECK(p.b.grad_dtype() == ebb::dtype::f32);
  const auto loss = ebb::compile([](const auto& m) { return ebb::sum(m.b * ebb::cast<float>(m.w)); });
  for (const bool captured : {false, true}) {
    ebb::backward(loss(p), {.compiled_autograd = captured});
    CHECK(ebb::all_equal(copy.grad<float>().value(), ebb::tensor<float, 2>{1, 2}));
    CHECK(ebb::all_equal(p.b.grad().value(), ebb::tensor<float, 2>{3, 4}));
    ebb::zero_grad(p);
    CHECK(!copy.grad<float>().defined());
    ebb::backward(loss(p), {.inputs = {p.w}, .compiled_autograd = captured});
    CHECK(!p.b.grad().defined());
    CHECK(p.w.grad<float>().data()[1] == 2);
    ebb::zero_grad(p);
    const auto d = ebb::grad(loss(p), ebb::wrt(p), {.compiled_autograd = captured});
    static_assert(std::is_same_v<decltype(d), const model<ebb::variable>>);
    CHECK(static_cast<float>(d.w.data()[1]) == 2);
    ebb::backward(p.w, {.seeds = {ebb::tensor<bfloat16, 2>{bfloat16(256.f), bfloat16(1.f)}}, .compiled_autograd = captured});
    ebb::backward(p.w, {.seeds = {ebb::tensor<bfloat16, 2>{bfloat16(1.f), bfloat16(1.f)}}, .compiled_autograd = captured});
    CHECK(ebb::all_equal(p.w.grad<float>().value(), ebb::tensor<float, 2>{257, 2}));
    ebb::zero_grad(p);
  }
  CHECK(ebb::variable(p.w.detach()).grad_dtype() == ebb::dtype::bf16);  // another leaf

  // Once the dtype has changed, a backward that was captured before is captured anew.
  leaf<bfloat16> w(row<bfloat16>{bfloat16(1.f)});
  for (int i = 0; i < 4; ++i) ebb::backward(ebb::sum(w), {.compiled_autograd = true});
  CHECK(static_cast<float>(w.grad().data()[0]) == 4);
  w.zero_grad();
  w.set_grad_dtype(ebb::grad_dtype<float>);
  for (int i = 0; i < 300; ++i) ebb::backward(ebb::sum(w), {.compiled_autograd = true});
  CHECK(w.grad<float>().data()[0] == 300);
  w.zero_grad();
  w.set_grad_dtype(ebb::grad_dtype<bfloat16>);
  for (int i = 0; i < 300; ++i) ebb::backward(ebb::sum(w), {.compiled_autograd = true});
  CHECK(static_cast<float>(w.grad().data()[0]) == 256);
}

TEST_CASE("SW-22: a captured backward shows the conversion and is found again") {
  ebb::compiled_autograd::clear_cache();
  ebb::clear_counters();
  const leaf<bfloat16> w(row<bfloat16>{bfloat16(1.f)}, ebb::grad_dtype<float>);
  const ebb::compiled_autograd::enable scope({.compiler = test::keep_shown});
  for (int i = 0; i < 5; ++i) ebb::sum(product(w, row<bfloat16>{bfloat16(2.f)})).backward();
  CHECK(w.grad<float>().data()[0] == 10);
  CHECK(ebb::counters().compiled_autograd.captures == 2);  // without a gradient, and with one
  CHECK(ebb::counters().compiled_autograd.hits == 3);
  INFO(test::shown_graph);
  CHECK(test::in_order(test::shown_graph, {": bf16[n]", "cast", ": f32[n]", "add leaf_grad cast : f32[n]",
                                           "call_accumulate_grad leaf, leaf_grad, add"}));
}

TEST_CASE("SW-22: an error says why a gradient cannot have another dtype") {
  leaf<bfloat16> w(row<bfloat16>{bfloat16(1.f)}, ebb::grad_dtype<float>);
  w.set_name("w");
  CHECK(says(test::raised([&] { static_cast<void>(w.grad()); }),
             "ebb::variable::grad: the gradient of w is f32, not bf16: say so, as in w.grad<float>()"));
  CHECK(says(test::raised([&] { w.set_grad(row<bfloat16>{bfloat16(1.f)}); }), "ebb::variable::set_grad: the gradient of w is f32"));
  CHECK(says(test::raised([&] { w.register_hook([](auto g) { return g; }); }), "register_hook: the gradient of w is f32"));
  CHECK(says(test::raised([&] { w.accumulate_node(); }), "accumulate_node: the gradient of w is f32"));
  CHECK(says(test::raised([&] { w.register_post_accumulate_grad_hook([](auto v, auto g) { return v - g; }); }), "is f32"));
  float dot = 0;
  const auto add = [](auto g) { return ebb::sum(ebb::cast<float>(g)); };
  CHECK(says(test::raised([&] { ebb::register_multi_grad_hook(ebb::into(dot), add, ebb::when::all, w); }),
             "register_multi_grad_hook: the gradient of w is f32"));
  leaf<bfloat16> plain(row<bfloat16>{bfloat16(1.f)});
  CHECK(says(test::raised([&] { static_cast<void>(plain.grad<float>()); }), "is bf16, not f32: say so, as in w.grad<ebb::bfloat16>()"));

  w.set_grad<float>(row<float>{1});
  const auto changes = [&] { w.set_grad_dtype(ebb::grad_dtype<bfloat16>); };
  CHECK(says(test::raised(changes), "the gradient of w is there, as f32: call zero_grad first"));
  w.set_grad_dtype(ebb::grad_dtype<float>);  // unchanged
  w.zero_grad();
  auto handle = w.register_hook<float>([](auto g) { return g; });
  CHECK(says(test::raised(changes), "hooks of w take gradients of f32: register them afterwards"));
  handle.remove();
  changes();
  CHECK(says(test::raised([&] { leaf<bfloat16>(w * w).set_grad_dtype(ebb::grad_dtype<float>); }), "set_grad_dtype: only a leaf"));
  plain.register_hook([&](const row<bfloat16>&) { w.set_grad_dtype(ebb::grad_dtype<float>); });
  CHECK(says(test::raised([&] { ebb::sum(plain * w).backward(); }), "set_grad_dtype: a backward is running in this thread"));
  CHECK(w.grad_dtype() == ebb::dtype::bf16);

  {
    const ebb::detect_anomaly looks;
    w.set_grad_dtype(ebb::grad_dtype<float>);
    w.set_grad<float>(row<float>{std::nanf("")});
    CHECK(says(test::raised([&] { ebb::sum(w).backward(); }), "the gradient of w is NaN already"));
  }
}

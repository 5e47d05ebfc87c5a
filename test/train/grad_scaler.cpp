// test/train/grad_scaler.cpp — scaled losses against records of torch.amp.GradScaler("cpu") of PyTorch 2.13.
// SPDX-License-Identifier: BSL-1.0
// covers: grad_scaler.hpp unscale.hpp
#include "../autograd/allocations.hpp"

#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <limits>
#include <sstream>

namespace {

using ebb::tensor, ebb::variable;
constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
bool says(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// One line of the record: the scale, the good steps and the parameters after an update.
struct recorded {
  double scale;
  std::uint64_t good;
  double w[3], b;
};

/// loss = sum of w^2 x + sum of b, where x is sometimes infinite or NaN; sgd with lr 1/8.
template <class T>
void follows(const ebb::grad_scaler_options& options, const std::vector<recorded>& want) {
  const double xs[] = {1, 2, inf, 3, nan, 1e30, 4, 5, 6, 7};
  variable<T, 3> w(tensor<T, 3>{1, -2, 3});
  variable<T, 1> b(tensor<T, 1>{static_cast<T>(0.5)});
  ebb::optimizer opt(ebb::sgd{.lr = 0.125}, w, b);
  ebb::grad_scaler scaler(options);
  for (std::size_t i = 0; i < want.size(); ++i) {
    INFO("iteration " << i);
    opt.zero_grad();
    const variable loss = ebb::sum(w * w * xs[i]) + ebb::sum(b);
    scaler.scale(loss).backward();
    CHECK(scaler.step(opt) == std::isfinite(xs[i]));
    scaler.update();
    CHECK(static_cast<double>(scaler.current_scale()) == want[i].scale);
    CHECK(scaler.good_steps() == want[i].good);
    for (std::size_t k = 0; k < 3; ++k) CHECK(static_cast<double>(w.data()[k]) == want[i].w[k]);
    CHECK(static_cast<double>(b.data()[0]) == want[i].b);
  }
}

TEST_CASE("scales, skipped steps, growth and back-off are PyTorch's") {
  follows<float>({.init_scale = 1024, .growth_interval = 3}, {
      {1024, 1, {0.75, -1.5, 2.25}, 0.375},
      {1024, 2, {0.375, -0.75, 1.125}, 0.25},
      {512, 0, {0.375, -0.75, 1.125}, 0.25},
      {512, 1, {0.09375, -0.1875, 0.28125}, 0.125},
      {256, 0, {0.09375, -0.1875, 0.28125}, 0.125},
      {256, 1, {-0x1.2eec3p+94, 0x1.2eec3p+95, -0x1.c66246p+95}, 0}});
  follows<double>({.init_scale = 1024, .growth_interval = 3}, {
      {1024, 1, {0.75, -1.5, 2.25}, 0.375},
      {1024, 2, {0.375, -0.75, 1.125}, 0.25},
      {512, 0, {0.375, -0.75, 1.125}, 0.25},
      {512, 1, {0.09375, -0.1875, 0.28125}, 0.125},
      {256, 0, {0.09375, -0.1875, 0.28125}, 0.125},
      {256, 1, {-0x1.2eec2eb3869bp+94, 0x1.2eec2eb3869bp+95, -0x1.c662460d49e87p+95}, 0}});
  // A scale that is not a power of two rounds.
  follows<float>({.init_scale = 1000, .growth_factor = 1.7, .backoff_factor = 0.3, .growth_interval = 2}, {
      {1000, 1, {0.75, -1.5, 2.25}, 0.375},
      {1700, 0, {0x1.7ffffep-2, -0x1.7ffffep-1, 1.125}, 0.25},
      {510, 0, {0x1.7ffffep-2, -0x1.7ffffep-1, 1.125}, 0.25},
      {510, 1, {0x1.7ffff8p-4, -0x1.7ffff8p-3, 0x1.1ffffcp-2}, 0.125},
      {153, 0, {0x1.7ffff8p-4, -0x1.7ffff8p-3, 0x1.1ffffcp-2}, 0.125}});
}

/// A parameter with a loss whose gradient is `slope`.
struct model {
  variable<float, 2> w{tensor<float, 2>{1, 2}};
  ebb::optimizer<ebb::sgd> opt{ebb::sgd{.lr = 0.5}, w};

  void backward(ebb::grad_scaler& s, double slope = 1) const { s.scale(ebb::sum(w * slope)).backward(); }
};

TEST_CASE("a scale does not grow to infinity") {
  const model m;
  ebb::optimizer opt = m.opt;
  ebb::grad_scaler s({.init_scale = 0x1p126, .growth_interval = 1});
  for (const double want : {0x1p127, 0x1p127, 0x1p127}) {
    opt.zero_grad();
    m.backward(s, 1e-3);
    CHECK(s.step(opt));
    s.update();
    CHECK(static_cast<double>(s.current_scale()) == want);
    CHECK(s.good_steps() == 0);
  }
}

TEST_CASE("accumulated gradients are unscaled once, and clipped before the step") {
  variable<float, 2> w(tensor<float, 2>{1, 2});
  ebb::optimizer opt(ebb::sgd{.lr = 0.5}, w);
  ebb::grad_scaler s({.init_scale = 8});
  for (int i = 0; i < 2; ++i) s.scale(ebb::sum(w * w) * 0.5).backward();
  CHECK(ebb::all_equal(w.grad().value(), tensor<float, 2>{16, 32}));
  const tensor<float, 2> kept = w.grad().value();
  s.unscale(w);
  CHECK(ebb::all_equal(kept, tensor<float, 2>{16, 32}));
  CHECK(ebb::all_equal(w.grad().value(), tensor<float, 2>{2, 4}));
  CHECK(std::fabs(ebb::clip_grad_norm(w, 1) - 4.4721360) < 1e-6);
  CHECK(s.step(opt));
  s.update();
  CHECK(w.data()[0] == Approx(0.7764).epsilon(1e-4));
  CHECK(w.data()[1] == Approx(1.5528).epsilon(1e-4));
}

TEST_CASE("an optimizer steps if its own gradients are finite, and all optimizers share the scale") {
  variable<float> a(1.f), b(1.f);
  ebb::optimizer of_a(ebb::sgd{.lr = 0.5}, a), of_b(ebb::sgd{.lr = 0.5}, b);
  ebb::grad_scaler s({.init_scale = 4});
  s.scale(a * inf + b * 2).backward();
  CHECK_FALSE(s.step(of_a));
  CHECK(s.step(of_b));
  s.update();
  CHECK(a.item() == 1);
  CHECK(b.item() == 0);
  CHECK(s.current_scale() == 2);
}

TEST_CASE("double and bfloat16 are scaled too, and losses of narrow dtypes are scaled in float") {
  ebb::grad_scaler s;
  variable<ebb::bfloat16, 2> w(tensor<ebb::bfloat16, 2>{ebb::bfloat16(1.f), ebb::bfloat16(3.f)});
  const variable loss = ebb::sum(w);
  const variable scaled = s.scale(loss);
  static_assert(std::is_same_v<decltype(scaled), const variable<float>>);
  CHECK(scaled.item() == 4 * 65536);
  scaled.backward();
  CHECK(static_cast<float>(w.grad().data()[1]) == 65536);
  s.unscale(w);
  CHECK(static_cast<float>(w.grad().data()[1]) == 1);

  ebb::grad_scaler third({.init_scale = 3});
  w.zero_grad();
  third.scale(ebb::sum(w) * 2).backward();
  third.unscale(w);
  CHECK(static_cast<float>(w.grad().data()[0]) == 2);

  const variable<ebb::float16> narrow(ebb::float16(3.f));
  CHECK(s.scale(narrow).item() == 196608);
  const variable<double> wide(3.0);
  static_assert(std::is_same_v<decltype(s.scale(wide)), variable<double>>);
  CHECK(s.scale(wide).item() == 196608);
}

TEST_CASE("calls in the wrong order are refused and change nothing") {
  model m;
  const auto said = [](auto&& f) { return test::raised(f); };
  {
    ebb::grad_scaler s;
    CHECK(says(said([&] { s.step(m.opt); }), "ebb::grad_scaler::step: nothing has been scaled"));
    CHECK(says(said([&] { s.unscale(m.w); }), "ebb::grad_scaler::unscale: nothing has been scaled"));
    CHECK(says(said([&] { s.update(); }), "ebb::grad_scaler::update: nothing has been scaled"));
    CHECK(says(said([&] { s.update(8); }), "nothing has been scaled"));
  }
  ebb::grad_scaler s({.init_scale = 4});
  m.backward(s);
  CHECK(says(said([&] { s.update(); }), "no gradient has been unscaled since the last update"));
  s.unscale(m.opt);
  CHECK(says(said([&] { s.unscale(m.opt); }), "the gradient of leaf has been unscaled since the last update"));
  CHECK(says(said([&] { s.unscale(m.w); }), "has been unscaled since the last update"));
  CHECK(m.w.grad().data()[0] == 1);
  CHECK(s.step(m.opt));
  CHECK(m.w.data()[0] == 0.5f);
  CHECK(says(said([&] { s.step(m.opt); }), "the optimizer has stepped since the last update"));
  CHECK(says(said([&] { s.unscale(m.opt); }), "has stepped since the last update"));
  CHECK(m.w.data()[0] == 0.5f);
  s.update();
  CHECK(s.good_steps() == 1);
  CHECK(says(said([&] { s.update(); }), "no gradient has been unscaled"));

  m.opt.zero_grad();
  CHECK(says(said([&] { s.step(m.opt); }), "no parameter of the optimizer has a gradient"));
  m.backward(s);
  s.unscale(m.w);
  s.update();  // unscaling some parameters is enough for an update, as in PyTorch
  CHECK(s.good_steps() == 2);

  variable<ebb::float16> narrow(ebb::float16(1.f));
  narrow.set_name("narrow");
  narrow.set_grad(tensor<ebb::float16>(ebb::float16(8.f)));
  CHECK(says(said([&] { s.unscale(m.w, narrow); }), "the gradient of narrow is float16"));
  CHECK(m.w.grad().data()[0] == 1);  // scaled by 4, and unscaled above
  const variable twice = m.w * 2.f;
  CHECK(says(said([&] { s.unscale(twice); }), "ebb::grad_scaler::unscale: mul is no leaf: name parameters"));

  CHECK(says(said([] { ebb::grad_scaler({.init_scale = 0}); }), "init_scale must be positive and finite"));
  CHECK(says(said([] { ebb::grad_scaler({.init_scale = inf}); }), "init_scale must be positive and finite"));
  CHECK(says(said([] { ebb::grad_scaler({.growth_factor = 1}); }), "growth_factor must be larger than 1"));
  CHECK(says(said([] { ebb::grad_scaler({.backoff_factor = 1}); }), "backoff_factor must lie between 0 and 1"));
}

TEST_CASE("a parameter named twice is unscaled once; a call may unscale some parameters, and the step unscales the rest") {
  variable<float> a(1.f), b(1.f);
  ebb::optimizer opt(ebb::sgd{.lr = 1}, a, b);
  ebb::grad_scaler s({.init_scale = 4});
  s.scale(a + 2 * b).backward();
  s.unscale(a, a);
  CHECK(a.grad().item() == 1);
  CHECK(b.grad().item() == 8);
  CHECK(s.step(opt));
  CHECK(a.grad().item() == 1);
  CHECK(b.grad().item() == 2);
  CHECK(b.item() == -1);
  s.update();
}

TEST_CASE("the caller may choose the scale") {
  model m;
  ebb::grad_scaler s;
  m.backward(s);
  s.step(m.opt);
  s.update(8);
  CHECK(s.current_scale() == 8);
  m.opt.zero_grad();
  m.backward(s);
  s.update(16);
  CHECK(s.current_scale() == 16);
  CHECK(says(test::raised([&] { s.update(-1); }), "positive and finite"));
}

TEST_CASE("a disabled scaler does nothing") {
  model m;
  ebb::grad_scaler s({.enabled = false});
  CHECK(s.current_scale() == 1);
  m.backward(s, 2);
  CHECK(m.w.grad().data()[0] == 2);
  s.unscale(m.w);
  CHECK(s.step(m.opt));
  CHECK(m.w.data()[0] == 0);
  s.update();
  CHECK(s.unscale_in_backward(m.w).empty());
  const variable<ebb::bfloat16> narrow(ebb::bfloat16(3.f));
  CHECK(s.scale(narrow).item() == 3);
}

TEST_CASE("hooks unscale gradients as they arrive in the backward") {
  model m;
  ebb::grad_scaler s({.init_scale = 4});
  std::vector<float> seen;
  auto handles = s.unscale_in_backward(m.w);
  m.w.register_hook([&](const tensor<float, 2>& g) { seen.push_back(g.data()[0]); });
  m.backward(s, 3);
  m.backward(s, 5);
  CHECK(seen == std::vector<float>{3, 5});
  CHECK(m.w.grad().data()[0] == 8);
  CHECK(s.step(m.opt));
  CHECK(m.w.data()[0] == -3);
  s.update();

  m.opt.zero_grad();
  m.backward(s, inf);
  CHECK_FALSE(s.step(m.opt));
  s.update();
  CHECK(s.current_scale() == 2);
  CHECK(m.w.data()[0] == -3);

  // The step unscales a gradient that came another way, and all gradients once the hook is removed.
  m.w.set_grad(tensor<float, 2>{2, 4});
  CHECK(s.step(m.opt));
  CHECK(m.w.data()[0] == -3.5f);
  s.update();
  handles[0].remove();
  m.opt.zero_grad();
  m.backward(s, 1);
  CHECK(m.w.grad().data()[0] == 2);
  CHECK(s.step(m.opt));
  CHECK(m.w.data()[0] == -4);
  s.update();
}

TEST_CASE("hooks, scalers and parameters may be destroyed in any order") {
  model m;
  {
    ebb::grad_scaler s({.init_scale = 4});
    s.unscale_in_backward(m.w);
    { const model other; s.unscale_in_backward(other.w); }
    m.backward(s, 3);
    ebb::grad_scaler moved = std::move(s);
    CHECK(moved.step(m.opt));
    moved.update();
  }
  CHECK(m.w.data()[0] == -0.5f);
  m.w.set_grad(tensor<float, 2>{1, 1});
  m.opt.zero_grad();
}

TEST_CASE("the state is saved and loaded") {
  model m;
  ebb::grad_scaler s({.init_scale = 64, .growth_factor = 3, .backoff_factor = 0.25, .growth_interval = 7});
  for (int i = 0; i < 3; ++i) {
    m.opt.zero_grad();
    m.backward(s);
    s.step(m.opt);
    s.update();
  }
  std::stringstream file;
  s.save(file);
  CHECK(file.str().size() == 48);
  ebb::grad_scaler other;
  other.load(file);
  CHECK(other.current_scale() == 64);
  CHECK(other.good_steps() == 3);
  for (int i = 0; i < 5; ++i) {
    m.opt.zero_grad();
    m.backward(other, i == 4 ? nan : 1);
    other.step(m.opt);
    other.update();
  }
  CHECK(other.current_scale() == 48);  // 64 * 3 after seven good steps, then a quarter

  std::stringstream cut(file.str().substr(0, 47)), wrong(std::string(48, 'x'));
  CHECK(says(test::raised([&] { other.load(cut); }), "the stream ends before the state does"));
  CHECK(says(test::raised([&] { other.load(wrong); }), "this is not what an ebb::grad_scaler has saved"));
  std::string bad = file.str();
  bad[16] = 0, bad[22] = 0, bad[23] = 0;  // a growth factor of 0
  std::stringstream broken(bad);
  CHECK(says(test::raised([&] { other.load(broken); }), "growth_factor must be larger than 1"));
  CHECK(other.current_scale() == 48);
}

TEST_CASE("nothing is allocated after the first iteration") {
  model m;
  ebb::grad_scaler s({.init_scale = 4});
  m.backward(s);
  const auto iteration = [&] {
    s.unscale(m.w);
    s.step(m.opt);
    s.update();
  };
  iteration();
  CHECK(allocations::in(iteration) == 0);
  CHECK(s.good_steps() == 2);
}

TEST_CASE("float16: a gradient underflows without a scale") {
  // The gradient of `narrow` is 1e-8: less than half the smallest float16.
  const auto gradient = [](double init) {
    const variable<float> w(1.f);
    ebb::grad_scaler s({.init_scale = init});
    const variable narrow = ebb::cast<ebb::float16>(w);
    s.scale(ebb::cast<float>(narrow) * 1e-8).backward();
    s.unscale(w);
    return w.grad().item();
  };
  CHECK(gradient(1) == 0);
  CHECK(gradient(65536) == Approx(1e-8).epsilon(1e-3));
}

}  // namespace

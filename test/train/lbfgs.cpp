// test/train/lbfgs.cpp — lbfgs_optimizer: minima of standard functions, structures of parameters, what is remembered, and refusals.
// SPDX-License-Identifier: BSL-1.0
// covers: trace/line_search.hpp
#include "rules.hpp"

#include <ebb/train/lbfgs.hpp>

#include <stdexcept>
#include <tuple>

namespace {

using rules::row, rules::weights;

/// Rosenbrock's function: its minimum is 0 at (1, 1, ...).
auto valley(const auto& x) {
  return ebb::compile([](auto p) {
    const auto a = ebb::slice<0, 0, -1>(p), b = ebb::slice<0, 1>(p);
    return ebb::sum(100 * ebb::square(b - a * a)) + ebb::sum(ebb::square(1 - a));
  })(x);
}
auto descends(auto& x) {
  return [&x] {
    const auto l = valley(x);
    l.backward();
    return l;
  };
}

TEST_CASE("lbfgs_optimizer finds the minimum of Rosenbrock's function with 2 and with 100 variables") {
  weights p(row{-1.2, 1});
  ebb::lbfgs_optimizer opt({.steps = 200, .evaluations = 400}, p);
  const auto [loss, slope, steps, evaluations, converged] = opt.step(descends(p));
  CHECK(converged);
  CHECK(loss <= 1e-12);
  CHECK(loss == valley(p).item());
  CHECK((steps > 5 && steps < 60 && evaluations > steps && evaluations < 100));
  for (std::size_t i = 0; i < 2; ++i) CHECK(std::fabs(p.data()[i] - 1) <= 1e-6);
  CHECK(!p.grad().defined());

  row start(100);
  for (std::size_t i = 0; i < 100; ++i) start.mutable_data()[i] = 1 + 0.5 * std::sin(static_cast<double>(i));
  weights q(start);
  ebb::lbfgs_optimizer many({.steps = 2000, .evaluations = 4000, .change_tolerance = 0}, q);
  const auto r = many.step(descends(q));
  CHECK(r.converged);
  CHECK(r.slope <= 1e-7);
  for (std::size_t i = 0; i < 100; ++i) CHECK(std::fabs(q.data()[i] - 1) <= 1e-6);
}

TEST_CASE("a quadratic function of n variables needs about n steps, whichever structures the parameters have") {
  // sum((i + 1) (p_i - i)^2) over a double matrix, a float vector and a number.
  ebb::variable<double, 2, 2> a(ebb::tensor<double, 2, 2>{{5, 5}, {5, 5}});
  ebb::variable<float, ebb::dyn> b(ebb::tensor<float, ebb::dyn>{-1, 7});
  ebb::variable<double> c(3.0), unused(8.0);
  ebb::lbfgs_optimizer opt({.steps = 50, .evaluations = 100}, std::tie(a, b), c, unused);
  CHECK(opt.size() == 4);
  const auto r = opt.step([&] {
    const auto l = ebb::compile([](auto x, auto y, auto z) {
      const auto weighted = [](auto v, double first) {
        const auto i = ebb::reshape_like(ebb::arange_like<0>(ebb::flatten(v)), v) + first;
        return ebb::sum((i + 1) * ebb::square(v - i));
      };
      return weighted(x, 0) + ebb::cast<double>(weighted(y, 4)) + 7 * ebb::square(z - 6);
    })(a, b, c);
    ebb::backward(l, {.compiled_autograd = true});
    return l.item();
  });
  CHECK(r.converged);
  CHECK(r.steps <= 20);
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::fabs(a.data()[i] - static_cast<double>(i)) <= 2e-6);
  for (std::size_t i = 0; i < 2; ++i) CHECK(std::fabs(b.data()[i] - static_cast<float>(4 + i)) <= 2e-6f);
  CHECK(std::fabs(c.item() - 6) <= 2e-6);
  CHECK(unused.item() == 8);
}

TEST_CASE("each step has the strong Wolfe conditions, and a short call goes on where the last one ended") {
  weights p(row{-1.2, 1}), q(row{-1.2, 1});
  const ebb::lbfgs_options one{.steps = 1, .gradient_tolerance = 0, .change_tolerance = 0};
  ebb::lbfgs_optimizer opt(one, p);
  ebb::lbfgs_optimizer whole({.steps = 12, .evaluations = 1000, .gradient_tolerance = 0, .change_tolerance = 0}, q);
  const auto slopes = [](const row& x) {
    const double d = x(1) - x(0) * x(0);
    return row{-400 * x(0) * d - 2 * (1 - x(0)), 200 * d};
  };
  for (int t = 0; t < 12; ++t) {
    const row before = p.value(), of_before = slopes(before);
    const double high = valley(p).item();
    const auto r = opt.step(descends(p));
    REQUIRE(r.steps == 1);
    const row after = p.value(), of_after = slopes(after);
    double begin = 0, end = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      begin += of_before(i) * (after(i) - before(i));
      end += of_after(i) * (after(i) - before(i));
    }
    CHECK(begin < 0);
    CHECK(r.loss <= high + 1e-4 * begin + 1e-12);
    CHECK(std::fabs(end) <= 0.9 * std::fabs(begin) + 1e-12);
  }
  CHECK(whole.step(descends(q)).steps == 12);
  CHECK(ebb::same_bits(p.value(), q.value()));
}

TEST_CASE("memory is saved and set, and decides the next step") {
  weights p(row{-1.2, 1, 0.5});
  ebb::lbfgs_optimizer opt({.steps = 5, .history = 3}, p);
  opt.step(descends(p));
  const auto [steps, changes] = opt.memory();
  CHECK((steps.extent(0) == 3 && steps.extent(1) == 3 && changes.extent(0) == 3));
  const row here = p.value();
  opt.step(descends(p));
  const row there = p.value();

  weights q(here), fresh(here);
  ebb::lbfgs_optimizer other({.steps = 5, .history = 3}, q), without({.steps = 5, .history = 3}, fresh);
  other.set_memory(steps, changes);
  other.step(descends(q));
  without.step(descends(fresh));
  CHECK(ebb::same_bits(q.value(), there));
  CHECK(!ebb::same_bits(fresh.value(), there));

  const auto wrong = ebb::tensor<double, ebb::dyn, ebb::dyn>::zeros(2, 4);
  CHECK(
      test::says(test::raised([&] { other.set_memory(wrong, wrong); }), {"ebb::lbfgs_optimizer::set_memory", "3 elements", "2 rows of 4"}));
  CHECK(other.memory().first.extent(0) == 3);
  other.set_memory({}, {});
  CHECK(other.memory().first.extent(0) == 0);
}

TEST_CASE("losses that are NaN or infinite are not taken, and a gradient with NaN moves nothing") {
  weights p(row{3, 0.01, 40});
  ebb::lbfgs_optimizer opt({.steps = 100, .evaluations = 300}, p);
  const auto r = opt.step([&] {
    const auto l = ebb::compile([](auto x) { return ebb::sum(ebb::log(x) * x); })(p);  // NaN where x < 0
    l.backward();
    return l;
  });
  CHECK(r.converged);
  for (std::size_t i = 0; i < 3; ++i) CHECK(std::fabs(p.data()[i] - std::exp(-1.0)) <= 1e-6);

  weights n(row{-1, 2});
  ebb::lbfgs_optimizer stays({}, n);
  const auto s = stays.step([&] {
    const auto l = ebb::compile([](auto x) { return ebb::sum(ebb::log(x)); })(n * 1.0);
    l.backward();
    n.set_grad(row{NAN, 1});
    return l;
  });
  CHECK((!s.converged && s.steps == 0 && s.evaluations == 1 && std::isnan(s.loss) && std::isnan(s.slope)));
  CHECK(ebb::all_equal(n.value(), row{-1, 2}));
}

TEST_CASE("16-bit and float parameters end at a minimum as exactly as their dtype says") {
  ebb::variable<ebb::bfloat16, 2> p(ebb::tensor<ebb::bfloat16, 2>{ebb::bfloat16(9.0f), ebb::bfloat16(-3.0f)});
  ebb::lbfgs_optimizer opt({.steps = 40, .evaluations = 80}, p);
  opt.step([&] {
    const auto l = ebb::compile([](auto x) { return ebb::sum(ebb::square(ebb::cast<float>(x) - 2.5f)); })(p);
    l.backward();
    return l;
  });
  for (std::size_t i = 0; i < 2; ++i) CHECK(std::fabs(static_cast<float>(p.data()[i]) - 2.5f) <= 0.02f);

  ebb::variable<float, 2> q(ebb::tensor<float, 2>{-1.2f, 1});
  ebb::lbfgs_optimizer<float> floats({.steps = 200, .evaluations = 400}, q);
  const auto r = floats.step(descends(q));
  CHECK(r.converged);
  for (std::size_t i = 0; i < 2; ++i) CHECK(std::fabs(q.data()[i] - 1) <= 2e-3f);
}

TEST_CASE("if the function throws, the parameters are where the call found them") {
  weights p(row{-1.2, 1});
  ebb::lbfgs_optimizer opt({}, p);
  int calls = 0;
  CHECK_THROWS_AS(opt.step([&] {
    if (++calls == 4) throw std::runtime_error("no more");
    const auto l = valley(p);
    l.backward();
    return l;
  }), std::runtime_error);
  CHECK(calls == 4);
  CHECK(ebb::all_equal(p.value(), row{-1.2, 1}));
  CHECK(!p.grad().defined());
}

TEST_CASE("parameters without elements, and limits of 0 steps") {
  weights none(row(0));
  ebb::lbfgs_optimizer opt({}, none);
  const auto r = opt.step([] { return 4.0; });
  CHECK((r.converged && r.loss == 4 && r.slope == 0 && r.evaluations == 1));
  weights p(row{-1.2, 1});
  ebb::lbfgs_optimizer still({.steps = 0}, p);
  const auto s = still.step(descends(p));
  CHECK((!s.converged && s.steps == 0 && s.loss > 1));
  CHECK(ebb::all_equal(p.value(), row{-1.2, 1}));
}

TEST_CASE("lbfgs_optimizer refuses parameters that are no leaves or twice there, and options that mean nothing") {
  const weights p(row{1, 2});
  CHECK(test::says(test::raised([&] { ebb::lbfgs_optimizer({}, p, p); }), {"ebb::lbfgs_optimizer: parameter 1", "there twice"}));
  CHECK(test::says(test::raised([&] { ebb::lbfgs_optimizer({}, valley(p)); }), {"ebb::lbfgs_optimizer: parameter 0", "only leaves"}));
  CHECK(test::says(test::raised([&] { ebb::lbfgs_optimizer({.lr = 0}, p); }), {"ebb::lbfgs_optimizer: lr"}));
  CHECK(test::says(test::raised([&] { ebb::lbfgs_optimizer({.history = -1}, p); }), {"ebb::lbfgs_optimizer: steps"}));
  CHECK(test::says(test::raised([&] { ebb::lbfgs_optimizer({.gradient_tolerance = NAN}, p); }), {"ebb::lbfgs_optimizer: tolerances"}));
}

}  // namespace

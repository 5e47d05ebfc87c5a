// bench/compiled_autograd/network.cpp — a training step as one program, and as two regions with hooks, plain and captured.
// SPDX-License-Identifier: BSL-1.0
#include "tables.hpp"

#include <ebb/ebb.hpp>

namespace bench {
namespace {

constexpr std::size_t batch = 32;
constexpr double rate = 1e-3;

constexpr auto hidden_layer = [](auto x, auto w, auto b) { return ebb::tanh(ebb::matmul(x, w) + b); };
constexpr auto loss_layer = [](auto h, auto w, auto b, auto t) { return ebb::cross_entropy(ebb::matmul(h, w) + b, t); };
constexpr auto whole = [](auto w1, auto b1, auto w2, auto b2, auto x, auto t) {
  return loss_layer(hidden_layer(x, w1, b1), w2, b2, t);
};
/// Forward, gradient and descent. The hook between the regions scales the gradient by a power of two; here the later gradients are scaled.
constexpr auto step = [](auto w1, auto b1, auto w2, auto b2, auto x, auto t) {
  const auto [value, d1, e1, d2, e2] = ebb::value_and_grad<0, 1, 2, 3>(whole)(w1, b1, w2, b2, x, t);
  const float lr = static_cast<float>(rate);
  return std::tuple(value, w1 - lr * (d1 * 0.5f), b1 - lr * (e1 * 0.5f), w2 - lr * d2, b2 - lr * e2);
};

constexpr auto first = ebb::compile(hidden_layer);
constexpr auto second = ebb::compile(loss_layer);
constexpr auto one_region = ebb::compile(whole);
constexpr auto one_program = ebb::compile(step);

struct arrays {
  ebb::tensor<float, 64, 128> w1;
  ebb::tensor<float, 128> b1;
  ebb::tensor<float, 128, 10> w2;
  ebb::tensor<float, 10> b2;

  bool operator==(const arrays& o) const {
    return ebb::all_equal(w1, o.w1) && ebb::all_equal(b1, o.b1) && ebb::all_equal(w2, o.w2) && ebb::all_equal(b2, o.b2);
  }
};

/// Parameters that are updated as soon as their gradient is complete.
struct parameters {
  ebb::variable<float, 64, 128> w1;
  ebb::variable<float, 128> b1;
  ebb::variable<float, 128, 10> w2;
  ebb::variable<float, 10> b2;

  explicit parameters(const arrays& a) : w1(a.w1), b1(a.b1), w2(a.w2), b2(a.b2) {
    const ebb::sgd descent{.lr = rate};
    w1.register_post_accumulate_grad_hook(descent);
    b1.register_post_accumulate_grad_hook(descent);
    w2.register_post_accumulate_grad_hook(descent);
    b2.register_post_accumulate_grad_hook(descent);
  }
  arrays value() const { return {w1.value(), b1.value(), w2.value(), b2.value()}; }
};

}  // namespace

void network(session& s) {
  const auto [k1, k2, k3, k4] = ebb::random_key(7).split<4>();
  const auto x = ebb::normal<float, batch, 64>(k1);
  const auto t = ebb::tensor<int, batch>::generate([](std::size_t i) { return static_cast<int>(i * 7 % 10); });
  const arrays start{ebb::normal<float, 64, 128>(k2, 0.f, 0.1f), ebb::normal<float, 128>(k4, 0.f, 0.1f),
                     ebb::normal<float, 128, 10>(k3, 0.f, 0.1f), {}};
  arrays a = start;
  const parameters one(start), plain(start), captured(start);
  float value = 0;
  const auto program = [&] { one_program(ebb::into(value, a.w1, a.b1, a.w2, a.b2), a.w1, a.b1, a.w2, a.b2, x, t); };
  const auto region = [&] { one_region(one.w1, one.b1, one.w2, one.b2, x, t).backward(); };
  const auto forward = [&](const parameters& p) {
    const auto h = first(x, p.w1, p.b1);
    h.register_hook([](auto g) { return g * 0.5f; });
    return second(h, p.w2, p.b2, t);
  };
  const auto by_engine = [&] {
    const ebb::compiled_autograd::disable scope;
    forward(plain).backward();
  };
  const auto by_plan = [&] {
    const ebb::compiled_autograd::enable scope;
    forward(captured).backward();
  };
  for (int i = 0; i < 3; ++i) program(), by_engine(), by_plan();
  s.check(plain.value() == a, "network, two regions by the plain engine against one program", batch);
  s.check(captured.value() == a, "network, two regions captured against one program", batch);
  {
    const ebb::compiled_autograd::enable scope;
    const auto loss = forward(captured);
    const std::size_t before = allocations();
    loss.backward();
    s.check(allocations() == before, "network, allocations of a hit", batch);
  }

  const std::size_t calls = s.smoke ? 1 : 10;
  const auto timed = [&](auto& f) {
    return [&, calls] { return nanoseconds({calls, 1, false}, [](std::size_t) {}, [&](std::size_t) { f(); }); };
  };
  const samples r(s.smoke ? 3 : 101, {timed(program), timed(region), timed(by_engine), timed(by_plan)});
  std::printf("\nnetwork 64 -> 128 tanh -> 10, batch 32, float: a whole step, forward, backward and sgd\n");
  std::printf("%-58s %17s %17s\n", "", "us (goal)", "over one program");
  const auto row = [&](const char* what, std::size_t c, double us, double ratio) {
    std::printf("%-58s", what);
    print_with_goal(1e-3 * r.time(c), us, 2);
    print_with_goal(r.ratio(c, 0), ratio, 3);
    std::printf("\n");
  };
  row("one program", 0, 25, 0);
  row("one region on the tape, sgd in hooks", 1, 0, 0);
  row("two regions, a hook on what flows between, sgd in hooks", 2, 0, 0);
  row("the same, captured", 3, 0, 1.1);
}

}  // namespace bench

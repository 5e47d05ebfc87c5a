// test/capture/recording.cpp — a backward is captured as often as in PyTorch's cases, and its gradients are the plain engine's.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "../equal.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace {

namespace ca = ebb::compiled_autograd;
using array = ebb::tensor<double, ebb::dyn>;
using matrix = ebb::tensor<double, ebb::dyn, ebb::dyn>;
using var = ebb::variable<double, ebb::dyn>;
using scalar = ebb::variable<double>;
using arrays = std::vector<array>;

constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto plus = ebb::compile([](auto x, auto y) { return x + y; });
constexpr auto scaled = ebb::compile([](auto x) { return x * 1.5; });
constexpr auto hyperbolic = ebb::compile([](auto x) { return ebb::tanh(x); });
constexpr auto sine = ebb::compile([](auto x) { return ebb::sin(x); });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });
constexpr auto layer = ebb::compile([](auto x, auto w, auto b) { return ebb::linear(x, w, b); });
constexpr auto rectify = ebb::compile([](auto x) { return ebb::relu(x); });

/// Numbers that differ.
double number(std::size_t i) { return static_cast<double>(static_cast<int>(i * 37 % 23) - 11) / 8; }
array sample(std::size_t n, std::size_t from = 1) {
  array a(ebb::layout<ebb::dyn>{n});
  for (std::size_t i = 0; i < n; ++i) a.mutable_data()[i] = number(i + from);
  return a;
}
matrix sample(std::size_t rows, std::size_t columns, std::size_t from) {
  matrix a(ebb::layout<ebb::dyn, ebb::dyn>({rows, columns}));
  for (std::size_t i = 0; i < a.size(); ++i) a.mutable_data()[i] = number(i + from);
  return a;
}
array flat(const auto& m) {
  array a(ebb::layout<ebb::dyn>{m.size()});
  std::copy(m.data(), m.data() + m.size(), a.mutable_data());
  return a;
}
array grad_of(const auto& v) { return v.grad().defined() ? flat(v.grad().value()) : array{-999}; }
array each(array a, auto f) {
  for (double *p = a.mutable_data(), *end = p + a.size(); p != end; ++p) *p = f(*p);
  return a;
}
auto times(double c) {
  return [c](const array& g) { return each(g, [c](double v) { return v * c; }); };
}
auto add(double c) {
  return [c](const array& g) { return each(g, [c](double v) { return v + c; }); };
}
/// Node hooks that map gradient `number`: what comes in, what goes out.
auto before(int number, auto f) {
  return [=](ebb::gradients& in) { in.set(number, f(in.get<double, ebb::dyn>(number))); };
}
auto after(int number, auto f) {
  return [=](ebb::gradients& out, const ebb::gradients&) { out.set(number, f(out.get<double, ebb::dyn>(number))); };
}

auto counts() { return ebb::counters().compiled_autograd; }

struct counted {
  std::uint64_t captures, hits;
  bool operator==(const counted&) const = default;
};
std::ostream& operator<<(std::ostream& o, const counted& c) { return o << c.captures << " captures, " << c.hits << " hits"; }

/// f(step) gives gradients: for each step those of the plain engine and of captured backwards must be the same bits.
counted in_steps(int steps, auto&& f, const ca::options& o = {}) {
  std::vector<arrays> plain;
  {
    const ca::disable scope;
    for (int step = 0; step < steps; ++step) plain.push_back(f(step));
  }
  ca::reset();
  {
    const ca::enable scope(o);
    for (int step = 0; step < steps; ++step) {
      const arrays got = f(step);
      const auto i = static_cast<std::size_t>(step);
      REQUIRE(got.size() == plain[i].size());
      for (std::size_t k = 0; k < got.size(); ++k) {
        INFO("step " << step << ", gradient " << k);
        CHECK(ebb::all_equal(got[k], plain[i][k]));
      }
    }
  }
  const auto c = counts();
  CHECK(c.captures == c.new_node_misses + c.new_shape_misses);
  ca::reset();
  return {c.captures, c.hits};
}

/// Two layers, of new parameters.
struct net {
  ebb::variable<double, ebb::dyn, ebb::dyn> w1{sample(4, 4, 3)}, w2{sample(4, 4, 5)};
  var b1{sample(4, 7)}, b2{sample(4, 9)};

  scalar loss(const matrix& x) const { return total(rectify(layer(rectify(layer(x, w1, b1)), w2, b2))); }
  arrays gradients() const { return {grad_of(w1), grad_of(w2), grad_of(b1), grad_of(b2)}; }
};

}  // namespace

TEST_CASE("CA-1, CA-2, CA-4: one structure, new parameters in each step: one capture") {
  CHECK(in_steps(3, [](int) {
    const net n;
    n.loss(sample(2, 4, 1)).backward();
    return n.gradients();
  }) == counted{1, 2});
}

TEST_CASE("CA-5, CA-14, CA-19: the same parameters, zeroed between steps: one capture") {
  net n;
  CHECK(in_steps(3, [&](int step) {
    ebb::zero_grad(n.w1, n.w2, n.b1, n.b2);
    n.loss(sample(2, 4, static_cast<std::size_t>(step))).backward();
    return n.gradients();
  }) == counted{1, 2});
}

TEST_CASE("CA-6, CA-60, CA-61, CA-62, CA-63, CA-64, SW-18: any size, also 0 and 1, is the same program") {
  const auto step = [](int batch) {
    const net n;
    n.loss(sample(static_cast<std::size_t>(batch), 4, 1)).backward();
    return n.gradients();
  };
  CHECK(in_steps(10, [&](int i) { return step(10 * i); }) == counted{1, 9});
  const int sizes[] = {4, 4, 5, 6, 1, 0, 7};
  CHECK(in_steps(7, [&](int i) { return step(sizes[i]); }) == counted{1, 6});
  CHECK(in_steps(7, [&](int i) {
    const var x(sample(static_cast<std::size_t>(sizes[i]))), y(sample(static_cast<std::size_t>(sizes[i]), 5));
    total(product(hyperbolic(product(x, y)), scaled(x))).backward();
    return arrays{grad_of(x), grad_of(y)};
  }) == counted{1, 6});
}

TEST_CASE("CA-6, CA-61: dynamic = false: once more where sizes change for the first time, and never again") {
  const ca::options fixed{.dynamic = false};
  const auto step = [](int batch) {
    const net n;
    n.loss(sample(static_cast<std::size_t>(batch), 4, 1)).backward();
    return n.gradients();
  };
  CHECK(in_steps(3, [&](int i) { return step(i + 1); }, fixed) == counted{2, 1});
  const int sizes[] = {4, 4, 5, 6, 1, 0, 7};
  CHECK(in_steps(7, [&](int i) { return step(sizes[i]); }, fixed) == counted{2, 5});
  const ca::enable scope(fixed);
  for (int i = 0; i < 3; ++i) step(i + 1);
  CHECK(counts().new_node_misses == 1);
  CHECK(counts().new_shape_misses == 1);
  ca::reset();
}

TEST_CASE("CA-15, CA-16: a captured backward uses up what was saved, and leaves alone what the caller holds of it") {
  const ca::enable scope;
  for (int run = 0; run < 3; ++run) {
    const var param(array{1, 1, 1, 1}), other(array{1, 2, 1, 2});
    array active{1, 2, 3, 4};
    const var h = product(product(param, active), other), out = plus(h, h);
    active.at(3) = 50;  // what was saved is as it was
    ebb::backward(out, {.seeds = {array{1, 1, 1, 1}}});
    CHECK(ebb::all_equal(param.grad().value(), array{2, 8, 6, 16}));
    CHECK(ebb::all_equal(other.grad().value(), array{2, 4, 6, 8}));
    CHECK(ebb::all_equal(active, array{1, 2, 3, 50}));
    CHECK(test::says(test::raised([&] { ebb::backward(h, {.seeds = {array{1, 1, 1, 1}}}); }), {"mul saved is gone"}));
  }
}

TEST_CASE("CA-22: what was captured stays as it was, and runs for any size, whatever has been captured since") {
  const auto step = [](std::size_t n) {
    const var x(sample(n)), y(sample(n, 4));
    total(product(hyperbolic(product(x, y)), scaled(x))).backward();
    return arrays{grad_of(x), grad_of(y)};
  };
  ca::reset();
  const arrays plain[] = {step(7), step(300)};
  const ca::enable scope;
  CHECK(test::equal(step(7), plain[0]));
  for (int links = 1; links < 30; ++links) {
    var v(sample(5));
    for (int i = 0; i < links; ++i) v = i % 3 ? hyperbolic(v) : scaled(v);
    total(v).backward();
  }
  CHECK(test::equal(step(300), plain[1]));
  CHECK(test::equal(step(7), plain[0]));
  CHECK(counts().captures == 30);
  CHECK(counts().hits == 2);
  ca::reset();
}

TEST_CASE("CA-23: checkpoints that run again in the backward, in a net of two blocks, ten steps") {
  net n;
  CHECK(in_steps(10, [&](int i) {
    ebb::zero_grad(n.w1, n.w2, n.b1, n.b2);
    const matrix x = sample(3, 4, static_cast<std::size_t>(i));
    const auto first = ebb::checkpoint([&](const auto& w, const auto& b) { return rectify(layer(x, w, b)); });
    const auto second = ebb::checkpoint([](const auto& h, const auto& w, const auto& b) { return rectify(layer(h, w, b)); });
    total(second(first(n.w1, n.b1), n.w2, n.b2)).backward();
    return n.gradients();
  }) == counted{1, 9});
}

TEST_CASE("CA-40: layers of 2 to 1 and 1 to 2, without a bias") {
  CHECK(in_steps(3, [](int i) {
    constexpr auto product_of = ebb::compile([](auto x, auto w) { return ebb::matmul(x, w); });
    const ebb::variable<double, ebb::dyn, ebb::dyn> w(sample(2, 1, 3)), u(sample(1, 2, 5));
    total(product_of(product_of(sample(4, 2, static_cast<std::size_t>(i)), w), u)).backward();
    return arrays{grad_of(w), grad_of(u)};
  }) == counted{1, 2});
}

TEST_CASE("CA-30, CA-42: a leaf that is used several times; what was there is added to, never written through another owner") {
  CHECK(in_steps(3, [](int) {
    const var x(sample(5)), y(sample(5, 4));
    total(hyperbolic(plus(plus(product(x, y), sine(y)), hyperbolic(y)))).backward();
    return arrays{grad_of(x), grad_of(y)};
  }) == counted{1, 2});
  const ca::enable scope;
  for (int run = 0; run < 2; ++run) {
    var x(sample(3)), y(sample(3, 4));
    array mine{1, 1, 1};
    x.set_grad(mine);
    y.set_grad(mine);
    total(product(x, y)).backward();
    CHECK(ebb::all_equal(mine, array{1, 1, 1}));
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(x.grad().value()(i) == 1 + y.value()(i));
      CHECK(y.grad().value()(i) == 1 + x.value()(i));
    }
  }
}

TEST_CASE("CA-31, CA-32, CA-33, CA-34: what is asked for, and nothing else runs") {
  struct never {
    array forward(const array& x) const { return x; }
    array backward(const array&) const { ebb::raise("nobody asked for this"); }
  };
  CHECK(in_steps(3, [](int) {
    const var y(sample(4)), z(sample(4, 3)), a(sample(4, 8));
    const scalar out = total(product(product(y, z), ebb::apply(never{}, a)));
    const auto [gy, gz] = ebb::grad(out, ebb::wrt(y, z), {.retain_graph = true});
    CHECK_FALSE(y.grad().defined());
    const var only = ebb::grad(out, ebb::wrt(y), {.retain_graph = true});
    ebb::backward(out, {.retain_graph = true, .inputs = {y, z}});
    CHECK_FALSE(a.grad().defined());
    if (EBB_EXCEPTIONS) CHECK(test::raised([&] { out.backward(); }) == "nobody asked for this");
    return arrays{gy.value(), gz.value(), only.value(), grad_of(y), grad_of(z)};
  }) == (EBB_EXCEPTIONS ? counted{4, 8} : counted{3, 6}));
}

TEST_CASE("CA-35: other inputs are another program; going back to known ones is none") {
  const auto step = [](int which) {
    const var x(sample(4)), y(sample(4, 3));
    const scalar out = total(product(hyperbolic(x), y));
    if (which % 2) ebb::backward(out, {.inputs = {y}});
    else ebb::backward(out, {.inputs = {x}});
    return arrays{grad_of(x), grad_of(y)};
  };
  CHECK(in_steps(2, step) == counted{2, 0});
  CHECK(in_steps(8, step) == counted{2, 6});
}

TEST_CASE("CA-36, CA-37, CA-41, CA-43, CA-48: without a gradient and with one: two programs; then in place") {
  var x(array{1, 2});
  CHECK(in_steps(10, [&](int step) {
    if (step == 0) x.zero_grad();
    total(product(x, x)).backward();
    return arrays{grad_of(x)};
  }) == counted{2, 8});
  const ca::enable scope;
  for (int run = 0; run < 3; ++run) {
    x.set_grad(array{1, 1});
    const double* const at = x.grad().data();
    total(product(x, x)).backward();
    CHECK(x.grad().data() == at);
    CHECK(ebb::all_equal(x.grad().value(), array{3, 5}));
    const array kept = x.grad().value();
    total(product(x, x)).backward();
    CHECK(ebb::all_equal(kept, array{3, 5}));
    CHECK(ebb::all_equal(x.grad().value(), array{5, 9}));
  }
}

TEST_CASE("CA-38, CA-39: a retained graph is walked by both engines in turn, and once more at the end") {
  const var x(array{2});
  const scalar out = total(product(x, x));
  for (int pass = 1; pass <= 10; ++pass) {
    ebb::backward(out, {.retain_graph = true, .compiled_autograd = pass % 2 == 1});
    CHECK(ebb::all_equal(x.grad().value(), array{4. * pass}));
  }
  ebb::backward(out, {.compiled_autograd = true});
  CHECK(ebb::all_equal(x.grad().value(), array{44}));
  for (const bool captured : {false, true, false})
    if (EBB_EXCEPTIONS)
      CHECK(test::says(test::raised([&] { ebb::backward(out, {.compiled_autograd = captured}); }), {"mul saved is gone", "retain_graph"}));
  CHECK(ebb::all_equal(x.grad().value(), array{44}));
}

TEST_CASE("what was saved goes with a captured backward too, node by node of what ran; a graph that saved nothing runs twice") {
  const ca::enable scope;
  for (int run = 0; run < 2; ++run) {
    const var x(array{1, 2}), w(array{3, 4});
    const var y = product(x, w);
    const scalar first = total(y), second = total(product(y, y));
    first.backward();
    CHECK(test::says(test::raised([&] { second.backward(); }), {"mul saved is gone"}));
    const scalar plain = total(x);
    plain.backward();
    plain.backward();
    CHECK(ebb::all_equal(x.grad().value(), array{5, 6}));
  }
}

TEST_CASE("CA-45, SW-16, SW-12: a gradient that a hook keeps, a seed that the caller keeps: nobody writes there; else it is stolen") {
  const ca::enable scope;
  for (int run = 0; run < 3; ++run) {
    const var x(array{1, 2});
    arrays kept;
    x.register_hook([&](const array& g) { kept.push_back(g); });
    for (int i = 0; i < 2; ++i) total(product(x, x)).backward();
    CHECK(test::equal(kept, arrays{array{2, 4}, array{2, 4}}));
    CHECK(ebb::all_equal(x.grad().value(), array{4, 8}));

    const var y(array{1, 2});
    array seed{5, 6};
    ebb::backward(y, {.seeds = {seed}});
    ebb::backward(scaled(scaled(y)), {.seeds = {seed}});
    seed.at(0) = 50;
    CHECK(ebb::all_equal(y.grad().value(), array{5 + 5 * 2.25, 6 + 6 * 2.25}));
    CHECK(ebb::all_equal(seed, array{50, 6}));
  }
}

TEST_CASE("CA-49: create_graph: a new gradient with a history, captured as well") {
  const ca::enable scope;
  constexpr auto cube = ebb::compile([](auto v) { return v * v * v; });
  for (int run = 0; run < 2; ++run) {
    scalar x(3.);
    ebb::backward(cube(x), {.create_graph = true});
    const scalar first = x.grad();
    CHECK(first.requires_grad());
    ebb::backward(cube(x), {.create_graph = true});
    CHECK(x.grad().item() == 54);
    CHECK(first.item() == 27);
    CHECK(ebb::grad(x.grad(), ebb::wrt(x)).item() == 36);
    x.zero_grad();
  }
}

TEST_CASE("CA-50, SW-15: four derivatives of a cube, captured; a second run is all hits, in every setting") {
  constexpr auto cube = ebb::compile([](auto v) { return v * v * v; });
  for (const bool merges : {true, false}) {
    ca::options o;
    if (!merges) o.compiler = [](const ebb::captured_graph&) { return ebb::backend::eager; };
    ca::reset();
    const ca::enable scope(o);
    for (int run = 0; run < 2; ++run) {
      const scalar x(2.);
      scalar y = cube(x);
      for (double expected : {12., 12., 6., 0.}) {
        y = ebb::grad(y, ebb::wrt(x), {.create_graph = true});
        CHECK(y.item() == expected);
      }
      if (run == 0) CHECK(counts().captures <= 4);
    }
    CHECK(counts().hits >= 4);
    CHECK(counts().captures + counts().hits == 8);
  }
  ca::reset();
}

#if EBB_EXCEPTIONS
TEST_CASE("CA-51: with anomalies looked for, nothing is captured, and the messages are the plain engine's") {
  ca::reset();
  const ca::enable scope;
  constexpr auto root = ebb::compile([](auto x) { return ebb::sqrt(x); });
  var w(array{4, -1});
  w.set_name("w");
  {
    const ebb::detect_anomaly on;
    const scalar l = total(product(root(w), array{1, 1}));
    CHECK(test::raised([&] { ebb::backward(l, {.retain_graph = true}); }) ==
          "ebb::backward: sqrt returned NaN as gradient 0, which goes to w");
    CHECK_FALSE(w.grad().defined());
  }
  CHECK(counts().captures == 0);
  total(product(root(w), array{1, 1})).backward();
  CHECK(counts().captures == 1);
  CHECK(w.grad().value()(0) == 0.25);
}
#endif

TEST_CASE("CA-52: sizes are read in the run: the second program has no constant of the first") {
  CHECK(in_steps(4, [](int i) {
    const var x(sample(i % 2 ? 104 : 101));
    constexpr auto mean = ebb::compile([](auto v) { return ebb::mean(v * v); });
    mean(scaled(x)).backward();
    return arrays{grad_of(x)};
  }) == counted{1, 3});
}

namespace {

/// Keeps what it likes; backward multiplies.
struct keeper {
  double factor;
  int power;
  bool by_size;
  std::optional<array> extra{};
  array kept{};

  array forward(const array& x) {
    kept = x;
    return times(factor)(x);
  }
  array backward(const array& g) const {
    const double by = factor * power * (by_size ? static_cast<double>(kept.size()) : 1) * (extra ? (*extra)(0) : 1);
    return times(by)(g);
  }
};
struct other_keeper : keeper {};

}  // namespace

TEST_CASE("CA-70, CA-72, CA-73, CA-82, CA-83, CA-84, CA-85, CA-86: whatever a function keeps: its type is the program") {
  const int sizes[] = {10, 100, 10, 15, 20, 25};
  const double factors[] = {1.1, 2.2, 3.3, 1.1, 10, 20};
  CHECK(in_steps(6, [&](int i) {
    const var x(sample(static_cast<std::size_t>(sizes[i])));
    keeper k{factors[i], i + 1, i % 2 == 0};
    if (i % 3 == 2) k.extra = array{2};
    total(ebb::apply(k, x)).backward();
    return arrays{grad_of(x)};
  }) == counted{1, 5});
}

TEST_CASE("CA-71, CA-74, CA-77: two types are two programs; each is found again") {
  CHECK(in_steps(6, [](int i) {
    const var x(sample(4));
    if (i % 2) total(ebb::apply(keeper{2, 1, false}, x)).backward();
    else total(ebb::apply(other_keeper{{2, 1, false}}, x)).backward();
    return arrays{grad_of(x)};
  }) == counted{2, 4});
}

TEST_CASE("CA-75, CA-79, CA-81: functions of the user between segments: one captured backward") {
  CHECK(in_steps(3, [](int i) {
    const var x(sample(6)), w(sample(6, 3));
    const var h = hyperbolic(product(x, w));
    const var k = ebb::apply(keeper{1. + i, 1, true}, h);
    total(product(scaled(hyperbolic(k)), h)).backward();
    return arrays{grad_of(x), grad_of(w)};
  }) == counted{1, 2});
}

TEST_CASE("CA-10, CA-144: regions, and a gradient of them, inside a function's backward") {
  struct computes {
    array kept{};
    array forward(const array& x) { return kept = x; }
    array backward(const array& g) const {
      const ebb::enable_grad on;
      const var x(kept);
      const var d = ebb::grad(total(product(hyperbolic(x), x)), ebb::wrt(x));
      return plus(product(g, d.value()), sine(scaled(g)));
    }
  };
  CHECK(in_steps(3, [](int) {
    const var x(sample(6));
    total(scaled(ebb::apply(computes{}, scaled(x)))).backward();
    return arrays{grad_of(x)};
  }) == counted{1, 2});
}

TEST_CASE("CA-87, CA-89: random numbers that a hook draws, also such that nobody uses") {
  std::size_t drawn = 0;
  CHECK(in_steps(3, [&](int i) {
    std::uint64_t state = static_cast<std::uint64_t>(i) * 2 + 1;
    const var x(sample(6)), h = hyperbolic(x);
    h.register_hook([&](const array& g) {
      state = state * 6364136223846793005u + 1;
      return times(static_cast<double>(state >> 40))(g);
    });
    h.register_hook([&](const array&) {
      state = state * 6364136223846793005u + 1;
      ++drawn;
    });
    total(scaled(h)).backward();
    return arrays{grad_of(x), array{static_cast<double>(state >> 20)}};
  }) == counted{1, 2});
  CHECK(drawn == 6);
}

TEST_CASE("CA-90, SW-10: callbacks run once, after all gradients") {
  int calls = 0;
  CHECK(in_steps(3, [&](int) {
    const var x(sample(6)), h = hyperbolic(x);
    h.register_hook([&](const array&) {
      ebb::queue_callback([&, x] {
        ++calls;
        CHECK(x.grad().defined());
      });
    });
    total(scaled(h)).backward();
    return arrays{grad_of(x)};
  }) == counted{1, 2});
  CHECK(calls == 6);
}

TEST_CASE("CA-100, CA-110: tensor hooks, opaque and traced, on new leaves in every step: another function at the same place is a hit") {
  CHECK(in_steps(4, [](int i) {
    const var w(sample(4, 2)), x(sample(4));
    w.register_hook(add(-2. * i));
    w.register_hook(times(0.5 + i));
    total(product(x, w)).backward();
    return arrays{grad_of(w), grad_of(x)};
  }) == counted{1, 3});
  CHECK(in_steps(4, [](int i) {
    const var w(sample(4, 2)), x(sample(4)), h = product(x, w);
    h.register_hook(ebb::bind(1.5 + i, [](auto c, auto g) { return g * c; }));
    w.register_hook(ebb::bind(0.5 * i, [](auto c, auto g) { return g + c; }));
    w.register_hook([](auto g) { return ebb::clamp(g, -1., 1.); });
    total(hyperbolic(h)).backward();
    return arrays{grad_of(w), grad_of(x)};
  }) == counted{1, 3});
}

TEST_CASE("CA-101, CA-102, CA-104, CA-105, CA-106, CA-108, CA-109: node hooks") {
  CHECK(in_steps(3, [](int) {
    const var x(sample(4)), w(sample(4, 5));
    const var h = product(x, w), t = hyperbolic(h), s = sine(t);
    h.grad_fn().register_prehook(before(0, add(1)));
    h.grad_fn().register_hook(after(1, times(0.25)));
    t.grad_fn().register_hook(after(0, times(0.5)));
    t.grad_fn().register_hook(after(0, add(-0.3)));
    s.grad_fn().register_prehook(before(0, [](const array& g) { return each(g, [](double v) { return v / 5; }); }));
    s.grad_fn().register_prehook(before(0, add(-0.3)));
    s.grad_fn().register_hook([](ebb::gradients& out, const ebb::gradients& in) {
      out.set(0, plus(sine(out.get<double, ebb::dyn>(0)), in.get<double, ebb::dyn>(0)));
    });
    w.accumulate_node().register_hook([&w](ebb::gradients&, const ebb::gradients&) { var(w).set_grad(times(0.25)(w.grad().value())); });
    total(scaled(s)).backward();
    return arrays{grad_of(x), grad_of(w)};
  }) == counted{1, 2});
}

TEST_CASE("CA-107: all kinds of hooks on the leaves of two layers, opaque or traced") {
  for (const bool traced : {false, true})
    CHECK(in_steps(3, [&](int) {
      const var x(sample(4)), u(sample(4, 5)), w(sample(4, 9));
      for (const var* p : {&u, &w}) {
        const var& v = *p;
        if (traced) {
          v.register_hook([](auto g) { return g - 2; });
          v.accumulate_node().register_prehook([](auto g) { return g / 5; });
          v.register_post_accumulate_grad_hook([](auto value, auto g) { return std::tuple(value, g + 3); });
        } else {
          v.register_hook(add(-2));
          v.accumulate_node().register_prehook(before(0, [](const array& g) { return each(g, [](double e) { return e / 5; }); }));
          v.register_post_accumulate_grad_hook([](var l) { l.set_grad(add(3)(l.grad().value())); });
        }
        v.accumulate_node().register_hook([&v](ebb::gradients&, const ebb::gradients&) { var(v).set_grad(times(0.5)(v.grad().value())); });
      }
      total(product(product(x, u), w)).backward();
      const auto hooked = [](double g) { return ((g - 2) / 5 + 3) * 0.5; };
      CHECK(u.grad().value()(0) == hooked(x.value()(0) * w.value()(0)));
      return arrays{grad_of(x), grad_of(u), grad_of(w)};
    }) == counted{1, 2});
}

TEST_CASE("CA-103, CA-111, CA-140, SW-7: every hook of two branches runs where the plain engine runs it, and sees the same") {
  CHECK(in_steps(3, [](int) {
    arrays events;  // what happened, and how many gradients were there
    std::vector<var> leaves;
    const auto note = [&](double id) {
      double defined = 0;
      for (const var& v : leaves) defined = 2 * defined + v.grad().defined();
      events.push_back(array{id, defined});
    };
    const auto watch_node = [&](const ebb::node_handle& n, double id) {
      n.register_prehook([=](ebb::gradients&) { note(id + 0.25); });
      n.register_hook([=](ebb::gradients&, const ebb::gradients&) { note(id + 0.75); });
    };
    const var x(sample(4)), w(sample(4, 3)), b(sample(4, 6)), v(sample(4, 8));
    leaves = {x, w, b, v};
    for (std::size_t i = 0; i < 4; ++i) {
      const double id = static_cast<double>(10 * (i + 1));
      leaves[i].register_hook([=](const array&) { note(id); });
      leaves[i].register_post_accumulate_grad_hook([=](const var&) { note(id + 0.5); });
      watch_node(leaves[i].accumulate_node(), id);
    }
    const var left = product(x, w), right = sine(v), deep = product(left, left), sum = plus(right, deep), out = plus(sum, b);
    watch_node(left.grad_fn(), 100);
    watch_node(right.grad_fn(), 200);
    watch_node(deep.grad_fn(), 300);
    watch_node(sum.grad_fn(), 400);
    total(scaled(out)).backward();
    CHECK(events.size() == 4 * 4 + 4 * 2);
    for (const var& l : leaves) events.push_back(grad_of(l));
    return events;
  }) == counted{1, 2});
}

TEST_CASE("hooks on leaves see which gradients have come, and no more: also of leaves that the same node gives") {
  for (const bool swapped : {false, true})
    CHECK(in_steps(3, [&](int) {
      const var x(sample(4)), w(sample(4, 3));
      array seen;
      (swapped ? w : x).register_hook([&](const array&) { seen = array{x.grad().defined() * 1., w.grad().defined() * 1.}; });
      total(scaled(product(x, w))).backward();
      return arrays{grad_of(x), grad_of(w), seen};
    }) == counted{1, 2});
}

TEST_CASE("leaves that one node completes run in the order of its edges, whichever was reached first") {
  for (const bool swapped : {false, true})
    CHECK(in_steps(3, [&](int) {
      const var x(sample(4)), w(sample(4, 3)), y(sample(4, 6));
      arrays seen;
      const auto is_there = [](const var& v) { return v.grad().defined() ? 1. : 0.; };
      const auto note = [&](double id) { seen.push_back(array{id, is_there(x), is_there(w), is_there(y)}); };
      x.register_hook([&](const array&) { note(1); });
      w.register_post_accumulate_grad_hook([&](const var&) { note(2); });
      const var a = plus(w, swapped ? product(w, x) : product(x, w));  // the sum's edge comes first, and completes nothing
      total(plus(plus(a, a), y)).backward();                          // y, which nobody looks at, is there before both
      for (const var& v : {x, w, y}) seen.push_back(grad_of(v));
      return seen;
    }) == counted{1, 2});
}

TEST_CASE("a hook that registers, removes, or writes elsewhere while the backward runs: what comes later sees it") {
  for (int what = 0; what < 6; ++what) {
    INFO("kind " << what);
    CHECK(in_steps(3, [&](int) {
      var x(sample(4)), w(sample(4, 3));
      const var a = product(x, w), b = hyperbolic(a), c = scaled(b), d = hyperbolic(c);
      arrays seen;
      ebb::hook_handle removed = b.register_hook([](auto g) { return g * 3; });
      d.register_hook([&](const array&) {
        switch (what) {
          case 0: b.register_hook([&](const array& g) { seen.push_back(g); }); break;
          case 1: b.register_hook([](auto g) { return g + 1; }); break;
          case 2: removed.remove(); break;
          case 3: a.retain_grad(); break;
          case 4: x.set_grad(array{1, 2, 3, 4}); break;
          default: x.register_post_accumulate_grad_hook([](auto v, auto g) { return std::tuple(v - g, g); }); break;
        }
      });
      total(d).backward();
      seen.push_back(grad_of(a));
      seen.push_back(x.value());
      for (const var& v : {x, w}) seen.push_back(grad_of(v));
      return seen;
    }) == counted{1, 2});
  }
}

TEST_CASE("gradients that are retained or asked for, traced hooks before nodes, and masks that are saved are part of a chain") {
  ca::reset();
  static int groups, single;
  const ca::options look{.compiler = [](const ebb::captured_graph& g) {
    const ebb::captured_plan p(g);
    groups = p.groups();
    single = to_string(p).find("node by node") != std::string::npos;
    return ebb::backend::merge;
  }};
  const std::size_t sizes[] = {5, 0, 300, 1, 64};
  const auto check = [&](const char* what, auto&& f) {
    INFO(what);
    in_steps(5, f, look);
    CHECK(groups == 1);
    CHECK(single == 0);
  };
  check("retained", [&](int i) {
    const std::size_t n = sizes[i];
    const var x(sample(n)), y(sample(n, 4)), a = product(x, y), b = hyperbolic(a), c = scaled(b);
    c.register_hook([](auto g) { return g * 2; });
    for (const var& v : {a, c}) v.retain_grad();
    const scalar out = total(c);
    ebb::backward(out, {.retain_graph = true});
    arrays all{grad_of(a), grad_of(c)};
    out.backward();  // what is retained adds up
    for (const var& v : {a, c, x, y}) all.push_back(grad_of(v));
    return all;
  });
  check("asked for", [&](int i) {
    const std::size_t n = sizes[i];
    const var x(sample(n)), y(sample(n, 4)), a = product(x, y), b = hyperbolic(a), c = scaled(b);
    b.register_hook([](auto g) { return g + 1; });
    b.retain_grad();
    const auto [gb, ga, gx, again] = ebb::grad(total(c), ebb::wrt(b, a, x, b), {.retain_graph = true});
    return arrays{gb.value(), ga.value(), gx.value(), again.value(), grad_of(b)};
  });
  check("inputs", [&](int i) {
    const std::size_t n = sizes[i];
    const var x(sample(n)), y(sample(n, 4)), a = product(x, y), b = hyperbolic(a), c = scaled(b);
    ebb::backward(total(c), {.inputs = {b, y}});
    return arrays{grad_of(b), grad_of(x), grad_of(y)};
  });
  check("masks", [&](int i) {
    constexpr auto greater = ebb::compile([](auto x, auto y) { return ebb::where(x > y, x * 2, y * x); });
    constexpr auto chosen = ebb::compile([](auto m, auto x, auto y) { return ebb::where(m, x, y * y); });
    const std::size_t n = sizes[i];
    const var x(sample(n)), y(sample(n, 4)), a = greater(product(x, y), rectify(x));
    const auto third = ebb::tensor<bool, ebb::dyn>::generate([](std::size_t k) { return k % 3 == 0; }, n);
    total(hyperbolic(chosen(third, a, y))).backward();
    return arrays{grad_of(x), grad_of(y)};
  });
  check("before nodes", [&](int i) {
    const std::size_t n = sizes[i];
    const var x(sample(n)), y(sample(n, 4)), a = product(x, y), b = hyperbolic(a), c = scaled(b);
    b.register_hook([](auto g) { return g + 1; });
    b.grad_fn().register_prehook([](auto g) { return g * 3; });
    b.retain_grad();
    b.grad_fn().register_prehook(ebb::bind(0.5 * i, [](auto s, auto g) { return g - s; }));
    x.accumulate_node().register_prehook([](auto g) { return g / 5; });
    x.register_hook([](auto g) { return g + 3; });
    if (i % 2) var(x).set_grad(sample(n, 8));
    total(c).backward();
    return arrays{grad_of(b), grad_of(x), grad_of(y)};
  });
}

TEST_CASE("CA-112, CA-122, CA-123: saved values are unpacked once, at their node") {
  CHECK(in_steps(3, [](int) {
    int packed = 0, unpacked = 0, at_hook = -1;
    const var x(sample(6));
    const var h = [&] {
      const ebb::saved_tensors_hooks scope([&](const ebb::any_tensor& t) { return ++packed, t; },
                                           [&](const ebb::any_tensor& t) { return ++unpacked, t; });
      return hyperbolic(x);
    }();
    const var y = scaled(h);
    y.register_hook([&](const array&) { at_hook = unpacked; });
    CHECK(packed == 1);
    total(y).backward();
    CHECK(at_hook == 0);
    CHECK(unpacked == 1);
    return arrays{grad_of(x)};
  }) == counted{1, 2});
}

TEST_CASE("CA-120: checkpoints") {
  int runs = 0;
  CHECK(in_steps(3, [&](int) {
    const var x(sample(6)), w(sample(6, 3));
    total(scaled(ebb::checkpoint([&](const var& a, const var& b) {
      ++runs;
      return hyperbolic(product(hyperbolic(a), b));
    })(x, w))).backward();
    return arrays{grad_of(x), grad_of(w)};
  }) == counted{1, 2});
  CHECK(runs == 12);
}

TEST_CASE("CA-21: rows that are taken twice, and a number for all elements, of any size") {
  constexpr auto rows = ebb::compile([](auto x, auto i) { return ebb::take(x, i); });
  constexpr auto spread = ebb::compile([](auto x, auto s) { return x * s; });
  const int sizes[] = {3, 0, 1, 37, 300};
  CHECK(in_steps(5, [&](int i) {
    const auto n = static_cast<std::size_t>(sizes[i]);
    ebb::tensor<int, ebb::dyn> twice(ebb::layout<ebb::dyn>{0});
    if (n > 2) twice = {2, 0, 2};
    const var x(sample(n)), y(sample(n, 4));
    const scalar s(3.), t(0.25);
    const var chain = scaled(spread(scaled(spread(product(x, y), s)), t));
    ebb::backward(std::tuple(total(rows(chain, twice)), total(chain), total(chain)));
    return arrays{grad_of(x), grad_of(y), grad_of(s), grad_of(t)};
  }) == counted{1, 4});
}

TEST_CASE("CA-76: narrow dtypes keep their dtype and their bits") {
  using narrow = ebb::variable<ebb::bfloat16, ebb::dyn>;
  using wide = ebb::variable<float, ebb::dyn>;
  const auto step = []<class V>(std::type_identity<V>, int i) {
    using T = typename V::value_type;
    ebb::tensor<T, ebb::dyn> a(ebb::layout<ebb::dyn>(40));
    for (std::size_t k = 0; k < 40; ++k) a.mutable_data()[k] = static_cast<T>(static_cast<float>(number(k + static_cast<std::size_t>(i))));
    const V x(a), y(a);
    y.register_hook([](auto g) { return g * 0.75; });
    total(scaled(product(hyperbolic(scaled(product(x, y))), x))).backward();
    total(scaled(product(x, y))).backward();
    arrays r;
    for (const V& v : {x, y}) {
      STATIC_REQUIRE(std::is_same_v<std::remove_cvref_t<decltype(v.grad().value()(0))>, T>);
      r.push_back(sample(40));
      for (std::size_t k = 0; k < 40; ++k) r.back().mutable_data()[k] = static_cast<double>(static_cast<float>(v.grad().value()(k)));
    }
    return r;
  };
  CHECK(in_steps(3, [&](int i) { return step(std::type_identity<narrow>(), i); }) == counted{2, 4});
  CHECK(in_steps(3, [&](int i) { return step(std::type_identity<wide>(), i); }) == counted{2, 4});
}

TEST_CASE("keyed: the program, sharing, which operands need a gradient, hooks by kind and place, saved hooks, create_graph, roots") {
  ca::reset();
  const ca::enable scope;
  const var x(sample(4)), y(sample(4, 3));
  const auto is_new = [](auto&& f) {
    const auto before = counts();
    f();
    const auto now = counts();
    CHECK(now.captures + now.hits == before.captures + before.hits + 1);
    return now.captures > before.captures;
  };
  const auto walk = [&](const var& out, bool create = false) {
    return is_new([&] { ebb::grad(total(out), ebb::wrt(x), {.create_graph = create}); });
  };
  CHECK(walk(product(x, y)));
  CHECK_FALSE(walk(product(x, y)));
  CHECK_FALSE(walk(product(x, var(sample(4, 9)))));  // another leaf at the same place
  CHECK(walk(plus(x, y)));
  CHECK(walk(product(x, x)));            // sharing
  CHECK(walk(product(y, x)));            // the other operand is asked for
  CHECK(walk(product(x, sample(4, 3))));  // an array: nobody needs its gradient
  CHECK(walk(product(x, y), true));
  CHECK_FALSE(walk(product(x, y), true));
  const auto hooked = [&](auto add_hook) {
    const var h = product(x, y);
    add_hook(h);
    return h;
  };
  const auto opaque_hook = [](const var& h) { h.register_hook(times(2)); };
  const auto traced_hook = [](const var& h) { h.register_hook([](auto g) { return g * 2; }); };
  CHECK(walk(hooked(opaque_hook)));
  CHECK_FALSE(walk(hooked([](const var& h) { h.register_hook(add(7)); })));  // another function at the same place
  CHECK(walk(hooked(traced_hook)));
  CHECK_FALSE(walk(hooked(traced_hook)));
  CHECK(walk(hooked([](const var& h) { h.register_hook([](auto g) { return g * 3; }); })));  // another program
  CHECK(walk(hooked([&](const var& h) { opaque_hook(h), traced_hook(h); })));
  CHECK(walk(hooked([&](const var& h) { traced_hook(h), opaque_hook(h); })));  // the other way round
  CHECK(walk(hooked([](const var& h) { h.grad_fn().register_prehook([](ebb::gradients&) {}); })));
  CHECK(walk(hooked([](const var& h) { h.grad_fn().register_hook([](ebb::gradients&, const ebb::gradients&) {}); })));
  CHECK(walk(hooked([](const var& h) { h.retain_grad(); })));
  CHECK_FALSE(walk(hooked([](const var& h) { h.register_hook(times(2)).remove(); })));  // gone: none
  {
    const ebb::saved_tensors_hooks kept([](const ebb::any_tensor& t) { return t; }, [](const ebb::any_tensor& t) { return t; });
    CHECK(walk(product(x, y)));
    CHECK_FALSE(walk(product(x, y)));
  }
  CHECK_FALSE(walk(product(x, y)));
  CHECK(is_new([&] { ebb::backward(total(product(x, y))); }));  // x and y accumulate
  CHECK(is_new([&] { ebb::backward(total(product(x, y))); }));  // both have a gradient
  CHECK_FALSE(is_new([&] { ebb::backward(total(product(x, y))); }));
  var(y).zero_grad();
  CHECK(is_new([&] { ebb::backward(total(product(x, y))); }));  // one of them
  const scalar one = total(product(x, y)), two = total(plus(x, y));
  CHECK(is_new([&] { ebb::backward(std::tuple(one, two), {.retain_graph = true}); }));
  CHECK(is_new([&] { ebb::backward(std::tuple(two, one), {.retain_graph = true}); }));  // another order of the roots
  CHECK_FALSE(is_new([&] { ebb::backward(std::tuple(one, two), {.retain_graph = true}); }));
  CHECK(is_new([&] { ebb::grad(one, ebb::wrt(x, y), {.retain_graph = true}); }));
  CHECK(is_new([&] { ebb::grad(one, ebb::wrt(y, x), {.retain_graph = true}); }));  // another order of what is asked for
  CHECK_FALSE(is_new([&] { ebb::grad(one, ebb::wrt(x, y)); }));                     // retained or not
  ca::reset();
}

TEST_CASE("two leaves are not one, one is not two, however many") {
  ca::reset();
  const ca::enable scope;
  const auto sum_of = [](const std::vector<var>& v) {
    var s = v[0];
    for (std::size_t i = 1; i < v.size(); ++i) s = product(s, v[i]);
    return total(s);
  };
  for (int run = 0; run < 2; ++run)
    for (std::size_t n : {2u, 3u, 8u, 9u, 40u})
      for (std::size_t same = 0; same < 3; ++same) {
        std::vector<var> v;
        for (std::size_t i = 0; i < n; ++i) v.push_back(var(array{1, i % 2 ? 1. : 2.}));
        if (same) v[n - 1] = v[n / 2 - (same == 2 && n > 3)];
        sum_of(v).backward();
        double all = 1;
        for (const var& x : v) all *= x.value()(1);
        for (std::size_t i = 0; i < n; ++i) {
          double times_used = 0;
          for (const var& x : v) times_used += x.is_same(v[i]);
          const double wanted = times_used * all / v[i].value()(1);
          if (v[i].grad().value()(1) != wanted) CHECK(v[i].grad().value()(1) == wanted);
        }
      }
  CHECK(counts().hits >= 15);
  ca::reset();
}

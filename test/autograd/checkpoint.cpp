// test/autograd/checkpoint.cpp — checkpointed regions and functions give the bits that they give without a checkpoint.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "../equal.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace {

using test::raised;

using array = ebb::tensor<double, ebb::dyn>;
using var = ebb::variable<double, ebb::dyn>;
using scalar = ebb::variable<double>;

constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });
constexpr auto wave = ebb::compile([](auto x, auto w) {
  const auto s = ebb::sin(x * w);
  return std::tuple(s * ebb::cos(s), ebb::sum(s));
});
constexpr auto affine = ebb::compile([](auto x, auto w, auto b) { return x * w + b; });
constexpr auto squash = ebb::compile([](auto x) { return ebb::tanh(x); });

array sample(double first) { return array{first, first / 3, -first, 0.7}; }
int saved(const var& v) { return static_cast<const ebb::node*>(v.history())->program->saved; }

}  // namespace

TEST_CASE("CA-120: a region that saves only its arguments gives the same gradients") {
  constexpr auto again = ebb::checkpoint(wave);
  const auto run = [](auto f, const var& x, const var& w) {
    const auto [y, s] = f(x, w);
    const scalar out = total(product(y, y));
    ebb::backward(std::tuple(out, s));
    return saved(y);
  };
  const var x(sample(0.4)), w(sample(1.3)), u(sample(0.4)), v(sample(1.3));
  const int kept = run(wave, x, w);
  CHECK(run(again, u, v) == 2);
  CHECK(kept > 2);
  CHECK(ebb::all_equal(u.grad().value(), x.grad().value()));
  CHECK(ebb::all_equal(v.grad().value(), w.grad().value()));

  const auto plain = wave(x.value(), w.value());
  CHECK(ebb::all_equal(std::get<0>(again(x.value(), w.value())), std::get<0>(plain)));  // called with arrays: the region itself

  const auto second = [](auto f, const var& p, const var& q) {
    const var g = ebb::grad(total(std::get<0>(f(p, q))), ebb::wrt(p), {.create_graph = true});
    return ebb::grad(total(g), ebb::wrt(p, q));
  };
  const auto [xx, xw] = second(wave, x, w);
  const auto [uu, uv] = second(again, u, v);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(uu.value()(i) == Approx(xx.value()(i)));
    CHECK(uv.value()(i) == Approx(xw.value()(i)));
  }
}

TEST_CASE("CA-120: a function with graph breaks runs twice, and its nodes' saved values are not kept") {
  int runs = 0;
  const auto body = [&](const var& x, const var& w) {
    ++runs;
    var y = squash(product(x, w));
    if (y.value()(0) > 0) y = product(y, y);
    return squash(y);
  };
  const var x(sample(0.4)), w(sample(1.3)), u(sample(0.4)), v(sample(1.3));
  total(body(x, w)).backward();
  runs = 0;
  const scalar out = total(ebb::checkpoint(body)(u, v));
  CHECK(runs == 1);
  var(u).assign(sample(9));  // the values that the arguments had in the call count
  ebb::backward(out, {.retain_graph = true});
  CHECK(runs == 2);
  CHECK(ebb::all_equal(u.grad().value(), x.grad().value()));
  CHECK(ebb::all_equal(v.grad().value(), w.grad().value()));
  out.backward();  // repeated backwards
  CHECK(runs == 3);
  CHECK(ebb::all_equal(v.grad().value(), product(w.grad().value(), array{2, 2, 2, 2})));
  CHECK(raised([&] { out.backward(); }).find("saved is gone") != std::string::npos);
  const ebb::no_grad off;
  CHECK_FALSE(ebb::checkpoint(body)(u, v).requires_grad());
}

TEST_CASE("hooks, captured variables, inputs and graphs of the backward pass through a checkpoint") {
  const var w(sample(1.3)), x(sample(0.4));
  const var inner = product(w, w);
  std::vector<std::string> log;
  const auto body = [&](const var& a) {
    const var y = product(a, inner);
    y.register_hook([&](const array&) { log.push_back("y"); });
    return squash(y);
  };
  const auto run = [&](auto f) {
    var(x).zero_grad();
    var(w).zero_grad();
    ebb::backward(total(f(x)), {.retain_graph = true});
    const std::tuple grads(x.grad().value(), w.grad().value());
    const var g = ebb::grad(total(f(x)), ebb::wrt(w), {.create_graph = true});
    return std::tuple_cat(grads, std::tuple(g.value(), ebb::grad(total(g), ebb::wrt(x)).value()));
  };
  const auto plain = run(body);
  const std::size_t hooks = log.size();
  CHECK(test::equal(run(ebb::checkpoint(body)), plain));
  CHECK(log.size() == 2 * hooks);
  const scalar out = total(ebb::checkpoint(body)(x));
  ebb::backward(out, {.inputs = {w}});
}

TEST_CASE("CA-121: expensive values are kept and cheap ones computed again") {
  int affines = 0, squashes = 0;
  const auto network = [&](bool checkpoints, const var& x, const std::vector<var>& p) {
    const auto layer = [&](const var& a, const var& w, const var& b) { return ++affines, affine(a, w, b); };
    var y = x;
    for (std::size_t i = 0; i < 8; i += 2) {
      y = checkpoints ? ebb::checkpoint(layer)(y, p[i], p[i + 1]) : layer(y, p[i], p[i + 1]);
      ++squashes;
      y = squash(y);
    }
    return scalar(total(y));
  };
  std::vector<var> p, q;
  for (int i = 0; i < 8; ++i) {
    p.emplace_back(sample(0.3 * i));
    q.emplace_back(sample(0.3 * i));
  }
  const var x(sample(0.5));
  network(false, x, p).backward();
  CHECK(affines == 4);
  network(true, x, q).backward();
  CHECK(affines == 4 + 8);
  CHECK(squashes == 8);
  for (std::size_t i = 0; i < 8; ++i) CHECK(ebb::all_equal(p[i].grad().value(), q[i].grad().value()));
}

TEST_CASE("CA-88: a function with side effects runs again") {
  std::vector<int> written;
  const auto body = [&](const var& x) {
    written.push_back(1);
    return squash(squash(x));
  };
  const var x(sample(0.4)), u(sample(0.4));
  total(body(x)).backward();
  total(ebb::checkpoint(body)(u)).backward();
  CHECK(ebb::all_equal(u.grad().value(), x.grad().value()));
  CHECK(written.size() == 3);
}

TEST_CASE("a checkpoint in a checkpoint, and a backward inside one, give the same gradients") {
  int outer = 0, inner = 0;
  const auto small = [&](const var& x) { return ++inner, squash(squash(x)); };
  const auto large = [&](const var& x) {
    ++outer;
    const var y = squash(x);
    const var g = ebb::grad(total(squash(y)), ebb::wrt(y)).detach().size() == 4 ? ebb::checkpoint(small)(y) : y;
    return squash(g);
  };
  const var x(sample(0.4)), u(sample(0.4));
  total(squash(small(squash(x)))).backward();
  inner = 0;
  total(ebb::checkpoint(large)(u)).backward();
  CHECK(ebb::all_equal(u.grad().value(), x.grad().value()));
  CHECK(outer >= 2);
  CHECK(inner >= 2);
}

TEST_CASE("a checkpoint runs again in the autocast context of its call, wherever backward is called") {
  using matrix = ebb::tensor<float, 2, 2>;
  using variable = ebb::variable<float, 2, 2>;
  static constexpr auto multiply =
      ebb::compile<ebb::ambient<ebb::off, ebb::autocast<ebb::bf16>>, ebb::backward_pass_autocast<ebb::as_recorded>>(
          [](auto a, auto b) { return ebb::matmul(a, b); });
  static constexpr auto cubes = ebb::compile([](auto a) { return ebb::sum(a * a * a); });  // saves floats rounded to bfloat16
  const auto widened = [](const variable& a, const variable& b) { return ebb::variable(cubes(multiply(a, b))); };
  const auto narrow = [](const variable& a, const variable& b) { return ebb::variable(ebb::sum(ebb::sin(ebb::matmul(a, b)))); };
  const auto gradients = [](auto f, bool inside) {  // the call is inside the context and the backward outside, or the other way round
    const float more = 1 + 0x1p-9f;
    const variable x(matrix{{more, more}, {0, 1}}), w(matrix{{more, 1}, {1, more}});
    const auto call = [&] { return f(x, w); };
    const auto in_scope = [](auto g) {
      const ebb::autocast_scope<ebb::bf16> scope;
      return g();
    };
    const ebb::variable<float> loss = inside ? in_scope(call) : call();
    const auto back = [&] { return loss.backward(), 0; };
    inside ? back() : in_scope(back);
    return std::pair(x.grad().value(), w.grad().value());
  };
  for (const bool inside : {true, false}) {
    CHECK(test::equal(gradients(ebb::checkpoint(widened), inside), gradients(widened, inside)));
    CHECK(test::equal(gradients(ebb::checkpoint(narrow), inside), gradients(narrow, inside)));
  }
  CHECK_FALSE(test::equal(gradients(widened, true), gradients(widened, false)));
}

TEST_CASE("a region with declared contexts saves only arguments in each, and keeps its assumption for the backward") {
  using low = ebb::autocast<ebb::bf16>;
  using matrix = ebb::tensor<float, 2, 2>;
  static constexpr auto inner = ebb::no_autocast([](auto a, auto b) { return ebb::tanh(ebb::matmul(ebb::sin(a), b)); });
  static constexpr auto region =
      ebb::compile<ebb::ambient<ebb::off, low>>([](auto a, auto b) { return ebb::sum(ebb::matmul(inner(a, b), b)); });
  const float more = 1 + 0x1p-9f;
  const auto run = [&](auto f, int inside) {
    const ebb::variable x(matrix{{more, more}, {0, 1}});
    const ebb::variable w(matrix{{more, 1}, {1, more}});
    const ebb::context_switch scope(inside);
    const ebb::variable<float> y = f(x, w);
    const int kept = static_cast<const ebb::node*>(y.history())->program->saved;
    {
      const ebb::context_switch other(1 - inside);
      CHECK(test::says(raised([&] { y.backward(); }),
                       {inside ? "was compiled for a call in ebb::autocast<ebb::bf16>" : "was compiled for a call in ebb::off"}));
    }
    y.backward();
    return std::tuple(kept, y.item(), x.grad().value(), w.grad().value());
  };
  for (const int inside : {0, 1}) {
    const auto [kept, y, x, w] = run(region, inside);
    CHECK(kept > 2);
    CHECK(test::equal(run(ebb::checkpoint(region), inside), std::tuple(2, y, x, w)));
  }
  CHECK_FALSE(test::equal(run(region, 0), run(region, 1)));
  const ebb::variable w(matrix{{more, 1}, {1, more}});
  CHECK(ebb::all_equal(ebb::checkpoint(region)(w.value(), w.value()), region(w.value(), w.value())));

  // A region with a context of its own keeps it too.
  const ebb::variable<float> y = ebb::checkpoint(ebb::compile(ebb::under<low>([](auto a) { return ebb::sum(inner(a, a)); })))(w);
  CHECK(test::says(raised([&] { y.backward(); }), {"was compiled for a call in ebb::autocast<ebb::bf16>"}));

  const ebb::autocast_scope<ebb::f16> undeclared;
  CHECK(test::says(raised([&] { ebb::checkpoint(region)(w, w); }),
                   {"ebb::compile of sin+matmul+", "ebb::ambient<ebb::off, ebb::autocast<ebb::bf16>, ebb::autocast<ebb::f16>>"}));
}

#if EBB_EXCEPTIONS
TEST_CASE("a function that does something else in its second run is an error") {
  bool again = false;
  const auto body = [&](const var& x) { return std::exchange(again, true) ? x : var(squash(x)); };
  const var x(sample(0.4));
  const scalar out = total(ebb::checkpoint(body)(x));
  CHECK(raised([&] { out.backward(); }).find("saved 1 values, and 0 when it ran again") != std::string::npos);
  CHECK_FALSE(x.grad().defined());
  again = false;
  out.backward();
  CHECK(x.grad().defined());
}
#endif

TEST_CASE("SW-19: dropout in a checkpoint draws the same mask in the backward as in the forward") {
  const ebb::random_key key(19);
  std::vector<double> first_mask;
  int runs = 0;
  const auto dropped = [&](const var& x, const var& w) -> var {
    const auto kept = ebb::bernoulli<ebb::dyn>(key, {x.size()}, 0.5);
    array mask(x.size());
    for (std::size_t i = 0; i < mask.size(); ++i) mask.at(i) = kept(i) ? 2.0 : 0.0;
    if (++runs == 1) first_mask.assign(mask.begin(), mask.end());
    return product(squash(product(x, w)), mask);
  };
  for (const bool captured : {false, true}) {
    runs = 0;
    const array ones = array::full(1.0, 64);
    const var x(ebb::normal<double, ebb::dyn>(1, {64})), w(ones);
    const scalar loss = total(ebb::checkpoint(dropped)(x, w));
    ebb::backward(loss, {.compiled_autograd = captured});
    CHECK(runs == 2);
    double of_mask = 0;
    int dropped_elements = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      const double t = std::tanh(x.value()(i)), slope = (1 - t * t) * w.value()(i);
      const double mask = x.grad().value()(i) / slope;  // the mask of the backward
      CHECK(mask == Approx(first_mask[i]).margin(1e-12));
      of_mask += t * mask;
      dropped_elements += first_mask[i] == 0;
    }
    CHECK(of_mask == Approx(loss.item()));
    CHECK(dropped_elements > 16);
    CHECK(dropped_elements < 48);
  }
}

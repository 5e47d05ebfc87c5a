// test/autograd/backward.cpp — backward and grad: the gradients of each leaf, the order of nodes, values kept, and refused calls.
// SPDX-License-Identifier: BSL-1.0
// covers: backward.hpp vertex.hpp walk.hpp sum.hpp accumulate.hpp destroy.hpp higher.hpp
#include "../catch.hpp"
#include "../equal.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using test::raised;

using array = ebb::tensor<double, ebb::dyn>;
using var = ebb::variable<double, ebb::dyn>;
using scalar = ebb::variable<double>;

constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });

}  // namespace

TEST_CASE("leaves and results report their properties") {
  const var x(array{1, 2, 3});
  const var y = product(x, x);
  CHECK(x.is_leaf());
  CHECK(x.requires_grad());
  CHECK_FALSE(y.is_leaf());
  CHECK(y.name() == "mul");
  CHECK(ebb::all_equal(y.value(), array{1, 4, 9}));
  CHECK_FALSE(var().defined());
  CHECK_FALSE(x.grad().defined());
  const var same = x;
  CHECK(same.is_same(x));
  {
    const ebb::no_grad off;
    const var z = product(x, x);
    CHECK(ebb::all_equal(z.value(), y.value()));
    CHECK_FALSE(z.requires_grad());
    const ebb::enable_grad on;
    CHECK(product(x, x).requires_grad());
  }
  CHECK(product(x, x).requires_grad());
}

TEST_CASE("CA-30: gradients of a leaf that is used several times are added") {
  const var x(array{1, 2, 3}), w(array{4, 5, 6});
  const var a = product(x, w);  // x w
  const var b = product(a, x);  // x^2 w
  total(product(b, a)).backward();  // x^3 w^2
  CHECK(ebb::all_equal(x.grad().value(), array{3 * 1 * 16., 3 * 4 * 25., 3 * 9 * 36.}));
  CHECK(ebb::all_equal(w.grad().value(), array{2 * 1 * 4., 2 * 8 * 5., 2 * 27 * 6.}));
}

TEST_CASE("CA-31, CA-33: grad returns gradients and does not write .grad, backward fills it") {
  const var y(array{1, 2}), z(array{3, 4});
  const scalar out = total(product(y, z));
  const auto [gy, gz] = ebb::grad(out, ebb::wrt(y, z), {.retain_graph = true});
  CHECK(ebb::all_equal(gy.value(), z.value()));
  CHECK(ebb::all_equal(gz.value(), y.value()));
  CHECK_FALSE(y.grad().defined());
  CHECK_FALSE(z.grad().defined());
  out.backward();
  CHECK(ebb::all_equal(y.grad().value(), z.value()));
  CHECK(ebb::all_equal(z.grad().value(), y.value()));
}

TEST_CASE("CA-34, CA-35: a backward to some inputs runs only the nodes on the way to them") {
  const var x(array{1, 2}), y(array{3, 4}), a(array{5, 6});
  int reached = 0;
  const var branch = product(a, a);
  branch.register_hook([&](const array&) { ++reached; });
  const var left = product(x, y);
  const scalar out = total(product(left, branch));
  ebb::backward(out, {.retain_graph = true, .inputs = {x, y}});
  CHECK(reached == 0);
  CHECK_FALSE(a.grad().defined());
  CHECK(ebb::all_equal(x.grad().value(), array{3 * 25., 4 * 36.}));
  CHECK(ebb::all_equal(y.grad().value(), array{1 * 25., 2 * 36.}));

  ebb::backward(out, {.retain_graph = true, .inputs = ebb::wrt(left)});  // not a leaf: it retains its gradient
  CHECK(ebb::all_equal(left.grad().value(), array{25, 36}));
  CHECK(ebb::all_equal(x.grad().value(), array{3 * 25., 4 * 36.}));

  ebb::backward(out, {.inputs = {a}});
  CHECK(reached == 1);
  CHECK(ebb::all_equal(a.grad().value(), array{2 * 5 * 3., 2 * 6 * 8.}));
}

TEST_CASE("CA-32: the gradient of one leaf never runs another branch") {
  const var x(array{1, 2}), y(array{3, 4});
  const var left = product(x, x), right = product(y, y);
#if EBB_EXCEPTIONS
  right.register_hook([](const array&) -> void { throw std::runtime_error("nobody asked for this"); });
#endif
  const scalar out = total(product(left, right));
  const var g = ebb::grad(out, ebb::wrt(x), {.retain_graph = true});
  CHECK(ebb::all_equal(g.value(), array{2 * 9., 4 * 16.}));
  CHECK_FALSE(y.grad().defined());
#if EBB_EXCEPTIONS
  CHECK_THROWS_AS(ebb::grad(out, ebb::wrt(y)), std::runtime_error);
#endif
}

TEST_CASE("CA-40: linear layers of 2 to 1 and 1 to 2, without a bias, have the right gradients") {
  const ebb::variable first(ebb::tensor<double, 1, 2>{2, -1});
  const ebb::variable second(ebb::tensor<double, 2, 1>{3, 0.5});
  constexpr auto net = ebb::compile([](auto x, auto a, auto b) { return ebb::sum(ebb::linear(ebb::linear(x, a), b)); });
  const ebb::tensor<double, 3, 2> x{1, 2, 3, 4, 5, 6};
  net(x, first, second).backward();  // hidden = 2 x0 - x1: 0, 2, 4; the sum is 3.5 times theirs
  CHECK(ebb::all_equal(first.grad().value(), ebb::tensor<double, 1, 2>{3.5 * 9, 3.5 * 12}));
  CHECK(ebb::all_equal(second.grad().value(), ebb::tensor<double, 2, 1>{6, 6}));
}

TEST_CASE("CA-45: later accumulation does not change a gradient that a hook keeps") {
  const var x(array{1, 2});
  std::vector<array> kept;
  x.register_hook([&](const array& g) { kept.push_back(g); });
  total(product(x, x)).backward();
  total(product(x, x)).backward();
  CHECK(test::equal(kept, std::vector<array>{array{2, 4}, array{2, 4}}));
  CHECK(ebb::all_equal(x.grad().value(), array{4, 8}));
  CHECK(x.grad().data() != kept[0].data());
}

TEST_CASE("CA-52: a backward uses the extents of its own forward") {
  const var small(array{1, 2}), large(array{1, 2, 3, 4, 5});
  const scalar a = total(small), b = total(large);  // the gradient of a sum has the extent of its operand
  a.backward();
  b.backward();
  CHECK(ebb::all_equal(small.grad().value(), array{1, 1}));
  CHECK(ebb::all_equal(large.grad().value(), array{1, 1, 1, 1, 1}));
}

TEST_CASE("CA-36, CA-37, CA-48: gradients accumulate, in place if they are not shared") {
  var x(array{1, 2});
  for (int step = 1; step <= 10; ++step) {
    total(product(x, x)).backward();
    CHECK(ebb::all_equal(x.grad().value(), array{2. * step, 4. * step}));
  }
  x.set_grad(array{1, 1});
  const double* const before = x.grad().data();
  total(product(x, x)).backward();
  CHECK(x.grad().data() == before);
  CHECK(ebb::all_equal(x.grad().value(), array{3, 5}));

  const array kept = x.grad().value();  // a value: later accumulation does not change it
  total(product(x, x)).backward();
  CHECK(ebb::all_equal(kept, array{3, 5}));
  CHECK(ebb::all_equal(x.grad().value(), array{5, 9}));
  x.zero_grad();
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("CA-41: a backward adds to an existing gradient") {
  var w(array{1, 1});
  w.set_grad(array{1, 1});
  total(product(w, array{2, 2})).backward();
  CHECK(ebb::all_equal(w.grad().value(), array{3, 3}));
}

TEST_CASE("CA-38, CA-43, SW-16: a retained graph takes another backward, and the incoming gradient is taken, not copied") {
  const scalar x(2.);
  constexpr auto square = ebb::compile([](auto v) { return v * v; });
  const scalar y = square(x);
  const double* arrived = nullptr;
  x.register_hook([&](const scalar& g) { arrived = g.data(); });
  ebb::backward(y, {.retain_graph = true});
  CHECK(x.grad().data() == arrived);
  for (int pass = 2; pass <= 4; ++pass) {
    ebb::backward(y, {.retain_graph = true});
    CHECK(x.grad().item() == 4. * pass);
  }
}

TEST_CASE("saved values are freed by the first backward, and the second one is refused before it changes anything") {
  const var x(array{1, 2}), w(array{3, 4});
  const var y = product(x, w);
  const scalar first = total(y), second = total(product(y, y));
  first.backward();
  const array gx = x.grad().value();
  CHECK(raised([&] { second.backward(); }).find("mul saved is gone") != std::string::npos);
  CHECK(ebb::all_equal(x.grad().value(), gx));

  const var z = total(x).requires_grad() ? x : var();
  const scalar plain = total(z);  // a sum saves nothing
  plain.backward();
  plain.backward();
  CHECK(ebb::all_equal(x.grad().value(), array{gx(0) + 2, gx(1) + 2}));
}

TEST_CASE("CA-49: with create_graph the gradient is a new array with a history") {
  scalar x(3.);
  constexpr auto cube = ebb::compile([](auto v) { return v * v * v; });
  ebb::backward(cube(x), {.create_graph = true});
  const scalar first = x.grad();
  CHECK(first.requires_grad());
  CHECK(first.item() == 27);
  ebb::backward(cube(x), {.create_graph = true});
  CHECK(x.grad().item() == 54);
  CHECK(first.item() == 27);
  CHECK(ebb::grad(x.grad(), ebb::wrt(x)).item() == 36);
  x.zero_grad();  // else the gradient and the leaf would keep each other alive
}

TEST_CASE("CA-50, SW-15: derivatives to the fourth order can be taken twice") {
  constexpr auto cube = ebb::compile([](auto v) { return v * v * v; });
  for (int run = 0; run < 2; ++run) {
    const scalar x(2.);
    scalar y = cube(x);
    for (double expected : {12., 12., 6., 0.}) {
      y = ebb::grad(y, ebb::wrt(x), {.create_graph = true});
      CHECK(y.item() == expected);
    }
  }
}

TEST_CASE("a gradient that no node gave is undefined, not zero") {
  constexpr auto two = ebb::compile([](auto x, auto y) { return std::tuple(x * x, y * y); });
  const var x(array{1, 2}), y(array{3, 4});
  const auto [a, b] = two(x, y);
  total(a).backward();
  CHECK(ebb::all_equal(x.grad().value(), array{2, 4}));
  CHECK_FALSE(y.grad().defined());
  const auto [gx, gy] = ebb::grad(total(std::get<0>(two(x, y))), ebb::wrt(x, y), {.allow_unused = true});
  CHECK(gx.defined());
  CHECK_FALSE(gy.defined());
  const auto zeros = ebb::grad(total(std::get<0>(two(x, y))), ebb::wrt(y), {.materialize_grads = true});
  CHECK(ebb::all_equal(zeros.value(), array{0, 0}));
  CHECK(raised([&] { ebb::grad(total(std::get<0>(two(x, y))), ebb::wrt(x, y)); }) ==
        "ebb::grad: no gradient arrived at variable 1 of wrt; say allow_unused = true if that is meant");
}

TEST_CASE("outputs may be inputs or integers, and arguments may be tensors") {
  constexpr auto f = ebb::compile([](auto x, auto c) { return std::tuple(x, ebb::argmax<0>(x), x * c, ebb::stop_gradient(x)); });
  const var x(array{1, 5, 2});
  const array c{2, 3, 4};
  const auto [same, place, scaled, still] = f(x, c);
  STATIC_REQUIRE(std::is_same_v<decltype(same), const var>);
  STATIC_REQUIRE(std::is_same_v<decltype(still), const array>);
  CHECK(same.data() == x.data());
  CHECK(place == 1);
  CHECK(ebb::all_equal(still, x.value()));
  total(product(same, scaled)).backward();  // x^2 c
  CHECK(ebb::all_equal(x.grad().value(), array{4, 30, 16}));
}

TEST_CASE("writing a leaf never changes the saved values of a backward") {
  var x(array{1, 2}), w(array{3, 4});
  const scalar y = total(product(x, w));
  CHECK(w.version() == 0);
  w.mutable_data()[0] = 100;
  x.assign(array{7, 7});
  CHECK(w.version() == 1);
  y.backward();
  CHECK(ebb::all_equal(x.grad().value(), array{3, 4}));
  CHECK(ebb::all_equal(w.grad().value(), array{1, 2}));
  CHECK(ebb::all_equal(w.value(), array{100, 4}));
}

TEST_CASE("a seed may be written as a list") {
  const var x(array{1, 2}), w(array{3, 4});
  product(x, w).backward({1, 10});
  (x * w).backward({100, 1000});
  CHECK(ebb::all_equal(x.grad().value(), array{303, 4040}));
}

TEST_CASE("SW-12: writing the gradient does not change the caller's seed") {
  const var x(array{1, 2});
  array seed{5, 6};
  ebb::backward(x, {.seeds = {seed}});
  seed.at(0) = 50;
  CHECK(ebb::all_equal(x.grad().value(), array{5, 6}));
  ebb::backward(x, {.seeds = {array{1, 1}}});
  CHECK(ebb::all_equal(seed, array{50, 6}));
}

TEST_CASE("a refused backward changes nothing") {
  const var x(array{1, 2});
  const var y = product(x, x);
  const auto after = [&](auto&& call) {
    const std::string text = raised(call);
    CHECK_FALSE(x.grad().defined());
    return text;
  };
  CHECK(after([&] { y.backward(); }) == "ebb::backward: a seed can be left out only for roots with one element; root 0 is f64[2]");
  CHECK(after([&] { y.backward(array{1, 2, 3}); }) == "ebb::backward: seed 0 is f64[3], its root is f64[2]");
  CHECK(after([&] { y.backward({1, 2, 3}); }) == "ebb::backward: seed 0 is f64[3], its root is f64[2]");
  CHECK(after([&] {
          ebb::backward(y, {.seeds = {ebb::tensor<int, 2>{1, 2}}});
        }) == "ebb::backward: seed 0 is i32[2], its root is f64[2]");  // SW-11
  CHECK(after([&] { ebb::backward(y, {.seeds = {array{1, 1}, array{1, 1}}}); }) == "ebb::backward: 2 seeds for 1 root");
  CHECK(after([&] { ebb::backward(std::tuple(y, y), {.seeds = {array{1, 1}}}); }) == "ebb::backward: 1 seed for 2 roots");
  CHECK(after([&] { ebb::backward(total(y), {.inputs = ebb::input_list({})}); }).find("inputs is empty") != std::string::npos);
  {
    const ebb::no_grad off;
    const scalar free = total(x);
    CHECK(after([&] { free.backward(); }).find("has no history") != std::string::npos);
    CHECK(after([&] { ebb::grad(total(y), ebb::wrt(free)); }).find("no history") != std::string::npos);
  }
#if EBB_EXCEPTIONS
  const var other(array{1});
  CHECK(after([&] { ebb::grad(total(y), ebb::wrt(x, other)); }).find("no output depends on variable 1") != std::string::npos);
  CHECK(after([&] { ebb::queue_callback([] {}); }).find("no backward is running") != std::string::npos);
#endif
  CHECK(after([&] { product(x, var(array{1, 2, 3})); }).find("argument 0 is [2], argument 1 is [3]") != std::string::npos);
  CHECK(after([&] { product(x, var()); }).find("undefined") != std::string::npos);
}

TEST_CASE("a removed hook leaves nothing, and a hook that removes itself runs to its end") {
  const var x(array{1, 2});
  for (int i = 0; i < 100; ++i) x.register_hook([](const array&) {}).remove();
  CHECK(x.history()->hooks->entries.empty());
  ebb::hook_handle once, second;
  int calls = 0;
  once = x.register_hook([&](const array&) {
    once.remove();
    ++calls;
  });
  second = x.register_hook([&](const array&) { calls += 10; });
  total(x).backward();
  total(x).backward();
  CHECK(calls == 21);
  second.remove();
  CHECK(x.history()->hooks->entries.empty());
}

TEST_CASE("CA-90, SW-10: callbacks run once, after all gradients, and a hook may run a backward") {
  const var x(array{1, 2});
  const var y = product(x, x);
  int calls = 0;
  y.register_hook([&](const array&) {
    ebb::queue_callback([&] {
      ++calls;
      CHECK(x.grad().defined());
    });
  });
  total(y).backward();
  CHECK(calls == 1);

  const var z = product(x, x);
  array inner;
  bool is_inside = false;
  z.register_hook([&](const array&) {
    if (std::exchange(is_inside, true)) return;
    const ebb::enable_grad on;
    inner = ebb::grad(total(product(z, z)), ebb::wrt(x), {.retain_graph = true}).value();
  });
  const scalar out = total(z);
  ebb::backward(out, {.retain_graph = true});  // the inner backward reaches z as well and calls the hook there
  CHECK(ebb::all_equal(inner, array{4, 32}));
  CHECK(ebb::all_equal(x.grad().value(), array{2 + 2, 4 + 4}));
}

TEST_CASE("a chain of a million nodes needs no stack") {
  constexpr auto twice = ebb::compile([](auto v) { return v * 1.0; });
  const scalar x(1.);
  scalar y = x;
  for (int i = 0; i < 1'000'000; ++i) y = twice(y);
  y.backward();
  CHECK(x.grad().item() == 1);
  y = scalar();
}

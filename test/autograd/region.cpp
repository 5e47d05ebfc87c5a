// test/autograd/region.cpp — calls of regions with variables: structs, regions in regions, gradients inside, static and dyn extents.
// SPDX-License-Identifier: BSL-1.0
// covers: region.hpp inner_path.hpp
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <cmath>
#include <vector>

namespace {

template <template <class, std::size_t...> class Array>
struct layer {
  using matrix = Array<double, 2, 3>;
  using vector = Array<double, 2>;
  BOOST_HANA_DEFINE_STRUCT(layer, (matrix, w), (vector, b));
};

using scalar = ebb::variable<double>;
using rows = ebb::tensor<double, ebb::dyn, 3>;

layer<ebb::tensor> start() {
  layer<ebb::tensor> l;
  l.w = ebb::tensor<double, 2, 3>{{0.1, -0.2, 0.3}, {0.5, 0.25, -1}};
  l.b = ebb::tensor<double, 2>{0.05, -0.4};
  return l;
}
layer<ebb::variable> tracked(const layer<ebb::tensor>& l) { return {ebb::variable(l.w), ebb::variable(l.b)}; }

constexpr auto forward = [](auto l, auto x) { return ebb::tanh(ebb::linear(x, l.w, l.b)); };
constexpr auto loss = [](auto l, auto x) { return ebb::mean(forward(l, x) * forward(l, x)); };

}  // namespace

TEST_CASE("a region is differentiated as it is written: it and ebb::grad of the function sum in one order") {
  // x - 0.0 is x when the program is simplified: if that came first, the cotangents of three uses would be summed from left to right.
  constexpr auto f = [](auto x) {
    const auto y = x - 0.0;
    return ebb::sum(ebb::sin(y) * 0.3 + ebb::cos(x) + ebb::tanh(y) * 0.7);
  };
  ebb::tensor<float, 100> x;
  for (std::size_t i = 0; i < x.size(); ++i) x.mutable_data()[i] = 0.05f * static_cast<float>(i) - 2;
  const auto expected = ebb::grad(f)(x);
  constexpr auto region = ebb::compile(f);
  CHECK(ebb::same_bits(ebb::grad(region)(x), expected));
  const ebb::variable v(x);
  region(v).backward();
  CHECK(ebb::same_bits(v.grad().value(), expected));
}

TEST_CASE("the gradients of a struct of variables are those of value_and_grad") {
  const rows x{{1, 2, 3}, {-1, 0.5, 0}, {0, 0, 1}, {2, 2, -2}};
  const auto [value, expected] = ebb::value_and_grad(loss)(start(), x);

  const auto l = tracked(start());
  const scalar y = ebb::compile(loss)(l, x);
  CHECK(y.item() == value);
  y.backward();
  CHECK(ebb::all_equal(l.w.grad().value(), expected.w));
  CHECK(ebb::all_equal(l.b.grad().value(), expected.b));

  const layer<ebb::variable> g = ebb::grad(ebb::compile(loss)(l, x), ebb::wrt(l));
  CHECK(ebb::all_equal(g.w.value(), expected.w));
}

TEST_CASE("the error for an undefined variable names its argument as the user counts them, its member and its region") {
  const rows x{{1, 2, 3}};
  const auto message = [](auto call) {
    try {
      call();
    } catch (const ebb::error& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  layer<ebb::variable> l = tracked(start());
  l.b = {};
  CHECK(message([&] { ebb::compile(forward)(l, x); }) ==
        "ebb::compile: argument 0 of the region permute+matmul+add+tanh: its member .b is an undefined variable");
  static constexpr auto second =
      ebb::compile([](auto y, auto pair) { return ebb::sum(y) * ebb::sum(forward(std::get<1>(pair), std::get<0>(pair))); });
  CHECK(message([&] { second(ebb::variable(x), std::tuple(x, l)); }) ==
        "ebb::compile: argument 1 of the region sum+permute+matmul+add+tanh+sum+mul: its member [1].b is an undefined variable");
}

TEST_CASE("a region called in a region is part of it") {
  static constexpr auto inner = ebb::compile(forward);
  constexpr auto outer = ebb::compile([](auto l, auto x) {
    const auto h = inner(l, x);
    return ebb::mean(h * h);
  });
  const rows x{{1, 2, 3}};
  const auto l = tracked(start());
  const scalar y = outer(l, x);
  CHECK(ebb::execution_order(y).size() == 3);  // one node and two leaves
  y.backward();
  CHECK(ebb::all_equal(l.w.grad().value(), ebb::grad(loss)(start(), x).w));
}

TEST_CASE("SW-14: a whole training step is one region, with the gradients taken inside as results") {
  constexpr auto step = ebb::compile([](auto l, auto x, auto rate) {
    auto [value, g] = ebb::value_and_grad(loss)(l, x);
    return std::tuple(value, l.w - rate * g.w, l.b - rate * g.b);
  });
  const rows x{{1, 2, 3}, {-1, 0.5, 0}};
  const auto l = tracked(start());
  const auto [value, w, b] = step(l, x, 0.5);
  const auto g = ebb::grad(loss)(start(), x);
  for (int i = 0; i < 2; ++i) CHECK(b.value()(i) == start().b(i) - 0.5 * g.b(i));
  CHECK(value.requires_grad());
  CHECK(w.requires_grad());

  // The new parameters depend on the old ones through the gradient: d sum(b') / d b = 1 - rate * (H 1) for b alone.
  const auto through = ebb::grad(ebb::sum(b), ebb::wrt(l.b)).value();
  constexpr auto of_b = [](auto bias, auto weights, auto rows_of_x) {
    const auto h = ebb::tanh(ebb::linear(rows_of_x, weights, bias));
    return ebb::mean(h * h);
  };
  const auto h = ebb::hessian(of_b)(start().b, start().w, x);
  for (int i = 0; i < 2; ++i) CHECK(through(i) == Approx(1 - 0.5 * (h(i, 0) + h(i, 1))).epsilon(1e-12));
}

TEST_CASE("a region takes a vector of variables of one type, and extents that differ from call to call") {
  constexpr auto dot = ebb::compile([](auto a, auto b) { return ebb::sum(a * b); });
  std::vector<ebb::variable<double, ebb::dyn>> parts;
  for (std::size_t n : std::initializer_list<std::size_t>{2, 5, 0}) parts.emplace_back(ebb::tensor<double, ebb::dyn>::iota(n));
  for (auto& p : parts) dot(p, p).backward();
  CHECK(ebb::all_equal(parts[1].grad().value(), ebb::tensor<double, ebb::dyn>{0, 2, 4, 6, 8}));
  CHECK(parts[2].grad().defined());
  CHECK(parts[2].grad().size() == 0);
  std::size_t seen = 0;
  ebb::each_variable([&](const auto& p) { seen += p.size(); }, parts);
  CHECK(seen == 7);
  ebb::zero_grad(parts);
  CHECK_FALSE(parts[0].grad().defined());
}

TEST_CASE("a statement with operators on variables is one node, and named expressions are variables") {
  const ebb::variable x(ebb::tensor<double, 3>{1, 2, 3});
  const ebb::variable w(2.0);
  const ebb::variable y = ebb::tanh(x * w) * 0.5 + 1;
  CHECK(y.name() == "mul+tanh+mul+add");
  CHECK(ebb::execution_order(y).size() == 3);

  auto named = x * x;  // not run yet
  const auto sum = ebb::sum(named * w) + ebb::sum(named);
  CHECK(ebb::execution_order(named.get()).size() == 2);
  named.retain_grad();
  sum.backward();
  CHECK(ebb::all_equal(named.grad().value(), ebb::tensor<double, 3>{3, 3, 3}));
  CHECK(ebb::all_equal(x.grad().value(), ebb::tensor<double, 3>{6, 12, 18}));
  CHECK(w.grad().item() == 14);

  const auto dangling = [&] { return x * ebb::tensor<double, 3>{4, 5, 6} - std::vector<double>{1, 1, 1}; }();
  CHECK(ebb::all_equal(dangling.value(), ebb::tensor<double, 3>{3, 9, 17}));

  const ebb::variable<float, 2> narrow(ebb::tensor<float, 2>{1, 2});
  STATIC_REQUIRE(std::is_same_v<decltype((narrow * 2.5).get()), const ebb::variable<float, 2>&>);  // literals are weak
  const ebb::tensor<bool, 3> above = x > 1.5;  // no gradient flows here: an array
  CHECK(ebb::all_equal(above, ebb::tensor<bool, 3>{false, true, true}));
  CHECK(ebb::all_equal(ebb::where(x > 1.5, x, 0.0).value(), ebb::tensor<double, 3>{0, 2, 3}));
}

TEST_CASE("an update in place leaves a hook with the old value of a result, and a leaf needs no_grad") {
  ebb::variable x(ebb::tensor<double, 3>{1, 2, 3});
  ebb::variable y = x * x;
  ebb::tensor<double, 3> seen;
  y.register_hook([&](const ebb::tensor<double, 3>& g) { seen = g; });
  y *= 10.0;
  CHECK(ebb::all_equal(y.value(), ebb::tensor<double, 3>{10, 40, 90}));
  ebb::sum(y).backward();
  CHECK(ebb::all_equal(seen, ebb::tensor<double, 3>{10, 10, 10}));
  CHECK(ebb::all_equal(x.grad().value(), ebb::tensor<double, 3>{20, 40, 60}));

#if EBB_EXCEPTIONS
  CHECK_THROWS_WITH(x += 1.0, "ebb::variable: leaf was updated in place while calls are recorded: use no_grad, or assign");
#endif
  CHECK(ebb::all_equal(x.value(), ebb::tensor<double, 3>{1, 2, 3}));
  const ebb::variable same = x;
  {
    const ebb::no_grad off;
    x += 1.0;
  }
  CHECK(ebb::all_equal(same.value(), ebb::tensor<double, 3>{2, 3, 4}));
  CHECK(x.version() == 1);
  CHECK(x.requires_grad());
}

TEST_CASE("an expression uses the values that its operands had where it was written") {
  ebb::variable w(ebb::tensor<double, 3>{1, 2, 3});
  const auto before = ebb::sum(w * w);
  w.assign(ebb::tensor<double, 3>{0, 0, 0});
  CHECK(before.item() == 14);
  before.backward();
  CHECK(ebb::all_equal(w.grad().value(), ebb::tensor<double, 3>{2, 4, 6}));

  const auto written_inside = [&] {
    const ebb::no_grad off;
    return w * 2.0;
  }();
  CHECK_FALSE(written_inside.get().requires_grad());
  const auto written_outside = w * 2.0;
  {
    const ebb::no_grad off;
    CHECK(written_outside.get().requires_grad());
  }

  auto hooked = w + 1.0;
  hooked.register_hook([](auto g) { return g * 10; });
  const auto copy = hooked;
  w.zero_grad();
  ebb::sum(copy).backward();
  CHECK(ebb::all_equal(w.grad().value(), ebb::tensor<double, 3>{10, 10, 10}));
#if EBB_EXCEPTIONS
  CHECK_THROWS_AS(ebb::sum(std::move(hooked)), ebb::error);
#endif
}

TEST_CASE("a seed with a history is part of the graph of the backward") {
  const scalar x(2.0);
  const ebb::variable u = x * x;
  const ebb::variable y = x * x * x;
  const auto g = ebb::grad(y, ebb::wrt(x), {.seeds = {u}, .create_graph = true});  // 3 x^2 u
  CHECK(g.item() == 48);
  CHECK(ebb::grad(g, ebb::wrt(x)).item() == 12 * 8);  // d/dx of 3 x^4
}

TEST_CASE("a named variable appears by its name, and an undefined one cannot be named") {
  const scalar x(2.0);
  ebb::variable y = x * x;
  y.set_name("square");
  CHECK(ebb::execution_order(y) == std::vector<std::string>{"square", "accumulate leaf"});
  scalar undefined;
#if EBB_EXCEPTIONS
  CHECK_THROWS_AS(undefined.set_name("nothing"), ebb::error);
  CHECK_THROWS_AS(ebb::execution_order(undefined), ebb::error);
#endif
  CHECK(undefined.name() == "undefined");
}

TEST_CASE("SW-21: the derivative of one result of a region by another one is refused by name, plain and captured") {
  constexpr auto both = ebb::compile([](auto x) {
    const auto z = ebb::sin(x);
    return std::tuple{z, z * z, ebb::cos(x)};
  });
  const scalar x(2.0);
  const auto said = [](auto&& f) -> std::string {
    try {
      f();
      return "nothing";
    } catch (const ebb::error& e) {
      return e.what();
    }
  };
  for (const bool captured : {false, true}) {
    const auto with = [&](bool allow) {
      return ebb::grad_options{.retain_graph = true, .allow_unused = allow, .compiled_autograd = captured};
    };
    const auto [z, d, c] = both(x);
    const std::string sentence =
        "ebb::grad: result 1 of the region sin+mul+cos is computed from its result 0, by which a gradient is asked for: a region has "
        "derivatives by its arguments only. Make the two results in two regions";
    const scalar later = 3.0 * d;
    for (int turn = 0; turn < 2; ++turn) {  // the second turn would be a hit
      CHECK(said([&] { ebb::grad(d, ebb::wrt(z), with(false)); }) == sentence);
      CHECK(said([&] { ebb::grad(d, ebb::wrt(z), with(true)); }) == sentence);
      CHECK(said([&] { ebb::grad(later, ebb::wrt(z), with(true)); }) == sentence);
      CHECK(said([&] { ebb::grad(std::tuple(later, z), ebb::wrt(x, z), with(true)); }) == sentence);
      CHECK(said([&] { ebb::backward(later, {.retain_graph = true, .inputs = {z}, .compiled_autograd = captured}); }).find(
                "ebb::backward: result 1 of the region") == 0);
      // Neither is computed from the other, or the region computes no part of it.
      CHECK_FALSE(ebb::grad(c, ebb::wrt(z), with(true)).defined());
      CHECK_FALSE(ebb::grad(z, ebb::wrt(d), with(true)).defined());
      CHECK(ebb::grad(z * z, ebb::wrt(z), with(false)).item() == 2 * z.item());
      CHECK(ebb::grad(d, ebb::wrt(x), with(false)).item() == Approx(std::sin(4.0)).epsilon(1e-14));
    }
  }
}

TEST_CASE("SW-21: the derivative by a result that is an argument passed on is refused by name where the argument has more of it") {
  constexpr auto pair = ebb::compile([](auto x, auto y) { return std::tuple{x * y, y, ebb::cos(x)}; });
  const scalar x(2.0), y(3.0);
  for (const bool captured : {false, true}) {
    const auto [d, z, c] = pair(x, y);
    const scalar later = d * z;
    const auto how = [&](bool allow) {
      return ebb::grad_options{.retain_graph = true, .allow_unused = allow, .compiled_autograd = captured};
    };
    for (int turn = 0; turn < 2; ++turn) {
      for (const bool allow : {false, true})
        for (const scalar& root : {d, later})
          CHECK(test::raised([&] { ebb::grad(root, ebb::wrt(z), how(allow)); }) ==
                "ebb::grad: result 1 of the region mul+cos, by which a gradient is asked for, is an argument passed on, and result 0 is "
                "computed from that argument: ask for the gradient by the argument");
      CHECK(test::raised([&] { ebb::backward(later, {.retain_graph = true, .inputs = {z}, .compiled_autograd = captured}); }) != "");
      CHECK(ebb::grad(later, ebb::wrt(y), how(false)).item() == 2 * 2 * 3);
      CHECK(ebb::grad(z * z, ebb::wrt(z), how(false)).item() == 6);
      CHECK(ebb::grad(z * c, ebb::wrt(z), how(false)).item() == c.item());  // cos(x) is not computed from y
      CHECK_FALSE(ebb::grad(c, ebb::wrt(z), how(true)).defined());
    }
  }
}

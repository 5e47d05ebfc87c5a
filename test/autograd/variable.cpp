// test/autograd/variable.cpp — variables and expressions as values: printed, assigned, compared, converted.
// SPDX-License-Identifier: BSL-1.0
// covers: variable.hpp expression.hpp operators.hpp

#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <sstream>
#include <string>
#include <vector>

namespace {

using array = ebb::tensor<float, ebb::dyn>;
using var = ebb::variable<float, ebb::dyn>;
using scalar = ebb::variable<float>;

template <template <class, std::size_t...> class Array>
struct batch {
  using matrix = Array<float, 2, 3>;
  using labels = Array<int, 2>;
  using count = Array<std::int64_t>;
  BOOST_HANA_DEFINE_STRUCT(batch, (matrix, x), (labels, t), (count, seen));
};

std::string printed(const auto& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

}  // namespace

TEST_CASE("a number beside a condition is the same for variables and arrays") {
  const var x(array{-1, 0, 2});
  CHECK(ebb::all_equal(ebb::where(x > 0, x, 0.5).value(), array{0.5f, 0.5f, 2}));
  CHECK(ebb::all_equal(ebb::where(x > 0, 3, x).value(), array{-1, 0, 3}));
  CHECK(ebb::all_equal(ebb::where(x > 0, array{4, 5, 6}, 0.5).get(), array{0.5f, 0.5f, 6}));
  ebb::sum(ebb::where(x > 0, 1.5, 0.5) * x + ebb::where(x > 0, x, 0.25)).backward();
  CHECK(ebb::all_equal(x.grad().value(), array{0.5f, 0.5f, 2.5f}));
}

TEST_CASE("== and != of variables compare elements, as those of arrays do") {
  const array value{-1, 0, 2}, other{-1, 1, 2};
  const var x(value), y(other);
  constexpr auto masked = [](auto a, auto b) { return ebb::sum(ebb::where(a == b, a, 0) + a * (a != b) * 3); };
  const scalar eager = masked(x, y), region = ebb::compile(masked)(x, y);
  CHECK(eager.item() == masked(value, other));
  CHECK(region.item() == masked(value, other));
  eager.backward();
  CHECK(ebb::all_equal(x.grad().value(), array{1, 3, 1}));
  CHECK(ebb::all_equal((x == other).get(), ebb::tensor<bool, ebb::dyn>{true, false, true}));
  CHECK(ebb::all_equal((other != x).get(), ebb::tensor<bool, ebb::dyn>{false, true, false}));
  CHECK(ebb::all_equal((2 * x == 4).value(), ebb::tensor<bool, ebb::dyn>{false, false, true}));
  CHECK(ebb::all_equal(x, value));
  CHECK(!ebb::all_equal(x, y));
  const scalar s(2.f);
  CHECK((s == 2 && s * 2 != 5 ? 1 : 0) == 1);
  CHECK((s != s ? 1 : 0) == 0);
  CHECK((var(array{3}) == 3 ? 1 : 0) == 1);
  CHECK(test::says(test::raised([&] { (void)bool(x == y); }), {"ebb::tensor::operator bool", "of shape [3]"}));
}

TEST_CASE("== in a hook means the same, traced or not") {
  const array value{-1, 0, 2}, expected{2, -20, 6};
  const auto with = [&](auto hook) {
    const var x(value);
    const var y = x * array{1, 2, 3};
    y.register_hook(hook);
    ebb::sum(y * array{1, 10, 1}).backward();
    return x.grad().value();
  };
  constexpr auto rule = [](auto g) { return ebb::where(g == 10, -g, 5 * (g != 1) + 2 * (g == 1)); };
  CHECK(ebb::all_equal(with(rule), expected));
  CHECK(ebb::all_equal(with([&](const array& g) { return array(rule(g)); }), expected));
  CHECK(ebb::all_equal(with(ebb::opaque([&](const var& g) { return var(array(rule(g.value()))); })), expected));
}

TEST_CASE("expressions, bound values, pulls and lists of variables hold temporaries by value") {
  const array a{1, 2, 3}, one{1, 1, 1};
  const var x(a);
  const auto sum = x * (a - one) + std::vector<float>{1, 2, 3};
  const auto product = ebb::square(x * std::vector<float>{1, 2, 3});
  const auto inputs = ebb::wrt(var(x), std::tuple(var(x)));
  const auto twice = ebb::bind(a - one, 2.f, [](auto c, auto s, auto g) { return g * c * s; });
  const auto [value, pull] = ebb::vjp([](auto p, auto q) { return p * p * q; })(a + one, std::vector<float>{1, 2, 3});
  const std::vector<array> over(8, array{7, 7, 7});  // overwrites the stack where the temporaries were
  CHECK(ebb::all_equal(sum.value(), array{1, 4, 9}));
  CHECK(ebb::all_equal(product.value(), array{1, 16, 81}));
  CHECK(ebb::all_equal(value, array{4, 18, 48}));
  CHECK(ebb::all_equal(pull(one), array{4, 12, 24}));
  const auto [g, in_tuple] = ebb::grad(ebb::sum(sum), inputs);
  CHECK(ebb::all_equal(g.value(), array{0, 1, 2}));
  x.register_hook(twice);
  ebb::sum(x).backward();
  CHECK(ebb::all_equal(x.grad().value(), array{0, 2, 4}));
}

TEST_CASE("a variable is printed as its value") {
  const var x(array{1, 2.5f});
  CHECK(printed(x) == printed(x.value()));
  CHECK(printed(x * 2) == "f32[2] [2  5]");
  CHECK(printed(x < 2) == printed(ebb::tensor<bool, ebb::dyn>{true, false}));
  CHECK(printed(var()) == "undefined");
  CHECK(printed(x.grad()) == "undefined");
}

TEST_CASE("a comparison of scalars is a condition") {
  scalar loss(2.f);
  int steps = 0;
  for (; loss > 0.1; ++steps) loss = loss / 2;
  CHECK(steps == 5);
  if (!(loss < 0.1) || ebb::any(loss >= loss * 2)) FAIL("2 / 32 is less");
  loss.backward();
  const var x(array{1, 2});
  CHECK((ebb::any(x > 1.5f) ? 1 : 0) == 1);
  CHECK((ebb::all(x > 1.5f) ? 1 : 0) == 0);
}

TEST_CASE("any array may be assigned to a leaf, or set as its gradient") {
  var w(array{3, 4});
  const var x(array{1, 2});
  w.assign(w - 0.5 * x);
  CHECK(ebb::all_equal(w.value(), array{2.5f, 3}));
  w.assign(ebb::tensor<float, 2>{7, 8});
  CHECK(ebb::all_equal(w.value(), array{7, 8}));
  w.assign(std::vector<float>{5, 6});
  CHECK(ebb::all_equal(w.value(), array{5, 6}));
  w.assign(x);
  CHECK(ebb::all_equal(w.value(), array{1, 2}));
  w.assign({9, 9});
  CHECK(ebb::all_equal(w.value(), array{9, 9}));
  CHECK(w.version() == 5);
  CHECK(w.is_leaf());
  w.set_grad(x * 2);
  CHECK(ebb::all_equal(w.grad().value(), array{2, 4}));
  CHECK_FALSE(w.grad().requires_grad());
#if EBB_EXCEPTIONS
  CHECK(test::raised([&] { w.assign(std::vector<float>{1}); }) == "ebb::variable::assign: shape [1] was given for extents [2]");
  CHECK(test::raised([&] { w.set_grad(var(array{1, 2, 3})); }) == "ebb::variable::set_grad: shape [3] was given for extents [2]");
  CHECK(test::raised([&] { var(x * 2).assign(x); }).find("only a leaf can be assigned to") != std::string::npos);
  CHECK(test::raised([&] { var(x * 2).set_grad(x); }) == "ebb::variable::set_grad: only a leaf can be given a gradient");
  CHECK(test::raised([&] { var(x * 2).mutable_data(); }) ==
        "ebb::variable::mutable_data: only a leaf can be written: a result keeps its value");
#endif
  CHECK(ebb::all_equal(w.value(), array{9, 9}));

  ebb::variable<float, 2> fixed(ebb::tensor<float, 2>{1, 2});  // the types allow it
  fixed.assign(array{3, 4});
  CHECK(fixed.value()(1) == 4);
#if EBB_EXCEPTIONS
  CHECK_FALSE(test::raised([&] { fixed.assign(array{1, 2, 3}); }).empty());
#endif
}

TEST_CASE("a sum may begin undefined, and the first += makes it the added value") {
  const array value{1, 2};
  var x(value);
  var total;
  total += x;  // a leaf; total cannot write it
  CHECK(ebb::all_equal(total.value(), value));
  x.assign({3, 5});
  CHECK(ebb::all_equal(total.value(), value));
  total += x * x;
  total += x;
  CHECK_FALSE(total.is_leaf());
  CHECK(ebb::all_equal(total.value(), array{13, 32}));
  ebb::sum(total).backward();
  CHECK(ebb::all_equal(x.grad().value(), array{8, 12}));
  CHECK(ebb::all_equal(x.value(), array{3, 5}));

  scalar loss;
  for (const float factor : {2.f, 3.f}) loss += ebb::sum(x * factor);
  CHECK(loss.item() == 40);
  x.zero_grad();
  loss.backward();
  CHECK(ebb::all_equal(x.grad().value(), array{5, 5}));

  const var y = x * 2;
  var hooked;
  hooked += y;
  float seen = 0;
  hooked.register_hook(ebb::opaque([&](const var& g) { seen = g.value()(1); }));
  ebb::sum(hooked * 7).backward();
  CHECK(seen == 7);

  var constant_sum;
  constant_sum += array{1, 2};
  constant_sum += std::vector<float>{10, 20};
  CHECK_FALSE(constant_sum.requires_grad());
  CHECK(ebb::all_equal(constant_sum.value(), array{11, 22}));
  var from_vector;
  from_vector += std::vector<float>{4};
  CHECK(ebb::all_equal(from_vector.value(), array{4}));
  ebb::variable<float, 2> fixed;
  fixed += value;
  fixed -= 1;
  CHECK(ebb::all_equal(fixed.value(), array{0, 1}));

  scalar number;
  const scalar s(4.f);
  number += 1;
  number += 2.5;
  CHECK_FALSE(number.requires_grad());
  number += s;
  CHECK(number.item() == 7.5f);
  number.backward();
  CHECK(s.grad().item() == 1);
}

TEST_CASE("a sum that begins with a leaf does not write the leaf under no_grad, and needs no gradient there") {
  const var x(array{1, 2});
  var total, apart;
  total += x;
  const ebb::no_grad off;
  total += 1;
  CHECK(ebb::all_equal(total.value(), array{2, 3}));
  apart += x;
  CHECK_FALSE(apart.requires_grad());
  apart *= 3;
  CHECK(ebb::all_equal(apart.value(), array{3, 6}));
  CHECK(ebb::all_equal(x.value(), array{1, 2}));
}

TEST_CASE("a number becomes a leaf if the type says variable") {
  const auto square_of = [](ebb::variable<float> v) { return scalar(v * v); };
  const scalar v = 2.f, w = 3, u = 0.5;
  CHECK(v.is_leaf());
  CHECK(v.requires_grad());
  scalar(v * w * u).backward();
  CHECK(v.grad().item() == 1.5f);
  CHECK(u.grad().item() == 6);
  CHECK(square_of(2.f).item() == 4);
  CHECK(square_of(-3).item() == 9);
  CHECK(square_of(v).item() == 4);
  CHECK(square_of(v * 2).item() == 16);
  const std::vector<scalar> list{1.f, v, 2.f};
  CHECK(list[1].is_same(v));
  CHECK(list[2].item() == 2);
  const ebb::variable<ebb::bf16> low = 1.5, same = ebb::bf16(2.f);
  CHECK(static_cast<float>((low * same).item()) == 3);
  const ebb::variable deduced = 2.5;
  static_assert(std::is_same_v<decltype(deduced), const ebb::variable<double>>);
  CHECK(deduced.item() == 2.5);
  static_assert(!std::is_convertible_v<float, var> && !std::is_convertible_v<ebb::tensor<float>, scalar>);
  scalar again = 1.f;
  again = {};
  CHECK_FALSE(again.defined());
}

TEST_CASE("an expression has the properties of its variable") {
  var x(array{1, 2});
  const auto e = x * x + 1;
  CHECK(e.size() == 2);
  CHECK(e.extent(0) == 2);
  CHECK(e.shape()[0] == 2);
  CHECK(e.requires_grad());
  CHECK_FALSE(e.is_leaf());
  CHECK(e.name() == "mul+add");
  CHECK(ebb::all_equal(e.value(), array{2, 5}));
  CHECK(ebb::sum(x).item() == 3);
  e.set_name("e");
  CHECK(e.name() == "e");
  CHECK(e.grad_fn().name() == "e");
  e.backward(array{1, 10});
  CHECK(ebb::all_equal(x.grad().value(), array{2, 40}));
  const ebb::no_grad off;
  CHECK_FALSE((x * x).requires_grad());
}

TEST_CASE("integers in a struct of variables are arrays, passed in and returned, and zero in a gradient") {
  const ebb::tensor<float, 2, 3> x{{1, 2, 3}, {0, 0, 1}};
  const batch<ebb::variable> b{ebb::variable(x), ebb::tensor<int, 2>{2, 0}, ebb::tensor<std::int64_t>(5)};
  constexpr auto loss = [](auto p) { return ebb::cross_entropy(p.x, p.t); };
  const scalar l = ebb::compile(loss)(b);
  l.backward();
  CHECK(ebb::all_equal(b.x.grad().value(), ebb::grad([](auto y, auto t) { return ebb::cross_entropy(y, t); })(x, b.t)));
  ebb::zero_grad(b);
  const batch<ebb::variable> g = ebb::grad(ebb::compile(loss)(b), ebb::wrt(b));
  CHECK(g.x.value()(0, 2) < 0);
  CHECK(ebb::all_equal(g.t, ebb::tensor<int, 2>{0, 0}));  // nothing for an update to subtract

  constexpr auto next = ebb::compile([](auto p) {
    auto q = p;
    q.x = p.x * 2;
    q.t = p.t + 1;
    return q;
  });
  const batch<ebb::variable> n = next(b);
  CHECK(ebb::all_equal(n.t, ebb::tensor<int, 2>{3, 1}));
  CHECK(n.seen() == 5);
  ebb::sum(n.x).backward();
  CHECK(b.x.grad().value()(1, 1) == 2);
  const ebb::optimizer opt(ebb::sgd{.lr = 1}, b);
  CHECK(opt.size() == 1);
}

TEST_CASE("a seed may be a number for a scalar, and any array of the right extents") {
  const var x(array{1, 2});
  ebb::sum(x).backward(3);
  CHECK(ebb::all_equal(x.grad().value(), array{3, 3}));
  scalar(ebb::sum(x * x)).backward(0.5);
  CHECK(ebb::all_equal(x.grad().value(), array{4, 5}));
  (x * 2).backward(std::vector<float>{1, 2});
  CHECK(ebb::all_equal(x.grad().value(), array{6, 9}));
  var(x * 2).backward(x * 1);  // an expression
  CHECK(ebb::all_equal(x.grad().value(), array{8, 13}));
}

#if EBB_EXCEPTIONS
TEST_CASE("errors count operands and use the names of variables") {
  var x(array{1, 2}), w(array{3, 4});
  x.set_name("x");
  w.set_name("w");
  var y = x * x;
  y.set_name("squares");
  CHECK(test::raised([&] { y.backward(); }) ==
        "ebb::backward: a seed can be left out only for roots with one element; root 0 (squares) is f32[2]");
  CHECK(test::raised([&] { ebb::backward(y, {.seeds = {array{1}}}); }) == "ebb::backward: seed 0 is f32[1], its root (squares) is f32[2]");
  CHECK(test::raised([&] { ebb::grad(ebb::sum(y), ebb::wrt(x, w)); }) ==
        "ebb::grad: no output depends on variable 1 (w) of wrt; say allow_unused = true if that is meant");
  const std::string empty = "ebb::backward: inputs is empty: name at least one variable, or leave it out";
  CHECK(test::raised([&] { ebb::backward(ebb::sum(y), {.inputs = {}}); }) == empty);
  CHECK(test::raised([&] { ebb::backward(ebb::sum(y), {.inputs = ebb::wrt(std::vector<var>())}); }) == empty);
  CHECK(test::raised([&] { ebb::grad(ebb::sum(y), ebb::wrt(std::vector<var>())); }) ==
        "ebb::grad: wrt is empty: name at least one variable");
  CHECK_FALSE(x.grad().defined());

  var b(array{1, 2, 3});
  b.set_name("bias");
  constexpr auto plus = ebb::compile([](auto v, auto u) { return v + u; });
  CHECK(test::raised([&] { plus(x * 1, b); }) ==
        "ebb::compile: add: the extents of the arguments do not fit: argument 0 is [2], argument 1 (bias) is [3]");
  CHECK(test::raised([&] { plus(x, var()); }) == "ebb::compile: argument 1 of the region add is an undefined variable");
  var nothing;
  CHECK(test::raised([&] { (void)(nothing + x).value(); }) ==
        "ebb: an expression: argument 0 of the region add is an undefined variable");
  CHECK(test::raised([&] { ebb::sum(x * scalar()).backward(); }) ==
        "ebb: an expression: argument 1 of the region mul+sum is an undefined variable");
  CHECK(test::raised([&] { nothing += var(); }) == "ebb::variable::operator+=: both sides are undefined");
  CHECK(test::raised([&] { nothing += 1; }) ==
        "ebb::variable::operator+=: the variable is undefined, and what is added has not its dtype and extents");
  CHECK(test::raised([&] { nothing -= x; }) == "ebb::variable::operator-=: the variable is undefined, and only += begins with nothing");
  CHECK(test::raised([&] { nothing *= 2; }) == "ebb::variable::operator*=: the variable is undefined, and only += begins with nothing");
  CHECK(test::raised([&] { nothing /= x * x; }) == "ebb::variable::operator/=: the variable is undefined, and only += begins with nothing");
  CHECK_FALSE(nothing.defined());
  const var constant = [&] {
    const ebb::no_grad off;
    return var(x * 2);
  }();
  CHECK(test::raised([&] { ebb::backward(ebb::sum(y), {.inputs = {x, constant}}); }) ==
        "ebb::backward: variable 1 of inputs has no history and gets no gradient");
}
#endif

TEST_CASE("% on variables has the sign of the left operand and the gradients of fmod") {
  ebb::variable<double, 4> x({5.5, -5.5, 7, -1}), y({2, 2, -3, 4});
  const ebb::variable<double, 4> r = x % y;
  CHECK(ebb::all_equal(r.value(), ebb::tensor<double, 4>{1.5, -1.5, 1, -1}));
  ebb::sum(r).backward();
  CHECK(ebb::all_equal(x.grad().value(), ebb::tensor<double, 4>{1, 1, 1, 1}));
  CHECK(ebb::all_equal(y.grad().value(), ebb::tensor<double, 4>{-2, 2, 2, 0}));
  const ebb::variable<double, 4> of_a_number = x % 2;
  CHECK(ebb::all_equal(of_a_number.value(), ebb::tensor<double, 4>{1.5, -1.5, 1, -1}));
}

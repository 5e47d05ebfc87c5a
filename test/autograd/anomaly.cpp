// test/autograd/anomaly.cpp — CA-51: detect_anomaly finds the node that gives a NaN, and the texts of its errors.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <limits>
#include <string>

namespace {

using test::raised;

using array = ebb::tensor<double, ebb::dyn>;
using var = ebb::variable<double, ebb::dyn>;

constexpr auto root = ebb::compile([](auto x) { return ebb::sqrt(x); });
constexpr auto product = ebb::compile([](auto x, auto y) { return x * y; });
constexpr auto total = ebb::compile([](auto x) { return ebb::sum(x); });

}  // namespace

#if EBB_EXCEPTIONS
TEST_CASE("CA-51: a NaN from a node stops the backward, and the error names the node and the parameter") {
  var w(array{4, -1});
  const array b{1, 1};
  w.set_name("w");
  const auto loss = [&] { return total(product(root(w), b)); };
  loss().backward();  // without detect_anomaly
  w.zero_grad();

  const ebb::detect_anomaly scope;
  const auto l = loss();
  CHECK(raised([&] { ebb::backward(l, {.retain_graph = true}); }) == "ebb::backward: sqrt returned NaN as gradient 0, which goes to w");
  CHECK_FALSE(w.grad().defined());
  CHECK(raised([&] { ebb::grad(l, ebb::wrt(w)); }) == "ebb::grad: sqrt returned NaN as gradient 0, which goes to w");
  {
    const ebb::detect_anomaly off(false);
    const auto g = ebb::grad(loss(), ebb::wrt(w)).value();
    CHECK(g(0) == 0.25);
    CHECK(g(1) != g(1));
  }
  w.assign({4, 1});
  loss().backward();
  CHECK(ebb::all_equal(w.grad().value(), array{0.25, 0.5}));
}

TEST_CASE("the error for where over a branch without a gradient names it and its replacement") {
  var x(array{4, -1, 0});
  x.set_name("x");
  constexpr auto naive = [](auto a) { return ebb::sum(ebb::where(a > 0, ebb::sqrt(a), 0.0)); };
  constexpr auto careful = [](auto a) { return ebb::sum(ebb::where(a > 0, ebb::sqrt(ebb::where(a > 0, a, 1)), 0.0)); };
  CHECK(naive(x.value()) == 2);
  CHECK(careful(x.value()) == 2);
  const auto g = ebb::grad(naive)(x.value());
  CHECK(g(0) == 0.25);
  CHECK(g(1) != g(1));
  CHECK(g(2) != g(2));
  CHECK(ebb::all_equal(ebb::grad(careful)(x.value()), array{0.25, 0, 0}));

  const ebb::detect_anomaly scope;
  const std::string advice = "which goes to x; what `where` does not select gets 0 times its derivative, which is NaN if that is infinite: "
                             "write where(c, f(where(c, x, 1)), y) for where(c, f(x), y)";
  const std::string eager = raised([&] { ebb::variable<double>(naive(x)).backward(); });
  CHECK(test::says(eager, {"ebb::backward: ", "sqrt", "where", "returned NaN as gradient ", advice.c_str()}));
  const std::string region = raised([&] { ebb::compile(naive)(x).backward(); });
  CHECK(test::says(region, {"ebb::backward: ", "sqrt", "where", "returned NaN as gradient ", advice.c_str()}));
  CHECK_FALSE(x.grad().defined());
  ebb::compile(careful)(x).backward();
  ebb::variable<double>(careful(x)).backward();
  CHECK(ebb::all_equal(x.grad().value(), array{0.5, 0, 0}));
  // In separate regions sqrt gives the NaN.
  const var root_of = ebb::compile([](auto a) { return ebb::sqrt(a); })(x);
  const std::string apart = raised([&] { ebb::sum(ebb::where(x.value() > 0, root_of, 0.0)).backward(); });
  CHECK(apart == "ebb::backward: sqrt returned NaN as gradient 0, which goes to x");
}
#endif

TEST_CASE("CA-51: a gradient that is NaN before the backward is refused before anything runs") {
  var w(array{4, 9}), v(array{1, 2});
  w.set_name("w");
  w.set_grad(array{std::numeric_limits<double>::quiet_NaN(), 0});
  const ebb::detect_anomaly scope;
  const auto loss = total(product(v, w));
  CHECK(raised([&] { ebb::backward(loss, {.retain_graph = true}); }) == "ebb::backward: the gradient of w is NaN already");
  CHECK_FALSE(v.grad().defined());
  CHECK(ebb::all_equal(ebb::grad(loss, ebb::wrt(w), {.retain_graph = true}).value(), array{1, 2}));  // adds to no gradient
  w.zero_grad();
  loss.backward();
  CHECK(ebb::all_equal(w.grad().value(), array{1, 2}));
}

#if EBB_EXCEPTIONS
TEST_CASE("a leaf's hook that returns NaN is told from a node that gives it") {
  var w(array{4, 9});
  w.register_hook([](auto g) { return ebb::log(-g); });
  const ebb::detect_anomaly scope;
  CHECK(raised([&] { total(w).backward(); }) == "ebb::backward: the gradient of leaf became NaN in a hook of it");
  CHECK_FALSE(w.grad().defined());
}
#endif

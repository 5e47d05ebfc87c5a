// test/exec/transformations.cpp — jvp, vjp, hvp, jacobian and hessian, alone and nested, against values recorded from PyTorch.
// SPDX-License-Identifier: BSL-1.0
// covers: gradient.hpp vjp.hpp jacobian.hpp direction.hpp pass/push_forward.hpp
#include "../op/golden.hpp"

#include <ebb/ebb.hpp>

namespace {

using vector = ebb::tensor<double, 4>;

/// A recorded array in double.
template <std::size_t... E>
ebb::tensor<double, E...> recorded(const std::string& name, const std::string& kind, const std::string& line) {
  const golden::line* l = golden::family("composite").at(name).find(kind, line);
  REQUIRE(l != nullptr);
  std::vector<double> values(l->values.begin(), l->values.end());
  return ebb::tensor<double, E...>(std::span<const double>(values));
}

/// Whether a equals the recorded float64 values within 1e-13 of the largest of them.
template <class A>
void check(const A& got, const std::string& name, const std::string& line = "out") {
  const golden::line* l = golden::family("composite").at(name).find("value64", line);
  REQUIRE(l != nullptr);
  const auto seen = ebb::borrowed_view(got);
  REQUIRE(seen.size() == l->values.size());
  long double scale = 0;
  for (long double x : l->values) scale = std::max(scale, std::abs(x));
  for (std::size_t i = 0; i < seen.size(); ++i) {
    INFO(name << " " << line << " at " << i);
    CHECK(std::abs(static_cast<long double>(seen.data()[i]) - l->values[i]) <= 1e-13L * scale);
  }
}

/// Checks the Hessian, its product with a vector, and the third derivative along that vector twice.
template <class F>
void check_orders(F f, const std::string& name) {
  const auto x = recorded<4>("hvp_" + name, "input", "x"), v = recorded<4>("hvp_" + name, "input", "v");
  check(ebb::hessian(f)(x), "hessian_" + name);
  check(ebb::hvp(f)(x, v), "hvp_" + name, "hvp");
  const auto [value, gradient] = ebb::value_and_grad(f)(x);
  check(value, "hvp_" + name, "value");
  check(gradient, "hvp_" + name, "gradient");
  constexpr auto along = [](auto a, auto b) { return ebb::hvp(F{})(a, b); };
  const auto w = recorded<4>("third_" + name, "input", "v");
  const auto third = ebb::jvp([](auto a, auto b, auto c) { return decltype(along){}(a, b) + 0 * c; })(x, w, w, w, vector{}, vector{});
  check(std::get<1>(third), "third_" + name);
}

constexpr auto logsumexp = [](auto x) { return ebb::logsumexp(2 * x); };
constexpr auto cubes = [](auto x) { return ebb::pow(x, 3); };
constexpr auto d1 = [](auto x) { return ebb::grad(cubes)(x); };
constexpr auto d2 = [](auto x) { return ebb::grad(d1)(x); };
constexpr auto d3 = [](auto x) { return ebb::grad(d2)(x); };
constexpr auto d4 = [](auto x) { return ebb::grad(d3)(x); };
constexpr auto t1 = [](auto x) { return ebb::grad([](auto y) { return ebb::sum(ebb::tanh(y)); })(x); };
constexpr auto t2 = [](auto x) { return ebb::grad([](auto y) { return ebb::sum(t1(y)); })(x); };
constexpr auto t3 = [](auto x) { return ebb::grad([](auto y) { return ebb::sum(t2(y)); })(x); };
constexpr auto t4 = [](auto x) { return ebb::grad([](auto y) { return ebb::sum(t3(y)); })(x); };

}  // namespace

TEST_CASE("second and third derivatives are PyTorch's") {
  check_orders(logsumexp, "logsumexp");
}

TEST_CASE("derivatives of functions with several results are PyTorch's") {
  const auto elementwise = [](auto x) { return ebb::tanh(x) * x; };
  const auto softmax = [](auto x) { return ebb::softmax<0>(x); };
  const auto stencil = [](auto x) {
    const auto middle = ebb::slice<0, 1, 3>(x);
    return ebb::slice<0, 2>(x) - 2 * middle + ebb::slice<0, 0, 2>(x) + ebb::pow(middle, 3);
  };
  const auto all = [](auto f, const std::string& name, auto seed) {
    const auto x = recorded<4>(name, "input", "x"), v = recorded<4>(name, "input", "v");
    check(ebb::jacobian(f)(x), name, "jacobian");
    check(ebb::jacfwd(f)(x), name, "jacobian");
    check(ebb::jacrev(f)(x), name, "jacobian");
    check(std::get<1>(ebb::jvp(f)(x, v)), name, "jvp");
    auto [y, pull] = ebb::vjp(f)(x);
    check(pull(seed), name, "vjp");
  };
  all(elementwise, "jacobian_elementwise", recorded<4>("jacobian_elementwise", "input", "w"));
  all(softmax, "jacobian_softmax", recorded<4>("jacobian_softmax", "input", "w"));
  all(stencil, "jacobian_stencil", recorded<2>("jacobian_stencil", "input", "w"));

  const auto matrix = [](auto x, auto a) { return ebb::tanh(ebb::matmul(a, x)); };
  const auto x = recorded<4>("jacobian_matrix", "input", "x");
  const auto a = recorded<3, 4>("jacobian_matrix", "input", "a");
  check(ebb::jacobian(matrix)(x, a), "jacobian_matrix", "jacobian");
  check(ebb::jacfwd(matrix)(x, a), "jacobian_matrix", "jacobian");
  check(ebb::jacrev(matrix)(x, a), "jacobian_matrix", "jacobian");
  auto [y, pull] = ebb::vjp(matrix)(x, a);
  check(pull(recorded<3>("jacobian_matrix", "input", "w")), "jacobian_matrix", "vjp");
  const auto v = recorded<4>("jacobian_matrix", "input", "v");
  check(std::get<1>(ebb::jvp(matrix)(x, a, v, ebb::tensor<double, 3, 4>{})), "jacobian_matrix", "jvp");
}

TEST_CASE("gradients for each example are PyTorch's") {
  const auto gradients = [](auto w, auto rows) {
    return ebb::map([](auto row, auto u) { return ebb::grad([](auto p, auto q) { return ebb::tanh(ebb::sum(p * q)); })(u, row); }, rows,
                    ebb::whole(w));
  };
  const auto w = recorded<4>("vmap_gradient", "input", "w");
  check(ebb::compile(gradients)(w, recorded<5, 4>("vmap_gradient", "input", "xs")), "vmap_gradient");
  const auto jacobians = [](auto a, auto rows) {
    return ebb::map([](auto row, auto m) { return ebb::jacobian([](auto x, auto n) { return ebb::tanh(ebb::matmul(n, x)); })(row, m); },
                    rows, ebb::whole(a));
  };
  const auto a = recorded<2, 4>("per_example_jacobian", "input", "a");
  check(ebb::compile(jacobians)(a, recorded<3, 4>("per_example_jacobian", "input", "xs")), "per_example_jacobian");
}

TEST_CASE("the gradient of a loss on a gradient is PyTorch's") {
  const auto loss = [](auto w, auto x) {
    const auto g = ebb::grad<1>([](auto u, auto y) { return ebb::sum(ebb::tanh(ebb::matmul(y, u))); })(w, x);
    return ebb::mean(ebb::square(ebb::sqrt(ebb::sum<1>(g * g)) - 1));
  };
  const auto w = recorded<3, 2>("gradient_penalty", "input", "w");
  const auto [value, dw] = ebb::value_and_grad(loss)(w, recorded<4, 3>("gradient_penalty", "input", "x"));
  check(value, "gradient_penalty", "loss");
  check(dw, "gradient_penalty", "dw");
}

TEST_CASE("derivatives of derivatives are PyTorch's", "[CA-50]") {
  check(ebb::compile(d1)(2.), "cube_order_1");
  check(ebb::compile(d2)(2.), "cube_order_2");
  check(ebb::compile(d3)(2.), "cube_order_3");
  check(ebb::compile(d4)(2.), "cube_order_4");

  const auto x = recorded<3>("tanh_order_6", "input", "x");
  check(ebb::compile(t2)(x), "tanh_order_6", "d2");
  check(ebb::compile(t4)(x), "tanh_order_6", "d4");
}

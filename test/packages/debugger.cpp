// test/packages/debugger.cpp — objects of all kinds that the printers for gdb show, and beside each what gdb must print. The program writes
// lines `name = text` from its own values; debugger.sh stops it at `stop` and has gdb print the same names.
// SPDX-License-Identifier: BSL-1.0
#include "../build.hpp"

#include <ebb/ebb.hpp>
#include <ebb/op/exponential.hpp>
#include <ebb/op/extremum.hpp>

#include <cstdio>
#include <iostream>
#include <string>

template <template <class, std::size_t...> class Array>
struct plane {
  using vector = Array<float, 2>;
  using number = Array<float>;
  BOOST_HANA_DEFINE_STRUCT(plane, (vector, slope), (number, height));
};

namespace {

using test::m;
using test::n;

/// As gdb writes numbers: six digits where it has no more.
std::string element_text(auto x) { return ebb::element_text(x); }
std::string element_text(ebb::float16 x) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", static_cast<double>(static_cast<float>(x)));
  return text;
}
std::string braces(const auto* elements, const auto& shape, std::size_t axis = 0, std::size_t number = 0) {
  if (axis == shape.size()) return element_text(elements[number]);
  std::string text;
  for (std::size_t i = 0; i < shape[axis]; ++i) text += (i ? ", " : "{") + braces(elements, shape, axis + 1, number * shape[axis] + i);
  return text + "}";
}
std::string type_text(const auto& x) {
  using T = typename std::remove_cvref_t<decltype(x)>::value_type;
  return std::string(ebb::name_of(ebb::dtype_of<T>)) + (x.shape().empty() ? "" : ebb::shape_text(x.shape()));
}
std::string elements(const auto& x) { return braces(x.data(), x.shape()); }
std::string array_text(const auto& x) {
  if (x.shape().empty()) return type_text(x) + " " + elements(x);
  return type_text(x) + (x.size() ? " = " + elements(x) : "");
}
void expect(const char* name, const std::string& text) { std::cout << name << " = " << text << '\n'; }

ebb::graph layer() {
  return ebb::value_and_gradient(test::build([](test::builder& b) {
    const auto x = b.in<float>({n, 64}), w = b.in<float>({64, 10}), bias = b.in<float>({10});
    const auto h = ebb::emit_on<ebb::op::matmul>({}, x, w);
    return b.returns(ebb::sum_over(ebb::tanh(h + ebb::broadcast_to(bias, h.g->eq[h.id].shape, 1)), 3));
  }), {1, 2});
}
ebb::graph kinds() {
  return test::build([](test::builder& b) {
    const auto x = b.in<double>({n, m, 3});
    const auto rows = b.in<std::int64_t>({4});
    ebb::shape flat;
    flat.push(b.g.syms.derive(ebb::extent_rule::product, x.extents().e[0], x.extents().e[1]));
    flat.push(3);
    const auto r = ebb::reshape_to(x, b.g.intern(flat));
    const auto t = ebb::operand<double>{&b.g, ebb::emit<ebb::op::matmul, double>(b.g, {r.id, r.id}, {ebb::right_transposed})};
    const auto i = ebb::operand<std::int64_t>{&b.g, ebb::emit_as<ebb::op::index, std::int64_t>(b.g, b.g.eq[rows.id].shape, {}, {0})};
    const auto k = ebb::less(rows, i * -2);
    const auto h = ebb::cast_to<ebb::bfloat16>(ebb::maximum(t * 0.1 + t * 1e-30, t * 123456789.0 + t * 1e100));
    return b.returns(k, h, ebb::literal_like(k, 1), ebb::literal_like(h, 0.5));
  });
}

}  // namespace

void stop() { std::cout << std::flush; }

int main() {
  const ebb::tensor<float, 2, 3> fixed{{1, 2, 3}, {4, 5, 6}};
  const ebb::tensor<double, ebb::dyn, 2, ebb::dyn> dynamic{{{1, 2, 3}, {4, 5, 6}}, {{7, 8, 9}, {10, 11, 0.5}}, {{0, 0, 0}, {1, 1, -1}}};
  const ebb::tensor<int, ebb::dyn> empty(0);
  const ebb::tensor<std::int64_t> number(7);
  const ebb::tensor<bool, 2> bools{true, false};
  const ebb::tensor<ebb::bfloat16, 2> narrow{ebb::bfloat16(1.5f), ebb::bfloat16(-3.0f)};
  const ebb::tensor<ebb::float16, 3> half{ebb::float16(0.25f), ebb::float16(65504.0f), ebb::float16(0x1p-24f)};
  const auto large = ebb::tensor<float, ebb::dyn, 300>::iota(1000);
  const auto view = dynamic.row(1);
  for (const auto& [name, text] : {std::pair("fixed", array_text(fixed)), {"dynamic", array_text(dynamic)}, {"empty", array_text(empty)},
                                   {"number", array_text(number)}, {"bools", array_text(bools)}, {"narrow", array_text(narrow)},
                                   {"half", array_text(half)}, {"view", array_text(view)}})
    expect(name, text);
  const auto shown_of_large = [&](std::size_t count) {
    std::string text = "f32[1000, 300] = {{";
    for (std::size_t i = 0; i < count; ++i) text += ebb::element_text(large(0, i)) + (i + 1 < count ? ", " : "...}, 999 more}");
    return text;
  };
  expect("large", shown_of_large(200));  // `set print elements` is 200

  ebb::variable w(ebb::tensor<float, 2>{1, 2});
  w.set_name("w");
  const ebb::variable<float> loss = ebb::sum(w * w);
  loss.retain_grad();
  loss.backward();
  w.assign(ebb::tensor<float, 2>{3, 4});
  w.register_hook([](auto g) { return g; });
  const ebb::variable<double, 2, 2> undefined;
  const ebb::variable product = w * 2.0f;
  const auto value_and_gradient = [](const auto& v) {
    return "{value = " + elements(v.value()) + ", gradient = " + elements(v.grad().value()) + "}";
  };
  expect("w", "f32[2] leaf \"" + given_name(w) + "\", version " + std::to_string(w.version()) + ", hooks: 1 = " + value_and_gradient(w));
  expect("loss", "f32 of " + loss.name() + " = " + value_and_gradient(loss));
  expect("undefined", "undefined");
  expect("product", "f32[2] of " + product.name() + " = {value = " + elements(product.value()) + "}");
  const ebb::variable<ebb::bfloat16, 2> leaf(ebb::tensor<ebb::bfloat16, 2>{ebb::bfloat16(1.5f), ebb::bfloat16(2.0f)},
                                             ebb::grad_dtype<float>);
  ebb::variable<ebb::bfloat16, 2>(leaf).set_grad<float>(ebb::tensor<float, 2>{0.125f, 8});
  expect("leaf", "bf16[2] leaf = {value = {1.5, 2}, gradient = " + elements(leaf.grad<float>().value()) + "}");

  const plane<ebb::tensor> arrays{{1, -1}, 0.5f};
  const plane<ebb::variable> variables{ebb::variable(arrays.slope), 0.25f};
  expect("arrays", "{slope = " + array_text(arrays.slope) + ", height = " + array_text(arrays.height) + "}");
  expect("variables", "{slope = f32[2] leaf = {value = {1, -1}}, height = f32 leaf = {value = 0.25}}");

  const ebb::graph gradient = layer(), every = kinds();
  for (const auto& [name, g] : {std::pair("gradient", &gradient), {"every", &every}}) {
    const std::string text = ebb::to_string(*g);
    expect(name, text.substr(0, text.size() - 1));
  }
  stop();
}

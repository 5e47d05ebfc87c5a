// test/graph/print.cpp — graphs as text and as drawings.
// SPDX-License-Identifier: BSL-1.0
// covers: print.hpp dot.hpp equation.hpp
#include "../approved.hpp"
#include "../build.hpp"
#include "../catch.hpp"

#include <ebb/graph/dot.hpp>
#include <ebb/op/exponential.hpp>
#include <ebb/op/extremum.hpp>
#include <ebb/op/linear.hpp>
#include <ebb/op/move.hpp>
#include <ebb/op/reduce.hpp>
#include <ebb/pass/pipeline.hpp>

using test::graph;
using test::m;
using test::n;

namespace {

graph layer() {
  return test::build([](test::builder& b) {
    const auto x = b.in<float>({n, 64}), w = b.in<float>({64, 10}), bias = b.in<float>({10});
    const auto h = ebb::emit_on<ebb::op::matmul>({}, x, w);
    return b.returns(ebb::sum_over(ebb::tanh(h + ebb::broadcast_to(bias, h.g->eq[h.id].shape, 1)), 3));
  });
}

}  // namespace

TEST_CASE("the text of a layer and its gradient is as approved") {
  CHECK(test::difference_from_approved("layer", ebb::to_string(layer())) == "");
  CHECK(test::difference_from_approved("layer_gradient", ebb::to_string(ebb::value_and_gradient(layer(), {1, 2}))) == "");
}

TEST_CASE("the text of every kind of equation is as approved") {
  const graph g = test::build([](test::builder& b) {
    const auto x = b.in<double>({n, m, 3});
    const auto rows = b.in<std::int64_t>({4});
    const int axes[] = {2, 0, 1};
    const auto p = ebb::emit_on<ebb::op::permute>({ebb::pack_axes(axes, 3)}, x);
    ebb::shape flat;
    flat.push(b.g.syms.derive(ebb::extent_rule::product, x.extents().e[0], x.extents().e[1]));
    flat.push(3);
    const auto r = ebb::reshape_to(x, b.g.intern(flat));
    const auto c = ebb::emit<ebb::op::concat, double>(b.g, {r.id, r.id}, {0, 0});
    ebb::shape part = b.g.shape_of(c);
    part.e[0] = 5;
    const auto s = ebb::slice_as(ebb::operand<double>{&b.g, c}, {0, 2, 3}, b.g.intern(part));
    const auto t = ebb::operand<double>{&b.g, ebb::emit<ebb::op::matmul, double>(b.g, {s.id, s.id}, {ebb::right_transposed})};
    const auto i = ebb::operand<std::int64_t>{&b.g, ebb::emit_as<ebb::op::index, std::int64_t>(b.g, b.g.eq[rows.id].shape, {}, {0})};
    const auto k = ebb::less(rows, i * -2);
    const auto h = ebb::cast_to<ebb::bfloat16>(ebb::maximum(t * 0.1, t));
    const auto yes = ebb::literal_like(k, 1);
    const auto half = ebb::literal_like(h, 0.5);
    return b.returns(p, k, h, yes, half);
  });
  CHECK(test::error_text(g) == "");
  CHECK(test::difference_from_approved("kinds", ebb::to_string(g)) == "");
}

TEST_CASE("the text names more equations than there are letters, and marks a missing result") {
  graph g = test::build([](test::builder& b) {
    auto x = b.in({n});
    for (int i = 0; i < 25; ++i) x = -x;
    return b.returns(x);
  });
  g.out.push(-1);
  const std::string text = ebb::to_string(g);
  CHECK(text.find("\nb1 = neg a1 : f32[n]\n") != std::string::npos);
  CHECK(text.substr(text.rfind('\n', text.size() - 2) + 1) == "return c1 nothing\n");
}

TEST_CASE("numbers are printed as C++ writes them") {
  using ebb::literal_text;
  CHECK(literal_text(ebb::dtype::f32, ebb::to_cell(0.1f)) == "0.1");
  CHECK(literal_text(ebb::dtype::f64, ebb::to_cell(1e300)) == "1e+300");
  CHECK(literal_text(ebb::dtype::f32, ebb::to_cell(-0.0f)) == "-0.0");
  CHECK(literal_text(ebb::dtype::f64, ebb::to_cell(-std::numeric_limits<double>::infinity())) == "-inf");
  CHECK(literal_text(ebb::dtype::bf16, ebb::to_cell(static_cast<ebb::bfloat16>(2.0f))) == "2.0");
  CHECK(literal_text(ebb::dtype::i32, ebb::to_cell(std::int32_t{-7})) == "-7");
  CHECK(literal_text(ebb::dtype::boolean, ebb::to_cell(true)) == "true");
}

TEST_CASE("a drawing shows groups") {
  const graph g = layer();
  const auto group = [&](int k) { return g.op(k).what == ebb::kind::input ? -1 : g.op(k).what == ebb::kind::contract ? 0 : 1; };
  CHECK(test::difference_from_approved("layer_dot", ebb::to_dot(g, group)) == "");
  CHECK(ebb::to_dot(g).find("cluster") == std::string::npos);
}

// test/pass/lower.cpp — lowering removes stop_gradient and then applies the rules that it blocked.
// SPDX-License-Identifier: BSL-1.0
#include "../build.hpp"
#include "../catch.hpp"
#include "random_graph.hpp"

#include <ebb/pass/pipeline.hpp>
#include <ebb/pass/lower.hpp>

using test::graph;
using test::n;

namespace {
graph stopped() {
  return test::build([](test::builder& b) {
    const auto x = b.in({n});
    return b.returns(ebb::sum_over(-ebb::emit_on<ebb::op::stop_gradient>({}, -x) * x, 1));
  });
}
}  // namespace

TEST_CASE("stop_gradient stays until lowering") {
  const graph g = stopped();
  CHECK(ebb::to_string(ebb::prune(ebb::simplify(g))) == ebb::to_string(g));
  CHECK(ebb::to_string(ebb::lower(g)) == "a = input 0 : f32[n]\nb = mul a a : f32[n]\nc = sum b over 0 : f32\nreturn c\n");
  CHECK(test::error_text(ebb::lower(g)) == "");
}

TEST_CASE("the second derivative still respects stop_gradient") {
  // The first derivative of stop(x) x is stop(x), whose derivative is zero; that of x x would be 2.
  const graph first = ebb::value_and_gradient(stopped(), {0});
  graph inner = first;
  inner.out = {first.out[1]};
  const ebb::vec<int> wrt = ebb::equations_of_inputs(inner, {0});
  const int seed = inner.op(inner.out[0]).kit->literal(inner, inner.eq[inner.out[0]].shape, 1);
  CHECK(ebb::pull_back(inner, wrt, {inner.out[0]}, {seed}) == ebb::vec<int>{-1});
}

TEST_CASE("lowering need not rewrite equations that simplify has finished") {
  int smaller = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const graph g = test::random_graph_of(seed, 40).take();
    graph simple = ebb::prune(ebb::simplify(g));
    REQUIRE(simple.simplified == simple.size());
    smaller += simple.size() < ebb::prune(g).size();
    const std::string known = ebb::to_string(ebb::lower(simple));
    simple.simplified = -1;
    CHECK(known == ebb::to_string(ebb::lower(simple)));
    CHECK(known == ebb::to_string(ebb::lower(g)));
  }
  CHECK(smaller > 100);
}

TEST_CASE("an equation that simplify has not seen is rewritten") {
  graph g = ebb::prune(ebb::simplify(stopped()));
  const ebb::operand<float> x{&g, 0};
  g.out.push((-(-x)).id);
  CHECK(g.simplified < g.size());
  CHECK(ebb::lower(g).out[1] == 0);
}

namespace {

/// A product of [2, rows, 3] and [2, 3, columns], transposed by the flags; f gives its operands from the builder, and shapes for them.
template <class T>
graph product_of(std::int64_t flags, auto f) {
  return test::build([&](test::builder& b) {
    const bool tx = flags & ebb::left_transposed, ty = flags & ebb::right_transposed;
    const auto x = tx ? b.in<T>({2, 3, n}) : b.in<T>({2, n, 3}), y = ty ? b.in<T>({2, 5, 3}) : b.in<T>({2, 3, 5});
    const int row = tx ? 2 : 1, column = ty ? 1 : 2;
    const auto [p, q] = f(b, x, y, row, column);
    return b.returns(ebb::emit_on<ebb::op::matmul>({flags}, p, q));
  });
}
/// x with one row along `axis`, or one along each of the axes in a mask, that are repeated.
auto repeated_along(auto& b, auto x, std::int64_t mask) {
  using T = typename decltype(x)::value_type;
  ebb::shape kept;
  for (int a = 0; a < x.rank(); ++a)
    if (!(mask >> a & 1)) kept.push(x.extent(a));
  const int number = b.g.inputs++;
  const ebb::operand<T> row{&b.g, ebb::emit_as<ebb::op::input, T>(b.g, b.g.intern(kept), {}, {number})};
  return ebb::broadcast_to(row, x.shape_number(), mask);
}
/// The number of elements of the result of the only product, its order, and whether each of 20 calls has the same bits as before.
struct product_found {
  int rank = 0;
  ebb::shape of;
  std::int64_t attr = 0;
  bool same = true;
};
product_found lowered_product(const graph& g) {
  const graph after = ebb::lower(ebb::prune(ebb::simplify(g)));
  INFO(ebb::to_string(g) << "lowered\n" << ebb::to_string(after));
  CHECK(test::error_text(after) == "");
  CHECK(ebb::to_string(ebb::lower(g)) == ebb::to_string(after));
  CHECK(ebb::to_string(ebb::lower(after)) == ebb::to_string(after));
  product_found r;
  int count = 0;
  for (int k = 0; k < after.size(); ++k)
    if (after.op(k).what == ebb::kind::contract) {
      r.of = after.shape_of(k);
      r.attr = after.eq[k].attr[0];
      ++count;
    }
  CHECK(count == 1);
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    if (const std::string text = test::difference(g, after, test::random_call(g, seed)); text != "") {
      CHECK(text == "");
      r.same = false;
    }
  return r;
}

template <class T>
void check_repeated_products() {
  CAPTURE(ebb::dtype_of<T>);
  for (const std::int64_t flags : {0, 1, 2, 3, 8, 9, 10, 11}) {
    CAPTURE(flags);
    const auto shape_of = [&](auto f) {
      const product_found r = lowered_product(product_of<T>(flags, f));
      CHECK(r.attr == flags);
      CHECK(r.same);
      std::string text;
      for (int a = 0; a < r.of.rank; ++a) text += r.of.e[a] < 0 ? "n" : std::to_string(r.of.e[a]);
      return text;
    };
    const auto axis = [](int a) { return std::int64_t{1} << a; };
    CHECK(shape_of([](auto&, auto x, auto y, int, int) { return std::pair(x, y); }) == "2n5");
    CHECK(shape_of([&](auto& b, auto x, auto y, int row, int) { return std::pair(repeated_along(b, x, axis(row)), y); }) == "215");
    CHECK(shape_of([&](auto& b, auto x, auto y, int, int column) { return std::pair(x, repeated_along(b, y, axis(column))); }) == "2n1");
    CHECK(shape_of([&](auto& b, auto x, auto y, int row, int column) {
            return std::pair(repeated_along(b, x, axis(row)), repeated_along(b, y, axis(column)));
          }) == "211");
    CHECK(shape_of([&](auto& b, auto x, auto y, int row, int) { return std::pair(repeated_along(b, x, axis(row) | 1), y); }) == "215");
    CHECK(shape_of([&](auto& b, auto x, auto y, int, int) { return std::pair(repeated_along(b, x, 1), repeated_along(b, y, 1)); }) ==
          "1n5");
    CHECK(shape_of([&](auto& b, auto x, auto y, int, int) { return std::pair(repeated_along(b, x, 1), y); }) == "2n5");
    CHECK(shape_of([&](auto& b, auto x, auto y, int row, int) { return std::pair(repeated_along(b, x, axis(3 - row)), y); }) == "2n5");
    CHECK(shape_of([&](auto& b, auto x, auto y, int, int column) {
            return std::pair(repeated_along(b, x, 1), repeated_along(b, y, axis(column) | 1));
          }) == "1n1");
    CHECK(shape_of([&](auto&, auto x, auto y, int, int) { return std::pair(ebb::literal_like(x, 1), y); }) == "215");
    CHECK(shape_of([&](auto&, auto x, auto y, int, int) { return std::pair(x, ebb::literal_like(y, 3)); }) == "2n1");
    CHECK(shape_of([&](auto&, auto x, auto y, int, int) { return std::pair(ebb::literal_like(x, 1), ebb::literal_like(y, 3)); }) == "111");
  }
}

}  // namespace

TEST_CASE("a product of repeated rows, columns or matrices is one of a single one, with the bits of its order") {
  check_repeated_products<float>();
  check_repeated_products<double>();
  check_repeated_products<ebb::bfloat16>();
  check_repeated_products<ebb::float16>();
  check_repeated_products<std::int32_t>();
}

TEST_CASE("one row stays one row, and a broadcast of one row is no repetition") {
  const graph g = test::build([](test::builder& b) {
    const auto x = b.in({3}), y = b.in({3, 4});
    return b.returns(ebb::emit_on<ebb::op::matmul>({}, ebb::broadcast_to(x, b.shape({1, 3}), 1), y));
  });
  CHECK(ebb::to_string(ebb::lower(g)) == ebb::to_string(g));
}

TEST_CASE("the gradient of a sum of a product multiplies one row and one column") {
  const graph f = test::build([](test::builder& b) {
    const auto x = b.in({n, 3}), y = b.in({3, 4});
    return b.returns(ebb::sum_over(ebb::emit_on<ebb::op::matmul>({}, x, y), 3));
  });
  const std::string value = "a = input 0 : f32[n, 3]\nb = input 1 : f32[3, 4]\nc = matmul a b : f32[n, 4]\nd = sum c over 0 1 : f32\n";
  CHECK(ebb::to_string(ebb::lower(ebb::value_and_gradient(f, {0}))) ==
        value + "e = matmul 1.0 b^T : f32[1, 3]\nf = reshape e : f32[3]\ng = broadcast f along 0 : f32[n, 3]\nreturn d g\n");
  CHECK(ebb::to_string(ebb::lower(ebb::value_and_gradient(f, {1}))) ==
        value + "e = matmul a^T 1.0 : f32[3, 1]\nf = reshape e : f32[3]\ng = broadcast f along 1 : f32[3, 4]\nreturn d g\n");
  // Small matrices are multiplied as they are.
  const graph small = test::build([](test::builder& b) {
    const auto x = b.in({4, 3}), y = b.in({3, 4});
    return b.returns(ebb::sum_over(ebb::emit_on<ebb::op::matmul>({}, x, y), 3));
  });
  CHECK_THAT(ebb::to_string(ebb::lower(ebb::value_and_gradient(small, {0}))), Catch::Contains("matmul 1.0 b^T : f32[4, 3]"));
  // Its own derivative is taken of the products as they are: sums keep their order.
  CHECK(ebb::to_string(ebb::value_and_gradient(f, {0})).find("matmul 1.0 b^T : f32[n, 3]") != std::string::npos);
}

// test/graph/batch.cpp — a batched graph gives the bits of the plain graph on each row.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "../pass/random_graph.hpp"

#include <ebb/graph/batch.hpp>
#include <ebb/op/extremum_place.hpp>
#include <ebb/op/gather.hpp>
#include <ebb/pass/prune.hpp>

namespace {

using ebb::operand;
using test::graph;
using test::m;
using test::n;

constexpr std::size_t rows = 3;

/// `from` for `rows` calls at once: the arguments in `batched` differ from call to call.
graph batch(const graph& from, const ebb::vec<char>& batched, bool dynamic) {
  graph to;
  to.inputs = from.inputs;
  ebb::vec<int> arguments(from.inputs, -1);
  int extent = static_cast<int>(rows);
  for (int k = 0; k < from.size(); ++k) {
    if (from.op(k).what != ebb::kind::input) continue;
    const int number = static_cast<int>(from.eq[k].attr[0]);
    ebb::shape s;
    if (batched[number]) s.push(dynamic ? extent = to.syms.fresh({ebb::extent_rule::argument, number, 0}) : extent);
    for (int i = 0; i < from.shape_of(k).rank; ++i) {
      const int e = from.syms.find(from.shape_of(k).e[i]);
      s.push(e >= 0 ? e : to.syms.fresh({ebb::extent_rule::argument, number, s.rank}));
    }
    arguments[number] = from.op(k).kit->input(to, to.intern(s), number);
  }
  to.out = ebb::splice_batched(to, from, arguments, batched, extent);
  return to.out[0] < 0 ? to : ebb::prune(ebb::canonical_shapes(to));
}

/// Compares each row with the result of `from` on that row's arguments.
void check(const graph& from, const ebb::vec<char>& batched, std::uint64_t seed = 1, bool dynamic = false) {
  const graph to = batch(from, batched, dynamic);
  INFO("one row:\n" << ebb::to_string(from));
  REQUIRE(to.out[0] >= 0);
  INFO("all rows:\n" << ebb::to_string(to));
  REQUIRE(test::error_text(to) == "");
  test::call all = test::random_call(to, seed, rows);
  test::random r{seed};
  for (int k = 0; k < to.size(); ++k)  // integers are row numbers, of arrays with at least two rows
    if (to.op(k).what == ebb::kind::input && to.op(k).result == ebb::dtype::i64)
      for (ebb::cell& c : all.arguments[static_cast<int>(to.eq[k].attr[0])]) c = ebb::to_cell(std::int64_t{r.below(2)});
  const auto results = ebb::evaluate(to, all.arguments, all.symbols);
  const test::call shapes = test::random_call(from, seed, rows);
  for (int row = 0; row < static_cast<int>(rows); ++row) {
    test::call one = shapes;
    for (int i = 0; i < from.inputs; ++i) {
      const int size = one.arguments[i].size();
      for (int j = 0; j < size; ++j) one.arguments[i][j] = all.arguments[i][batched[i] ? row * size + j : j];
    }
    const auto expected = ebb::evaluate(from, one.arguments, one.symbols);
    for (int i = 0; i < expected.size(); ++i) {
      const int size = expected[i].size();
      REQUIRE(results[i].size() == static_cast<int>(rows) * size);
      for (int j = 0; j < size; ++j) CHECK(test::same_cell(from.op(from.out[i]).result, results[i][row * size + j], expected[i][j]));
    }
  }
}

/// Checks every choice of at least one batched argument.
void check_all(const graph& from) {
  CHECK(test::error_text(from) == "");
  for (int choice = 1; choice < 1 << from.inputs; ++choice) {
    ebb::vec<char> batched;
    for (int i = 0; i < from.inputs; ++i) batched.push(static_cast<char>(choice >> i & 1));
    INFO("choice " << choice);
    check(from, batched, 7);
    check(from, batched, 8, true);
  }
}

}  // namespace

TEST_CASE("batched elementwise ops, broadcasts and sums have the bits of each row") {
  check_all(test::build([](test::builder& b) {
    const auto x = b.in<float>({n, 3}), y = b.in<float>({3}), s = b.in<float>({});
    const auto wide = ebb::broadcast_to(y, x.g->eq[x.id].shape, 1);
    const auto sum = ebb::sum_over(x * wide, 2);
    return b.returns(x + wide, sum, ebb::sum_over(x, 3) * s, ebb::where(ebb::less(x, wide), x, ebb::literal_like(x, 2)));
  }));
}

TEST_CASE("batched permute, slice and concat have the bits of each row") {
  check_all(test::build([](test::builder& b) {
    const auto x = b.in<float>({4, 3}), y = b.in<float>({2, 3});
    const int axes[] = {1, 0}, in[] = {x.id, y.id};
    const auto p = ebb::emit_on<ebb::op::permute>({ebb::pack_axes(axes, 2)}, x);
    const operand<float> c{&b.g, ebb::emit<ebb::op::concat, float>(b.g, {in, 2}, {0, 0})};
    const auto s = ebb::slice_as(c, {0, 1, 2}, b.shape({3, 3}));
    const auto q = ebb::place_in(s, {1, 1, 1}, b.shape({3, 5}));
    return b.returns(p, c, s, q);
  }));
}

TEST_CASE("batched places of extrema have those of each row, also where the rows of a call are many") {
  check_all(test::build([](test::builder& b) {
    const auto x = b.in<float>({n, 3}), y = b.in<float>({4});
    return b.returns(ebb::emit_on<ebb::op::argmin>({0}, x), ebb::emit_on<ebb::op::argmax>({1}, x * x),
                     ebb::emit_on<ebb::op::argmin>({0}, y));
  }));
}

TEST_CASE("batched products have the bits of each row") {
  const auto product = [](std::int64_t flags, std::initializer_list<int> left, std::initializer_list<int> right) {
    check_all(test::build([&](test::builder& b) {
      const auto x = b.in<double>(left), y = b.in<double>(right);
      return b.returns(ebb::emit_on<ebb::op::matmul>({flags}, x, y));
    }));
  };
  product(0, {n, 4}, {4, 5});
  product(1, {4, n}, {4, 5});
  product(2, {2, 4}, {m, 4});
  product(3, {4, 2}, {5, 4});
  product(0, {2, 3, 4}, {2, 4, 5});
  constexpr std::int64_t lanes = ebb::in_lanes;
  product(lanes, {n, 40}, {40, 1});
  product(1, {40, n}, {40, 1});
  product(lanes | 2, {n, 40}, {1, 40});
  product(3, {40, n}, {1, 40});
  product(lanes | 2, {1, 40}, {n, 40});
  product(1, {4, 1}, {4, 5});
  product(lanes, {1, 40}, {40, 1});
  product(lanes | 3, {4, 1}, {1, 4});
}

TEST_CASE("a product whose left side alone is batched becomes one product of all rows") {
  const graph g = batch(test::build([](test::builder& b) {
    const auto x = b.in<float>({n, 4}), w = b.in<float>({4, 5});
    return b.returns(ebb::emit_on<ebb::op::matmul>({}, x, w));
  }), {1, 0}, true);
  CHECK(ebb::to_string(g) ==
        "a = input 0 : f32[n, m, 4]\nb = input 1 : f32[4, 5]\nc = reshape a : f32[n*m, 4]\n"
        "d = matmul c b : f32[n*m, 5]\ne = reshape d : f32[n, m, 5]\nreturn e\n");
}

TEST_CASE("a matrix that all rows share, times the vector of each row, becomes rows times its transpose") {
  const auto text = [](std::int64_t flags, std::initializer_list<int> left, std::initializer_list<int> right,
                       const ebb::vec<char>& batched) {
    return ebb::to_string(batch(test::build([&](test::builder& b) {
      const auto x = b.in<float>(left), y = b.in<float>(right);
      return b.returns(ebb::emit_on<ebb::op::matmul>({flags}, x, y));
    }), batched, true));
  };
  const std::string plain =
      "a = input 0 : f32[5, 4]\nb = input 1 : f32[n, 4, 1]\nc = reshape b : f32[n, 4]\n"
      "d = matmul c a^T : f32[n, 5]\ne = reshape d : f32[n, 5, 1]\nreturn e\n";
  CHECK(text(ebb::in_lanes, {5, 4}, {4, 1}, {0, 1}) == plain);
  CHECK(text(1, {4, 5}, {4, 1}, {0, 1}) ==
        "a = input 0 : f32[4, 5]\nb = input 1 : f32[n, 4, 1]\nc = reshape b : f32[n, 4]\n"
        "d = matmul c a : f32[n, 5]\ne = reshape d : f32[n, 5, 1]\nreturn e\n");
  CHECK(text(3, {4, 5}, {1, 4}, {0, 1}) ==
        "a = input 0 : f32[4, 5]\nb = input 1 : f32[n, 1, 4]\nc = reshape b : f32[n, 4]\n"
        "d = matmul c a : f32[n, 5]\ne = reshape d : f32[n, 5, 1]\nreturn e\n");
  CHECK(text(1, {4, 1}, {4, 5}, {1, 0}) ==
        "a = input 0 : f32[n, 4, 1]\nb = input 1 : f32[4, 5]\nc = reshape a : f32[n, 4]\n"
        "d = matmul c b : f32[n, 5]\ne = reshape d : f32[n, 1, 5]\nreturn e\n");
}

TEST_CASE("batched gathers and scatters have the bits of each row") {
  check_all(test::build([](test::builder& b) {
    const auto x = b.in<float>({2, 3});
    const auto i = b.in<std::int64_t>({4, 2});
    return b.returns(ebb::emit_on<ebb::op::gather<std::int64_t>, float>({}, x, i));
  }));
  check_all(test::build([](test::builder& b) {
    const auto x = b.in<float>({4, 5, 3});
    const auto i = b.in<std::int64_t>({4, 5});
    return b.returns(operand<float>{&b.g, ebb::emit_as<ebb::op::scatter<std::int64_t>, float>(b.g, b.shape({6, 3}), {x.id, i.id})});
  }));
  const auto of_each = [](int rows_of_one) {  // both operands have a batch axis already: each batch takes its own rows
    return test::build([=](test::builder& b) {
      const auto x = b.in<float>({3, rows_of_one, 2}), y = b.in<float>({3, 4, 2});
      const auto i = b.in<std::int64_t>({3, 4});
      const operand<float> sums{&b.g, ebb::emit_as<ebb::op::scatter<std::int64_t>, float>(b.g, x.shape_number(), {y.id, i.id}, {1})};
      return b.returns(ebb::emit_on<ebb::op::gather<std::int64_t>, float>({1}, x, i), sums);
    });
  };
  check_all(of_each(2));
  check_all(of_each(n));
  check_all(test::build([](test::builder& b) {  // only the call decides the number of rows
    const auto x = b.in<float>({n, m});
    const auto i = b.in<std::int64_t>({4});
    return b.returns(ebb::emit_on<ebb::op::gather<std::int64_t>, float>({}, x, i));
  }));
  check_all(test::build([](test::builder& b) {
    const auto x = b.in<double>({7});
    const auto i = b.in<std::int64_t>({});
    return b.returns(ebb::emit_on<ebb::op::gather<std::int64_t>, double>({}, x, i));
  }));
}

TEST_CASE("a value that is the same for all rows is computed once") {
  const graph g = batch(test::build([](test::builder& b) {
    const auto x = b.in<float>({4}), y = b.in<float>({4});
    return b.returns(ebb::exp(y) * x, y);
  }), {1, 0}, false);
  CHECK(ebb::to_string(g) ==
        "a = input 0 : f32[3, 4]\nb = input 1 : f32[4]\nc = exp b : f32[4]\nd = broadcast c along 0 : f32[3, 4]\n"
        "e = mul d a : f32[3, 4]\nf = broadcast b along 0 : f32[3, 4]\nreturn e f\n");
}

TEST_CASE("batching refuses too many axes and extents that differ") {
  const graph deep = test::build([](test::builder& b) { return b.returns(-b.in<float>({1, 1, 1, 1, 1, 1, 1, 1})); });
  graph to = deep;
  CHECK(ebb::splice_batched(to, deep, {0}, {0}, 3) == ebb::vec<int>{-125});
  const graph pair = test::build([](test::builder& b) {
    const auto x = b.in<float>({2}), y = b.in<float>({3});
    return b.returns(-x, -y);
  });
  graph extents = pair;
  CHECK(ebb::splice_batched(extents, pair, {0, 1}, {1, 1}, 2)[0] == -102);
}

TEST_CASE("batched random graphs have the bits of each row") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const graph g = test::random_graph(seed);
    INFO("seed " << seed);
    ebb::vec<char> batched;
    for (int i = 0; i < g.inputs; ++i) batched.push(static_cast<char>((seed + static_cast<std::uint64_t>(i)) % 2));
    check(g, batched, seed, seed % 3 == 0);
  }
}

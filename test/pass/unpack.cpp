// test/pass/unpack.cpp — components of short axes: which clusters are split, and that no bit changes.
// SPDX-License-Identifier: BSL-1.0
// covers: components.hpp

#include <ebb/exec/blocks.hpp>
#include <ebb/graph/print.hpp>
#include <ebb/graph/valid.hpp>
#include <ebb/pass/pipeline.hpp>
#include <ebb/shapes/scatter.hpp>

#include "../build.hpp"
#include "../catch.hpp"
#include "../exec/run_random.hpp"

using test::cells;
using test::graph;
using test::n;

namespace {

int how_many(const graph& g, ebb::kind what) {
  int count = 0;
  for (int k = 0; k < g.size(); ++k) count += g.op(k).what == what;
  return count;
}
/// Equations over rows with one component: those whose shape has no short axis.
int rows_only(const graph& g) {
  int count = 0;
  for (int k = 0; k < g.size(); ++k) count += g.op(k).what == ebb::kind::elementwise && g.shape_of(k).rank == 1;
  return count;
}

graph cross_product() {
  return test::build([](test::builder& b) {
    const auto x = b.in({n, 3}), y = b.in({n, 3});
    const auto columns = [&](auto v, int first, int count) {
      return ebb::slice_as(v, {1, first}, b.g.intern(ebb::with_extent(v.extents(), 1, count)));
    };
    const auto turned = [&](auto v) { return ebb::emit_on<ebb::op::concat>({1}, columns(v, 1, 2), columns(v, 0, 1)); };
    return b.returns(turned(x * turned(y) - turned(x) * y));
  });
}

}  // namespace

TEST_CASE("moves among components are renamings") {
  const graph g = ebb::lower(cross_product()), u = ebb::unpack(g);
  CHECK(test::error_text(u) == "");
  CHECK(how_many(g, ebb::kind::move) == 9);
  CHECK(rows_only(u) == 9);
  // Both arguments are turned and cut into three, and the result is joined and turned.
  CHECK(how_many(u, ebb::kind::move) == 2 + 6 + 1);
}

namespace {

/// Gathers and scatters whose rows are turned.
int turned(const graph& g) {
  int count = 0;
  for (int k = 0; k < g.size(); ++k)
    count += (g.op(k).what == ebb::kind::gather || g.op(k).what == ebb::kind::scatter) && g.eq[k].attr[1] == 1;
  return count;
}

}  // namespace

TEST_CASE("rows by index are turned while they are taken or added") {
  const auto taken = [](bool twice) {
    return test::build([&](test::builder& b) {
      const auto x = b.in({test::m, 3});
      const auto rows = ebb::emit_on<ebb::op::gather<std::int64_t>, float>({}, x, b.in<std::int64_t>({n}));
      const auto squares = ebb::sum_over(rows * rows, 2);
      return twice ? b.returns(squares, rows) : b.returns(squares);
    });
  };
  const graph once = ebb::unpack(ebb::lower(taken(false))), twice = ebb::unpack(ebb::lower(taken(true)));
  CHECK(test::error_text(once) == "");
  CHECK(turned(once) == 1);
  CHECK(how_many(once, ebb::kind::gather) == 1);
  CHECK(how_many(once, ebb::kind::move) == 3);  // its three components
  CHECK(test::error_text(twice) == "");
  CHECK(turned(twice) == 1);
  CHECK(how_many(twice, ebb::kind::gather) == 2);
  const graph added = ebb::unpack(ebb::lower(test::build([&](test::builder& b) {
    const auto x = b.in({n, 3});
    const auto where = b.in<std::int64_t>({n});
    const auto y = ebb::emit_on<ebb::op::exp>({}, x * ebb::broadcast_to(ebb::sum_over(x * x, 2), x.shape_number(), 2));
    const int to = b.g.intern(b.in({test::m, 3}).extents());
    return b.returns(ebb::operand<float>{&b.g, ebb::emit_as<ebb::op::scatter<std::int64_t>, float>(b.g, to, {y.id, where.id})});
  })));
  CHECK(test::error_text(added) == "");
  CHECK(turned(added) == 1);
  CHECK(how_many(added, ebb::kind::move) == 1 + 3 + 1);  // x is turned and cut into three, and the result is joined, but not turned
}

TEST_CASE("an array that is written into itself by index is turned where its rows are read, and not where they are written") {
  const graph u = ebb::unpack(ebb::lower(test::build([&](test::builder& b) {
    const auto x = b.in({n, 3});
    const auto where = b.in<std::int64_t>({n});
    const auto y = ebb::emit_on<ebb::op::exp>({}, x * ebb::broadcast_to(ebb::sum_over(x * x, 2), x.shape_number(), 2));
    const int r = ebb::emit_as<ebb::op::put<std::int64_t>, float>(b.g, y.shape_number(), {y.id, where.id, y.id});
    return b.returns(ebb::operand<float>{&b.g, r});
  })));
  CHECK(test::error_text(u) == "");
  CHECK(turned(u) == 1);
  for (int k = 0; k < u.size(); ++k) {
    if (u.op(k).what != ebb::kind::scatter) continue;
    CHECK_FALSE(u.shape_of(u.operand(k, 0)) == u.shape_of(k));
    CHECK(u.shape_of(u.operand(k, 2)) == u.shape_of(k));
  }
}

namespace {

graph rows_of(int columns, auto&& f) {
  return test::build([&](test::builder& b) { return b.returns(f(b.in({n, columns}))); });
}
constexpr auto sum_of_squares = [](auto x) { return ebb::sum_over(x * x, 2); };
constexpr auto column = [](auto x) { return ebb::slice_as(x, {1, 0}, x.g->intern(ebb::with_extent(x.extents(), 1, 1))); };
bool is_split(const graph& g) { return ebb::to_string(ebb::unpack(g)) != ebb::to_string(g); }

}  // namespace

TEST_CASE("clusters are split where that costs less") {
  CHECK(is_split(rows_of(3, sum_of_squares)));
  CHECK_FALSE(is_split(rows_of(16, sum_of_squares)));       // all lanes are used, and 16 components would be turned
  CHECK_FALSE(is_split(rows_of(100, sum_of_squares)));      // too many
  CHECK_FALSE(is_split(rows_of(3, [](auto x) { return x * x + x; })));  // one loop over all elements
  CHECK_FALSE(is_split(rows_of(3, [](auto x) { return ebb::sum_over(x, 1); })));  // rows are added, not columns
  CHECK_FALSE(is_split(rows_of(3, [](auto x) { return ebb::slice_as(x, {1, 0}, x.g->intern(ebb::with_extent(x.extents(), 1, 2))); })));
  CHECK_FALSE(is_split(rows_of(3, column)));
}

TEST_CASE("a column of an array that is turned for others is one of its components") {
  const graph u = ebb::unpack(ebb::lower(test::build([&](test::builder& b) {
    const auto x = b.in({n, 3});
    const auto first = column(x);
    return b.returns(ebb::reshape_to(first, b.g.intern(b.in({n}).extents())) * sum_of_squares(x));
  })));
  CHECK(how_many(u, ebb::kind::move) == 1 + 3);  // x is turned and cut into three
}

TEST_CASE("a reduction of leading axes is split where the last of them stays") {
  const auto program = [](auto reduced) {
    return test::build([&](test::builder& b) {
      const auto x = b.in({n, test::m, 3}), y = b.in({n, test::m, 3});
      const auto e = x - y, d = e * e;
      const auto total = d * ebb::broadcast_to(ebb::sum_over(d, 4), d.shape_number(), 4);
      return b.returns(reduced(total));
    });
  };
  const auto by_parts = [](const graph& g) {
    int count = 0;
    for (int k = 0; k < g.size(); ++k) count += g.op(k).what == ebb::kind::reduce && g.shape_of(k).rank == 1;
    return count;
  };
  CHECK(by_parts(ebb::unpack(ebb::lower(program([](auto x) { return ebb::sum_over(x, 1); })))) == 3);
  CHECK(by_parts(ebb::unpack(ebb::lower(program([](auto x) { return ebb::emit_on<ebb::op::max>({0, 1}, x); })))) == 3);
  CHECK(by_parts(ebb::unpack(ebb::lower(program([](auto x) { return ebb::sum_over(x, 2); })))) == 0);  // lanes would be added as a tree
  CHECK(by_parts(ebb::unpack(ebb::lower(program([](auto x) { return ebb::sum_over(x, 3); })))) == 1);  // as a whole
}

namespace {

/// Each reduction of the axis after the rows, between equations that are split with it.
template <class Op>
void check_reductions() {
  for (const int inner : {1, 3})
    for (const int length : {2, 3, 4, 5, 7, 8, 10}) {
      const graph g = test::build([&](test::builder& b) {
        const auto x = inner == 1 ? b.in({n, length}) : b.in({n, length, inner});
        const auto y = ebb::emit_on<Op>({1, 2}, x * x + x);
        return b.returns(ebb::emit_on<ebb::op::exp>({}, x - ebb::broadcast_to(y, x.shape_number(), 2)), y);
      });
      const graph simple = ebb::lower(ebb::prune(ebb::simplify(g))), u = ebb::unpack(simple, true);
      CAPTURE(Op::name, inner, length, ebb::to_string(u));
      REQUIRE(test::error_text(u) == "");
      CHECK(how_many(u, ebb::kind::reduce) == 0);
      constexpr std::size_t rows = 400;
      test::random_numbers random(static_cast<std::uint64_t>(length));
      cells x;
      for (std::size_t i = 0; i < rows * static_cast<std::size_t>(length * inner); ++i) {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        constexpr float hard[] = {0.f, -0.f, 1.f, -1.f, -0.5f, infinity, -infinity, std::numeric_limits<float>::quiet_NaN()};
        x.push(ebb::to_cell(random.below(3) == 0 ? hard[random.below(8)] : static_cast<float>(random.below(9) - 4) / 8));
      }
      const ebb::vec<cells> arguments{x};
      const std::size_t symbol[] = {rows};
      const ebb::vec<std::size_t> symbols{symbol[0]};
      const auto of = [&](const graph& which) {
        ebb::vec<cells> r = test::run_scalar(which, arguments, symbols);
        for (int o = 0; o < r.size(); ++o) r[o] = test::without_nan_bits(ebb::dtype::f32, r[o]);
        return r;
      };
      CHECK(test::difference(of(u), of(g)) == "");
    }
}

}  // namespace

TEST_CASE("extrema and products of components have the same bits, also of NaN, infinities and zeros with a sign") {
  check_reductions<ebb::op::max>();
  check_reductions<ebb::op::min>();
  check_reductions<ebb::op::peak>();
  check_reductions<ebb::op::prod>();
  check_reductions<ebb::op::sum>();
  CHECK(is_split(rows_of(3, [](auto x) { return x - ebb::broadcast_to(ebb::emit_on<ebb::op::peak>({1, 2}, x), x.shape_number(), 2); })));
}

namespace {

/// A product of m x k with k x n matrices; `batch` are axes of rows in front of both, none for rows of operand 0 by one matrix.
struct product {
  int m, k, n;
  std::int64_t attr = 0;
  bool shared = false;
};
constexpr std::size_t product_rows = 150;

template <class T>
graph graph_of(product p) {
  return test::build([&](test::builder& b) {
    const auto sides = [](int rows, int columns, bool turned) { return turned ? std::pair(columns, rows) : std::pair(rows, columns); };
    const auto [m, k] = sides(p.m, p.k, p.attr & ebb::left_transposed);
    const auto [l, n2] = sides(p.k, p.n, p.attr & ebb::right_transposed);
    const auto x = p.shared ? b.in<T>({n, p.k}) : b.in<T>({n, m, k});
    const auto y = p.shared ? b.in<T>({l, n2}) : b.in<T>({n, l, n2});
    return b.returns(ebb::product_of(x, y, p.attr));
  });
}
/// Numbers with zeros of both signs, products that underflow, infinities and NaN among them.
template <class T>
cells hard_numbers(std::size_t count, std::uint64_t seed) {
  test::random_numbers random(seed);
  constexpr T infinity = std::numeric_limits<T>::infinity(), least = std::numeric_limits<T>::min();
  constexpr T hard[] = {T(0), T(-0.0), T(1), T(-1), least, -least, infinity, std::numeric_limits<T>::quiet_NaN()};
  cells x;
  for (std::size_t i = 0; i < count; ++i)
    x.push(ebb::to_cell(random.below(5) == 0 ? hard[random.below(8)] : static_cast<T>(random.below(2001) - 1000) / T(7)));
  return x;
}
template <class T>
void check_product(product p) {
  const graph g = graph_of<T>(p), simple = ebb::lower(ebb::prune(ebb::simplify(g))), u = ebb::unpack(simple, true);
  CAPTURE(p.m, p.k, p.n, p.attr, p.shared, ebb::to_string(u));
  REQUIRE(test::error_text(u) == "");
  CHECK(how_many(u, ebb::kind::contract) == 0);
  const auto volume = [](int a, int b, bool one) { return static_cast<std::size_t>(a * b) * (one ? 1 : product_rows); };
  const ebb::vec<cells> arguments{hard_numbers<T>(p.shared ? product_rows * static_cast<std::size_t>(p.k) : volume(p.m, p.k, false), 1),
                                  hard_numbers<T>(volume(p.k, p.n, p.shared), 2)};
  const ebb::vec<std::size_t> symbols{std::size_t{product_rows}};
  const auto of = [&](const graph& which) {
    return test::without_nan_bits(ebb::dtype_of<T>, test::run_scalar(which, arguments, symbols)[0]);
  };
  CHECK(test::difference({of(u)}, {of(g)}) == "");
}

}  // namespace

TEST_CASE("products of components have the same bits, in chains and in lanes, also where links underflow") {
  for (const std::int64_t attr :
       {std::int64_t{0}, ebb::left_transposed, ebb::right_transposed, ebb::left_transposed | ebb::right_transposed})
    for (const product p : {product{2, 2, 2, attr}, product{3, 3, 1, attr}, product{1, 5, 5, attr}, product{3, 1, 3, attr},
                            product{1, 7, 1, attr}, product{4, 4, 3, attr}, product{1, 31, 1, attr}}) {
      check_product<float>(p);
      check_product<double>(p);
    }
  for (const std::int64_t attr : {std::int64_t{0}, ebb::right_transposed})
    for (const product p : {product{1, 3, 3, attr, true}, product{1, 5, 1, attr, true}, product{1, 2, 7, attr, true},
                            product{1, 32, 1, attr, true}, product{1, 1, 4, attr, true}}) {
      check_product<float>(p);
      check_product<double>(p);
    }
}

TEST_CASE("products are split where the rows have small matrices, or short rows meet a small one") {
  const auto split = [](product p) { return how_many(ebb::unpack(ebb::lower(graph_of<float>(p))), ebb::kind::contract) == 0; };
  CHECK(split({3, 3, 1}));
  CHECK(split({3, 3, 3}));
  CHECK(split({1, 3, 3, 0, true}));
  CHECK(split({1, 4, 1, 0, true}));
  CHECK_FALSE(split({4, 4, 4}));           // its kernel has lanes along the batch
  CHECK_FALSE(split({5, 5, 5}));           // too many links
  CHECK_FALSE(split({1, 16, 1, 0, true}));  // 16 components would be turned
  CHECK_FALSE(split({1, 16, 2, 0, true}));
}

TEST_CASE("places of extrema are found among components, if these are computed or few") {
  for (const int inner : {1, 3})
    for (const int length : {2, 3, 7, 10}) {
      const graph g = test::build([&](test::builder& b) {
        const auto x = inner == 1 ? b.in({n, length}) : b.in({n, length, inner}), y = x * x + x;
        const auto low = ebb::emit_on<ebb::op::argmin>({inner == 1 ? 0 : 1}, y);
        return b.returns(low, ebb::emit_on<ebb::op::argmax>({inner == 1 ? 0 : 1}, x));
      });
      const graph simple = ebb::lower(ebb::prune(ebb::simplify(g))), u = ebb::unpack(simple, true);
      CAPTURE(inner, length, ebb::to_string(u));
      REQUIRE(test::error_text(u) == "");
      CHECK(how_many(u, ebb::kind::own) == 0);
      for (std::uint64_t seed = 0; seed < 20; ++seed) CHECK(test::difference(g, u, test::random_call(g, seed, 40)) == "");
    }
  const auto least = [](auto x) { return ebb::emit_on<ebb::op::argmin>({0}, x); };
  CHECK(is_split(rows_of(3, least)));
  CHECK_FALSE(is_split(rows_of(10, least)));  // the op turns its argument itself
  CHECK_FALSE(is_split(rows_of(100, [&](auto x) { return least(x * x); })));
  CHECK(is_split(rows_of(10, [&](auto x) {
    return least(x - ebb::broadcast_to(ebb::emit_on<ebb::op::peak>({1, 2}, x), x.shape_number(), 2));
  })));
}

TEST_CASE("random programs on components have the same bits") {
  int chosen = 0, split = 0, parts = 0, by_index = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    const test::random_program p =
        test::make_random(seed, {.equations = 30, .largest = 600, .longest = 300, .short_axes = seed % 4 != 0});
    const ebb::vec<cells> arguments = test::random_arguments(p, seed);
    const ebb::vec<std::size_t> symbols = ebb::symbol_values(p.g, p.arguments);
    const ebb::vec<cells> known = test::run_scalar(p.g, arguments, symbols);
    const graph simple = ebb::lower(ebb::prune(ebb::simplify(p.g)));
    for (const bool all : {true, false}) {
      const graph u = ebb::unpack(simple, all);
      CAPTURE(all, ebb::to_string(u));
      REQUIRE(test::error_text(u) == "");
      if (u.size() == simple.size()) continue;
      (all ? split : chosen) += 1;
      parts += u.size() - simple.size();
      by_index += turned(u);
      const ebb::vec<std::size_t> more = ebb::symbol_values(u, p.arguments);
      CHECK(test::difference(test::run_scalar(u, arguments, more), known) == "");
      bool guarded = true;
      ebb::block_program program(u, ebb::make_plan(u), 64);
      const auto run = [&](void* const* from, void* const* to) { program.run(from, to, more.data()); };
      CHECK(test::difference(test::run_on_memory(u, p.types, arguments, more, guarded, run), known) == "");
      CHECK(guarded);
    }
  }
  CHECK(chosen > 30);
  CHECK(split > 300);
  CHECK(parts > 10000);
  CHECK(by_index > 20);
}

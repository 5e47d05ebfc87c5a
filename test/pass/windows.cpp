// test/pass/windows.cpp — slices and places that are computed again, those that stay, and random programs of both.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/exec/blocks.hpp>
#include <ebb/graph/print.hpp>
#include <ebb/op/compare.hpp>
#include <ebb/op/exponential.hpp>
#include <ebb/op/reduce.hpp>
#include <ebb/pass/pipeline.hpp>

#include "../build.hpp"
#include "../catch.hpp"
#include "../exec/run_random.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace {

using test::n;

/// Arrays whose extents are n and a few elements more or less. Matrices have `columns` columns, or a few more or less.
class windows {
 public:
  static constexpr int most = 6, columns = 60;
  explicit windows(test::builder& b) : g_(b.g) {}

  /// [n + more], or [n + more, columns + wider], with the relations of extents that `pad` and `slice` of a trace leave behind.
  int shape(int more, int wider = 0) {
    const ebb::shape& first = g_.shapes[g_.eq[0].shape];
    int& known = extents_[static_cast<std::size_t>(more + most)];
    if (known == 0) {
      const int one = first.e[0];
      if (more > 0) known = g_.syms.derive(ebb::extent_rule::sum, one, more);
      else known = g_.syms.derive(ebb::extent_rule::difference, one, -more);
    }
    const int rank = first.rank;
    ebb::shape s;
    s.push(known);
    if (rank == 2) s.push(columns + wider);
    return g_.intern(s);
  }
  /// Of the columns of x, [n + more, ...], those from `first` on: columns + wider of them.
  ebb::operand<double> slice_columns(ebb::operand<double> x, int more, int wider, int first) {
    return ebb::slice_as(x, {1, first}, shape(more, wider));
  }
  template <class T>
  ebb::operand<T> place_columns(ebb::operand<T> x, int more, int wider, int first) {
    return ebb::place_in(x, {1, first}, shape(more, wider));
  }
  template <class T>
  ebb::operand<T> slice(ebb::operand<T> x, int more, int first, int wider = 0) {
    return ebb::slice_as(x, {0, first}, shape(more, wider));
  }
  /// x, of [n + from], in zeros, [n + more].
  template <class T>
  ebb::operand<T> place(ebb::operand<T> x, int from, int more, int first, int wider = 0) {
    const int r = shape(more, wider);
    g_.syms.unify(g_.syms.derive(ebb::extent_rule::sum, x.extent(0), more - from), g_.shapes[r].e[0]);
    return ebb::place_in(x, {0, first}, r);
  }
 private:
  ebb::graph& g_;
  std::array<int, 2 * most + 1> extents_{};
};

struct counts {
  int moves = 0, computed = 0, selections = 0;  // computed: moves of what a loop computes
};
/// Runs g before and after the pass on arrays of several lengths: all bits are the same. Returns what there is after it.
counts after(const ebb::graph& given) {
  const ebb::graph g = ebb::prune(given), r = ebb::windows_first(g);
  INFO("before:\n" << ebb::to_string(g) << "after:\n" << ebb::to_string(r));
  CHECK(test::error_text(r) == "");
  const ebb::plan plan = ebb::make_plan(r);
  for (const std::size_t length : {7u, 8u, 15u, 16u, 21u, 40u, 70u, 163u}) {
    CAPTURE(length);
    ebb::vec<ebb::extent_list> extents;
    ebb::vec<ebb::dtype> types;
    ebb::vec<test::cells> arguments;
    test::random_numbers random(length);
    for (int k = 0; k < g.size(); ++k) {
      if (g.op(k).what != ebb::kind::input) continue;
      ebb::extent_list e;
      e.rank = g.shape_of(k).rank;
      if (e.rank > 0) e.e[0] = length;
      if (e.rank > 1) e.e[1] = windows::columns;
      extents.push(e);
      types.push(g.op(k).result);
      arguments.push(test::random_cells(random, g.op(k).result, e.rank > 1 ? length * windows::columns : e.rank > 0 ? length : 1, 0));
    }
    const ebb::vec<std::size_t> symbols = ebb::symbol_values(g, extents), more = ebb::symbol_values(r, extents);
    const ebb::vec<test::cells> known = test::run_scalar(g, arguments, symbols);
    REQUIRE(test::difference(test::run_scalar(r, arguments, more), known) == "");
    ebb::block_program program(r, plan, 64);
    bool guarded = true;
    const auto run = [&](void* const* from, void* const* to) { program.run(from, to, more.data()); };
    REQUIRE(test::difference(test::run_on_memory(r, types, arguments, more, guarded, run), known) == "");
    REQUIRE(guarded);
  }
  counts c;
  for (int k = 0; k < r.size(); ++k) {
    c.selections += r.op(k).family == ebb::family_of<ebb::op::where>;
    if (r.op(k).what != ebb::kind::move) continue;
    ++c.moves;
    c.computed += r.op(r.operand(k, 0)).what == ebb::kind::elementwise;
  }
  return c;
}
/// f(windows, builder, x, y) gives the result of a graph.
counts after_of(auto f) {
  return after(test::build([&](test::builder& b) {
    const auto x = b.in<double>({n}), y = b.in<double>({n});
    windows w(b);
    return b.returns(f(w, b, x, y));
  }));
}

}  // namespace

TEST_CASE("a slice of cheap values is computed from slices") {
  const auto c = after_of([](auto& w, auto&, auto x, auto y) {
    const auto z = x * y + x;
    return w.slice(z, -1, 1) - w.slice(z, -1, 0);
  });
  CHECK(c.computed == 0);
  CHECK(c.moves == 4);
}

TEST_CASE("a slice stays if its operand is in memory anyway, if it is dear, if there are too many, or if not loops read it") {
  const auto stays = [](auto f) { return after_of(f).computed > 0; };
  const auto sum = [](auto x) { return ebb::emit_on<ebb::op::sum>({0, 1}, x); };
  CHECK(stays([](auto& w, auto&, auto x, auto) { return -w.slice(ebb::emit_on<ebb::op::exp>({}, x), -1, 1); }));
  CHECK(stays([](auto& w, auto&, auto x, auto y) { return -w.slice(x / y, -1, 1); }));
  CHECK(stays([](auto& w, auto& b, auto x, auto y) {  // the product is a result
    const auto z = x * y;
    b.g.out.push(z.id);
    return -w.slice(z, -1, 1);
  }));
  CHECK(stays([](auto& w, auto&, auto x, auto y) { return w.slice(x * y, -1, 1); }));  // a copy
  CHECK(stays([](auto& w, auto&, auto x, auto y) {  // five windows of three
    const auto z = x * y;
    auto r = w.slice(z, -4, 0);
    for (int i = 1; i < 5; ++i) r = r + w.slice(z, -4, i);
    return r;
  }));
  CHECK(!stays([](auto& w, auto&, auto x, auto y) { return -w.slice(x * y, -1, 1); }));
  CHECK(!stays([&](auto& w, auto&, auto x, auto y) { return sum(w.slice(x * y, -1, 1)); }));
}

TEST_CASE("a place is computed from places, and zeros are selected where its operations do not give them") {
  const auto selections = [](auto f) {
    const auto c = after_of(f);
    CHECK(c.computed == 0);
    return c.selections;
  };
  CHECK(selections([](auto& w, auto&, auto x, auto y) { return -w.place(x * y - x, 0, 2, 1); }) == 0);
  CHECK(selections([](auto& w, auto&, auto x, auto y) { return -w.place(x * y + 1.0, 0, 2, 1); }) == 1);
  CHECK(selections([](auto& w, auto&, auto x, auto y) { return -w.place(-(x * y), 0, 2, 1); }) == 1);  // -0
  CHECK(selections([](auto& w, auto&, auto x, auto y) { return -w.place(0.5 * x * y, 0, 2, 1); }) == 1);  // a factor without zeros around
  // Readers that select the inside need no zeros.
  const auto padded = [](auto& w, auto& b, auto z, auto value) {
    const auto inside = w.place(ebb::literal_in<bool>(b.g, z.shape_number(), true), 0, 2, 1);
    const auto p = w.place(z, 0, 2, 1);
    return ebb::emit_on<ebb::op::where>({}, inside, p, ebb::literal_like(p, value));
  };
  CHECK(selections([&](auto& w, auto& b, auto x, auto y) { return padded(w, b, x * y + 1.0, 0.5); }) == 1);
}

TEST_CASE("the stages of a step over neighbours are one loop") {
  const ebb::graph g = test::build([](test::builder& b) {
    const auto x = b.in<double>({n}), y = b.in<double>({n});
    windows w(b);
    const auto rate = [&](auto z) {
      const auto before = w.slice(z, -1, 0);
      const auto inside = w.place(ebb::literal_in<bool>(b.g, before.shape_number(), true), -1, 0, 1);
      const auto p = w.place(before, -1, 0, 1);
      return x * ebb::emit_on<ebb::op::where>({}, inside, p, ebb::literal_like(p, 1.0));
    };
    const auto first = rate(y);
    return b.returns(y + rate(y + first) + first);
  });
  CHECK(after(g).computed == 0);
  const ebb::plan plan = ebb::make_plan(ebb::windows_first(ebb::prune(g)));
  CHECK(plan.steps.size() == 1);
  int placed = 0;
  for (const ebb::nest_load& x : plan.loads) placed += x.source == ebb::nest_load::from::placed;
  CHECK(placed == 2);  // insides, which are not in memory
}

TEST_CASE("a long chain of neighbours is cut where that is less work") {
  const auto steps_of = [](int count) {
    const ebb::graph g = test::build([&](test::builder& b) {
      const auto x = b.in<double>({n});
      auto y = b.in<double>({n});
      windows w(b);
      const auto rate = [&](auto z) { return x * w.place(w.slice(z, -1, 0), -1, 0, 1); };
      for (int i = 0; i < count; ++i) {
        const auto first = rate(y), second = rate(y + 0.5 * first);
        y = y + rate(y + second);
      }
      return b.returns(y);
    });
    after(g);
    return ebb::make_plan(ebb::windows_first(ebb::prune(g))).steps.size();
  };
  CHECK(steps_of(1) == 1);
  CHECK(steps_of(2) == 2);
  CHECK(steps_of(8) == 8);
}

namespace {

/// A step over the five points around each inner one; the border stays.
template <class Windows>
ebb::operand<double> five_points(Windows& w, ebb::operand<double> x) {
  const auto rows = [&](int first) { return w.slice_columns(w.slice(x, -2, first), -2, -2, 1); };
  const auto columns = [&](int first) { return w.slice_columns(w.slice(x, -2, 1), -2, -2, first); };
  const auto flow = 0.1 * (rows(0) + rows(2) + columns(0) + columns(2) - 4.0 * columns(1));
  return x + w.place_columns(w.place(flow, -2, 0, 1, -2), 0, 0, 1);
}

/// Compares the bits, and returns whether loops read fewer windows of what other loops compute.
bool has_fewer_windows_after(const ebb::graph& g) {
  const auto of_loops = [](const ebb::graph& x) {
    int count = 0;
    for (int k = 0; k < x.size(); ++k) count += x.op(k).what == ebb::kind::move && x.op(x.operand(k, 0)).what == ebb::kind::elementwise;
    return count;
  };
  after(g);
  return of_loops(ebb::windows_first(g)) < of_loops(g);
}

}  // namespace

TEST_CASE("steps over the five points of a matrix: one loop each, and nothing is computed again that a later loop reads anyway") {
  const auto step_graph = [](int count, bool sum) {
    return test::build([&](test::builder& b) {
      auto x = b.in<double>({n, windows::columns});
      windows w(b);
      for (int i = 0; i < count; ++i) x = five_points(w, x);
      return sum ? b.returns(x, ebb::emit_on<ebb::op::sum>({0, 2}, x)) : b.returns(x);
    });
  };
  const auto steps_of = [](const ebb::graph& g) {
    after(g);
    return ebb::make_plan(ebb::windows_first(ebb::prune(g))).steps.size();
  };
  for (const int count : {1, 2, 4}) CHECK(steps_of(step_graph(count, false)) == count);
  for (const int count : {1, 2, 4}) CHECK(steps_of(step_graph(count, true)) == count);  // the sum goes on from row to row
}

TEST_CASE("a value that a later loop reads is in memory: its slices are read there") {
  const auto c = after_of([](auto& w, auto& b, auto x, auto y) {
    const auto z = x * y;
    const auto e = ebb::emit_on<ebb::op::exp>({}, w.slice(z, -2, 1) - w.slice(z, -2, 0));
    b.g.out.push(e.id);
    return z + w.place(e, -2, 0, 1);  // it waits for e
  });
  CHECK(c.computed == 3);
}

TEST_CASE("a slice of an array that is repeated along other axes is a slice of that array") {
  const auto of_repeated = [](int repeated, bool columns) {
    return after(test::build([&](test::builder& b) {
      const auto x = b.in<double>({n, windows::columns});
      windows w(b);
      const auto sums = ebb::emit_on<ebb::op::sum>({repeated, repeated + 1}, -x);
      const auto z = x * ebb::broadcast_to(sums, x.g->eq[x.id].shape, std::int64_t{1} << repeated);
      if (columns) return b.returns(w.slice_columns(z, 0, -1, 1) - w.slice_columns(z, 0, -1, 0));
      return b.returns(w.slice(z, -1, 1) - w.slice(z, -1, 0));
    }));
  };
  for (const int repeated : {0, 1})
    for (const bool columns : {false, true}) {
      CAPTURE(repeated, columns);
      const counts c = of_repeated(repeated, columns);
      CHECK(c.computed == 0);
      CHECK(c.moves == (columns == (repeated == 0) ? 4 : 2));  // those of x, and of the sums along their own axis
    }
}

TEST_CASE("random programs of windows of matrices have the bits of scalar runs") {
  int less = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    test::random random{seed * 91 + 7};
    const ebb::graph g = test::build([&](test::builder& b) {
      struct value {
        ebb::operand<double> x;
        int more, wider;
      };
      std::vector<value> known;
      known.push_back({b.in<double>({n, windows::columns}), 0, 0});
      known.push_back({b.in<double>({n, windows::columns}), 0, 0});
      windows w(b);
      const auto any = [&] {
        const int recent = std::min(static_cast<int>(known.size()), 6);
        return known[known.size() - 1 - static_cast<std::size_t>(random.below(recent))];
      };
      for (int i = 0; i < 20; ++i) {
        const value a = any();
        value c = any();
        for (int t = 0; t < 12 && (c.more != a.more || c.wider != a.wider); ++t) c = any();
        if (c.more != a.more || c.wider != a.wider) c = a;
        const int before = random.below(3), more = before + random.below(3);
        const int lower = a.more - more, higher = a.more + more, slimmer = a.wider - more, wider = a.wider + more;
        const auto repeated = [&](int axis) {  // sums along this axis
          return ebb::broadcast_to(ebb::emit_on<ebb::op::sum>({axis, axis + 1}, c.x), c.x.g->eq[c.x.id].shape, std::int64_t{1} << axis);
        };
        switch (random.below(11)) {
          case 9: known.push_back({c.x * repeated(0), c.more, c.wider}); break;
          case 10: known.push_back({c.x - repeated(1), c.more, c.wider}); break;
          case 0: known.push_back({a.x + c.x, a.more, a.wider}); break;
          case 1: known.push_back({a.x * c.x, a.more, a.wider}); break;
          case 2: known.push_back({a.x - 0.5 * c.x, a.more, a.wider}); break;
          case 3: known.push_back({ebb::emit_on<ebb::op::where>({}, ebb::less(a.x, c.x), a.x, -c.x), a.more, a.wider}); break;
          case 4:
            if (lower >= -windows::most) known.push_back({w.slice(a.x, lower, before, a.wider), lower, a.wider});
            break;
          case 5:
            if (slimmer >= -windows::most) known.push_back({w.slice_columns(a.x, a.more, slimmer, before), a.more, slimmer});
            break;
          case 6:
            if (higher <= windows::most) known.push_back({w.place(a.x, a.more, higher, before, a.wider), higher, a.wider});
            break;
          case 7:
            if (wider <= windows::most) known.push_back({w.place_columns(a.x, a.more, wider, before), a.more, wider});
            break;
          default: known.push_back({ebb::emit_on<ebb::op::square>({}, a.x), a.more, a.wider});
        }
      }
      if (random.chance(3)) return b.returns(known.back().x, ebb::emit_on<ebb::op::sum>({0, 2}, any().x));
      return b.returns(known.back().x, any().x);
    });
    less += has_fewer_windows_after(ebb::lower(ebb::prune(ebb::simplify(g))));
  }
  CHECK(less > 20);
}

TEST_CASE("random programs of windows have the bits of scalar runs") {
  int less = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    test::random random{seed * 77 + 5};
    const ebb::graph g = test::build([&](test::builder& b) {
      struct value {
        ebb::operand<double> x;
        int more;
      };
      std::vector<value> known;
      known.push_back({b.in<double>({n}), 0});
      known.push_back({b.in<double>({n}), 0});
      windows w(b);
      const auto any = [&] {
        const int recent = std::min(static_cast<int>(known.size()), 6);
        return known[known.size() - 1 - static_cast<std::size_t>(random.below(recent))];
      };
      for (int i = 0; i < 24; ++i) {
        const value a = any();
        value c = any();
        for (int t = 0; t < 8 && c.more != a.more; ++t) c = any();
        if (c.more != a.more) c = a;
        const int before = random.below(3), after = random.below(3);
        switch (random.below(9)) {
          case 0: known.push_back({a.x + c.x, a.more}); break;
          case 1: known.push_back({a.x * c.x, a.more}); break;
          case 2: known.push_back({a.x - 0.5 * c.x, a.more}); break;
          case 3: known.push_back({ebb::emit_on<ebb::op::where>({}, ebb::less(a.x, c.x), a.x, -c.x), a.more}); break;
          case 4:
          case 5:
            if (a.more - before - after >= -windows::most)
              known.push_back({w.slice(a.x, a.more - before - after, before), a.more - before - after});
            break;
          case 6:
          case 7: {
            if (a.more + before + after > windows::most) break;
            const auto p = w.place(a.x, a.more, a.more + before + after, before);
            if (random.chance(2)) {
              known.push_back({p, a.more + before + after});
            } else {
              const auto inside = w.place(ebb::literal_in<bool>(b.g, a.x.shape_number(), true), a.more, a.more + before + after, before);
              known.push_back({ebb::emit_on<ebb::op::where>({}, inside, p, ebb::literal_like(p, 0.25)), a.more + before + after});
            }
            break;
          }
          default: known.push_back({ebb::emit_on<ebb::op::square>({}, a.x), a.more});
        }
      }
      if (random.chance(3)) return b.returns(known.back().x, ebb::emit_on<ebb::op::sum>({0, 1}, any().x));
      return b.returns(known.back().x, any().x);
    });
    less += has_fewer_windows_after(ebb::lower(ebb::prune(ebb::simplify(g))));
  }
  CHECK(less > 100);
}

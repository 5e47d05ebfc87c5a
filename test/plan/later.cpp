// test/plan/later.cpp — values that the later loop computes that reads them, and random programs of sums.
// SPDX-License-Identifier: BSL-1.0
// covers: later.hpp grouping.hpp fuse.hpp
#include <ebb/op/reduce.hpp>
#include <ebb/plan/later.hpp>
#include <ebb/plan/plan.hpp>

#include "../build.hpp"
#include "../catch.hpp"
#include "../exec/run_random.hpp"

#include <vector>

namespace {

using test::n, test::m;

/// The sum of all elements of x.
constexpr auto total = [](auto x) { return ebb::emit_on<ebb::op::sum>({0, x.extents().rank}, x); };
/// A number for each element of an array of the shape of x.
constexpr auto for_each = [](auto number, auto x) {
  return ebb::broadcast_to(number, x.g->eq[x.id].shape, (std::int64_t{1} << x.extents().rank) - 1);
};
/// One sum for each row of x, for each element of the row.
constexpr auto of_rows = [](auto x) {
  return ebb::broadcast_to(ebb::emit_on<ebb::op::sum>({1, x.extents().rank}, x), x.g->eq[x.id].shape, 2);
};

/// The operations of each loop of the plan.
std::vector<int> operations(const ebb::plan& p) {
  std::vector<int> r;
  for (const ebb::plan_step& s : p.steps)
    if (s.nest >= 0) r.push_back(p.nests[s.nest].computes.count);
  return r;
}
/// The arrays that loops store beside the results. Numbers do not count.
int kept(const ebb::graph& g, const ebb::plan& p) {
  int count = -g.out.size();
  for (const ebb::nest_store& s : p.stores) count += !ebb::detail::is_number(g.shapes[p.buffers[s.buffer].shape]);
  return count;
}
void check(auto&& make, std::vector<int> expected, int expected_kept) {
  const ebb::graph g = test::build(make);
  const ebb::plan p = ebb::make_plan(g);
  CHECK(operations(p) == expected);
  CHECK(kept(g, p) == expected_kept);
}

}  // namespace

TEST_CASE("a loop that waits for a sum computes the values that only it reads") {
  check([](auto& b) {  // x * y is loaded for the sum anyway
    const auto x = b.in({n}), y = b.in({n}), s = total(x);
    return b.returns((x * y + y) * y + for_each(s, x));
  }, {0, 4}, 0);
  check([](auto& b) {  // another argument is loaded instead of the value
    const auto x = b.in({n}), y = b.in({n});
    return b.returns((y * y + y) * for_each(total(x), x));
  }, {0, 3}, 0);
  check([](auto& b) {  // through two sums
    const auto x = b.in({n}), y = b.in({n}), s = total(x), t = total(x * for_each(s, x));
    return b.returns(-y * for_each(t, x));
  }, {0, 1, 2}, 0);
  check([](auto& b) {  // rows
    const auto x = b.in({n, 40}), y = b.in({n, 40});
    return b.returns(y * y + of_rows(x) * x);
  }, {0, 3}, 0);
}

TEST_CASE("a value that the sum itself reads stays in its loop") {
  check([](auto& b) {
    const auto x = b.in({n}), z = x * x + x;
    return b.returns(z * for_each(total(z), x));
  }, {2, 1}, 1);
  check([](auto& b) {  // so does a value that two loops read
    const auto x = b.in({n}), y = b.in({n}), z = y * y, t = total(x), u = z * for_each(t, x);
    return b.returns(z * for_each(total(u), x));
  }, {1, 1, 1}, 1);
  check([](auto& b) {  // and a result
    const auto x = b.in({n}), y = b.in({n}), z = y * y;
    return b.returns(z, z * for_each(total(x), x));
  }, {1, 1}, 0);
}

TEST_CASE("a value stays in its loop if the later one would load more than the value saves") {
  const auto sum_of = [](int count) {
    return [count](auto& b) {
      const auto x = b.in({n});
      auto z = b.in({n}) * b.in({n});
      for (int i = 2; i < count; ++i) z = z + b.in({n});
      return b.returns(z * for_each(total(x), x));
    };
  };
  check(sum_of(2), {0, 2}, 0);
  check(sum_of(3), {2, 1}, 1);  // three loads instead of a store and a load
}

TEST_CASE("a value stays in its loop if an operand would have to be stored instead") {
  check([](auto& b) {  // z is a result
    const auto x = b.in({n}), z = x * x, s = total(z);
    return b.returns(z, (z + -z) * for_each(s, x));
  }, {1, 3}, 0);
  check([](auto& b) {  // z would be kept instead
    const auto x = b.in({n}), y = b.in({n}), z = x * x, s = total(z);
    return b.returns((z * y) * for_each(s, x));
  }, {2, 1}, 1);
}

TEST_CASE("random programs of sums have the bits of scalar runs, and fewer values are kept") {
  int later = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    test::random random{seed};
    const bool rows = random.chance(2);
    const ebb::graph g = test::build([&](test::builder& b) {
      std::vector<ebb::operand<float>> values;
      for (int i = 0; i < 3; ++i) values.push_back(rows ? b.in({n, m}) : b.in({n}));
      const auto any = [&] { return values[static_cast<std::size_t>(random.below(static_cast<int>(values.size())))]; };
      for (int i = 0; i < 12; ++i) {
        const auto x = any(), y = any();
        switch (random.below(rows ? 5 : 4)) {
          case 0: values.push_back(x * y); break;
          case 1: values.push_back(x + y); break;
          case 2: values.push_back(-x); break;
          case 3: values.push_back(for_each(total(x), x) + y); break;
          default: values.push_back(of_rows(x) - y);
        }
      }
      const auto last = values.back();
      return random.chance(2) ? b.returns(last) : b.returns(last, any());
    });
    const ebb::grouping first = ebb::detail::fuser(g, false).take();
    const ebb::vec<int> least = ebb::detail::levels_of_readers(g, first);
    if (!least.empty()) {
      int before = 0, after = 0;
      const ebb::grouping now = ebb::detail::fuser(g, false, {}, least).take();
      for (int k = 0; k < g.size(); ++k) before += first.stored[k], after += now.stored[k];
      REQUIRE(after < before);
      ++later;
    }
    test::random_program p;
    p.g = g;
    const std::size_t count = static_cast<std::size_t>(random.below(40)), width = static_cast<std::size_t>(random.below(9));
    for (int i = 0; i < g.inputs; ++i) {
      p.types.push(ebb::dtype::f32);
      p.places.push(0);
      ebb::extent_list x;
      x.e[x.rank++] = count;
      if (rows) x.e[x.rank++] = width;
      p.arguments.push(x);
    }
    const ebb::vec<test::cells> arguments = test::random_arguments(p, seed);
    const ebb::vec<std::size_t> symbols = ebb::symbol_values(g, p.arguments);
    ebb::block_program program(g, ebb::make_plan(g), 16);
    bool guarded = true;
    const auto run = [&](void* const* from, void* const* to) { program.run(from, to, symbols.data()); };
    REQUIRE(test::difference(test::run_on_memory(g, p.types, arguments, symbols, guarded, run), test::run_scalar(g, arguments, symbols)) ==
            "");
    REQUIRE(guarded);
  }
  CHECK(later > 100);
}

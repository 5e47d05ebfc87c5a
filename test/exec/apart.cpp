// test/exec/apart.cpp — results that overlap arguments: a call gives the same results as with separate memory.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>

#include "../catch.hpp"
#include "../plan/random_plan.hpp"
#include "run_random.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

using ebb::dyn;
using ebb::detail::memory_use, ebb::detail::placed_array, ebb::detail::stretch;

TEST_CASE("the sweep finds the overlaps that comparing each pair finds") {
  test::random_numbers random(11);
  int found = 0, in_place = 0, none = 0;
  for (int turn = 0; turn < 20000; ++turn) {
    const int results = 1 + random.below(6), arguments = random.below(8), count = results + arguments;
    const int room = 2 + random.below(60);
    std::vector<memory_use> written(static_cast<std::size_t>(results)), read(static_cast<std::size_t>(arguments));
    for (memory_use& u : written) u = {{random.below(4), random.below(3), random.below(2) == 0, random.below(2) == 0}, random.below(2), 4};
    for (memory_use& u : read) u = {{random.below(4), random.below(3), random.below(2) == 0, random.below(2) == 0}, random.below(2), 4};
    std::vector<placed_array> arrays;
    for (int i = 0; i < count; ++i) {
      const auto first = static_cast<std::uintptr_t>(100 + random.below(room));
      arrays.push_back({{first, first + static_cast<std::uintptr_t>(random.below(5))}, i});
    }
    std::vector<char> expected(static_cast<std::size_t>(results));
    for (std::size_t o = 0; o < expected.size(); ++o)
      for (std::size_t x = 0; x < arrays.size(); ++x) {
        const stretch one = arrays[o].at, other = arrays[x].at;
        const bool argument = x >= expected.size();
        if ((!argument && x >= o) || one.bytes() == 0 || other.bytes() == 0 || !one.overlaps(other)) continue;
        const bool may = argument && one.first == other.first && may_overwrite(written[o], read[x - expected.size()]);
        in_place += may;
        if (!may) expected[o] = true;
      }
    bool apart[8] = {};
    find_apart(arrays.data(), count, results, written.data(), read.data(), apart);
    for (std::size_t o = 0; o < expected.size(); ++o) {
      REQUIRE(apart[o] == static_cast<bool>(expected[o]));
      found += apart[o];
      none += !apart[o];
    }
  }
  CHECK(found > 10000);
  CHECK(none > 10000);
  CHECK(in_place > 1000);
}

namespace {

/// Runs g with separate memory for all arrays, or with some results in the memory of arguments: over[o] is that argument, or -1.
ebb::vec<test::cells> run_over(ebb::block_program& program, const ebb::vec<test::cells>& given, const ebb::vec<int>& over,
                               const ebb::vec<std::size_t>& symbols) {
  const ebb::graph& g = program.program();
  std::vector<test::array> in, out;
  std::vector<void*> from, to;
  for (int k = 0; k < g.size(); ++k)
    if (g.op(k).what == ebb::kind::input) {
      const auto number = static_cast<std::size_t>(g.eq[k].attr[0]);
      while (in.size() <= number) in.emplace_back(ebb::dtype::f32, std::size_t{0});
      in[number] = test::array(g.op(k).result, static_cast<std::size_t>(given[static_cast<int>(number)].size()));
      in[number].assign(given[static_cast<int>(number)]);
    }
  while (in.size() < static_cast<std::size_t>(g.inputs)) in.emplace_back(ebb::dtype::f32, std::size_t{0});
  for (int o : g.out) out.emplace_back(g.op(o).result, ebb::volume(g.shape_of(o), symbols.data()));
  for (test::array& a : in) from.push_back(a.data());
  for (int o = 0; o < g.out.size(); ++o)
    to.push_back(over[o] >= 0 ? from[static_cast<std::size_t>(over[o])] : out[static_cast<std::size_t>(o)].data());
  from.push_back(nullptr);
  program.run(from.data(), to.data(), symbols.data());
  ebb::vec<test::cells> r;
  for (int o = 0; o < g.out.size(); ++o) {
    if (over[o] >= 0) std::memcpy(out[static_cast<std::size_t>(o)].data(), to[static_cast<std::size_t>(o)],
                                  ebb::volume(g.shape_of(g.out[o]), symbols.data()) * ebb::size_of(g.op(g.out[o]).result));
    r.push(test::without_nan_bits(g.op(g.out[o]).result, out[static_cast<std::size_t>(o)].values()));
  }
  return r;
}

}  // namespace

TEST_CASE("results in the memory of arguments have the bits of separate memory, as far as the rule allows, for random graphs") {
  int programs = 0, pairs = 0, several = 0;
  for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
    const ebb::graph g = test::graph_for_plans(seed);
    test::random_numbers random(seed);
    ebb::vec<test::cells> given;
    ebb::vec<std::size_t> symbols(g.syms.count() + 1, 5);
    bool all_static = true, checked = false;
    for (const ebb::shape& s : g.shapes)
      for (int i = 0; i < s.rank; ++i) all_static = all_static && s.e[i] >= 0 && s.e[i] < 100;
    ebb::block_program program(g);
    checked = !program.steps().checks.empty();
    if (!all_static || checked) continue;  // arrays of thousands of elements are for the bands below
    ++programs;
    ebb::vec<ebb::dtype> types(g.inputs, ebb::dtype::f32);
    ebb::vec<std::size_t> sizes(g.inputs, 0);
    for (int k = 0; k < g.size(); ++k)
      if (g.op(k).what == ebb::kind::input) {
        const int number = static_cast<int>(g.eq[k].attr[0]);
        types[number] = g.op(k).result;
        sizes[number] = ebb::volume(g.shape_of(k), symbols.data());
      }
    for (int i = 0; i < g.inputs; ++i) given.push(test::random_cells(random, types[i], sizes[i], 0));
    const ebb::detail::memory_uses uses(program.steps(), size_of(program.steps()), g.out.size(), g.inputs);
    const ebb::vec<int> nowhere(g.out.size(), -1);
    const ebb::vec<test::cells> expected = run_over(program, given, nowhere, symbols);
    ebb::vec<int> many = nowhere;
    ebb::vec<char> taken(g.inputs + 1, 0);
    int count = 0;
    for (int o = 0; o < g.out.size(); ++o)
      for (int a = 0; a < g.inputs; ++a) {
        if (uses.read[a].shape < 0 || !ebb::detail::may_overwrite(uses.written[o], uses.read[a])) continue;
        ebb::vec<int> over = nowhere;
        over[o] = a;
        INFO("seed " << seed << ": result " << o << " over argument " << a << '\n' << ebb::to_string(g));
        REQUIRE(test::difference(run_over(program, given, over, symbols), expected).empty());
        ++pairs;
        if (many[o] < 0 && !taken[a]) {
          many[o] = a;
          taken[a] = 1;
          ++count;
        }
      }
    if (count < 2) continue;
    INFO("seed " << seed << ": " << count << " results over arguments\n" << ebb::to_string(g));
    REQUIRE(test::difference(run_over(program, given, many, symbols), expected).empty());
    ++several;
  }
  CHECK(programs > 500);
  CHECK(pairs > 1000);
  CHECK(several > 200);
}

namespace {

/// Calls f(into(destinations...), arguments...) with all arrays in one block of floats: array i begins at place[i].
template <class... Out, class... In>
std::vector<float> call_in_block(auto f, std::vector<float> block, const std::vector<std::size_t>& place, std::size_t n, std::size_t m,
                                 std::type_identity<std::tuple<Out...>>, std::type_identity<std::tuple<In...>>) {
  float* const start = block.data();
  const auto view_at = [&]<class View>(std::type_identity<View>, std::size_t i) {
    if constexpr (View::rank == 2) return View(start + place[i], n, m);
    else if constexpr (View::rank == 1) return View(start + place[i], m);
    else return View(start + place[i]);
  };
  [&]<std::size_t... O, std::size_t... I>(std::index_sequence<O...>, std::index_sequence<I...>) {
    std::tuple to{view_at(std::type_identity<Out>{}, O)...};
    std::apply([&](auto&... d) { f(ebb::into(d...), view_at(std::type_identity<In>{}, sizeof...(Out) + I)...); }, to);
  }(std::index_sequence_for<Out...>{}, std::index_sequence_for<In...>{});
  return block;
}

using matrix = ebb::view<float, dyn, dyn>;
using row = ebb::view<float, dyn>;
using number = ebb::view<float>;
template <class... V>
inline constexpr std::type_identity<std::tuple<V...>> views{};

/// Places arrays at random: often over another one, one row or one element after it, or apart from all.
template <class... Out, class... In>
void check_in_block(auto f, std::uint64_t seed, std::type_identity<std::tuple<Out...>> out, std::type_identity<std::tuple<In...>> in) {
  constexpr std::size_t results = sizeof...(Out), arguments = sizeof...(In);
  test::random_numbers random(seed);
  int overlapping = 0;
  for (int turn = 0; turn < 400; ++turn) {
    const std::size_t n = 1 + static_cast<std::size_t>(random.below(5)), m = static_cast<std::size_t>(1 + random.below(40));
    const std::size_t most = n * m + m + 4;
    const std::size_t rank[] = {static_cast<std::size_t>(Out::rank)..., static_cast<std::size_t>(In::rank)...};
    const auto size = [&](std::size_t i) { return rank[i] == 2 ? n * m : rank[i] == 1 ? m : 1; };
    std::vector<float> block((results + arguments + 1) * most);
    for (float& x : block) x = static_cast<float>(random.below(2001) - 1000) / 512.f;
    std::vector<std::size_t> apart, place;
    for (std::size_t i = 0; i < results + arguments; ++i) apart.push_back(i * most);
    place = apart;
    for (std::size_t i = 0; i < results; ++i) {
      const std::size_t other = static_cast<std::size_t>(random.below(static_cast<int>(results + arguments)));
      switch (random.below(6)) {
        case 0:
        case 1:
        case 2: place[i] = apart[other]; break;                            // over the whole array or its first row
        case 3: place[i] = apart[other] + (random.below(2) ? 1 : m); break;  // shifted by an element or a row
        case 4: place[i] = apart[other] + size(other) - 1; break;          // over its last element
        default: break;
      }
    }
    std::vector<float> separate = block;
    for (std::size_t i = results; i < results + arguments; ++i)
      std::copy_n(&block[place[i]], size(i), &separate[apart[i]]);
    separate = call_in_block(f, separate, apart, n, m, out, in);
    const std::vector<float> given = call_in_block(f, block, place, n, m, out, in);
    std::vector<float> expected = block;  // as if each result were computed before the first is written, in order
    for (std::size_t o = 0; o < results; ++o) std::copy_n(&separate[apart[o]], size(o), &expected[place[o]]);
    INFO("seed " << seed << ", turn " << turn << ", n " << n << ", m " << m);
    bool one_place = false;
    for (std::size_t o = 0; o < results; ++o)
      for (std::size_t q = 0; q < o; ++q) one_place = one_place || (place[o] < place[q] + size(q) && place[q] < place[o] + size(o));
    if (!one_place) REQUIRE(std::memcmp(given.data(), expected.data(), given.size() * sizeof(float)) == 0);
    overlapping += place != apart && !one_place;
  }
  CHECK(overlapping > 30);
}

}  // namespace

TEST_CASE("destinations at random places among the arguments get the results of separate memory") {
  check_in_block(ebb::compile([](auto x, auto y) { return std::tuple{x + y, x * y}; }), 1, views<matrix, matrix>, views<matrix, matrix>);
  check_in_block(ebb::compile([](auto x, auto y) { return std::tuple{y - x, x}; }), 2, views<matrix, matrix>, views<matrix, matrix>);
  check_in_block(ebb::compile([](auto x, auto r) { return std::tuple{x * r, r + 1.f}; }), 3, views<matrix, row>, views<matrix, row>);
  check_in_block(ebb::compile([](auto x, auto r) {
    const auto s = ebb::sum<0>(x * r);
    return std::tuple{x - s, s * r, ebb::exp(r)};
  }), 4, views<matrix, row, row>, views<matrix, row>);
  check_in_block(ebb::compile([](auto x, auto y) {
    const auto s = ebb::sum(x);
    return std::tuple{x / (s * s + 1.f), ebb::tanh(y), s};
  }), 5, views<matrix, matrix, number>, views<matrix, matrix>);
  check_in_block(ebb::compile([](auto x, auto y) {
    const auto p = ebb::matmul(ebb::transpose(x), y);
    return std::tuple{ebb::matmul(x, p), x + y, y};
  }), 6, views<matrix, matrix, matrix>, views<matrix, matrix>);
  check_in_block(ebb::value_and_grad<0, 1>([](auto x, auto y) { return ebb::sum(ebb::tanh(x) * ebb::softmax(y)); }), 7,
                 views<number, matrix, matrix>, views<matrix, matrix>);
  check_in_block(ebb::compile([](auto x, auto y, auto r, auto s) {
    return std::tuple{ebb::flip<0>(x) + y, y * r, ebb::exp(x) - s, r * ebb::sum<0>(y), s};
  }), 8, views<matrix, matrix, matrix, row, row>, views<matrix, matrix, row, row>);
  check_in_block(ebb::compile([](auto x, auto r) {
                   return std::tuple{ebb::sum<0>(x * r), x * r};
                 }),
                 10, views<row, matrix>, views<matrix, row>);
  // More pairs than are compared one by one: the sweep compares hulls, each of one array.
  check_in_block(ebb::compile([](auto a, auto b, auto c, auto d, auto e, auto f, auto g, auto h) {
    return std::tuple{b, a, d + c, c - d, e * f, ebb::exp(e), g + h, h};
  }), 9, views<matrix, matrix, matrix, matrix, matrix, matrix, matrix, matrix>,
                 views<matrix, matrix, matrix, matrix, matrix, matrix, matrix, matrix>);
}

namespace {

template <template <class, std::size_t...> class Array>
struct block_of_rows {
  using r = Array<float, 5>;
  BOOST_HANA_DEFINE_STRUCT(block_of_rows, (r, a), (r, b), (r, c), (r, d));
};

}  // namespace

TEST_CASE("structs of arrays are written in place: their hulls overlap, and the sweep finds the arrays that do not") {
  constexpr auto step = ebb::compile([](auto p, auto g, auto q) {
    ebb::each_leaf([](auto& x, const auto& y, const auto& z) { x = x - 0.5f * y + z * z; }, p, g, q);
    return p;
  });
  using rows = block_of_rows<ebb::tensor>;
  const auto filled = [](float first) {
    rows r;
    ebb::each_leaf([&](auto& x) { for (float& e : x.mutable_span()) e = first += 0.25f; }, r);
    return r;
  };
  rows p = filled(0), g = filled(7), q = filled(-3);
  const rows expected = step(p, g, q);
  const auto same = [](const rows& x, const rows& y) {
    bool all = true;
    ebb::each_leaf([&](const auto& a, const auto& b) { all = all && std::ranges::equal(a.span(), b.span()); }, x, y);
    return all;
  };
  rows elsewhere = filled(1);
  step(ebb::into(elsewhere), p, g, q);
  CHECK(same(elsewhere, expected));
  step(ebb::into(p), p, g, q);
  CHECK(same(p, expected));
  // Two members change places: neither may be written before the other is read.
  constexpr auto turned = ebb::compile([](auto s, auto t) {
    auto r = s;
    r.a = s.b + t.a;
    r.b = s.a;
    r.c = s.d;
    r.d = s.c * t.d;
    return r;
  });
  const rows turned_once = turned(p, g);
  turned(ebb::into(p), p, g);
  CHECK(same(p, turned_once));
}

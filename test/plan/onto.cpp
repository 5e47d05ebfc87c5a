// test/plan/onto.cpp — products that are added to arrays as they are computed: which ones are, in whose memory, and their bits.
// SPDX-License-Identifier: BSL-1.0
// covers: onto.hpp memory.hpp exec/alias.hpp exec/blocks.hpp op/whole.hpp
#include <ebb/exec/alias.hpp>
#include <ebb/exec/blocks.hpp>
#include <ebb/plan/print.hpp>

#include "../build.hpp"
#include "../catch.hpp"

#include <ebb/op/contract.hpp>
#include <ebb/op/exponential.hpp>
#include <ebb/op/reduce.hpp>
#include <ebb/op/shape.hpp>

#include <cstring>
#include <vector>

using ebb::emit_on, ebb::operand, ebb::plan;
using test::n;

namespace {

auto product(auto x, auto y, std::int64_t attr = 0) { return emit_on<ebb::op::matmul>({attr}, x, y); }

struct counts {
  int products = 0, onto = 0, nests = 0, summed = 0;
  bool operator==(const counts&) const = default;
};
counts counts_of(const plan& p) {
  counts r;
  for (const ebb::plan_step& s : p.steps) {
    r.products += s.nest < 0 && s.what == ebb::kind::contract;
    r.onto += s.onto >= 0;
    r.summed += s.summed.count > 0;
    r.nests += s.nest >= 0;
  }
  return r;
}

/// The results of a plan from tables as floats; result `o` over argument `a` if they are not -1.
std::vector<std::vector<float>> run(const ebb::graph& g, const plan& p, const test::call& c, int o = -1, int a = -1) {
  std::vector<std::vector<float>> in, out;
  for (int i = 0; i < g.inputs; ++i) {
    in.emplace_back();
    for (const ebb::cell x : c.arguments[i]) in.back().push_back(ebb::from_cell<float>(x));
  }
  std::vector<void*> from, to;
  for (auto& x : in) from.push_back(x.data());
  for (int k : g.out) out.emplace_back(ebb::extents_at(g.shape_of(k), c.symbols.data()).volume());
  for (std::size_t i = 0; i < out.size(); ++i) to.push_back(static_cast<int>(i) == o ? from[static_cast<std::size_t>(a)] : out[i].data());
  ebb::block_program(g, p, 64).run(from.data(), to.data(), c.symbols.data());
  if (o >= 0) out[static_cast<std::size_t>(o)] = in[static_cast<std::size_t>(a)];
  return out;
}

/// Plans f of c [n, 16], x [n, 12], w [12, 16], v [16], and compares the bits of the plan with those of the evaluator, also where a result
/// may be written over c.
counts check(auto&& f) {
  const ebb::graph g = ebb::prune(test::build([&](test::builder& b) {
    const auto c = b.in({n, 16}), x = b.in({n, 12}), w = b.in({12, 16}), v = b.in({16});
    return f(b, c, x, w, v);
  }));
  const plan p = ebb::make_plan(g);
  INFO(ebb::to_string(g) << ebb::plan_text(g, p).text());
  const ebb::detail::memory_uses uses(p, size_of(p), g.out.size(), g.inputs);
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const test::call c = test::random_call(g, seed, 5);
    const auto known = ebb::evaluate(g, c.arguments, c.symbols);
    for (int o = -1; o < g.out.size(); ++o) {
      if (o >= 0 && g.eq[g.out[o]].shape != g.eq[g.input(0)].shape) continue;
      if (o >= 0 && !ebb::detail::may_overwrite(uses.written[o], uses.read[0])) continue;
      const auto got = run(g, p, c, o, o < 0 ? -1 : 0);
      for (int i = 0; i < g.out.size(); ++i)
        for (int j = 0; j < known[i].size(); ++j)
          REQUIRE(test::same_cell(ebb::dtype::f32, ebb::to_cell(got[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]),
                                  known[i][j]));
    }
  }
  return counts_of(p);
}
#define EBB_COUNTS(...) \
  check([](test::builder& b, auto c, auto x, auto w, auto v) { (void)c, (void)x, (void)w, (void)v; return b.returns(__VA_ARGS__); })

}  // namespace

TEST_CASE("a nest that adds products to arrays is part of the products' steps") {
  CHECK(EBB_COUNTS(c + product(x, w)) == counts{1, 1, 0});
  CHECK(EBB_COUNTS(product(x, w) + c) == counts{1, 1, 0});
  CHECK(EBB_COUNTS(w + product(x, c, ebb::left_transposed)) == counts{1, 1, 0});
  CHECK(EBB_COUNTS(c + product(x, w), w + product(x, c, ebb::left_transposed)) == counts{2, 2, 0});
  CHECK(EBB_COUNTS(product(c, product(x, w), ebb::right_transposed) + product(x, x, ebb::right_transposed)) == counts{3, 1, 0});
}

TEST_CASE("a nest that sums a batch of products is part of the product's step") {
  const auto sums = [](int m, int k, int n, int first, int last, std::int64_t attr = 0) {
    return check([=](test::builder& b, auto, auto, auto, auto) {
      const bool tx = attr & ebb::left_transposed, ty = attr & ebb::right_transposed;
      const auto x = b.in({3, test::n, 2, tx ? k : m, tx ? m : k}), y = b.in({3, test::n, 2, ty ? n : k, ty ? k : n});
      return b.returns(emit_on<ebb::op::sum>({first, last}, product(x, y, attr)));
    });
  };
  CHECK(sums(16, 5, 16, 0, 3) == counts{1, 0, 0, 1});
  CHECK(sums(16, 1, 16, 0, 3) == counts{1, 0, 0, 1});
  CHECK(sums(16, 5, 16, 1, 3, ebb::left_transposed) == counts{1, 0, 0, 1});
  CHECK(sums(16, 5, 16, 0, 1, ebb::right_transposed) == counts{1, 0, 0, 1});
  CHECK(sums(33, 400, 20, 1, 2) == counts{1, 0, 0, 1});  // k is cut
  CHECK(sums(100, 5, 3, 0, 3) == counts{1, 0, 0, 1});
  CHECK(sums(16, 5, 16, 0, 4) == counts{1, 0, 1, 0});  // rows too
  CHECK(sums(16, 5, 16, 3, 4) == counts{1, 0, 1, 0});
  CHECK(sums(16, 5, 16, 4, 5) == counts{1, 0, 1, 0});
  CHECK(sums(4, 5, 4, 0, 3) == counts{1, 0, 1, 0});  // too small
  CHECK(sums(16, 5, 12, 0, 3) == counts{1, 0, 1, 0});
  const auto batch = [](auto&& f, int rows = 7) {
    return check([&](test::builder& b, auto, auto, auto, auto) {
      const auto x = b.in({rows, 16, 5}), y = b.in({rows, 5, 16});
      return f(b, product(x, y));
    });
  };
  const auto sum = [](auto x) { return emit_on<ebb::op::sum>({0, 1}, x); };
  CHECK(batch([&](auto& b, auto x) { return b.returns(sum(x), x); }) == counts{1, 0, 1, 0});
  CHECK(batch([&](auto& b, auto x) { return b.returns(sum(ebb::tanh(x))); }) == counts{1, 0, 1, 0});
  CHECK(batch([&](auto& b, auto x) { return b.returns(ebb::tanh(sum(x))); }) == counts{1, 0, 1, 1});
  CHECK(batch([&](auto& b, auto x) { return b.returns(ebb::tanh(sum(x))); }, test::n) == counts{1, 0, 2, 0});  // blocks of rows
  CHECK(batch([&](auto& b, auto x) { return b.returns(emit_on<ebb::op::max>({0, 1}, x)); }) == counts{1, 0, 1, 0});
  CHECK(batch([&](auto& b, auto x) { return b.returns(sum(x), emit_on<ebb::op::sum>({1, 2}, x)); }) == counts{1, 0, 1, 0});
}

TEST_CASE("two sums of one nest, and matrices with more elements than an int counts") {
  const auto planned = [](auto&& f) {
    return counts_of(ebb::make_plan(ebb::prune(test::build([&](test::builder& b) { return f(b); }))));
  };
  CHECK(planned([](test::builder& b) {
          const auto c = b.in({16, 16}), x = b.in({16, 16});
          return b.returns(c + product(x, x), x + product(c, c));
        }) == counts{2, 2, 0});
  CHECK(planned([](test::builder& b) {
          const auto c = b.in({65536, 65536}), x = b.in({65536, 4});
          return b.returns(c + product(x, x, ebb::right_transposed));
        }) == counts{1, 1, 0});
}

TEST_CASE("what adds more than a product, or more often, stays a nest") {
  CHECK(EBB_COUNTS(ebb::tanh(c + product(x, w))) == counts{1, 0, 1});
  CHECK(EBB_COUNTS(c * product(x, w)) == counts{1, 0, 1});
  CHECK(EBB_COUNTS(c - product(x, w)) == counts{1, 0, 1});
  CHECK(EBB_COUNTS(product(x, w) + ebb::broadcast_to(v, b.g.eq[c.id].shape, 1)) == counts{1, 0, 1});
  CHECK(check([](test::builder& b, auto c, auto x, auto w, auto) {
          const auto y = product(x, w);
          return b.returns(c + y, y);
        }) == counts{1, 0, 1});
  CHECK(check([](test::builder& b, auto c, auto x, auto w, auto) {
          const auto y = product(x, w);
          return b.returns(c + y, c + ebb::tanh(y));
        }) == counts{1, 0, 1});
  CHECK(check([](test::builder& b, auto, auto x, auto w, auto) {
          const auto y = product(x, w);
          return b.returns(y + y);
        }) == counts{1, 0, 1});
}

TEST_CASE("a sum is written over the array to which a product is added, unless the product reads it") {
  const auto may = [](auto&& f) {
    const ebb::graph g = test::build([&](test::builder& b) {
      const auto c = b.in({16, 16}), x = b.in({16, 16});
      return b.returns(f(c, x));
    });
    const plan p = ebb::make_plan(g);
    REQUIRE(counts_of(p).onto == 1);
    const ebb::detail::memory_uses uses(p, size_of(p), 1, 2);
    return std::pair(ebb::detail::may_overwrite(uses.written[0], uses.read[0]), ebb::detail::may_overwrite(uses.written[0], uses.read[1]));
  };
  CHECK(may([](auto c, auto x) { return c + product(x, x); }) == std::pair(true, false));
  CHECK(may([](auto c, auto x) { return c + product(c, x); }) == std::pair(false, false));
  CHECK(may([](auto c, auto x) { return c + product(x, c); }) == std::pair(false, false));
}

TEST_CASE("the text of a plan names the array to which a product is added") {
  const ebb::graph g = test::build([](test::builder& b) {
    const auto c = b.in({16, 16}), x = b.in({16, 8}), w = b.in({8, 16});
    return b.returns(c + product(x, w));
  });
  CHECK(ebb::plan_text(g, ebb::make_plan(g)).text().find("matmul, which adds to argument 0") != std::string::npos);
}

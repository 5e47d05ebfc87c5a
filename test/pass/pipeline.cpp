// test/pass/pipeline.cpp — the stages of each transformation in their order, and a valid graph after each of them.
// SPDX-License-Identifier: BSL-1.0
#include "random_graph.hpp"

#include "../catch.hpp"
#include "../watched.hpp"


using test::graph;
using ebb::watched;
using test::n;

namespace {

graph energy() {
  return test::build([](test::builder& b) {
    const auto x = b.in<double>({n});
    return b.returns(ebb::sum_over(ebb::exp(x) * x, 1));
  });
}

std::string stages_of(auto&& run) {
  const test::watched_stages seen;
  run();
  return seen.error.empty() ? seen.names : seen.error;
}

/// From a traced graph to two halves that could be planned.
void run_region(const graph& g, const ebb::vec<int>& arguments, bool saves) {
  using ebb::part_of_region;
  const ebb::halves h =
      ebb::split<watched>(ebb::joint_of_region<watched>(g, arguments, ebb::context_of<ebb::off>), g.inputs, g.out.size(), saves);
  static_cast<void>(ebb::lowered<watched>(ebb::distinct_forward<watched>(h.forward).g, part_of_region::forward_half));
  static_cast<void>(ebb::lowered<watched>(ebb::distinct_backward<watched>(h.backward).g, part_of_region::backward_half));
}

}  // namespace

TEST_CASE("each transformation goes through its stages in order") {
  CHECK(stages_of([] { ebb::lowered<watched>(ebb::exact<watched>(energy())); }) == "simplified, lowered");
  CHECK(stages_of([] { ebb::lowered<watched>(ebb::value_and_gradient<watched>(energy(), {0})); }) == "differentiated, simplified, lowered");
  CHECK(stages_of([] { ebb::push_forward<watched>(energy(), {0}); }) == "differentiated, simplified");
  CHECK(stages_of([] { ebb::hessian_vector_product<watched>(energy(), {0}); }) == "differentiated, simplified");
  CHECK(stages_of([] { run_region(energy(), {0}, true); }) ==
        "differentiated both, simplified both, partitioned forward, partitioned backward, distinct forward, lowered forward, "
        "distinct backward, lowered backward");
}

TEST_CASE("a watch sees what runs while it lives, the innermost one alone") {
  const test::watched_stages outer;
  {
    const test::watched_stages inner;
    static_cast<void>(ebb::exact<watched>(energy()));
    CHECK(inner.count == 1);
  }
  CHECK(outer.count == 0);
  static_cast<void>(ebb::lowered<watched>(energy()));
  CHECK(outer.names == "lowered");
  constexpr int at_compile_time = [] {
    return ebb::exact(test::build([](test::builder& b) { return b.returns(-(-b.in({n}))); })).size();
  }();
  CHECK(at_compile_time == 1);
  CHECK(outer.count == 1);
}

TEST_CASE("the graphs of random programs are valid after every stage") {
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const graph g = test::random_graph(seed);
    ebb::vec<int> arguments;
    for (int i = 0; i < g.inputs; ++i) arguments.push(i);
    INFO("seed " << seed << "\n" << ebb::to_string(g));
    const test::watched_stages stages;
    static_cast<void>(ebb::lowered<watched>(ebb::exact<watched>(g)));
    if (ebb::first_without_pull(g, ebb::equations_of_inputs(g, arguments)) < 0) {
      run_region(g, arguments, true);
      run_region(g, arguments, false);
      bool real = true;
      for (int o : g.out) real = real && ebb::is_real(g.op(o).result);
      if (real) static_cast<void>(ebb::push_forward<watched>(g, arguments));
      graph first = g;
      first.out = {g.out[0]};
      if (g.shape_of(g.out[0]).rank == 0 && ebb::is_real(g.op(g.out[0]).result)) {
        static_cast<void>(ebb::lowered<watched>(ebb::value_and_gradient<watched>(first, arguments)));
        static_cast<void>(ebb::hessian_vector_product<watched>(first, arguments));
      }
    }
    CHECK(stages.error == "");
    seen += stages.count;
  }
  CHECK(seen > 200 * 15);
}

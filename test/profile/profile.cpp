// test/profile/profile.cpp — the tape: regions, backwards, nodes, hooks, optimizers and captured chains in a profile.
// SPDX-License-Identifier: BSL-1.0
// covers: profile.hpp base/probe.hpp
#if !defined(EBB_PROFILE)
#define EBB_PROFILE
#endif
#include "../catch.hpp"
#include "rows.hpp"

#include <ebb/ebb.hpp>

namespace {

using ebb::probed;
using test::rows_of;
using test::the_row;
using floats = ebb::tensor<float, ebb::dyn>;
using table_of_four = ebb::tensor<float, ebb::dyn, 4>;

constexpr auto profiled_layer = ebb::compile([](auto x, auto w) { return ebb::tanh(ebb::matmul(x, w)); });
constexpr auto profiled_half = ebb::compile([](auto x) { return 0.5f * x; });
constexpr auto profiled_square = ebb::compile([](auto x) { return ebb::sum(x * x); });

}  // namespace

TEST_CASE("regions, the backward, its nodes, hooks and the optimizer are reported") {
  ebb::variable w(ebb::tensor<float, 4, 3>::full(0.25f));
  const table_of_four x = table_of_four::ones(20);
  ebb::optimizer opt(ebb::sgd{.lr = 0.1}, w);
  const ebb::profile p;
  int seen = 0;
  for (int i = 0; i < 2; ++i) {
    const auto h = profiled_layer(x, w);
    h.register_hook(ebb::opaque([&seen](auto) { ++seen; }));
    ebb::sum(h).backward();
    opt.step();
    opt.zero_grad();
  }
  CHECK(seen == 2);
  CHECK(the_row(p, probed::region, "matmul+tanh").calls == 2);
  CHECK(the_row(p, probed::backward).calls == 2);
  CHECK(the_row(p, probed::node, "matmul+tanh").calls == 2);
  CHECK(the_row(p, probed::optimizer).calls == 2);
  const auto hook = the_row(p, probed::hook);
  CHECK(hook.name == "tensor_pre_hook");
  CHECK(hook.of == "matmul+tanh");
  CHECK(hook.calls == 2);
  CHECK(the_row(p, probed::region, "matmul+tanh").allocations == 2 * 1);
  CHECK(the_row(p, probed::region, "matmul+tanh").allocated == 2 * 4 * 20 * 3);
  CHECK(the_row(p, probed::backward).work.operations == 2 * (2 * 4 * 20 * 3 + 3 * 20 * 3));
}

TEST_CASE("a captured chain is reported with the arrays that it reads and writes") {
  const ebb::compiled_autograd::enable scope;
  ebb::variable x(floats::ones(512));
  const auto once = [&] {
    const auto a = profiled_half(x), b = profiled_half(a), c = profiled_half(b);
    c.backward(floats::ones(512));
    x.zero_grad();
  };
  once();
  const ebb::profile p;
  once();
  const auto chain = the_row(p, probed::chain);
  CHECK(chain.name == "mul, mul, mul");
  CHECK(chain.work.read == 4 * 512);
  CHECK(chain.work.written == 4 * 512);
  CHECK(chain.work.operations == 3 * 512);
  CHECK(rows_of(p, probed::node).empty());
}

TEST_CASE("graphs that are made at run time are programs too") {
  ebb::variable x(floats::ones(100));
  const ebb::profile p;
  const auto y = ebb::sum(x * x * x);
  const auto g = ebb::grad(y, ebb::wrt(x), {.create_graph = true});
  ebb::sum(g).backward();
  CHECK(the_row(p, probed::backward, "ebb::grad").calls == 1);
  bool is_counted = false;
  for (const auto& r : rows_of(p, probed::step)) is_counted = is_counted || (r.work.read >= 400 && r.work.operations >= 100);
  CHECK(is_counted);
}

TEST_CASE("a profile that begins or ends in a hook leaves no open work behind") {
  ebb::variable w(ebb::tensor<float, 8>::ones());
  const ebb::profile whole;
  std::vector<ebb::profile_row> in_hook;
  w.register_hook(ebb::opaque([&](auto) {
    const ebb::profile inside;
    static_cast<void>(profiled_square(floats::ones(100)));
    in_hook = inside.rows();
  }));
  ebb::sum(w * w).backward();
  CHECK(in_hook.size() == 2);
  const auto backward = the_row(whole, probed::backward), hook = the_row(whole, probed::hook);
  CHECK(backward.calls == 1);
  CHECK(hook.calls == 1);
  CHECK(hook.self >= 0);
  CHECK(backward.self >= 0);
}

TEST_CASE("work that throws has ended, and spans beyond the limit are counted") {
  const floats x = floats::ones(300), y = floats::ones(4);
  const ebb::profile p(1);
  ebb::variable w(floats::ones(3));
  w.register_hook(ebb::opaque([](auto) { ebb::raise("no"); }));
#if EBB_EXCEPTIONS
  CHECK_THROWS(ebb::sum(w * w).backward());
  CHECK(the_row(p, probed::hook).calls == 1);
  CHECK(the_row(p, probed::backward).calls == 1);
#endif
  static_cast<void>(profiled_square(x));
  static_cast<void>(profiled_square(y));
  CHECK(p.spans().size() == 1);
  CHECK(p.dropped() >= 3);
}


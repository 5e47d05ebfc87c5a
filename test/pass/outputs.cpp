// test/pass/outputs.cpp — outputs that need not be computed or moved: equations before and after.
// SPDX-License-Identifier: BSL-1.0
#include "../build.hpp"
#include "../catch.hpp"

#include <ebb/op/shaping.hpp>
#include <ebb/pass/outputs.hpp>

using test::graph;
using test::n;

TEST_CASE("an output that is an argument or another output, in any shape, is found and not computed") {
  const graph f = test::build([](test::builder& b) {
    const auto x = b.in({2, 3}), y = b.in({2, 3});
    const auto product = x * y;
    return b.returns(product, y, product, ebb::reshape_to(product, b.shape({6})), ebb::reshape_to(x, b.shape({3, 2})), x + y);
  });
  const ebb::distinct_results r = ebb::distinct_outputs(f);
  CHECK(r.from == ebb::vec<int>{0, ~1, 0, 0, ~0, 1});
  CHECK(ebb::to_string(r.g) ==
        "a = input 0 : f32[2, 3]\nb = input 1 : f32[2, 3]\nc = mul a b : f32[2, 3]\nd = add a b : f32[2, 3]\nreturn c d\n");
}

TEST_CASE("unused arguments are removed, and the others keep their order") {
  const graph f = test::build([](test::builder& b) {
    const auto x = b.in({n}), unused = b.in({n}), z = b.in({n});
    static_cast<void>(unused);
    return b.returns(z * x, z);
  });
  const ebb::fewer_arguments r = ebb::used_arguments(f);
  CHECK(r.kept == ebb::vec<int>{0, 2});
  CHECK(r.g.inputs == 2);
  CHECK(ebb::to_string(r.g) == "a = input 0 : f32[n]\nb = input 1 : f32[n]\nc = mul b a : f32[n]\nreturn c b\n");
  CHECK(r.g.syms.origin(2) == ebb::extent_origin{ebb::extent_rule::argument, 2, 0});  // symbols refer to the old arguments
}

TEST_CASE("dependences tells which outputs depend on which arguments") {
  const graph f = test::build([](test::builder& b) {
    const auto x = b.in({n}), y = b.in({n}), z = b.in({n});
    return b.returns(x * y, z, (x + z) * y);
  });
  CHECK(ebb::dependences(f, 0, 3) == ebb::vec<std::uint64_t>{0b011, 0b100, 0b111});
  CHECK(ebb::dependences(f, 1, 1) == ebb::vec<std::uint64_t>{1, 0, 1});
}

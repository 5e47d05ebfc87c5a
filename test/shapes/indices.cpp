// test/shapes/indices.cpp — arrays repeated to their common extents, and the places of triangles.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/ebb.hpp>
#include <ebb/shapes.hpp>

namespace {

using ebb::dyn;

TEST_CASE("broadcast_arrays repeats arrays to their common extents, and its first and second derivatives are sums") {
  const ebb::tensor<double, dyn, 1> x{{1}, {2}};
  const ebb::tensor<int, dyn> y{10, 20, 30};
  constexpr auto both = [](auto a, auto b) { return ebb::broadcast_arrays(a, b); };
  for (const auto& [a, b] : {ebb::compile(both)(x, y), ebb::broadcast_arrays(x, y)}) {
    CHECK(ebb::all_equal(a, ebb::tensor<double, dyn, dyn>{{1, 1, 1}, {2, 2, 2}}));
    CHECK(ebb::all_equal(b, ebb::tensor<int, dyn, dyn>{{10, 20, 30}, {10, 20, 30}}));
  }
  constexpr auto loss = [](auto a, auto b) {
    const auto [p, q] = ebb::broadcast_arrays(a, b);
    return ebb::sum(p * p * p * q);
  };
  CHECK(ebb::all_equal(ebb::grad(loss)(x, y), ebb::tensor<double, dyn, 1>{{180}, {720}}));
  const auto slope = [](auto a, auto b) {
    return ebb::sum(ebb::grad([](auto c, auto d) {
      const auto [p, q] = ebb::broadcast_arrays(c, d);
      return ebb::sum(p * p * p * q);
    })(a, b));
  };
  CHECK(ebb::all_equal(ebb::grad(slope)(x, y), ebb::tensor<double, dyn, 1>{{360}, {720}}));
  CHECK(std::get<1>(ebb::broadcast_arrays(x, ebb::tensor<double, 0>{})).size() == 0);
  CHECK_THROWS_WITH(ebb::broadcast_arrays(y, ebb::tensor<int, dyn>{1, 2}), Catch::Contains("broadcast_arrays"));
}

TEST_CASE("tril_indices and triu_indices are the places of triangles, row after row, and read them in traced functions") {
  CHECK(ebb::all_equal(ebb::tril_indices<2>(), ebb::tensor<std::int64_t, 2, 3>{{0, 1, 1}, {0, 0, 1}}));
  CHECK(ebb::all_equal(ebb::tril_indices<2, 3, -1>(), ebb::tensor<std::int64_t, 2, 1>{{1}, {0}}));
  CHECK(ebb::all_equal(ebb::triu_indices<2, 3, 1>(), ebb::tensor<std::int64_t, 2, 3>{{0, 0, 1}, {1, 2, 2}}));
  CHECK(ebb::triu_indices<2, 2, 2>().size() == 0);
  const ebb::tensor<double, 2, 2> x{{1, 2}, {3, 4}};
  const auto packed = [](auto a, auto at) { return a(at[0], at[1]); };
  CHECK(ebb::all_equal(ebb::compile(packed)(x, ebb::tril_indices<2>()), ebb::tensor<double, 3>{1, 3, 4}));
}

}  // namespace

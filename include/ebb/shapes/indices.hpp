// ebb/shapes/indices.hpp — arrays repeated to their common extents, and the places of the elements of triangles.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../op/shape.hpp"
#include "../tensor/tensor.hpp"

#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

namespace ebb::inline EBB_ABI {

namespace functions {

/// Argument number Number of broadcast_arrays.
template <int Number>
struct part_of_broadcast {
  static constexpr std::string_view name = "broadcast_arrays";
  static constexpr auto apply(auto... x) {
    const auto own = std::get<Number>(std::tuple(x...));
    graph& g = *own.g;
    using R = std::remove_const_t<decltype(own)>;
    const shape in[] = {x.extents()...};
    for (const int id : {x.id...})
      if (id < 0) return R{&g, id};
    const shape common = broadcast_shapes(g.syms, in, sizeof...(x));
    return common.is_refused() ? R{&g, -common.code()} : broadcast_to<>::like(own, common);
  }
};

}  // namespace functions

namespace detail {

/// The places of an N by M matrix in a triangle, see tril_indices.
template <bool Upper, int N, int M, int K>
constexpr auto triangle_places() {
  const auto each = [](auto f) {
    for (int i = 0; i < N; ++i)
      for (int j = 0; j < M; ++j)
        if (Upper ? j - i >= K : j - i <= K) f(i, j);
  };
  constexpr std::size_t size = [&] {
    std::size_t n = 0;
    each([&](int, int) { ++n; });
    return n;
  }();
  tensor<std::int64_t, 2, size> r;
  std::size_t n = 0;
  each([&, to = r.mutable_data()](int i, int j) {
    to[n] = i;
    to[size + n++] = j;
  });
  return r;
}

}  // namespace detail

/// Arrays repeated to their common extents, in a tuple.   const auto [a, b] = ebb::broadcast_arrays(x, y);
/// Shape: broadcast, for each.   Dtype: theirs.   Saves: nothing.   Error: exact.   Throws: if a call's extents do not fit.
template <class... X>
constexpr auto broadcast_arrays(const X&... x) {
  return [&]<int... Number>(std::integer_sequence<int, Number...>) {
    return std::tuple(apply_function(functions::part_of_broadcast<Number>{}, x...)...);
  }(std::make_integer_sequence<int, sizeof...(X)>{});
}
/// The rows and the columns of the elements of an N by M matrix on its diagonal number K and below, or, triu_indices, above; row after row.
/// It is an array, to pass to traced functions:   gather_nd(x, at[0], at[1]), where ebb::tril_indices<3>() is given for `at`
/// Shape: [2, their number].   Dtype: int64, no gradient.   Saves: nothing.   Error: exact.   Source: torch.tril_indices.
template <int N, int M = N, int K = 0>
constexpr auto tril_indices() {
  return detail::triangle_places<false, N, M, K>();
}
template <int N, int M = N, int K = 0>
constexpr auto triu_indices() {
  return detail::triangle_places<true, N, M, K>();
}

}  // namespace ebb::inline EBB_ABI

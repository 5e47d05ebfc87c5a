// ebb/kernel/slots.hpp — the values of a nest while it runs.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../tensor/nest.hpp"
#include "convert.hpp"
#include "lanes.hpp"
#include "narrow.hpp"

#include <cstddef>

namespace ebb::inline EBB_ABI {

namespace detail {

template <dtype D>
struct type_for;
template <> struct type_for<dtype::boolean> { using type = bool; };
template <> struct type_for<dtype::i32> { using type = std::int32_t; };
template <> struct type_for<dtype::i64> { using type = std::int64_t; };
template <> struct type_for<dtype::f16> { using type = float16; };
template <> struct type_for<dtype::bf16> { using type = bfloat16; };
template <> struct type_for<dtype::f32> { using type = float; };
template <> struct type_for<dtype::f64> { using type = double; };
template <dtype D>
using type_of = typename type_for<D>::type;

/// The values of a nest while it runs: one array of lanes for each dtype.
template <int B, int I, int L, int H, int N, int F, int D>
struct local_slots {
  lanes<bool> b[B + 1];
  lanes<std::int32_t> i[I + 1];
  lanes<std::int64_t> l[L + 1];
  lanes<float16> h[H + 1];
  lanes<bfloat16> n[N + 1];
  lanes<float> f[F + 1];
  lanes<double> d[D + 1];

  /// The offset of a slot in bytes.
  static constexpr std::size_t offset_of(slot s) {
    constexpr std::size_t first[] = {offsetof(local_slots, b), offsetof(local_slots, i), offsetof(local_slots, l), offsetof(local_slots, h),
                                     offsetof(local_slots, n), offsetof(local_slots, f), offsetof(local_slots, d)};
    constexpr std::size_t size[] = {sizeof *b, sizeof *i, sizeof *l, sizeof *h, sizeof *n, sizeof *f, sizeof *d};
    const int type = static_cast<int>(s.type);
    return first[type] + static_cast<std::size_t>(s.number) * size[type];
  }

  template <dtype T>
  EBB_INLINE auto* array() {
    if constexpr (T == dtype::boolean) return b;
    else if constexpr (T == dtype::i32) return i;
    else if constexpr (T == dtype::i64) return l;
    else if constexpr (T == dtype::f16) return h;
    else if constexpr (T == dtype::bf16) return n;
    else if constexpr (T == dtype::f32) return f;
    else return d;
  }
  template <slot S>
  EBB_INLINE lanes<type_of<S.type>>& at() {
    return array<S.type>()[S.number];
  }
};

}  // namespace detail

}  // namespace ebb::inline EBB_ABI

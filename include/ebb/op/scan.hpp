// ebb/op/scan.hpp — running results along an axis: cumsum.
// SPDX-License-Identifier: BSL-1.0
//
//   cumsum(x)   cumsum<0>(x)   cumsum<1>(x, reversed, exclusive_scan)         the axis is the last one by default; tags in any order
#pragma once

#include "axes.hpp"

namespace ebb::inline EBB_ABI {

/// attr 1 of a scan.
inline constexpr std::int64_t scan_reversed = 1, scan_exclusive = 2;

/// Tags of scans. reversed: from the last element to the first. exclusive_scan: a result does not include its own element.
struct reversed_tag {
  static constexpr std::int64_t flag = scan_reversed;
};
struct exclusive_tag {
  static constexpr std::int64_t flag = scan_exclusive;
};
inline constexpr reversed_tag reversed{};
inline constexpr exclusive_tag exclusive_scan{};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// Combines elements along axis attr 0 with `value(accumulated, x)`, starting from `identity<T>()`; each step is a result. attr 1:
/// scan_reversed, scan_exclusive. See [note: order of a scan].
struct running : op_base {
  static constexpr kind what = kind::scan;
  static constexpr int arity = 1;
  static constexpr bool heavy = true;
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t* attr) {
    return attr[0] < 0 || attr[0] >= in[0].rank ? refused(103) : s.find(in[0]);
  }
};

/// Running sums.   Saves: nothing.   Error: a chain of additions.
struct cumsum : running {
  static constexpr std::string_view name = "cumsum";
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  static constexpr auto value(auto accumulated, auto x) { return accumulated + x; }
  static constexpr auto pull(auto g, auto, auto out) {
    return grads(emit_on<cumsum>({out.attribute(0), out.attribute(1) ^ scan_reversed}, g));
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

template <int Axis, std::int64_t Flags>
struct cumsum {
  template <class T>
  static constexpr auto apply(operand<T> x) {
    using Sum = std::conditional_t<real_element<T>, T, std::int64_t>;
    using Wide = detail::computed_in<Sum>;
    const int axis = axis_of(Axis, x.rank());
    if (!has_axis(axis, x.rank())) return refuse<Sum>(*x.g, 103);
    return cast_to<Sum>(emit_on<op::cumsum>({axis, Flags}, cast_to<Wide>(x)));
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI::detail {

template <class Tag>
inline constexpr bool is_scan_tag = std::is_same_v<Tag, reversed_tag> || std::is_same_v<Tag, exclusive_tag>;
template <class Tag>
constexpr std::int64_t scan_flag() {
  if constexpr (is_scan_tag<Tag>) return Tag::flag;
  else return 0;
}

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI {

/// Running sums along an axis, by default the last one.   Shape: x's.
/// Dtype: integers and bool give int64; bf16 and f16 are added in float and each result is rounded once.
/// Saves: nothing.   Error: a chain of additions in rising order, see [note: order of a scan]. Along the last axis the latency of the
/// additions limits the speed, so eight rows run side by side; along other axes the lanes are columns.
template <int Axis = -1, class X, class... Tag>
constexpr auto cumsum(X&& x, Tag...) {
  static_assert((detail::is_scan_tag<Tag> && ...),
                "[ebb E0283] cumsum, cumprod: after the array come tags: ebb::reversed, ebb::exclusive_scan");
  return apply_function(functions::cumsum<Axis, (std::int64_t{0} | ... | detail::scan_flag<Tag>())>{}, std::forward<X>(x));
}

}  // namespace ebb::inline EBB_ABI

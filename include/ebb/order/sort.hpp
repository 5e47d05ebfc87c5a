// ebb/order/sort.hpp — sort, argsort, topk and kthvalue along an axis.
// SPDX-License-Identifier: BSL-1.0
//
//   auto [values, places] = sort(x);          sort<0>(x, descending)        along the last axis, or along another one
//   auto [values, places] = topk<-1, 3>(x);   topk<-1, 3>(x, smallest)      the 3 largest or smallest elements, in order
//   auto [value, place] = kthvalue<-1, 2>(x);                               the second smallest
// Places are int64. For the comparison of elements see [note: order of elements].
#pragma once

#include "sorting.hpp"

#include "../op/along.hpp"
#include "../op/whole.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI {

/// Tags: `descending` makes sort and argsort use falling order, `smallest` makes topk give the smallest elements in rising order.
struct descending_tag {};
struct smallest_tag {};
inline constexpr descending_tag descending{};
inline constexpr smallest_tag smallest{};

template <class Call>
struct refusal<360, Call> : Call {
  static_assert(Call::code != 360, "[ebb E0360] topk, kthvalue: the axis has fewer elements than are asked for");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// The places of the elements along the last axis, in the order of the elements. attr 0: 1 for falling order. attr 1: the number of places
/// wanted, or 0 for all.
/// Saves: nothing, no gradient.   Error: exact.
struct argsort : op_base {
  static constexpr std::string_view name = "argsort";
  static constexpr kind what = kind::rows;
  static constexpr int arity = 1;
  static constexpr domain accepts = domain::any;
  static constexpr bool heavy = true;
  template <class T>
  using result = std::int64_t;

  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t* attr) {
    const int last = in[0].rank - 1, wanted = static_cast<int>(attr[1]);
    if (last < 0) return refused(103);
    const shape x = s.find(in[0]);
    if (wanted == 0) return x;
    if (x.e[last] >= 0 && x.e[last] < wanted) return refused(360);
    s.derive(extent_rule::difference, x.e[last], wanted);  // the call checks that it is not negative
    return with_extent(x, last, wanted);
  }
  template <class T>
  static constexpr void row(const T* const* in, const std::size_t* length, std::int64_t* places, std::size_t wanted,
                            const std::int64_t* attr) {
    vec<std::int64_t> sorted;
    const auto key = [&](std::int64_t i) { return kernel::sort_key(in[0][i], attr[0] != 0); };
    for (std::size_t i = 0; i < length[0]; ++i) {
      int at = sorted.push(static_cast<std::int64_t>(i));
      for (; at > 0 && key(sorted[at - 1]) > key(static_cast<std::int64_t>(i)); --at) sorted[at] = sorted[at - 1];
      sorted[at] = static_cast<std::int64_t>(i);
    }
    for (std::size_t i = 0; i < wanted; ++i) places[i] = sorted[static_cast<int>(i)];
  }
  template <class T>
  static void whole(const whole_call& c) {
    const extent_list& x = c.shapes[0];
    const std::size_t n = x.e[x.rank - 1], wanted = c.result.e[x.rank - 1];
    if (c.result.volume() == 0) return;
    auto* const places = static_cast<std::int64_t*>(c.out);
    kernel::sort_rows(static_cast<const T*>(c.in[0]), x.volume(0, x.rank - 1), n, places, wanted, c.attr[0] != 0);
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

/// The places of the first Count elements in order, or of all if Count is 0.
template <int Axis, bool Descending, int Count = 0>
struct argsort {
  static constexpr detail::spelled name = Count ? detail::spelled("topk", Axis, Count) : detail::spelled("sort", Axis);
  template <class T>
  static constexpr operand<std::int64_t> apply(operand<T> x) {
    const int axis = axis_of(Axis, x.rank()), last = x.rank() - 1;
    if (x.is_refused() || !has_axis(axis, x.rank())) return refuse<std::int64_t>(*x.g, x.is_refused() ? -x.id : 103);
    return axis_moved(emit_on<op::argsort>({Descending, Count}, axis_moved(x, axis, last)), last, axis);
  }
};

/// The last of the first K places along an axis, which is dropped.
template <int Axis, int K>
struct last_place {
  static constexpr detail::spelled name{"kthvalue", Axis, K};
  template <class T>
  static constexpr operand<T> apply(operand<T> sorted) {
    return sorted.is_refused() ? sorted : select<Axis, K - 1>::apply(sorted);
  }
};

template <int Axis, int K>
struct kth_place {
  static constexpr detail::spelled name{"kthvalue", Axis, K};
  static constexpr operand<std::int64_t> apply(auto x) { return last_place<Axis, K>::apply(argsort<Axis, false, K>::apply(x)); }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI::detail {

template <class... Tag>
inline constexpr bool are_sort_tags = sizeof...(Tag) <= 1 && (std::is_same_v<Tag, descending_tag> && ...);
template <class... Tag>
inline constexpr bool are_topk_tags = sizeof...(Tag) <= 1 && (std::is_same_v<Tag, smallest_tag> && ...);

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI {

/// The places of the elements along an axis, in rising order of the elements, or in falling order with the tag descending. Equal elements
/// keep their order: see [note: order of elements].
/// Shape: x's.   Dtype: int64, no gradient.   Saves: nothing.   Error: exact.
template <int Axis = -1, class X, class... Tag>
constexpr auto argsort(X&& x, Tag...) {
  static_assert(detail::are_sort_tags<Tag...>, "[ebb E0361] sort, argsort: after the array comes nothing, or the tag ebb::descending");
  return apply_function(functions::argsort<Axis, (sizeof...(Tag) > 0)>{}, std::forward<X>(x));
}
/// The elements along an axis in order, and their places, in a tuple: see argsort. The gradient of a value goes to its element.
/// Shape: x's.   Dtype: x's, and int64.   Saves: the places.   Error: exact.
template <int Axis = -1, class X, class... Tag>
constexpr auto sort(const X& x, Tag... tag) {
  const auto places = ebb::argsort<Axis>(x, tag...);
  return std::tuple(ebb::take_along_axis<Axis>(x, places), places);
}
/// The K largest elements along an axis in falling order, or with the tag smallest the K smallest in rising order, and their places, in a
/// tuple. Of equal elements the first ones are taken. NaN counts as the largest.
/// Shape: x's, with K elements along the axis.   Dtype: x's, and int64.   Saves: the places.   Error: exact.
/// Throws: if a call's axis has fewer elements.
template <int Axis, int K, class X, class... Tag>
constexpr auto topk(const X& x, Tag...) {
  static_assert(detail::are_topk_tags<Tag...>, "[ebb E0362] topk: after the array comes nothing, or the tag ebb::smallest");
  static_assert(K > 0, "[ebb E0363] topk, kthvalue: at least one element is asked for, and the first is number 1");
  const auto places = apply_function(functions::argsort<Axis, (sizeof...(Tag) == 0), (K > 0 ? K : 1)>{}, x);
  return std::tuple(ebb::take_along_axis<Axis>(x, places), places);
}
/// The K-th smallest element along an axis, and its place, in a tuple. NaN counts as the largest.
/// Shape: x's without the axis.   Dtype: x's, and int64.   Saves: the place.   Error: exact.
/// Throws: if a call's axis has fewer elements.
template <int Axis, int K, class X>
constexpr auto kthvalue(const X& x) {
  static_assert(K > 0, "[ebb E0363] topk, kthvalue: at least one element is asked for, and the first is number 1");
  const auto place = apply_function(functions::kth_place<Axis, (K > 0 ? K : 1)>{}, x);
  return std::tuple(apply_function(functions::element_at<Axis>{}, x, place), place);
}

}  // namespace ebb::inline EBB_ABI

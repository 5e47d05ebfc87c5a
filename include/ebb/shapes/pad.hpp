// ebb/shapes/pad.hpp — borders that continue an array: reflect, symmetric, replicate, circular.
// SPDX-License-Identifier: BSL-1.0
//
//   ebb::pad<-1, 2, 1>(x, ebb::reflect)
//
// a b c d with borders of 2 and 1:
//   reflect   c b | a b c d | c        replicate  a a | a b c d | d
//   symmetric b a | a b c d | d        circular   c d | a b c d | a
// A negative width takes elements away: circular then continues what is left, the others continue the whole array, as in PyTorch.
// A border is a slice, reversed for reflect and symmetric. So its gradient is added in a fixed order, and nothing is scattered.
#pragma once

#include "../op/shape.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<391, Call> : Call {
  static_assert(Call::code != 391, "[ebb E0391] pad: a border is wider than the array that it continues; reflect leaves out the outermost");
};

/// Tags of pad.
struct reflect_tag {
  static constexpr bool turned = true;
  static constexpr int from = 1;  // the first element that the border repeats, counted from the edge
  static constexpr std::string_view name = "reflect";
};
struct symmetric_tag {
  static constexpr bool turned = true;
  static constexpr int from = 0;
  static constexpr std::string_view name = "symmetric";
};
struct circular_tag {
  static constexpr bool turned = false;
  static constexpr int from = 0;
  static constexpr std::string_view name = "circular";
};
struct replicate_tag {
  static constexpr bool turned = false;
  static constexpr int from = 0;
  static constexpr std::string_view name = "replicate";
};
inline constexpr reflect_tag reflect{};
inline constexpr symmetric_tag symmetric{};
inline constexpr circular_tag circular{};
inline constexpr replicate_tag replicate{};

template <class M>
concept border_tag =
    std::same_as<M, reflect_tag> || std::same_as<M, symmetric_tag> || std::same_as<M, circular_tag> || std::same_as<M, replicate_tag>;

namespace functions {

template <class Mode, int Axis, int Before, int After>
struct pad_with {
  static constexpr std::string_view name = "pad";
  // PyTorch's lists have reflect and replicate pads only.
  static constexpr precision autocast =
      std::same_as<Mode, reflect_tag> || std::same_as<Mode, replicate_tag> ? precision::full : precision::as_is;
  template <class T>
  static constexpr operand<T> apply(operand<T> x) {
    using cut = pad<Axis, (Before < 0 ? Before : 0), (After < 0 ? After : 0)>;
    using wider = pad_with<Mode, Axis, (Before < 0 ? 0 : Before), (After < 0 ? 0 : After)>;
    if constexpr (Before >= 0 && After >= 0) return continued(x);
    else if constexpr (std::same_as<Mode, circular_tag>) {
      const auto kept = cut::apply(x);
      return kept.is_refused() ? kept : wider::apply(kept);
    } else {
      const auto whole = wider::apply(x);
      return whole.is_refused() ? whole : cut::apply(whole);
    }
  }

 private:
  template <class T>
  static constexpr operand<T> continued(operand<T> x) {
    const int axis = axis_of(Axis, x.rank());
    if (!has_axis(axis, x.rank())) return refuse<T>(*x.g, 103);
    constexpr bool copies = std::same_as<Mode, replicate_tag>;
    constexpr int widest = Before > After ? Before : After, needed = copies ? widest > 0 : widest + (widest > 0 ? Mode::from : 0);
    graph& g = *x.g;
    const int length = x.extent(axis);
    if (length >= 0 && length < needed) return refuse<T>(g, 391);
    if (length < 0) g.syms.derive(extent_rule::difference, length, needed);  // the call checks that it is not negative
    vec<int> parts;
    if (Before > 0) parts.push(border(x, axis, true).id);
    parts.push(x.id);
    if (After > 0) parts.push(border(x, axis, false).id);
    if (parts.size() == 1) return x;
    return {&g, emit<op::concat, T>(g, range_of(parts), {axis})};
  }
  template <class T>
  static constexpr operand<T> border(operand<T> x, int axis, bool before) {
    const int width = before ? Before : After;
    const shape to = with_extent(x.extents(), axis, width);
    const auto part = [&](int start, int step, int count) {
      return slice_as(x, {axis, start, step}, x.g->intern(with_extent(x.extents(), axis, count)));
    };
    if constexpr (std::same_as<Mode, replicate_tag>) return detail::fit(part(before ? 0 : -1, 1, 1), to);
    else if constexpr (Mode::turned) return before ? part(width - 1 + Mode::from, -1, width) : part(-1 - Mode::from, -1, width);
    else return before ? part(-width, 1, width) : part(0, 1, width);
  }
};

}  // namespace functions

/// x with a border that continues it at both ends of an axis: reflect, symmetric, replicate or circular. A negative width takes elements
/// away: circular then continues what is left, the others the whole array.   pad<-1, 2, 1>(x, ebb::reflect)
/// Shape: x's, with Before + After more elements along the axis.   Dtype: x's.   Saves: nothing.   Error: exact.
/// Autocast: full for reflect and replicate, as in PyTorch's lists.
/// Throws: if a call's axis is shorter than a border, or if more elements are taken away than there are. reflect needs one element more
/// than a border has, replicate needs one element.
/// Source: torch.nn.functional.pad.
template <int Axis, int Before, int After, class X, border_tag Mode>
constexpr auto pad(X&& x, Mode) {
  return apply_function(functions::pad_with<Mode, Axis, Before, After>{}, std::forward<X>(x));
}

}  // namespace ebb::inline EBB_ABI

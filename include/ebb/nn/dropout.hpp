// ebb/nn/dropout.hpp — dropout and dropout_channels: elements are dropped by a key, which is an argument of the function.
// SPDX-License-Identifier: BSL-1.0
//
// dropout drops the elements that ebb::bernoulli(key, p) marks, see [note: keys in traced functions]. Nothing is saved but the key and p: a
// backward draws the same numbers again. Inside `map` a key that all rows share drops the same elements of each row: give each row a key.
// Inside of a graph a key and p are five real numbers.
#pragma once

#include "attend.hpp"

#include "../op/arithmetic.hpp"
#include "../op/compare.hpp"
#include "../op/contract.hpp"
#include "../op/gather.hpp"
#include "../op/loss_option.hpp"
#include "../op/move.hpp"
#include "../op/operators.hpp"
#include "../op/random.hpp"
#include "../op/whole.hpp"

namespace ebb::inline EBB_ABI::detail {

/// Reads a key and p from five numbers: in(i) is the number i.
constexpr kernel::dropping dropping_from(auto&& in) {
  return {key_from(in), static_cast<double>(in(4))};
}
/// The five numbers of a key and p.
template <class T, class I>
constexpr operand<T> noise_of(operand<I> key, operand<T> p) {
  shape one;
  one.push(1);
  return {key.g, emit<op::concat, T>(*key.g, {words_of<T>(key).id, view_as(p, one).id}, {0})};
}

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

/// 0 for elements that are dropped, 1 / (1 - p) for others, from the five numbers of a key and p. The shape is given, not inferred; it may
/// have leading axes for which there are keys of their own.   Saves: nothing: it has no gradient.   Error: 0.5 ulp.
struct dropout_scale : from_key {
  static constexpr std::string_view name = "dropout_scale";
  template <class T>
  static void whole(const whole_call& c) {
    using S = ebb::detail::computed_in<T>;
    const T* const noise = static_cast<const T*>(c.in[0]);
    const std::size_t keys = c.shapes[0].volume() / 5;
    if (keys == 0) return;
    const std::size_t size = c.result.volume() / keys;
    for (std::size_t k = 0; k < keys; ++k) {
      const auto dropped = ebb::detail::dropping_from([&](std::size_t i) { return static_cast<S>(noise[5 * k + i]); });
      T* const out = static_cast<T*>(c.out) + k * size;
      S block[64];
      for (std::size_t i = 0; i < size; i += 64) {
        const std::size_t n = std::min<std::size_t>(64, size - i);
        std::fill_n(block, n, 1);
        dropped.apply(block, i, static_cast<std::ptrdiff_t>(n));
        for (std::size_t j = 0; j < n; ++j) out[i + j] = static_cast<T>(block[j]);
      }
    }
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    const std::size_t keys = c.in[0].volume() / 5;
    for (std::size_t k = 0; k < keys; ++k) {
      const auto dropped = ebb::detail::dropping_from([&](std::size_t i) { return in(0, 5 * k + i); });
      const std::size_t size = c.out.volume() / keys;
      for (std::size_t i = 0; i < size; ++i) {
        S one = 1;
        dropped.apply(&one, i, 1);
        put(k * size + i, one);
      }
    }
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<452, Call> : Call {
  static_assert(Call::code != 452, "[ebb E0452] dropout: the probability is a number from 0 to 1, above 0 in attention that takes a key");
};
template <class Call>
struct refusal<538, Call> : Call {
  static_assert(Call::code != 538, "[ebb E0538] dropout_channels: x has two axes or more, those of examples and of channels first");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

/// If ByChannel, all elements with the same places in the first two axes share one random number.
template <bool ByChannel>
struct dropout {
  static constexpr std::string_view name = ByChannel ? "dropout_channels" : "dropout";
  template <class X, class I>
  static constexpr auto apply(operand<X> given, auto p, operand<I> key) {
    using T = decltype(detail::accepted<op::dropout_scale, X>());
    using Wide = detail::computed_in<T>;
    graph& g = *given.g;
    if (given.is_refused() || key.is_refused()) return refuse<T>(g, given.is_refused() ? -given.id : -key.id);
    if constexpr (!index_element<I>) return refuse<T>(g, 525);
    else {
      if (key.rank() != 0) return refuse<T>(g, 525);
      if (rank_of_operand(p) != 0) return refuse<T>(g, 452);
      const auto x = cast_to<Wide>(given), chance = of_number<Wide>(p, g);
      if (ByChannel && x.rank() < 2) return refuse<T>(g, 538);
      const int drawn = ByChannel ? g.intern(axes_between(x.extents(), 0, 2)) : x.shape_number();
      operand<Wide> scale{&g, emit_as<op::dropout_scale, Wide>(g, drawn, {detail::noise_of<Wide>(key, chance).id})};
      if (ByChannel && x.rank() > 2) scale = repeat(scale, x, axis_run(2, x.rank()));
      // Dropped elements are 0, even if they were infinite.
      const auto kept = emit_on<op::not_equal>({}, scale, literal_like(scale, 0));
      return cast_to<T>(emit_on<op::where>({}, kept, x, literal_like(x, 0)) * scale);
    }
  }

 private:
  template <class T>
  static constexpr operand<T> of_number(number auto p, graph& g) {
    return literal_in<T>(g, g.intern({}), p);
  }
  template <class T, class P>
  static constexpr operand<T> of_number(operand<P> p, graph&) {
    return cast_to<T>(emit_on<op::stop_gradient>({}, p));
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// x / (1 - p), or 0 for each element that is dropped, with the probability p: those that ebb::bernoulli(key, p) marks.
///   dropout(x, 0.1, key)
/// p is a number or a term of rank 0, and gets no gradient; p = 1 gives zeros, and p below 0 counts as 0. See [note: keys in traced
/// functions].
/// Shape: x's.   Dtype: x's; integers give float; bf16 and f16 are computed in float and rounded once.
/// Saves: the key and p.   Error: 1 ulp.   Source: torch.nn.functional.dropout.
template <class X, class P, class Key>
constexpr auto dropout(const X& x, const P& p, const Key& key) {
  return apply_function(functions::dropout<false>{}, x, p, key);
}
/// As dropout, but a channel is dropped whole: all elements with the same places in the first two axes, where bernoulli(key, p) of these
/// two axes says so. Elements of an image's channel that are near are alike: dropping single ones would hide little.
///   dropout_channels(images, 0.1, key)
/// Shape: x [n, channels, ...]: x's; it has two axes or more.   Dtype: as dropout.   Saves: the key and p.   Error: 1 ulp.
/// Source: J. Tompson et al., Efficient object localization using convolutional networks (2015); torch.nn.functional.dropout2d.
template <class X, class P, class Key>
constexpr auto dropout_channels(const X& x, const P& p, const Key& key) {
  return apply_function(functions::dropout<true>{}, x, p, key);
}

}  // namespace ebb::inline EBB_ABI

// ebb/exec/map_batches.hpp — map on some rows at a time.
// SPDX-License-Identifier: BSL-1.0
//
//   ebb::map<ebb::batch_size<64>>(f, x, ebb::whole(w))      64 rows of x at a time
//
// [note: map in batches]
// It is a scan without a carry, whose step is map on a batch of rows. A region on the tape saves its arguments alone: the backward computes
// the values of one batch at a time again. For 100,000 rows through four layers of 64 floats it takes 5 MB in place of 98, and 1.5 times
// the time. If map and its gradient are one program, [note: blocks of rows] saves that memory without it.
#pragma once

#include "eager.hpp"

#include "../trace/scan.hpp"

namespace ebb::inline EBB_ABI {

/// The number of rows that map takes at a time.
template <int Rows>
struct batch_size {
  static_assert(Rows > 0, "[ebb E0546] ebb::batch_size: a batch has at least one row");
};

namespace detail {

/// F on the rows of a batch, as some steps of a scan.
template <class F, bool... Whole>
struct mapped_batch {
  template <class... A>
  constexpr auto operator()(const std::tuple<>& nothing, const A&... a) const {
    return std::tuple(nothing, apply_function(functions::map<F, Whole...>{}, a...));
  }
};

/// F on the rows of its arguments, Rows of them at a time. Whole: the arguments that are not split into rows.
template <int Rows, class F, bool... Whole>
struct mapped_in_batches {
  template <class... A>
  using call = mapped<F, std::integer_sequence<bool, Whole...>, A...>;

  template <class... A>
  constexpr auto operator()(const A&... a) const {
    if constexpr ((is_in_context<A> || ...)) {
      using C = context_among<A...>;
      return into_context<C>(mapped_in_batches<Rows, entered<C, F>, Whole...>{}(into_context<off>(a)...));
    } else if constexpr ((number<A> || ...)) return (*this)(as_term<promoted_among<A...>>(*first_graph(a...), a)...);
    else {
      constexpr std::size_t count = known_rows({row<A, Whole>::count...});
      constexpr int code = call<A...>::code;
      static_cast<void>(refuse_function<code>{});
      if constexpr (code != 0) return refused_result{};
      else if constexpr (count <= std::size_t{Rows}) return apply_function(functions::map<F, Whole...>{}, a...);
      else {
        graph& g = *first_graph(a...);
        g.syms.asking = "map";
        using batches = segments<mapped_batch<F, Whole...>, scan_options<false, kept_carries{Rows}>, count, Whole...>;
        return std::get<1>(batches::apply(g, std::tuple<>(), a...));
      }
    }
  }
};

template <class Function>
struct map_batches_spec : compile_spec<Function> {
  static constexpr const char* name = "ebb::map";
};

template <class Function, class... A>
constexpr auto called_in_batches(const A&... a) {
  if constexpr (are_traced<A...>) return Function{}(a...);
  else return program_function<map_batches_spec<Function>>{}(as_eager_argument<promoted_among<A...>>(a)...);
}

template <class Size>
inline constexpr int rows_of_batch = 0;
template <int Rows>
inline constexpr int rows_of_batch<batch_size<Rows>> = Rows;

}  // namespace detail

/// f for each row along the first axis of the arguments, a batch of rows at a time: map<batch_size<64>>(f, x, whole(w)). All else is as in
/// map. JAX's jax.lax.map has the same option.
/// Shape: f's result with a leading axis.   Saves: the arguments; the backward computes a batch again, see [note: map in batches].
/// Error: each row has the bits of a call of f on that row; gradients of what is whole are sums over batches of sums over their rows.
template <class Size, class F, class... A>
  requires(detail::rows_of_batch<Size> != 0)
constexpr auto map(F, const A&... a) {
  using function = detail::mapped_in_batches<detail::rows_of_batch<Size>, F, detail::is_whole<A>...>;
  using call = detail::call_of_map<F, A...>;
  static_cast<void>(detail::refuse_call<call>{});
  if constexpr (call::code != 0) return refused_result{};
  else return detail::called_in_batches<function>(detail::unwrapped(a)...);
}

}  // namespace ebb::inline EBB_ABI

// ebb/shapes/segment.hpp — sums, means, extrema and softmax of segments: a segment is all elements with the same id.
// SPDX-License-Identifier: BSL-1.0
//
// Ids are int32 or int64, from 0 on, in any order. They have the first axes of x; each id is that of a part of x along the other axes.
// The count of segments is a template argument, or the leading extent of an array:
//   segment_sum<3>(x, ids)   segment_sum(x, ids, centres)
// An id that is negative or too large is an error of the call. Sums are added in the order of the elements.
#pragma once

#include "../op/along.hpp"
#include "../op/activation.hpp"
#include "../op/reduce.hpp"

namespace ebb::inline EBB_ABI::op {

/// Equal extrema share the gradient evenly; if the result is a NaN, the NaNs share it: see shared_by_ties. attr 0, F: as for gather.
/// Shape: given, not inferred.   Saves: x, indices, out.   Error: exact.
template <class I, class F>
struct extremum_at : by_rows<I> {
  static constexpr std::string_view asker = short_name_of<F>();
  static constexpr kind what = kind::scatter;
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<I> indices, operand<T> out) {
    const std::int64_t own = out.attribute(0);
    const auto along = [&](auto y) { return emit_on<gather<I, F>, T>({own}, y, indices); };
    const auto tied = emit_on<logical_or>({}, emit_on<equal>({}, x, along(out)), emit_on<isnan>({}, x));
    // A segment without elements gets the count 1, so that nothing is divided by 0.
    const auto count = summed_at<F>(cast_to<T>(tied), indices, out.extents(), static_cast<int>(own));
    const auto share = g / cast_to<T>(emit_on<maximum>({}, count, literal_like(count, 1)));
    return grads(emit_on<where>({}, tied, along(share), literal_like(x, 0)), nothing);
  }
};

/// The largest of the rows of operand 0 with one index in operand 1; the lowest value where there is none.
template <class I, class F = functions::take>
struct scatter_max : extremum_at<I, F>, larger {
  static constexpr std::string_view name = "scatter_max";
};

/// The smallest of the rows of operand 0 with one index in operand 1; the highest value where there is none.
template <class I, class F = functions::take>
struct scatter_min : extremum_at<I, F>, smaller {
  static constexpr std::string_view name = "scatter_min";
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<384, Call> : Call {
  static_assert(Call::code != 384, "[ebb E0384] segments: the numbers are integers, with the extents of the first axes of x");
};
template <class Call>
struct refusal<385, Call> : Call {
  static_assert(Call::code != 385, "[ebb E0385] segments: without a template argument the third operand has their count as leading extent");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

/// The common part of segment functions: calls f(x, ids, shape of the result). With N = dyn, the count of segments is the leading extent of
/// the third operand.
template <std::size_t N>
struct segments {
  template <class R>
  static constexpr R of(auto x, auto ids, auto f) {
    return checked<R>(x, ids, static_cast<int>(N), f);
  }
  template <class R>
  static constexpr R of(auto x, auto ids, auto like, auto f) {
    if (!like.is_refused() && like.rank() == 0) return R{x.g, -385};
    return checked<R>(x, ids, like.is_refused() ? 0 : like.extent(0), f);
  }

 private:
  template <class R, class T, class I>
  static constexpr R checked(operand<T> x, operand<I> ids, int count, auto f) {
    if constexpr (!index_element<I>) return R{x.g, -384};
    else {
      if (x.is_refused() || ids.is_refused()) return R{x.g, x.is_refused() ? x.id : ids.id};
      if (x.rank() < ids.rank()) return R{x.g, -384};
      for (int i = 0; i < ids.rank(); ++i)
        if (!x.g->syms.unify(x.extent(i), ids.extent(i))) return R{x.g, -384};
      return f(x, ids, with_axis(axes_between(x.extents(), ids.rank(), x.rank()), 0, count));
    }
  }
};

template <std::size_t N>
struct segment_sum {
  template <class T>
  static constexpr auto apply(operand<T> x, auto... more) {
    using Sum = std::conditional_t<real_element<T>, T, std::int64_t>;
    return segments<N>::template of<operand<Sum>>(cast_to<Sum>(x), more..., [](auto y, auto ids, const shape& to) {
      return cast_to<Sum>(summed_at<segment_sum<0>>(y, ids, to, 0));
    });
  }
};

template <std::size_t N>
struct segment_mean {
  template <class T>
  static constexpr auto apply(operand<T> x, auto... more) {
    using Mean = promoted_to_real<T>;
    return segments<N>::template of<operand<Mean>>(cast_to<Mean>(x), more..., [](auto y, auto ids, const shape& to) {
      using Wide = detail::computed_in<Mean>;
      const auto sum = summed_at<segment_mean<0>>(y, ids, to, 0);
      const auto one = cast_to<Wide>(literal_like(ids, 1));
      const auto count = summed_at<segment_mean<0>>(one, ids, axes_between(to, 0, 1), 0);
      const auto some = emit_on<op::maximum>({}, count, literal_like(count, 1));
      return cast_to<Mean>(sum / repeat(some, sum, axis_run(1, to.rank)));
    });
  }
};

template <class Op, class T, class I>
constexpr operand<T> extremum_of_segments(operand<T> x, operand<I> ids, const shape& to) {
  return {x.g, emit_as<Op, T>(*x.g, x.g->intern(x.g->syms.find(to)), {x.id, ids.id}, {0})};
}
template <std::size_t N>
struct segment_max {
  template <class T>
  static constexpr auto apply(operand<T> x, auto... more) {
    return segments<N>::template of<operand<T>>(x, more..., []<class I>(auto y, operand<I> ids, const shape& to) {
      return extremum_of_segments<op::scatter_max<I, segment_max<0>>>(y, ids, to);
    });
  }
};

template <std::size_t N>
struct segment_min {
  template <class T>
  static constexpr auto apply(operand<T> x, auto... more) {
    return segments<N>::template of<operand<T>>(x, more..., []<class I>(auto y, operand<I> ids, const shape& to) {
      return extremum_of_segments<op::scatter_min<I, segment_min<0>>>(y, ids, to);
    });
  }
};

template <std::size_t N>
struct segment_softmax {
  template <class T>
  static constexpr auto apply(operand<T> x, auto... more) {
    using Real = promoted_to_real<T>;
    using Wide = detail::computed_in<Real>;
    const auto f = []<class I>(auto y, operand<I> ids, const shape& to) {
      const auto along = [&](auto of) { return emit_on<op::gather<I, segment_softmax<0>>, Wide>({0}, of, ids); };
      // The result does not depend on the shift: so the shift gets no derivative. If the largest element is infinite, nothing is shifted.
      const auto top = emit_on<op::stop_gradient>({}, extremum_of_segments<op::scatter_max<I, segment_softmax<0>>>(y, ids, to));
      const auto shift = emit_on<op::where>({}, emit_on<op::isfinite>({}, top), top, literal_like(top, 0));
      const auto e = emit_on<op::exp>({}, y - along(shift));
      return e / along(summed_at<segment_softmax<0>>(e, ids, to, 0));
    };
    return cast_to<Real>(segments<N>::template of<operand<Wide>>(cast_to<Wide>(x), more..., f));
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The sum of each segment; 0 for one without elements.   Shape: the count of segments, then x's axes after those of the ids.
/// Dtype: x's; integers and bool give int64; narrow floats are added in float.   Saves: the ids.   Error: that of the sums.
/// Throws: if an id is negative or too large.
template <std::size_t N, class X, class Ids>
constexpr auto segment_sum(X&& x, Ids&& ids) {
  return apply_function(functions::segment_sum<N>{}, std::forward<X>(x), std::forward<Ids>(ids));
}
template <class X, class Ids, class Like>
constexpr auto segment_sum(X&& x, Ids&& ids, Like&& like) {
  return apply_function(functions::segment_sum<dyn>{}, std::forward<X>(x), std::forward<Ids>(ids), std::forward<Like>(like));
}
/// The mean of each segment; 0 for one without elements.   Dtype: integers give float.   Shape, Saves, Error, Throws: as segment_sum.
template <std::size_t N, class X, class Ids>
constexpr auto segment_mean(X&& x, Ids&& ids) {
  return apply_function(functions::segment_mean<N>{}, std::forward<X>(x), std::forward<Ids>(ids));
}
template <class X, class Ids, class Like>
constexpr auto segment_mean(X&& x, Ids&& ids, Like&& like) {
  return apply_function(functions::segment_mean<dyn>{}, std::forward<X>(x), std::forward<Ids>(ids), std::forward<Like>(like));
}
/// The largest element of each segment, NaN if there is one; -inf, or the least integer, for a segment without elements. Equal elements
/// share the gradient evenly.   Dtype: x's.   Saves: x, the ids, out.   Error: exact.   Shape, Throws: as segment_sum.
template <std::size_t N, class X, class Ids>
constexpr auto segment_max(X&& x, Ids&& ids) {
  return apply_function(functions::segment_max<N>{}, std::forward<X>(x), std::forward<Ids>(ids));
}
template <class X, class Ids, class Like>
constexpr auto segment_max(X&& x, Ids&& ids, Like&& like) {
  return apply_function(functions::segment_max<dyn>{}, std::forward<X>(x), std::forward<Ids>(ids), std::forward<Like>(like));
}
/// The smallest element of each segment; inf, or the greatest integer, for a segment without elements.   All other fields as segment_max.
template <std::size_t N, class X, class Ids>
constexpr auto segment_min(X&& x, Ids&& ids) {
  return apply_function(functions::segment_min<N>{}, std::forward<X>(x), std::forward<Ids>(ids));
}
template <class X, class Ids, class Like>
constexpr auto segment_min(X&& x, Ids&& ids, Like&& like) {
  return apply_function(functions::segment_min<dyn>{}, std::forward<X>(x), std::forward<Ids>(ids), std::forward<Like>(like));
}
/// softmax over the elements of each segment.   Shape: x's.   Dtype: integers give float; narrow floats are computed in float.
/// Saves: e^x, its sums, the ids.   Error: as softmax.   Throws: as segment_sum.
template <std::size_t N, class X, class Ids>
constexpr auto segment_softmax(X&& x, Ids&& ids) {
  return apply_function(functions::segment_softmax<N>{}, std::forward<X>(x), std::forward<Ids>(ids));
}
template <class X, class Ids, class Like>
constexpr auto segment_softmax(X&& x, Ids&& ids, Like&& like) {
  return apply_function(functions::segment_softmax<dyn>{}, std::forward<X>(x), std::forward<Ids>(ids), std::forward<Like>(like));
}

}  // namespace ebb::inline EBB_ABI

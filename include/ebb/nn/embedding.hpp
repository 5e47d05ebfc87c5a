// ebb/nn/embedding.hpp — rows of a table by index: embedding, and embedding_bag, which combines several rows.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../op/context.hpp"
#include "../op/extremum.hpp"
#include "../op/like.hpp"
#include "../op/scan.hpp"
#include "../shapes/segment.hpp"

namespace ebb::inline EBB_ABI {

/// How embedding_bag combines the rows of a bag.
enum class bag { mean, sum, max };

template <class Call>
struct refusal<514, Call> : Call {
  static_assert(Call::code != 514, "[ebb E0514] embedding_bag: the table has rows; indices and offsets are integers, with one axis each; "
                                   "without offsets the indices of a bag lie along the last axis");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::functions {

template <int Padding>
struct embedding {
  static constexpr std::string_view name = "embedding";
  static constexpr int left_out = Padding;
  template <class T, class I>
  static constexpr operand<T> apply(operand<T> table, operand<I> indices) {
    if constexpr (!index_element<I>) return refuse<T>(*table.g, 115);
    else return emit_on<op::gather<I, embedding>, T>({}, table, indices);
  }
};

template <bag How, int Padding>
struct embedding_bag {
  static constexpr std::string_view name = "embedding_bag";
  using named = embedding_bag<bag::sum, -1>;  // ops that only differ in the function that errors name are one

  template <class A, class I, class... O>
  static constexpr auto apply(operand<A> given, operand<I> indices, operand<O>... offsets) {
    using T = promoted_to_real<A>;
    graph& g = *given.g;
    if constexpr (sizeof...(O) > 1) return refuse<T>(g, 176);
    else if constexpr (!(index_element<I> && (index_element<O> && ...))) return refuse<T>(g, 514);
    else {
      if (given.is_refused() || indices.is_refused()) return refuse<T>(g, given.is_refused() ? -given.id : -indices.id);
      const bool fits = sizeof...(O) ? indices.rank() == 1 && ((!offsets.is_refused() && offsets.rank() == 1) && ...) : indices.rank() > 0;
      if (!fits || given.rank() == 0) return refuse<T>(g, 514);
      using Wide = detail::computed_in<T>;
      const auto rows = emit_on<op::gather<I, named>, Wide>({0}, cast_to<Wide>(given), indices);
      if (rows.is_refused()) return refuse<T>(g, -rows.id);
      const auto real = emit_on<op::not_equal>({}, indices, literal_like(indices, Padding));
      const auto kept = repeat(real, rows, axis_run(indices.rank(), rows.rank()));
      constexpr Wide neutral = How == bag::max ? op::lowest<Wide> : Wide(0);
      const auto used = emit_on<op::where>({}, kept, rows, literal_like(rows, neutral));
      return cast_to<T>(combined(used, cast_to<Wide>(real), offsets...));
    }
  }

 private:
  /// The bags along the last axis of the indices.
  template <class T>
  static constexpr operand<T> combined(operand<T> rows, operand<T> real) {
    const int axis = real.rank() - 1;
    const auto count = sum_over(real, std::int64_t{1} << axis);
    if constexpr (How == bag::max) return finished(emit_on<op::max>({axis, axis + 1}, rows), count);
    else return finished(sum_over(rows, std::int64_t{1} << axis), count);
  }
  /// The bags of a list of indices: each begins at an offset.
  template <class T, class O>
  static constexpr operand<T> combined(operand<T> rows, operand<T> real, operand<O> offsets) {
    graph& g = *rows.g;
    shape places;
    places.push(g.syms.derive(extent_rule::sum, real.extent(0), 1));  // a bag without rows may begin after the last index
    const auto begun = summed_at<named>(literal_in<std::int64_t>(g, offsets.shape_number(), 1), offsets, places, 0);
    const auto number = slice_as(emit_on<op::cumsum>({0, 0}, begun), stride{0}, real.shape_number()) - 1;
    const shape counts = offsets.extents(), all = with_axis(axes_between(rows.extents(), 1, rows.rank()), 0, offsets.extent(0));
    const auto count = summed_at<named>(real, number, counts, 0);
    if constexpr (How == bag::max) return finished(extremum_of_segments<op::scatter_max<std::int64_t, named>>(rows, number, all), count);
    else return finished(summed_at<named>(rows, number, all, 0), count);
  }
  /// `count` has the bags' axes in front: their rows that are no padding.
  template <class T>
  static constexpr operand<T> finished(operand<T> y, operand<T> count) {
    if constexpr (How == bag::sum) return y;
    else {
      const auto of_row = [&](auto x) { return repeat(x, y, axis_run(count.rank(), y.rank())); };
      if constexpr (How == bag::mean) return y / of_row(emit_on<op::maximum>({}, count, literal_like(count, 1)));
      else return emit_on<op::where>({}, of_row(emit_on<op::greater>({}, count, literal_like(count, 0))), y, literal_like(y, 0));
    }
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// take(table, indices). Row number Padding of the table gets no gradient.   embedding<0>(table, indices)
/// Shape, Dtype, Error, Throws: as take.   Saves: indices.
template <int Padding, class Table, class Indices>
constexpr auto embedding(const Table& table, const Indices& indices) {
  return apply_function(functions::embedding<Padding>{}, table, indices);
}

/// The mean, the sum or the largest elements of those rows of a table that a bag names. Bags are rows of indices, or parts of a list:
/// bag i begins at offsets[i] and ends where the next one begins, the last one at the end. Indices that are Padding are left out: they do
/// not count, and that row gets no gradient. A bag without rows gives 0. Equal largest elements share the gradient evenly.
///   embedding_bag(table, indices)   embedding_bag<ebb::bag::sum>(table, list, offsets)   embedding_bag<ebb::bag::max, 0>(table, indices)
/// Shape: table [n, d...], indices [..., k]: [..., d...]; indices [k], offsets [b]: [b, d...].   Dtype: the table's; integers give float;
/// narrow floats are added in float.   Saves: the indices; of max the rows, out.   Error: that of the sums; max is exact.
/// Throws: if an index is negative or too large, if the first offset is not 0, or an offset exceeds the length of the list.
/// Source: torch.nn.functional.embedding_bag, which gives the gradient of a largest element to the first of equal ones.
template <bag How = bag::mean, int Padding = -1, class Table, class Indices, class... Offsets>
constexpr auto embedding_bag(const Table& table, const Indices& indices, const Offsets&... offsets) {
  return apply_function(functions::embedding_bag<How, Padding>{}, table, indices, offsets...);
}

}  // namespace ebb::inline EBB_ABI

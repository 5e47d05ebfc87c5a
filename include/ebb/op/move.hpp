// ebb/op/move.hpp — ops that move elements: permute, slice, place, concat. They change no bits, and their pulls are such ops too.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "axes.hpp"

#include <limits>

namespace ebb::inline EBB_ABI {

/// A permutation of axes in one attribute: four bits an axis; axis i of the result is axis packed[i] of the operand.
constexpr std::int64_t pack_axes(const int* axes, int count) {
  std::int64_t packed = 0;
  for (int i = 0; i < count; ++i) packed |= static_cast<std::int64_t>(axes[i]) << 4 * i;
  return packed;
}
constexpr int packed_axis(std::int64_t packed, int i) { return static_cast<int>(packed >> 4 * i & 15); }

/// The attributes of a slice: every step-th element along an axis, from `start` on. A negative start counts from the end.
struct stride {
  int axis = 0;
  std::int64_t start = 0, step = 1;

  /// The start of a slice of step 1 that ends at the end of the axis.
  static constexpr std::int64_t at_the_end = std::numeric_limits<std::int64_t>::min();

  constexpr attributes packed() const { return {step * 16 + axis, start}; }
  static constexpr stride unpacked(std::int64_t a, std::int64_t b) { return {static_cast<int>(a & 15), b, a >> 4}; }

  /// The box that copies `part` out of `whole`, or into it.
  constexpr strided_copy box(const extent_list& whole, const extent_list& part, bool into) const {
    std::ptrdiff_t outer[max_rank] = {}, inner[max_rank] = {};
    row_major_strides(whole, outer);
    row_major_strides(part, inner);
    const auto length = static_cast<std::ptrdiff_t>(whole.e[axis]), count = static_cast<std::ptrdiff_t>(part.e[axis]);
    const auto first = start == at_the_end ? length - count : static_cast<std::ptrdiff_t>(start < 0 ? length + start : start);
    strided_copy r;
    r.rank = part.rank;
    for (int i = 0; i < r.rank; ++i) r.extent[i] = part.e[i];
    (into ? r.to_offset : r.from_offset) = first * outer[axis];
    outer[axis] *= static_cast<std::ptrdiff_t>(step);
    for (int i = 0; i < r.rank; ++i) {
      r.from[i] = into ? inner[i] : outer[i];
      r.to[i] = into ? outer[i] : inner[i];
    }
    return r;
  }
};

template <class Call>
struct refusal<114, Call> : Call {
  static_assert(Call::code != 114, "[ebb E0114] concat: the extents differ beside the axis that is joined");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

struct movement : op_base {
  static constexpr kind what = kind::move;
  static constexpr int arity = 1;
  static constexpr domain accepts = domain::any;

  // For ops along one axis: its number is in the low bits of attr 0.
  static constexpr void batch(std::int64_t* attr, int) { ++attr[0]; }
  static constexpr int show(const std::int64_t* attr, int, std::int64_t* numbers) {
    const stride s = stride::unpacked(attr[0], attr[1]);
    numbers[0] = s.axis;
    numbers[1] = s.start;
    numbers[2] = s.step;
    return 3;
  }
};

/// Axes in another order; attr 0: see pack_axes.   Saves: nothing.   Error: exact.
struct permute : movement {
  static constexpr std::string_view name = "permute";
  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t* attr) {
    shape r;
    for (int i = 0; i < in[0].rank; ++i) {
      if (packed_axis(attr[0], i) >= in[0].rank) return refused(103);
      r.push(s.find(in[0].e[packed_axis(attr[0], i)]));
    }
    return r;
  }
  static constexpr void batch(std::int64_t* attr, int rank) {
    int axes[max_rank + 1] = {};
    for (int i = 0; i < rank; ++i) axes[i + 1] = packed_axis(attr[0], i) + 1;
    attr[0] = pack_axes(axes, rank + 1);
  }
  static constexpr int show(const std::int64_t* attr, int rank, std::int64_t* numbers) {
    for (int i = 0; i < rank; ++i) numbers[i] = packed_axis(attr[0], i);
    return rank;
  }
  static constexpr strided_copy copy(const move_call& c, int) {
    std::ptrdiff_t strides[max_rank] = {};
    row_major_strides(c.in[0], strides);
    strided_copy r;
    r.rank = c.out.rank;
    row_major_strides(c.out, r.to);
    for (int i = 0; i < r.rank; ++i) {
      r.extent[i] = c.out.e[i];
      r.from[i] = strides[packed_axis(c.attr[0], i)];
    }
    return r;
  }
  static constexpr auto pull(auto g, auto x, auto out) {
    int back[max_rank] = {};
    for (int i = 0; i < x.rank(); ++i) back[packed_axis(out.attribute(0), i)] = i;
    return grads(emit_on<permute>({pack_axes(back, x.rank())}, g));
  }
};

/// Some elements along one axis; attr: see stride. The shape is given, not inferred.   Saves: nothing.   Error: exact.
struct slice : movement {
  static constexpr std::string_view name = "slice";
  static constexpr strided_copy copy(const move_call& c, int) {
    return stride::unpacked(c.attr[0], c.attr[1]).box(c.in[0], c.out, false);
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T> out);
};

/// The inverse of slice: the operand placed within zeros. The shape is given, not inferred.   Saves: nothing.   Error: exact.
struct place : movement {
  static constexpr std::string_view name = "place";
  static constexpr strided_copy copy(const move_call& c, int) {
    return stride::unpacked(c.attr[0], c.attr[1]).box(c.out, c.in[0], true);
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T> out);
};

/// Arrays joined along axis attr 0.   Saves: nothing.   Error: exact.
struct concat : movement {
  static constexpr std::string_view name = "concat";
  static constexpr precision autocast = precision::widest;
  static constexpr int arity = -1;
  static constexpr int show(const std::int64_t* attr, int, std::int64_t* numbers) {
    numbers[0] = attr[0];
    return 1;
  }
  static constexpr shape infer(symbols& s, const shape* in, int count, const std::int64_t* attr) {
    const int axis = static_cast<int>(attr[0]);
    if (!has_axis(axis, in[0].rank)) return refused(103);
    shape r = s.find(in[0]);
    for (int j = 1; j < count; ++j) {
      if (in[j].rank != r.rank) return refused(114);
      for (int i = 0; i < r.rank; ++i)
        if (i != axis && !s.unify(r.e[i], in[j].e[i])) return refused(114);
      r.e[axis] = s.derive(extent_rule::sum, r.e[axis], in[j].e[axis]);
    }
    return s.find(r);
  }
  static constexpr strided_copy copy(const move_call& c, int j) {
    stride s{static_cast<int>(c.attr[0])};
    for (int i = 0; i < j; ++i) s.start += static_cast<std::int64_t>(c.in[i].e[s.axis]);
    return s.box(c.out, c.in[j], true);
  }
  template <class T>
  static constexpr vec<int> pull(operand<T> g, const vec<operand<T>>& in, operand<T> out);
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

/// Inside rules: a slice of x of the given shape, and x placed within zeros of the given shape.
template <class T>
constexpr operand<T> slice_as(operand<T> x, stride s, int shape_number) {
  return {x.g, emit_as<op::slice, T>(*x.g, shape_number, {x.id}, s.packed())};
}
template <class T>
constexpr operand<T> place_in(operand<T> x, stride s, int shape_number) {
  return {x.g, emit_as<op::place, T>(*x.g, shape_number, {x.id}, s.packed())};
}

/// Inside rules: x with its axis `from` at place `to`. The other axes keep their order.
template <class T>
constexpr operand<T> axis_moved(operand<T> x, int from, int to) {
  if (x.is_refused() || from == to) return x;
  int order[max_rank] = {}, other = 0;
  for (int i = 0; i < x.rank(); ++i) {
    if (other == from) ++other;
    order[i] = i == to ? from : other++;
  }
  return emit_on<op::permute>({pack_axes(order, x.rank())}, x);
}

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

template <class T>
constexpr auto slice::pull(operand<T> g, operand<T> x, operand<T> out) {
  const stride s = stride::unpacked(out.attribute(0), out.attribute(1));
  // All elements backwards: so are their gradients, and loops read these where they lie.
  if (s.step == -1 && s.start == -1 && out.shape_number() == x.shape_number()) return grads(slice_as(g, s, x.shape_number()));
  return grads(place_in(g, s, x.shape_number()));
}
template <class T>
constexpr auto place::pull(operand<T> g, operand<T> x, operand<T> out) {
  return grads(slice_as(g, stride::unpacked(out.attribute(0), out.attribute(1)), x.shape_number()));
}
template <class T>
constexpr vec<int> concat::pull(operand<T> g, const vec<operand<T>>& in, operand<T> out) {
  // A slice starts at a number. After a dyn extent there is none: the slice is the end of the part of g that ends with it.
  const int axis = static_cast<int>(out.attribute(0));
  symbols& s = g.g->syms;
  vec<int> r;
  int before = 0;
  for (int j = 0; j < in.size(); ++j) {
    const int end = s.derive(extent_rule::sum, before, in[j].extent(axis));
    if (before >= 0) r.push(slice_as(g, {axis, before}, in[j].shape_number()).id);
    else {
      const int upto = g.g->intern(with_extent(g.extents(), axis, end));
      const auto head = j + 1 == in.size() ? g : slice_as(g, {axis, 0}, upto);
      r.push(slice_as(head, {axis, stride::at_the_end}, in[j].shape_number()).id);
    }
    before = end;
  }
  return r;
}

}  // namespace ebb::inline EBB_ABI::op

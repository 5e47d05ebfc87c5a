// ebb/pass/cuts.hpp — arrays that are read in pieces which make them up: their gradient is one concat.
// SPDX-License-Identifier: BSL-1.0
//
// [note: gradients of pieces]
// The gradient of a slice lies within zeros, and those of all slices are added. If the slices make up the array, as those of split, chunk
// and unbind do, these zeros add nothing: the gradients are joined by one concat. Only the sign of a zero differs: -0 stays -0, as in
// PyTorch. Another reader with a gradient forbids it, because the order of the sum would change. A slice without a gradient gives zeros.
#pragma once

#include "../graph/graph.hpp"
#include "../op/move.hpp"

namespace ebb::inline EBB_ABI::detail {

class array_cuts {
 public:
  /// active: the equations that have a gradient.
  EBB_COLD_CTOR constexpr array_cuts(const graph& g, const char* active) : g_(g), size_(g.size()) {
    int slices = 0;
    for (int k = 0; k < size_; ++k) slices += active[k] && is_slice(k);
    if (slices < 2) return;
    first_ = vec<int>(size_, -1);
    next_ = first_;
    state_ = vec<char>(size_, 0);
    for (int k = size_ - 1; k >= 0; --k) {
      if (!active[k]) continue;
      const bool slice = is_slice(k);
      for (int x : g.operands(k)) {
        if (!active[x]) continue;
        if (!slice) first_[x] = size_;  // no list: others read it
        if (first_[x] == size_) continue;
        next_[k] = first_[x];
        first_[x] = k;
      }
    }
    for (int x = 0; x < size_; ++x)
      if (const int k = first_[x]; k >= 0 && k < size_ && next_[k] >= 0 && sort(x)) {
        for (int piece = first_[x]; piece >= 0; piece = next_[piece]) state_[piece] = waits;
        state_[k] = last_to_come;
      }
  }

  /// The action of the reverse walk at k: `none` if k is no such piece; a piece waits, and all are joined at the last one that it reaches.
  enum turn : char { none, waits, last_to_come };
  constexpr turn turn_of(int k) const { return state_.empty() ? none : static_cast<turn>(state_.data()[k]); }

  /// The gradient of the array of which k is a piece, from those of its pieces, in `to`; -1 if no piece has any.
  EBB_COLD constexpr int join(graph& to, int k, const int* gradient) const {
    const int x = to.operand(k, 0);
    vec<int> pieces;
    int given = 0, any = -1;
    for (int piece = first_[x]; piece >= 0; piece = next_[piece])
      if (gradient[piece] >= 0) {
        ++given;
        any = piece;
      }
    if (given < 2) {
      int placed = -1;
      if (given == 1) to.op(any).pull(to, gradient[any], any, &placed);
      return placed;
    }
    for (int piece = first_[x]; piece >= 0; piece = next_[piece])
      pieces.push(gradient[piece] >= 0 ? gradient[piece] : to.op(piece).kit->literal(to, to.eq[piece].shape, 0));
    return to.op(k).kit->concat(to, range_of(pieces), axis_of(k), to.eq[x].shape);
  }

 private:
  constexpr bool is_slice(int k) const {
    const equation& e = g_.eq.data()[k];
    return e.op->family == family_of<op::slice> && e.attr[0] >> 4 == 1;
  }
  constexpr int axis_of(int k) const { return static_cast<int>(g_.eq[k].attr[0] & 15); }

  /// Links the slices of x in their order. False if they do not make up x, or if that is not known.
  EBB_COLD constexpr bool sort(int x) {
    const int axis = axis_of(first_[x]), length = extent(x, axis);
    vec<int> pieces;
    int count = 0;
    for (int k = first_[x]; k >= 0; k = next_[k], ++count)
      if (axis_of(k) != axis) return false;
    for (int begin = 0, k = first_[x]; begin != length; k = next_[k] >= 0 ? next_[k] : first_[x]) {
      int tried = 0;
      for (; tried < count && !begins_at(k, begin, length); ++tried) k = next_[k] >= 0 ? next_[k] : first_[x];
      const int e = extent(k, axis);
      if (tried == count || pieces.size() == count || e == 0) return false;
      pieces.push(k);
      begin = e < 0 ? length : begin + e;
    }
    if (pieces.size() != count) return false;
    for (int i = 0; i < count; ++i) (i == 0 ? first_[x] : next_[pieces[i - 1]]) = pieces[i];
    next_[pieces[count - 1]] = -1;
    return true;
  }
  constexpr int extent(int k, int axis) const { return g_.syms.find(g_.shape_of(k).e[axis]); }
  /// Whether k, a slice of an axis of so many elements, begins at `begin`. One of a dyn extent goes to the end.
  constexpr bool begins_at(int k, int begin, int length) const {
    const std::int64_t start = g_.eq[k].attr[1];
    const int own = extent(k, axis_of(k));
    if (own < 0) {
      return g_.syms.is_difference(own, length, begin) && (start == begin || start == stride::at_the_end);
    }
    if (start >= 0) return start == begin;
    return length >= 0 && begin == (start == stride::at_the_end ? length - own : length + start);
  }

  const graph& g_;
  int size_ = 0;
  vec<int> first_, next_;  // the slices of an array, if nothing else reads it
  vec<char> state_;
};

}  // namespace ebb::inline EBB_ABI::detail

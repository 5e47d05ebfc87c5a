// ebb/graph/box.hpp — boxes of arrays that begin at operands: how an equation names their axes.
// SPDX-License-Identifier: BSL-1.0
//
// [note: boxes at operands]
// An equation of kind own that names places reads or writes one box of a larger array, the whole one. A number for each of some axes says
// where the box begins; along the others it begins at 0. All numbers have one shape.
//   box       a box of operand 0
//   box_sum   zeros with operand 0 added where the box is: the adjoint of box. The shape is given, not inferred
//   box_put   operand 0 with operand 1 where the box is
// The numbers are the operands after these. Leading axes of the whole array are batches, with numbers of their own: the numbers have the
// same axes in front. Further axes of the numbers are boxes of one whole array; box_sum adds them in rising order. The array of the
// boxes has all axes of the numbers, and then those of a box.
// Before a step uses the numbers, they are checked: see [note: checked before anything changes].
#pragma once

#include "graph.hpp"

namespace ebb::inline EBB_ABI {

struct box_form {
  enum : int { reads, adds, puts };
  int what = reads;
  int own = 0;            // the leading axes that are batches
  std::int64_t axes = 0;  // those with a number, counted after the leading axes

  /// The second attribute; the first is own.
  constexpr std::int64_t attribute() const { return axes << 2 | what; }
  static constexpr box_form of(const std::int64_t* attr) {
    return {static_cast<int>(attr[1] & 3), static_cast<int>(attr[0]), attr[1] >> 2};
  }
  /// The first operand that is a number.
  constexpr int first() const { return what == puts ? 2 : 1; }
};

/// The form of an equation about a box.
constexpr bool is_box(const op_info& op) { return op.what == kind::own && op.names_places; }
/// The whole array and the array of the boxes, of equation k.
constexpr int whole_of_box(const graph& g, int k) { return box_form::of(g.eq[k].attr).what == box_form::adds ? k : g.operand(k, 0); }
constexpr int part_of_box(const graph& g, int k) {
  const int what = box_form::of(g.eq[k].attr).what;
  return what == box_form::reads ? k : g.operand(k, what == box_form::puts ? 1 : 0);
}

/// Calls f(j, extent, count) for each operand j of k that is a number: the extent of its axis, and how many elements of it a box has.
constexpr void each_number_of_box(const graph& g, int k, auto&& f) {
  const box_form form = box_form::of(g.eq[k].attr);
  const shape &whole = g.shape_of(whole_of_box(g, k)), &part = g.shape_of(part_of_box(g, k));
  int j = form.first();
  for (int a = form.own; a < whole.rank; ++a)
    if (form.axes >> (a - form.own) & 1) f(j++, whole.e[a], part.e[part.rank - whole.rank + a]);
}

/// The boxes of an equation at a call. The array of boxes is row-major: a row of a box is adjacent there.
struct box_call {
  strided_copy box;  // from the whole array to the box
  std::size_t batches = 0, each = 0, whole = 0, part = 0;  // arrays, boxes of one, elements of an array and of a box
  int numbers = 0;
  std::ptrdiff_t step[max_rank] = {};  // of the whole array, for each number

  constexpr box_call(const std::int64_t* attr, const extent_list& from, const extent_list& to) {
    const box_form f = box_form::of(attr);
    const int rank = from.rank - f.own, first = to.rank - rank;
    batches = from.volume(0, f.own);
    each = to.volume(f.own, first);
    whole = part = 1;
    box.rank = rank;
    for (int a = rank; a-- > 0;) {
      box.extent[a] = to.e[first + a];
      box.from[a] = static_cast<std::ptrdiff_t>(whole);
      box.to[a] = static_cast<std::ptrdiff_t>(part);
      whole *= from.e[f.own + a];
      part *= box.extent[a];
    }
    for (int a = 0; a < rank; ++a)
      if (f.axes >> a & 1) step[numbers++] = box.from[a];
  }
  /// Calls f(from, to), the first elements of a box in the whole array and in the array of boxes. number(j, i): where box i begins.
  constexpr void each_box(auto&& number, auto&& f) const {
    std::size_t i = 0;
    for (std::size_t batch = 0; batch < batches; ++batch)
      for (const std::size_t end = i + each; i < end; ++i) {
        auto from = static_cast<std::ptrdiff_t>(batch * whole);
        for (int j = 0; j < numbers; ++j) from += static_cast<std::ptrdiff_t>(number(j, i)) * step[j];
        f(from, static_cast<std::ptrdiff_t>(i * part));
      }
  }
  /// Calls f(from, to, n, rows, step) for rows of a box: n adjacent elements each, `step` apart in the whole array.
  constexpr void each_rows(auto&& f) const {
    std::ptrdiff_t n = 1;
    int a = box.rank;
    for (; a > 0 && (box.from[a - 1] == n || box.extent[a - 1] == 1); --a) n *= static_cast<std::ptrdiff_t>(box.extent[a - 1]);
    if (part == 0) return;
    if (a == 0) return f(std::ptrdiff_t{0}, std::ptrdiff_t{0}, n, std::size_t{1}, n);
    const std::size_t rows = box.extent[a - 1];
    const std::ptrdiff_t between = box.from[a - 1];
    std::size_t at[max_rank] = {};
    std::ptrdiff_t from = 0, to = 0;
    for (;;) {
      f(from, to, n, rows, between);
      to += static_cast<std::ptrdiff_t>(rows) * n;
      int b = a - 2;
      for (; b >= 0; --b) {
        from += box.from[b];
        if (++at[b] < box.extent[b]) break;
        from -= static_cast<std::ptrdiff_t>(at[b]) * box.from[b];
        at[b] = 0;
      }
      if (b < 0) return;
    }
  }
};

}  // namespace ebb::inline EBB_ABI

// ebb/op/contract.hpp — the matrix product.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../tensor/product_order.hpp"
#include "arithmetic.hpp"

namespace ebb::inline EBB_ABI {

/// Inside rules: a product, in the dtype that the context demands; see [note: contexts in rules].
template <class T>
constexpr operand<T> product_of(operand<T> x, operand<T> y, std::int64_t attr);

/// attr 0 of the product of x and y, with its order of summation: in lanes if rows that are contiguous in memory are multiplied by a
/// vector, which is an operand with a static extent of 1. See [note: order of a product].
template <class T>
constexpr std::int64_t with_order(operand<T> x, operand<T> y, std::int64_t attr) {
  if (x.is_refused() || y.is_refused() || x.rank() < 2 || x.rank() != y.rank()) return attr;
  const int last = x.rank() - 1;
  const bool tx = attr & left_transposed, ty = attr & right_transposed;
  const bool row = x.extent(tx ? last : last - 1) == 1, column = y.extent(ty ? last - 1 : last) == 1;
  const bool along_rows = (row && column) || (row && ty) || (column && !tx);
  return along_rows ? attr | in_lanes : attr;
}

/// Whether the matrices of e, a product of `in`, are so small that to multiply them takes less time than a smaller product and a further
/// step.
constexpr bool has_few_links(const graph& g, const equation& e, const int* in) {
  constexpr int few = 16 * 16 * 16;
  const shape &r = g.shapes[e.shape], &x = g.shape_of(in[0]);
  const int m = g.syms.find(r.e[r.rank - 2]), k = g.syms.find(x.e[summed_axis(e.attr[0], 0, x.rank)]);
  const int n = g.syms.find(r.e[r.rank - 1]);
  return m >= 0 && k >= 0 && n >= 0 && std::int64_t{m} * k * n < few;
}

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<105, Call> : Call {
  static_assert(Call::code != 105, "[ebb E0105] matmul: an operand has no axis to multiply along");
};

template <class Call>
struct refusal<101, Call> : Call {
  static_assert(Call::code != 101, "[ebb E0101] matmul: the inner extents differ");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// x * y + z, a link of the chain that is an element of a product: see [note: order of a product]. Passes emit it where a product is
/// computed by components.
/// Dtype: bool is refused.   Saves: x, y.   Error: 0.5 ulp; 1 ulp of the larger of |x * y| and |z| if the target has no fma.
struct multiply_add : elementwise<3> {
  static constexpr std::string_view name = "multiply_add";
  static constexpr domain accepts = domain::signed_number;
  static constexpr auto value(auto x, auto y, auto z) { return lane::fma(x, y, z); }
  static constexpr auto pull(auto g, auto x, auto y, auto, auto) { return grads(g * y, g * x, g); }
};

/// The matrix product of the last two axes; leading axes are batches, equal on both sides.
/// Saves: x, y.   Error: a chain of fma, or 32 of them, see [note: order of a product].
struct matmul : op_base {
  static constexpr std::string_view name = "matmul";
  static constexpr kind what = kind::contract;
  static constexpr int arity = 2;
  static constexpr bool heavy = true;
  static constexpr precision autocast = precision::low;

  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t* attr) {
    const shape &x = in[0], &y = in[1];
    if (x.rank < 2 || x.rank != y.rank) return refused(105);
    const int last = x.rank - 1;
    for (int i = 0; i < last - 1; ++i)
      if (!s.unify(x.e[i], y.e[i])) return refused(102);
    const bool tx = attr[0] & left_transposed, ty = attr[0] & right_transposed;
    if (!s.unify(x.e[tx ? last - 1 : last], y.e[ty ? last : last - 1])) return refused(101);
    shape r = s.find(x);
    r.e[last - 1] = s.find(x.e[tx ? last : last - 1]);
    r.e[last] = s.find(y.e[ty ? last - 1 : last]);
    return r;
  }
  template <class T>
  static constexpr operand<T> linked(operand<T> x, operand<T> y, operand<T> sum) {
    return emit_on<multiply_add>({}, x, y, sum);
  }
  static constexpr auto pull(auto g, auto x, auto y, auto out) {
    const std::int64_t attr = out.attribute(0);
    const bool tx = attr & left_transposed, ty = attr & right_transposed;
    const std::int64_t flags = attr & of_vector;
    return grads(tx ? times(y, g, ty, true, flags) : times(g, y, false, !ty, flags),
                 ty ? times(g, x, true, tx, flags) : times(x, g, !tx, false, flags));
  }

 private:
  static constexpr auto times(auto x, auto y, bool tx, bool ty, std::int64_t flags) {
    return product_of(x, y, (tx ? left_transposed : 0) | (ty ? right_transposed : 0) | flags);
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

template <class T>
constexpr operand<T> product_of(operand<T> x, operand<T> y, std::int64_t attr) {
  graph& g = *x.g;
  attr = with_order(x, y, attr);
  if (can_be_cast(dtype_of<T>) && !(attr & of_vector) && !x.is_refused() && !y.is_refused()) {
    const maybe_context c = g.context;
    const cast_question asked = g.ask(precision::low, dtype_of<T>, op::matmul::name);
    if (c && dtype_in_context(c->number, precision::low, dtype_of<T>) != dtype_of<T>) {
      const int given_back = c->product(g, x.id, y.id, attr);
      if (given_back >= 0) g.note(g.operand(given_back, 0), asked);
      return {&g, given_back};
    }
    const operand<T> product = emit_on<op::matmul>({attr}, x, y);
    g.note(product.id, asked);
    return product;
  }
  return emit_on<op::matmul>({attr}, x, y);
}

}  // namespace ebb::inline EBB_ABI

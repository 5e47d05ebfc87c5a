// ebb/op/table.hpp — the table of an op for one dtype: constants and functions for passes, plans and executors.
// SPDX-License-Identifier: BSL-1.0
//
// [note: no list of ops]
// A table is made where an equation with that op and that dtype is emitted. There is no list, no number and no order of ops: a program
// compiles the ops that it uses, for the dtypes that it uses, and pays for parsing the others. Kernels are below ops, so that each
// translation unit makes the same table.
#pragma once

#include "op.hpp"
#include "vectorized.hpp"

namespace ebb::inline EBB_ABI {

template <class T>
struct kit_of;  // completed in op/kit.hpp

namespace detail {

/// The functions of Op for dtype T, with op_info's erased signatures.
template <class Op, class T>
struct erased {
  using result = typename Op::template result<T>;
  template <int J>
  using argument = typename Op::template operand_type<T, J>;
  using order = std::make_integer_sequence<int, (Op::arity > 0 ? Op::arity : 0)>;

  static constexpr void pull(graph& g, int cotangent, int y, int* out) {
    [&]<int... J>(std::integer_sequence<int, J...>) {
      const int in[] = {g.operand(y, J)..., 0};
      constexpr bool takes = requires(operand<result> r) { Op::pull(r, operand<argument<J>>{}..., r); };
      static_assert(takes, "[ebb E0177] an op's pull takes the gradient of the result, the operands, and the result; "
                           "if its body has an error, that is printed first");
      if constexpr (takes) {
        const auto given = Op::pull(operand<result>{&g, cotangent}, operand<argument<J>>{&g, in[J]}..., operand<result>{&g, y});
        constexpr bool for_each = std::is_same_v<decltype(given), const cotangents<Op::arity>>;
        static_assert(for_each, "[ebb E0178] an op's pull returns ebb::grads(...) of one gradient for each operand, or ebb::nothing");
        if constexpr (for_each) ((out[J] = given.id[J]), ...);
      }
    }(order{});
  }
  /// An op with any number of operands gets them as an array: pull(g, operands, out) -> vec<int>.
  static constexpr void pull_many(graph& g, int cotangent, int y, int* out) {
    vec<operand<T>> in;
    for (int i : g.operands(y)) in.push({&g, i});
    const vec<int> given = Op::pull(operand<result>{&g, cotangent}, in, operand<result>{&g, y});
    for (int j = 0; j < given.size(); ++j) out[j] = given[j];
  }

  static constexpr void scalar(const cell* in, cell* out) {
    if constexpr (Op::what == kind::reduce || Op::what == kind::scan || Op::what == kind::scatter) {
      *out = to_cell(narrowed<result>(Op::value(widened(from_cell<result>(in[0])), widened(from_cell<T>(in[1])))));
    } else {
      [&]<int... J>(std::integer_sequence<int, J...>) {
        *out = to_cell(narrowed<result>(value<computed_in<T>>(widened(from_cell<argument<J>>(in[J]))...)));
      }(order{});
    }
  }

  /// See op_info::combine. `first` is for a reduction whose identity changes an element.
  static constexpr int combine(graph& g, int a, int x) {
    const operand<T> of_x{&g, x};
    if (a >= 0) return Op::combined(operand<T>{&g, a}, of_x).id;
    if constexpr (requires { Op::first(of_x); }) return Op::first(of_x).id;
    else return x;
  }

  static constexpr int link(graph& g, int x, int y, int sum) {
    return Op::linked(operand<T>{&g, x}, operand<T>{&g, y}, operand<T>{&g, sum}).id;
  }

  static constexpr void row(const cell* const* in, const std::size_t* length, cell* out, std::size_t count, const std::int64_t* attr) {
    vec<T> x[Op::arity];
    const T* given[Op::arity] = {};
    for (int j = 0; j < Op::arity; ++j) {
      for (std::size_t i = 0; i < length[j]; ++i) x[j].push(from_cell<T>(in[j][i]));
      given[j] = x[j].data();
    }
    vec<result> y(static_cast<int>(count), result{});
    Op::template row<T>(given, length, y.data(), count, attr);
    for (int i = 0; i < y.size(); ++i) out[i] = to_cell(y[i]);
  }
  /// The reference of an op with a kernel of its own, on erased elements. One that names places gets these as numbers.
  static constexpr void reference(const move_call& c, const cell* const* in, cell* out) {
    const auto element = [in](int j, std::size_t i) { return widened(from_cell<T>(in[j][i])); };
    const auto put = [out](std::size_t i, auto x) { out[i] = to_cell(narrowed<result>(x)); };
    if constexpr (requires { typename Op::of_places; }) {
      using number = typename Op::of_places;
      Op::template reference<T>(c, element, put, [in](int j, std::size_t i) { return std::int64_t{from_cell<number>(in[j][i])}; });
    } else Op::template reference<computed_in<result>>(c, element, put);
  }

  /// Kind factor: computes each matrix of a batch, in a constant expression or for the tests.
  static constexpr void matrices(const extent_list& x, int n, std::int64_t flags, const cell* in, cell* out) {
    using wide = computed_in<T>;
    if (n == 0) return;
    const auto rows = static_cast<std::ptrdiff_t>(x.e[x.rank - 2]), columns = static_cast<std::ptrdiff_t>(x.e[x.rank - 1]);
    const int size = static_cast<int>(rows * columns), count = static_cast<int>(x.volume(0, x.rank - 2)), results = n / count;
    vec<wide> a(size, 0), to(results, 0), scratch(static_cast<int>(Op::scratch(rows, columns)), 0);
    for (int i = 0; i < count; ++i, in += size, out += results) {
      for (int k = 0; k < size; ++k) a[k] = widened(from_cell<T>(in[k]));
      const std::ptrdiff_t wrong = Op::compute(matrix_call<wide>{rows, columns, flags, a.data(), to.data(), scratch.data()});
      if (wrong >= 0) raise("ebb::evaluate: " + std::string(Op::name) + ": a matrix " + Op::complaint(wrong));
      for (int k = 0; k < results; ++k) out[k] = to_cell(narrowed<result>(to[k]));
    }
  }

  /// Calls value(x...), or value<To>(x...) for an op that needs its result's dtype (a cast).
  template <class To>
  static constexpr auto value(auto... x) {
    if constexpr (requires { Op::value(x...); }) return Op::value(x...);
    else return Op::template value<To>(x...);
  }
};

// Whether Op has a member named pull, without instantiating it: if it has, the name is ambiguous in `probe`.
struct pull_fallback {
  int pull;
};
template <class Op>
struct pull_probe : Op, pull_fallback {};
template <class Op>
inline constexpr bool has_pull = !requires { &pull_probe<Op>::pull; };

template <class Op, class T>
constexpr op_info make_info() {
  using functions = erased<Op, T>;
  using result = typename Op::template result<T>;
  op_info i;
  i.name = Op::name;
  if constexpr (requires { Op::asker; }) i.asker = Op::asker;
  else i.asker = Op::name;
  if constexpr (requires { Op::counted; }) i.counted = Op::counted;
  if constexpr (requires { Op::left_out; }) i.left_out = Op::left_out;
  i.id = hash_text(full_name_of<functions>());
  i.family = family_of<Op>;
  i.what = Op::what;
  i.computes = Op::computes;
  i.autocast = Op::autocast;
  if constexpr (requires { Op::stops; }) i.stops = Op::stops;
  i.heavy = Op::heavy;
  i.branch_free = Op::branch_free;
  i.needs_elements = Op::needs_elements;
  i.names_places = Op::names_places;
  i.arity = Op::arity;
  i.result = dtype_of<result>;
  i.operand = dtype_of<T>;
  [&]<int... J>(std::integer_sequence<int, J...>) {
    ((i.operands[J] = dtype_of<typename Op::template operand_type<T, J>>), ...);
  }(std::make_integer_sequence<int, (Op::arity < 0 ? 4 : Op::arity)>{});
  i.kit = &kit_of<result>::table;
  if constexpr (requires { i.infer = &Op::infer; }) i.infer = &Op::infer;
  constexpr bool scatters = Op::what == kind::scatter && requires { Op::template identity<T>(); };  // else it adds
  constexpr bool combines = Op::what == kind::reduce || Op::what == kind::scan || scatters;
  if constexpr (Op::what == kind::elementwise || combines) i.scalar = &functions::scalar;
  if constexpr (Op::what == kind::reduce && requires(operand<T> x) { Op::combined(x, x); }) {
    i.pairs = true;
    i.combine = &functions::combine;
  }
  // A product of narrow floats adds in float: its links are none of its own dtype.
  if constexpr (Op::what == kind::contract && std::is_floating_point_v<T> && requires(operand<T> x) { Op::linked(x, x, x); }) {
    i.links = true;
    i.link = &functions::link;
  }
  if constexpr (Op::what == kind::factor && requires { &Op::scratch; }) i.matrices = &functions::matrices;
  if constexpr (Op::what == kind::move) {
    i.copy = &Op::copy;
    if constexpr (requires { &Op::batch; }) {
      i.batched = true;
      i.batch = &Op::batch;
    }
  }
  if constexpr (Op::what == kind::own || Op::what == kind::triangle) {
    i.reference = &functions::reference;
    if constexpr (requires { &Op::folded; }) {
      i.folds = true;
      i.folded = &Op::folded;
    }
    if constexpr (requires { &Op::template of_parts<T>; }) {
      i.pairs = true;
      i.of_parts = &Op::template of_parts<T>;
    }
  }
  if constexpr (Op::what == kind::rows) i.row = &functions::row;
  if constexpr (requires { &Op::show; }) {
    i.shows = true;
    i.show = &Op::show;
  }
  if constexpr (combines) i.identity = to_cell(narrowed<result>(Op::template identity<computed_in<result>>()));
  if constexpr (real_element<result> && has_pull<Op>) {
    i.differentiable = true;
    if constexpr (Op::arity >= 0) i.pull = &functions::pull;
    else i.pull = &functions::pull_many;
  }
  i.kernels = vectorized<Op, T>::table;
  return i;
}

}  // namespace detail

/// The table of Op for dtype T, with its kernels.
///
/// [note: ops on a fixed dtype]
/// Code that names a dtype which is none of its template parameters makes this table in every file that includes it, called or not:
/// compilers instantiate at once what a constant expression may need. So such code takes the dtype, mostly that of an index, as a
/// parameter with a default, or an argument as auto.
template <class Op, class T>
inline constexpr op_info info = detail::make_info<Op, T>();

}  // namespace ebb::inline EBB_ABI

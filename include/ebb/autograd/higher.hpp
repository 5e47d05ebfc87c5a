// ebb/autograd/higher.hpp — functions needed only with create_graph, called through a table so that other programs do not compile them.
// SPDX-License-Identifier: BSL-1.0
//
// [note: derivatives on demand]
// Passes and blocks at run time take seconds to compile, and few translation units use create_graph. So neither segments nor the engine
// name them: `.create_graph = true` converts to a pointer to a table, which the engine passes to the nodes. Programs without create_graph
// do not compile them.
#pragma once

#include "graph_function.hpp"
#include "sum.hpp"

#include "../base/owned.hpp"

namespace ebb::inline EBB_ABI {

/// A graph as a function on the tape.
struct recordable {
  virtual ~recordable() = default;
  virtual const graph& program() const = 0;
  /// From inputs to outputs; recorded if an input has a history. `symbols`: the extents of arguments that are symbols, in order.
  virtual void call(const gradient* in, const std::size_t* symbols, gradient* out) = 0;
};

struct higher_order {
  owned<const twice_differentiable> (*derive)(const segment_graphs&, const cast_context* other, const char* name);
  gradient (*sum)(dtype, const extent_list&, gradient, gradient, storage* known);
  gradient (*convert)(dtype from, dtype to, const extent_list&, gradient);
  owned<recordable> (*function)(const frozen_view&, const char* name);
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::detail {

/// A node of one array of type T. Its symbols are the rank and the extents.
template <class T>
struct one_array {
  static constexpr dtype type = dtype_of<T>;
  static constexpr int numbers = 1 + max_rank;
  static extent_list extents(const node& n, int) {
    extent_list x;
    x.rank = static_cast<int>(n.symbols()[0]);
    for (int a = 0; a < x.rank; ++a) x.e[a] = n.symbols()[a + 1];
    return x;
  }
  static dtype saved_type(const node&, int) { return type; }
};
EBB_ONCE void set_extents(node& n, const extent_list& x) {
  n.symbols()[0] = static_cast<std::size_t>(x.rank);
  for (int i = 0; i < max_rank; ++i) n.symbols()[i + 1] = i < x.rank ? x.e[i] : 0;
}

/// A sum of two arrays of one dtype, on the tape.
template <class T>
struct sum_node : one_array<T> {
  static void pass_on(node&, gradient* in, gradient* out) { out[0] = out[1] = in[0]; }

  using of = one_array<T>;
  static constexpr node_program program{"add", 1, 2, 0, of::numbers, &of::type, of::extents, of::saved_type, pass_on, pass_on};
};

/// a + b with a history, for gradients with these extents. `known`: the elements, or null.
EBB_ONCE gradient recorded_sum(dtype type, const extent_list& x, gradient a, gradient b, storage* known) {
  gradient r{known ? std::move(*known) : storage(a.value.bytes()), nullptr, 0, true};
  if (!known) add_elements(type, a.value.data(), b.value.data(), r.value.data(), r.value.bytes());
  if (!a.from && !b.from) return r;
  with_dtype(type, [&]<class T>(T) {
    if constexpr (real_element<T>) r.from = new_node(sum_node<T>::program);
  });
  node& n = static_cast<node&>(*r.from);
  n.connect(0, a.from.get(), a.output);
  n.connect(1, b.from.get(), b.output);
  set_extents(n, x);
  put_on_tape(this_tape(), n);
  return r;
}

template <class From, class To>
gradient cast_on_tape(const extent_list& x, gradient a);

/// An array in another dtype, on the tape: see converted_elements.
template <class From, class To>
struct cast_node : one_array<To> {
  static void pass_on(node&, gradient* in, gradient* out) {
    if (in[0].defined) out[0] = {converted_elements(dtype_of<To>, dtype_of<From>, in[0].value), nullptr, 0, true};
  }
  static void record(node& n, gradient* in, gradient* out) {
    if (in[0].defined) out[0] = cast_on_tape<To, From>(of::extents(n, 0), std::move(in[0]));
  }

  using of = one_array<To>;
  static constexpr node_program program{"cast", 1, 1, 0, of::numbers, &of::type, of::extents, of::saved_type, pass_on, record};
};
template <class From, class To>
gradient cast_on_tape(const extent_list& x, gradient a) {
  gradient r{converted_elements(dtype_of<From>, dtype_of<To>, a.value), nullptr, 0, true};
  if (!a.from) return r;
  r.from = new_node(cast_node<From, To>::program);
  node& n = static_cast<node&>(*r.from);
  n.connect(0, a.from.get(), a.output);
  set_extents(n, x);
  put_on_tape(this_tape(), n);
  return r;
}
/// a with a history, for gradients with these extents.
EBB_ONCE gradient recorded_cast(dtype from, dtype to, const extent_list& x, gradient a) {
  switch (from) {
    case dtype::bf16: return cast_on_tape<bfloat16, float>(x, std::move(a));
    case dtype::f16: return cast_on_tape<float16, float>(x, std::move(a));
    default: return to == dtype::bf16 ? cast_on_tape<float, bfloat16>(x, std::move(a)) : cast_on_tape<float, float16>(x, std::move(a));
  }
}

inline owned<const twice_differentiable> make_twice_differentiable(const segment_graphs& s, const cast_context* other, const char* name) {
  const pass_log said("a graph of the backward", name);
  return make_owned<derived_backward>(other ? in_other_context(thaw(s), *other) : thaw(s), name);
}
class recordable_graph final : public recordable {
 public:
  recordable_graph(const graph& g, const char* name) : f_(g, name) {}
  const graph& program() const override { return f_.program(); }
  void call(const gradient* in, const std::size_t* symbols, gradient* out) override { f_.call(in, symbols, out, true); }

 private:
  graph_function f_;
};
inline owned<recordable> make_recordable(const frozen_view& g, const char* name) {
  return make_owned<recordable_graph>(g.thaw(), name);
}
inline constexpr higher_order derivatives{make_twice_differentiable, recorded_sum, recorded_cast, make_recordable};

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI {

/// The option create_graph: a bool whose constructor brings in the table. See [note: derivatives on demand].
class graph_wanted {
 public:
  constexpr graph_wanted() = default;
  constexpr graph_wanted(bool wanted) : how_(wanted ? &detail::derivatives : nullptr) {}
  constexpr operator bool() const { return how_ != nullptr; }
  constexpr const higher_order* how() const { return how_; }

 private:
  const higher_order* how_ = nullptr;
};

}  // namespace ebb::inline EBB_ABI

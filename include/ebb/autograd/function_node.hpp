// ebb/autograd/function_node.hpp — the node of a custom function: holds the user's object, and checks its gradients.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "engine.hpp"
#include "function_types.hpp"

namespace ebb::inline EBB_ABI::detail {

/// The user's object, in a node; counted, because a backward within backward may release the node.
template <class F>
struct kept_function {
  explicit kept_function(F g) : f(std::move(g)) {}
  owner_count owners;
  F f;
};
template <class F>
void destroy(kept_function<F>* k) noexcept {
  delete k;
}

template <class F, std::size_t N>
void tell_what_is_needed(F& f, const std::array<bool, N>& needed) {
  if constexpr (requires { f.needs_input_grad; }) f.needs_input_grad = needed;
}

/// The value that an operand had in forward, on the tape: a leaf may have been written since.
template <class T, std::size_t... E>
variable<T, E...> as_operand(const layout<E...>& shape, storage value, edge e) {
  if (!e.to) return {shape, std::move(value), nullptr, 0};
  if (!e.to->is_leaf) return {shape, std::move(value), counted<vertex>(e.to), e.output};
  static constexpr dtype type = dtype_of<T>;
  static constexpr auto pass_on = [](node&, gradient* in, gradient* out) { out[0] = in[0]; };
  static constexpr node_program program{"alias", 1, 1, 0, 1 + max_rank, &type, sum_node<T>::extents, sum_node<T>::saved_type,
                                        pass_on, pass_on};
  counted<vertex> history = new_node(program);
  node& n = static_cast<node&>(*history);
  n.connect(0, e.to, e.output);
  const extent_list x = extents_of_layout(shape);
  n.symbols()[0] = static_cast<std::size_t>(x.rank);
  for (int a = 0; a < x.rank; ++a) n.symbols()[a + 1] = x.e[a];
  put_on_tape(this_tape(), n);
  return {shape, std::move(value), std::move(history), 0};
}

/// The program of F's nodes with results Y and operands X. Constant: forward is const.
template <class F, bool Constant, class Y, class X>
class user_node;
template <class F, bool Constant, class... Y, class... X>
class user_node<F, Constant, variable_list<Y...>, variable_list<X...>> {
  using kept = kept_function<F>;
  using call = backward_call<F, variable_list<Y...>, variable_list<X...>>;
  static constexpr int results = sizeof...(Y), operands = sizeof...(X);
  static constexpr int ranks[] = {Y::rank..., X::rank..., 0};

 public:
  using values = typename call::values;
  using recorded = typename call::recorded;
  static constexpr bool is_recorded = [] {
    if constexpr (call::records_operands || Constant) return has_backward<F, recorded>;
    else return false;
  }();

  static counted<vertex> make(kept& k, const std::tuple<const X&...>& x, const std::array<extent_list, sizeof...(Y)>& y) {
    counted<vertex> history = new_node(program);
    node& n = static_cast<node&>(*history);
    n.held = &k;
    k.owners.add();
    std::size_t* symbol = n.symbols();
    const auto keep_extents = [&](const extent_list& e) { symbol = std::copy(e.e, e.e + e.rank, symbol); };
    for (const extent_list& e : y) keep_extents(e);
    int j = 0;
    const auto connect = [&](const auto& v) {
      n.connect(j, v.history(), v.output());
      if (saves) n.saved()[j] = v.block();
      if (saves) keep_extents(extents_of_layout(v.layout()));
      ++j;
    };
    std::apply([&](const auto&... v) { (connect(v), ...); }, x);
    tape_state& t = this_tape();
    put_on_tape(t, n);
    if (saves && t.packing) pack_saved(n);
    return history;
  }

 private:
  static extent_list extents(const node& n, int number) {
    const std::size_t* symbol = n.symbols();
    for (int i = 0; i < number; ++i) symbol += ranks[i];
    extent_list x;
    x.rank = ranks[number];
    std::copy(symbol, symbol + x.rank, x.e);
    return x;
  }
  static dtype saved_type(const node&, int number) { return types[static_cast<std::size_t>(results + number)]; }
  static void release(node& n) {
    kept* const k = static_cast<kept*>(std::exchange(n.held, nullptr));
    if (k->owners.drop()) destroy(k);
  }
  static void run(node& n, gradient* in, gradient* out) { pull<values>(n, in, out, false); }
  static void record(node& n, gradient* in, gradient* out) {
    if constexpr (is_recorded) pull<recorded>(n, in, out, true);
  }

  template <class Passed>
  static void pull(node& n, gradient* in, gradient* out, bool records) {
    const counted<kept> k(static_cast<kept*>(n.held));
    const backward_pass* const pass = this_tape().pass;
    std::array<bool, sizeof...(X)> needed{};
    for (int j = 0; j < operands; ++j)
      if (const vertex* const to = n.edges()[j].to) needed[static_cast<std::size_t>(j)] = !pass || pass->will_reach(*to);
    tell_what_is_needed(k->f, needed);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      Passed passed{parameter<std::tuple_element_t<I, Passed>, static_cast<int>(I)>(n, in, records)...};
      take(n, out, std::apply([&](auto&... p) { return k->f.backward(std::move(p)...); }, passed), records);
    }(std::make_index_sequence<std::tuple_size_v<Passed>>{});
  }

  template <class P, int I>
  static P parameter(node& n, gradient* in, bool records) {
    if constexpr (is_optional<P>) {
      if (I < results && !in[I].defined) return std::nullopt;
      return array<typename P::value_type, I>(n, in, records);
    } else return array<P, I>(n, in, records);
  }
  template <class A, int I>
  static A array(node& n, gradient* in, bool records) {
    using T = typename A::value_type;
    const auto shape = layout_from(typename A::extents_type{}, extents(n, I));
    if constexpr (I >= results) {
      storage s = saved_value(n, I - results);
      if constexpr (is_variable<A>) return as_operand<T>(shape, std::move(s), records ? n.edges()[I - results] : edge{});
      else return to_tensor<T>(shape, s);
    } else {
      gradient g = in[I];
      if (!g.defined) {
        g = {storage(shape.size() * sizeof(T)), nullptr, 0, true};
        if (g.value.bytes()) std::memset(g.value.data(), 0, g.value.bytes());
      }
      if constexpr (is_variable<A>) return as_variable<T>(shape, g);
      else return to_tensor<T>(shape, g.value);
    }
  }

  template <class R>
  static void take(node& n, gradient* out, const R& r, bool records) {
    if constexpr (std::is_same_v<R, typename list_of_results<R>::type>) {
      [&]<std::size_t... J>(std::index_sequence<J...>) {
        (put<static_cast<int>(J)>(n, out, std::get<J>(r), records), ...);
      }(std::index_sequence_for<X...>{});
    } else put<0>(n, out, r, records);
  }
  template <int J, class R>
  static void put(node& n, gradient* out, const R& r, bool records) {
    if constexpr (is_optional<R>) {
      if (r) put<J>(n, out, *r, records);
    } else if constexpr (is_expression<R>) put<J>(n, out, r.get(), records);
    else if constexpr (array_like<R>) {
      const edge e = n.edges()[J];
      if constexpr (is_variable<R>)
        if (!r.defined()) return;
      if (!e.to) return;
      const any_tensor given(r);
      if (const extent_list x = extents_of(*e.to, e.output); !same_extents(given.extents(), x))
        raise("ebb::apply: gradient " + std::to_string(J) + " from " + program.name + " is " + given.text() + ", its operand is " +
              text_of(given.type(), x) + "; nothing is summed or spread to fit: do that in backward");
      if constexpr (is_variable<R>) out[J] = as_gradient(r);
      else out[J] = {given.block(), nullptr, 0, true};
      if (!records) out[J].from = nullptr;
    }
  }

  static constexpr bool saves = call::with_operands || (is_recorded && call::records_operands);
  static constexpr int symbols = (0 + ... + Y::rank) + (saves ? (0 + ... + X::rank) : 0);
  static constexpr std::array<dtype, results + operands> types{dtype_of<typename Y::value_type>..., dtype_of<typename X::value_type>...};
  static constexpr node_program program{.name = function_name<F>(),
                                        .outputs = results,
                                        .edges = operands,
                                        .saved = saves ? operands : 0,
                                        .symbols = symbols,
                                        .types = types.data(),
                                        .extents = extents,
                                        .saved_type = saved_type,
                                        .run = run,
                                        .record = is_recorded ? record : nullptr,
                                        .release = release};
};

}  // namespace ebb::inline EBB_ABI::detail

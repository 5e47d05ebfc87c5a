// ebb/hooks/traced_hook.hpp — a traced function as a hook: a program on the gradients where it is registered. See [note: traced hooks].
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "hook_function.hpp"
#include "hook_program.hpp"

#include "../autograd/region.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI::detail {

/// The parameter of a traced hook for the gradients of variables: one gradient, or a tuple.
template <class... V>
struct gradients_of {
  using terms = single_or_tuple<std::tuple<traced_type<V>...>>;
};
template <class X>
X one_or_tuple(const X& one) {
  return one;
}
template <class... X>
  requires(sizeof...(X) > 1)
std::tuple<X...> one_or_tuple(const X&... several) {
  return {several...};
}
template <std::size_t I>
constexpr const auto& result_at(const auto& r) {
  if constexpr (in_trace<std::remove_cvref_t<decltype(r)>>) return r;
  else if constexpr (requires { std::tuple_size<std::remove_cvref_t<decltype(r)>>::value; }) return std::get<I>(r);
  else return r;
}

/// Runs a hook's function on values that are in `in` and on gradients, and records it. The first `written` gradients are replaced.
EBB_COLD void record_hook(recordable& f, gradient* in, int values, const extent_list* extents, const dtype* types, gradient* const* g,
                          int written, int count) {
  const graph& program = f.program();
  for (int i = 0; i < count; ++i) {
    gradient& x = in[values + i];
    if (g[i]->defined) x = *g[i];
    else x = {zeros_of<std::byte>(extents[i].volume() * size_of(types[i])), nullptr, 0, true};
  }
  vec<std::size_t> symbols;
  for (int s = 0; s < program.syms.count(); ++s) {
    const extent_origin o = program.syms.origin(s);
    symbols.push(extents[o.a - values].e[o.b]);
  }
  objects<gradient> out(static_cast<std::size_t>(written));
  f.call(in, symbols.data(), out.data());
  if (const counted<vertex> made = out[0].from; made && this_tape().packing) pack_saved(static_cast<node&>(*made));
  for (int i = 0; i < written; ++i) {
    const extent_list is = extents_at(program.shape_of(program.out[i]), symbols.data());
    if (!same_extents(is, extents[i])) raise_hook_size({types[i], extents[i], {}}, {types[i], is, {}});
  }
  for (int i = 0; i < written; ++i)
    if (g[i]->defined) *g[i] = out[static_cast<std::size_t>(i)];
}

/// One of the results of F.
template <class F, int I>
struct result_of_function {
  constexpr auto operator()(auto... x) const { return result_at<I>(F{}(x...)); }
};

/// 0 if F is a function of these groups of gradients that returns the first group, else an error code.
template <class F, class First, class... Group>
constexpr int code_of_traced_hook() {
  if constexpr (!is_made_from_type<function_in<F>>) return 154;
  else if constexpr (!takes_terms<F, typename First::terms, typename Group::terms...>) return 159;
  else if constexpr (has_refused<hook_result<F, typename First::terms, typename Group::terms...>>) return already_reported;
  else return std::is_same_v<hook_result<F, typename First::terms, typename Group::terms...>, typename First::terms> ? 0 : 153;
}

/// A traced hook and its bound values.
template <class F>
class bound_hook : public hook {
 public:
  explicit bound_hook(const F& f) : values_(unbound<F>::values(f)) {}

  bool is_opaque() const final { return false; }
  void values(const void** to) const final {
    std::apply([&](const auto&... value) { ((*to++ = &value), ...); }, values_);
  }

 protected:
  /// Whether its bound values are few numbers: then it can be merged into other graphs.
  static constexpr bool binds_numbers = []<class... V>(std::type_identity<std::tuple<V...>>) {
    return sizeof...(V) <= max_bound && (number<V> && ...);
  }(std::type_identity<bound_values<F>>{});

  bound_values<F> values_;
};

/// Replaces the gradients of W: at a node's outputs, or, reading the gradients of its outputs R, at its operands.
template <class F, class Written, class Read = gradients_of<>>
class traced_hook;
template <class F, class... W, class... R>
class traced_hook<F, gradients_of<W...>, gradients_of<R...>> final : public bound_hook<F> {
  using bound_hook<F>::values_;
  static constexpr std::size_t written = sizeof...(W), count = written + sizeof...(R);
  using program = program_function<compile_spec<function_in<F>>>;
  template <std::size_t I>
  using element_at = typename std::tuple_element_t<I, std::tuple<W..., R...>>::value_type;

 public:
  using numbers = std::array<std::uint32_t, count>;
  using layouts = std::tuple<typename W::layout_type..., typename R::layout_type...>;
  /// at: the number of each gradient at the node.
  traced_hook(const F& f, const numbers& at, const layouts& l) : bound_hook<F>(f), layouts_(l), at_(at) {}

  void run(const hook_call& c) override {
    std::array<gradient*, count> g;
    for (std::size_t i = 0; i < count; ++i) g[i] = (i < written && written < count ? c.out : c.in) + at_[i];
    if (std::none_of(g.begin(), g.end(), [](const gradient* one) { return one->defined; })) return;
    if (c.create_graph) {
      if constexpr (records_graph) record_as_graph(*c.create_graph, g, std::make_index_sequence<count>{});
      else record(g, std::make_index_sequence<written>{}, std::make_index_sequence<count>{});
    }
    else compute(g, std::make_index_sequence<written>{}, std::make_index_sequence<count>{});
  }

  const hook_program* traced() const override {
    if constexpr (is_merged)
      if (count == 1 || is_in_order()) return &as_graph;
    return nullptr;
  }

 private:
  static constexpr bool is_merged = bound_hook<F>::binds_numbers;
  // Several gradients may differ in length, so they are several loops: a link for each.
  template <int Values, class... Argument>
  static constexpr auto links = []<int... I>(std::integer_sequence<int, I...>) {
    return std::array{link_of_hook<result_of_function<function_in<F>, I>, Values + I, Argument...>()...};
  }(std::make_integer_sequence<int, static_cast<int>(written)>{});
  template <int Values, class... Argument>
  static constexpr hook_program program_on() {
    hook_program p = program_of_hook<function_in<F>, Argument...>(Values, 0);
    if constexpr (written == 1) p.chain = link_of_hook<function_in<F>, Values, Argument...>();
    else p.several = links<Values, Argument...>.data();
    p.written = static_cast<int>(written);
    p.read = static_cast<int>(count - written);
    return p;
  }
  static constexpr hook_program as_graph = []<class... V>(std::type_identity<std::tuple<V...>>) -> hook_program {
    using before = typename gradients_of<W...>::terms;
    if constexpr (!is_merged) return {};
    else if constexpr (sizeof...(R) == 0) return program_on<sizeof...(V), traced_type<V>..., before>();
    else return program_on<sizeof...(V), traced_type<V>..., before, typename gradients_of<R...>::terms>();
  }(std::type_identity<bound_values<F>>{});
  /// Whether the gradients are the node's first ones.
  bool is_in_order() const {
    for (std::size_t i = 0; i < count; ++i)
      if (at_[i] != (i < written ? i : i - written)) return false;
    return true;
  }

  template <std::size_t I>
  std::size_t size() const {
    return std::get<I>(layouts_).size();
  }
  /// f(values, the gradients to write, those to read)
  auto call(auto&& f, const auto& x) const {
    return [&]<std::size_t... I, std::size_t... K>(std::index_sequence<I...>, std::index_sequence<K...>) {
      return std::apply([&](const auto&... value) {
        if constexpr (sizeof...(K) == 0) return f(value..., one_or_tuple(std::get<I>(x)...));
        else return f(value..., one_or_tuple(std::get<I>(x)...), one_or_tuple(std::get<written + K>(x)...));
      }, values_);
    }(std::index_sequence_for<W...>{}, std::index_sequence_for<R...>{});
  }

  /// A hook on one gradient, which keeps its extents and may be written in place.
  static constexpr bool is_in_place = []<class... V>(std::type_identity<std::tuple<V...>>) {
    if constexpr (count == 1) {
      using P = executable<typename compile_spec<function_in<F>>::template program<traced_type<V>..., typename gradients_of<W...>::terms>>;
      constexpr int at = leaves_of<V...>;
      return P::results == 1 && has_extents_of<P>(0, at) && overwrites<P>::may(0, at);
    } else return false;
  }(std::type_identity<bound_values<F>>{});
  template <std::size_t... I, std::size_t... J>
  void compute(const std::array<gradient*, count>& g, std::index_sequence<I...>, std::index_sequence<J...>) {
    storage result[] = {g[I]->defined && g[I]->value.use_count() == 1 ? g[I]->value : storage(size<I>() * sizeof(element_at<I>))...};
    const storage missing[] = {g[J]->defined ? storage() : zeros_of<element_at<J>>(size<J>())...};
    const auto from = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
      const storage& block = g[N]->defined ? g[N]->value : missing[N];
      return as_view<const element_at<N>>(std::get<N>(layouts_), block);
    };
    call([&](const auto&... x) {
      if constexpr (is_in_place) {
        void* const to[] = {result[I].data()...};
        run_in_place<compile_spec<function_in<F>>>(to, x...);
      } else program{}(into(as_view<element_at<I>>(std::get<I>(layouts_), result[I])...), x...);
    }, std::tuple(from(std::integral_constant<std::size_t, J>{})...));
    ([&] {
      if (g[I]->defined) g[I]->value = std::move(result[I]);
    }(), ...);
  }
  // [note: hooks in a graph of the backward]
  // A hook is recorded as the graph that it was traced into, which runs block by block: else each program would compile its derivative, and
  // few use create_graph. If the call decides more than the extents of gradients, it is recorded as a region.
  template <class Values, bool Reads>
  struct trace_on;
  template <class... V>
  struct trace_on<std::tuple<V...>, false> {
    using type = ebb::traced<function_in<F>, traced_type<V>..., typename gradients_of<W...>::terms>;
  };
  template <class... V>
  struct trace_on<std::tuple<V...>, true> {
    using type = ebb::traced<function_in<F>, traced_type<V>..., typename gradients_of<W...>::terms, typename gradients_of<R...>::terms>;
  };
  using trace = typename trace_on<bound_values<F>, (sizeof...(R) > 0)>::type;
  static constexpr bool records_graph = [] {
    if constexpr (!is_merged) return false;
    else {
      bool simple = trace::size.graphs == 1 && !trace::g.casts.asked.ever_differs();
      for (int s = 0; simple && s < trace::size.symbols; ++s) {
        const symbols::item& i = trace::g.syms[static_cast<std::size_t>(s)];
        simple = i.origin.rule == extent_rule::argument && !i.origin.is_value() && i.parent == s && i.bound < 0;
      }
      return simple;
    }
  }();
  template <std::size_t... J>
  [[gnu::cold, gnu::noinline]] void record_as_graph(const higher_order& how, const std::array<gradient*, count>& g,
                                                    std::index_sequence<J...>) {
    static const owned<recordable> f = how.function(trace::g.view(), joined_names<trace>.data());
    constexpr int values = static_cast<int>(std::tuple_size_v<bound_values<F>>);
    gradient in[values + count];
    [[maybe_unused]] int next = 0;
    std::apply([&](const auto&... value) {
      ([&] {
        storage one(sizeof value);
        std::memcpy(one.data(), &value, sizeof value);
        in[next++] = {std::move(one), nullptr, 0, true};
      }(), ...);
    }, values_);
    const extent_list extents[] = {extents_of_layout(std::get<J>(layouts_))...};
    constexpr dtype types[] = {dtype_of<element_at<J>>...};
    record_hook(*f, in, values, extents, types, g.data(), static_cast<int>(written), static_cast<int>(count));
  }
  // Used with create_graph only: short rather than fast.
  template <std::size_t... I, std::size_t... J>
  [[gnu::cold, gnu::noinline]] void record(const std::array<gradient*, count>& g, std::index_sequence<I...>, std::index_sequence<J...>) {
    const auto from = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
      using T = element_at<N>;
      return as_variable<T>(std::get<N>(layouts_), g[N]->defined ? *g[N] : gradient{zeros_of<T>(size<N>()), nullptr, 0, true});
    };
    const auto result = call([&](const auto&... x) { return program{}(x...); },
                             std::tuple(from(std::integral_constant<std::size_t, J>{})...));
    (require_same_extents(result_at<I>(result), std::get<I>(layouts_)), ...);
    ([&] {
      if (g[I]->defined) *g[I] = as_gradient(result_at<I>(result));
    }(), ...);
  }

  [[no_unique_address]] layouts layouts_;
  numbers at_;
};

/// The result of a traced post-accumulate hook: the value, the value and the gradient, or the value and ebb::nothing.
template <class R, class Value, class Gradient>
inline constexpr bool is_leaf_update = std::is_same_v<R, Value> || std::is_same_v<R, std::tuple<Value, Gradient>> ||
                                       std::is_same_v<R, std::tuple<Value, no_gradient>>;

template <class F, class Value, class Gradient>
constexpr int code_of_traced_leaf_hook() {
  if constexpr (!is_made_from_type<function_in<F>>) return 154;
  else if constexpr (!takes_terms<F, Value, Gradient>) return 172;
  else if constexpr (has_refused<hook_result<F, Value, Gradient>>) return already_reported;
  else return is_leaf_update<hook_result<F, Value, Gradient>, Value, Gradient> ? 0 : 173;
}

/// Whether result I of F is argument `Number`, unchanged.
template <class F, int I, int Number, class... Term>
inline constexpr bool passes_on = [] {
  const auto& g = traced<result_of_function<F, I>, Term...>::g;
  const equation& e = g.eq[static_cast<std::size_t>(g.out[0])];
  return e.op->what == kind::input && e.attr[0] == Number;
}();

/// After an accumulation: f(value, gradient), arrays of Ts and Gs, returns their new values.
template <class F, class T, class G, std::size_t... E>
class traced_leaf_hook final : public bound_hook<F> {
  using bound_hook<F>::values_;

 public:
  traced_leaf_hook(const F& f, const layout<E...>& shape) : bound_hook<F>(f), shape_(shape) {}

  void run(const hook_call& c) override {
    leaf& l = static_cast<leaf&>(*c.at);
    if constexpr (writes_gradient)
      if (c.create_graph) return run_recorded(l);
    const exclusive alone(l);
    if (!l.grad.defined) return;  // an earlier hook took it
    if constexpr (writes_value || writes_gradient) compute(l, written{});
    if (clears) l.grad = {};
    if (writes_gradient) l.grad.from = nullptr;
  }
  const hook_program* traced() const override {
    if constexpr (is_merged) return &as_graph;
    else return nullptr;
  }
  bool is_ready() const override { return true; }

 private:
  using function = function_in<F>;
  using array = term<T, E...>;
  using slope = term<G, E...>;
  using result = hook_result<F, array, slope>;
  template <int I, int Number>
  static constexpr bool writes = []<class... V>(std::type_identity<std::tuple<V...>>) {
    return !passes_on<function, I, leaves_of<V...> + Number, traced_type<V>..., array, slope>;
  }(std::type_identity<bound_values<F>>{});
  static constexpr bool writes_value = writes<0, 0>;
  static constexpr bool clears = std::is_same_v<result, std::tuple<array, no_gradient>>;
  static constexpr bool writes_gradient = [] {
    if constexpr (std::is_same_v<result, std::tuple<array, slope>>) return writes<1, 1>;
    else return false;
  }();
  template <int... I>
  using results = std::integer_sequence<int, I...>;
  using written = std::conditional_t<!writes_value, results<1>, std::conditional_t<writes_gradient, results<0, 1>, results<0>>>;
  /// The program of these results: the whole function, or a part of it.
  template <class Results>
  using part = std::conditional_t<Results::size() == 2, function, result_of_function<function, std::is_same_v<Results, results<1>>>>;
  static constexpr bool is_merged = (writes_value || writes_gradient) && bound_hook<F>::binds_numbers;
  static constexpr hook_program as_graph = []<class... V>(std::type_identity<std::tuple<V...>>) -> hook_program {
    if constexpr (!is_merged) return {};
    else {
      constexpr int values = sizeof...(V);
      hook_program p = program_of_hook<part<written>, traced_type<V>..., array, slope>(values, 0);
      p.chain = link_of_hook<part<written>, values + 1, traced_type<V>..., array, slope>();
      p.parameter = values;
      p.writes_value = writes_value;
      p.writes_gradient = writes_gradient;
      p.clears = clears;
      return p;
    }
  }(std::type_identity<bound_values<F>>{});

  /// Computes results I..., in place of the value and the gradient if these have no other owners.
  template <int... I>
  void compute(leaf& l, results<I...>) {
    storage* const kept[] = {&l.value, &l.grad.value};
    storage to[2];
    ((to[I] = kept[I]->use_count() == 1 ? *kept[I] : storage(kept[I]->bytes())), ...);
    std::apply([&](const auto&... value) {
      program_function<compile_spec<part<results<I...>>>>{}(into(as_view<std::conditional_t<I == 0, T, G>>(shape_, to[I])...), value...,
                                                            as_view<const T>(shape_, l.value), as_view<const G>(shape_, l.grad.value));
    }, values_);
    ((*kept[I] = std::move(to[I])), ...);
    if (writes_value) l.version.fetch_add(1, std::memory_order_relaxed);
  }
  /// The gradient keeps its history; the value never has one.
  [[gnu::cold, gnu::noinline]] void run_recorded(leaf& l) {
    if (!l.grad.defined) return;
    gradient next = std::apply([&](const auto&... value) {
      const auto g = program_function<compile_spec<part<results<1>>>>{}(
          value..., variable<T, E...>(shape_, counted<vertex>(&l)), as_variable<G>(shape_, l.grad));
      require_same_extents(g, shape_);
      return as_gradient(g);
    }, values_);
    const exclusive alone(l);
    if constexpr (writes_value) compute(l, results<0>{});
    l.grad = std::move(next);
  }

  [[no_unique_address]] layout<E...> shape_;
};

}  // namespace ebb::inline EBB_ABI::detail

// ebb/hooks/node_handle.hpp — a node by name, and hooks that see all of its gradients at once.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "register.hpp"

#include <concepts>
#include <vector>

namespace ebb::inline EBB_ABI {

/// Gradients at a node, in a hook: those that have arrived at its outputs, or those of its operands. Some may be undefined: that of an
/// operand that needs no gradient always is.
class gradients {
 public:
  enum class side : bool { outputs, operands };

  gradients(const vertex& at, gradient* list, int size, side s, bool create_graph)
      : at_(&at), list_(list), size_(size), side_(s), create_graph_(create_graph) {}

  int size() const { return size_; }
  bool defined(int i) const { return named("defined", i).defined && is_needed(i); }

  /// Gradient i, which may be undefined.
  any_tensor get(int i) const {
    return named("get", i).defined && is_needed(i) ? any_tensor(type(i), extents(i), list_[i].value) : any_tensor();
  }
  /// Gradient i with its type. Throws: error if it is undefined, or if dtype, rank or a static extent differ.
  template <element T, std::size_t... E>
  tensor<T, E...> get(int i) const {
    return to_tensor<T>(shape<T, E...>("get", i), list_[i].value);
  }
  /// The same as a variable, with a history if create_graph is set.
  template <element T, std::size_t... E>
  variable<T, E...> get_variable(int i) const {
    return detail::as_variable<T>(shape<T, E...>("get_variable", i), list_[i]);
  }

  /// Replaces gradient i. Throws: error if dtype or extents differ from those of its value, if the gradient is not needed, and, with
  /// create_graph, for arguments that are not variables.
  EBB_ONCE void set(int i, const any_tensor& value) {
    gradient& g = checked(i, value);
    if (create_graph_ && value.defined())
      raise("ebb::gradients::set: a value replaced " + number(i) + " while a graph of the backward is made: use get_variable, and set with "
            "a variable");
    g = {value.block(), nullptr, 0, value.defined()};
  }
  template <class T, std::size_t... E>
  void set(int i, const variable<T, E...>& value) {
    gradient& g = checked(i, value.defined() ? any_tensor(value) : any_tensor());
    g = value.defined() ? detail::as_gradient(value) : gradient{};
    if (!create_graph_) g.from = nullptr;
  }
  template <class T, class X, class F, class... A>
  void set(int i, const expression<T, X, F, A...>& value) {
    set(i, value.get());
  }
  /// Sets gradient i to undefined.
  void clear(int i) { named("clear", i) = {}; }

 private:
  const edge& target(int i) const { return static_cast<const node*>(at_)->edges()[i]; }
  bool is_needed(int i) const { return side_ == side::outputs || target(i).to; }
  dtype type(int i) const {
    return side_ == side::outputs ? gradient_type_at(*at_, static_cast<std::uint32_t>(i)) : dtype_at(*target(i).to, target(i).output);
  }
  extent_list extents(int i) const {
    return side_ == side::outputs ? extents_of(*at_, static_cast<std::uint32_t>(i)) : extents_of(*target(i).to, target(i).output);
  }
  /// "gradient 0 of mul", "gradient 1 from mul"
  std::string number(int i) const {
    return "gradient " + std::to_string(i) + (side_ == side::outputs ? " of " : " from ") + name_of(*at_);
  }
  EBB_ONCE gradient& named(const char* call, int i) const {
    if (i < 0 || i >= size_) raise_none(call, i);
    return list_[i];
  }
  [[noreturn, gnu::cold, gnu::noinline]] void raise_none(const char* call, int i) const {
    raise(std::string("ebb::gradients::") + call + ": there is no " + number(i) + ", it has " + std::to_string(size_));
  }
  EBB_COLD gradient& checked(int i, const any_tensor& value) const {
    gradient& g = named("set", i);
    if (!is_needed(i)) raise("ebb::gradients::set: nobody needs " + number(i));
    if (value.defined() && (value.type() != type(i) || !detail::same_extents(value.extents(), extents(i))))
      raise("ebb::gradients::set: " + number(i) + " is " + detail::text_of(type(i), extents(i)) + " and cannot become " + value.text());
    return g;
  }
  template <class T, std::size_t... E>
  layout<E...> shape(const char* call, int i) const {
    named(call, i);
    if (!defined(i)) raise_undefined(call, i);
    const extent_list x = extents(i);
    if (type(i) != dtype_of<T> || !detail::fits_layout(ebb::extents<E...>{}, x)) {
      const std::size_t wanted[] = {E..., 0};
      raise_other(call, i, dtype_of<T>, wanted, static_cast<int>(sizeof...(E)));
    }
    return detail::layout_from(ebb::extents<E...>{}, x);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void raise_undefined(const char* call, int i) const {
    raise(std::string("ebb::gradients::") + call + ": " + number(i) + " is undefined");
  }
  [[noreturn]] EBB_COLD void raise_other(const char* call, int i, dtype wanted, const std::size_t* extent,
                                         int rank) const {
    raise(std::string("ebb::gradients::") + call + ": " + number(i) + " is " + detail::text_of(type(i), extents(i)) +
          ", it was asked for as " + std::string(ebb::name_of(wanted)) + list_text(extent, rank));
  }
  template <element T, std::size_t... E>
  static tensor<T, E...> to_tensor(const layout<E...>& shape, const storage& block) {
    return detail::to_tensor<T>(shape, block);
  }

  const vertex* at_;
  gradient* list_;
  int size_;
  side side_;
  bool create_graph_;
};

namespace detail {

template <class F>
inline constexpr bool is_node_prehook = std::is_invocable_r_v<void, callable<F>&, gradients&>;
template <class F>
inline constexpr bool is_node_posthook = std::is_invocable_r_v<void, callable<F>&, gradients&, const gradients&>;

/// A hook of a node that is not traced: it sees the gradients of the outputs and, after the node, those of the operands.
template <hook_kind Kind, class F>
class node_hook final : public hook {
 public:
  explicit node_hook(F f) : f_(std::move(f)) {}
  void run(const hook_call& c) override {
    gradients in(*c.at, c.in, c.ins, gradients::side::outputs, c.create_graph);
    if constexpr (Kind == hook_kind::node_pre) f_(in);
    else {
      gradients out(*c.at, c.out, c.outs, gradients::side::operands, c.create_graph);
      f_(out, std::as_const(in));
    }
  }

 private:
  F f_;
};

}  // namespace detail

template <class Results, class Operands>
class typed_node_handle;

/// A handle to a node that made a result, or to the accumulation into a leaf.
class node_handle {
 public:
  explicit node_handle(counted<vertex> at) : at_(std::move(at)) {}

  /// The op or region, or the name of the leaf.
  std::string name() const { return name_of(*at_); }
  bool is_leaf() const { return at_->is_leaf; }
  /// The targets of its gradients: one for each operand that is a variable with a history.
  template <std::same_as<node_handle> Handle = node_handle>  // see [note: compiled where used]
  std::vector<std::optional<Handle>> next_functions() const {
    std::vector<std::optional<Handle>> r;
    if (is_leaf()) return r;
    const node& n = static_cast<const node&>(*at_);
    for (int j = 0; j < n.program->edges; ++j) {
      r.emplace_back();
      if (vertex* const to = n.edges()[j].to) r.back().emplace(counted<vertex>(to));
    }
    return r;
  }

  /// f(ebb::gradients& in) runs before the node, if that runs, and may change `in`. See [note: the order of hooks].
  template <class F>
  hook_handle register_prehook(F f) const {
    constexpr bool traced = detail::traceable_hook<F>, fits = detail::is_node_prehook<F>;
    static_assert(!traced, "[ebb E0134] this handle knows no types, which a hook with `auto` needs: register it on y.grad_fn() or "
                           "w.accumulate_node(), or let it take ebb::gradients&");
    static_assert(traced || fits, "[ebb E0160] a node pre-hook takes ebb::gradients&, and changes gradients by its set and clear");
    if constexpr (traced || !fits) return {};
    else return add_function<hook_kind::node_pre>(std::move(f));
  }
  /// f(ebb::gradients& out, const ebb::gradients& in) runs after the node, and may change `out`, which is empty for a leaf.
  template <class F>
  hook_handle register_hook(F f) const {
    constexpr bool traced = detail::traceable_hook<F>, fits = detail::is_node_posthook<F>;
    static_assert(!traced, "[ebb E0135] this handle does not know the types of the operands, which a hook with `auto` needs: name them, "
                           "y.grad_fn(x, w); after an accumulation use a post-accumulate hook");
    static_assert(traced || fits, "[ebb E0161] a node post-hook takes ebb::gradients& of the operands and const ebb::gradients& of the "
                                  "outputs");
    if constexpr (traced || !fits) return {};
    else return add_function<hook_kind::node_post>(std::move(f));
  }

  bool operator==(const node_handle&) const = default;

 protected:
  template <hook_kind Kind, class F>
  hook_handle add_function(F f) const {
    return add(Kind, std::make_shared<detail::node_hook<Kind, detail::callable<F>>>(detail::to_callable(std::move(f))));
  }
  EBB_ONCE hook_handle add(hook_kind kind, std::shared_ptr<hook> made) const {
    hook_list& h = hooks_of(*at_);
    return {h, h.add(kind, 0, std::move(made))};
  }

  counted<vertex> at_;
};

/// A handle with the types of the node's outputs Y and, if given, operands X: its hooks can be traced. See [note: traced hooks].
template <class... Y, class... X>
class typed_node_handle<std::tuple<Y...>, std::tuple<X...>> : public node_handle {
  using outputs = detail::gradients_of<Y...>;
  using operands = detail::gradients_of<X...>;

 public:
  /// Throws: error if y are not results of one node, or if x are given and are not its operands in order.
  explicit typed_node_handle(const std::tuple<Y...>& y, const std::tuple<X...>& x = {})
      : node_handle(counted<vertex>(std::get<0>(y).history())) {
    std::apply([&](const Y&... v) {
      before_ = {{v.output()...}, {v.layout()...}};
      for (const vertex* from : {v.history()...})
        if (from != at_.get()) raise("ebb::grad_fn: the results that are named come from several nodes");
    }, y);
    if constexpr (sizeof...(X) > 0) std::apply([&](const X&... v) { take_operands(y, v...); }, x);
  }

  /// As node_handle's, or traced: f(gradients of the outputs) returns as many.
  template <class F>
  hook_handle register_prehook(F f) const {
    if constexpr (!detail::traceable_hook<F>) return node_handle::register_prehook(std::move(f));
    else return add_traced<detail::traced_hook<F, outputs>, detail::code_of_traced_hook<F, outputs>()>(hook_kind::node_pre, f, before_);
  }
  /// As node_handle's, or traced: f(gradients of the operands, those of the outputs) returns those of the operands.
  template <class F>
  hook_handle register_hook(F f) const {
    if constexpr (!detail::traceable_hook<F> || sizeof...(X) == 0) return node_handle::register_hook(std::move(f));
    else {
      constexpr int code = detail::code_of_traced_hook<F, operands, outputs>();
      return add_traced<detail::traced_hook<F, operands, outputs>, code>(hook_kind::node_post, f, after_);
    }
  }

 private:
  template <class... V>
  struct places {
    std::array<std::uint32_t, sizeof...(V)> at{};
    std::tuple<typename V::layout_type...> layouts{};
  };
  void take_operands(const std::tuple<Y...>& y, const X&... x) {
    std::uint32_t number = 0;
    const auto next = [&](const auto& v) {
      const node& n = static_cast<const node&>(*at_);
      const edge e = n.edges()[number];
      if (e.to != v.history() || (e.to && e.output != v.output()))
        raise("ebb::grad_fn: operand " + std::to_string(number) + " of " + name() + " is not " + v.name());
      return number++;
    };
    if (const int n = static_cast<node&>(*at_).program->edges; n != sizeof...(X))
      raise("ebb::grad_fn: the number of operands of " + name() + " is " + std::to_string(n) + ", named are " +
            std::to_string(sizeof...(X)));
    const std::array<std::uint32_t, sizeof...(X)> at{next(x)...};
    after_.layouts = std::apply([&](const Y&... v) { return std::tuple(x.layout()..., v.layout()...); }, y);
    std::copy(before_.at.begin(), before_.at.end(), std::copy(at.begin(), at.end(), after_.at.begin()));
  }
  template <class Hook, int Code, class F>
  hook_handle add_traced(hook_kind kind, const F& f, const auto& place) const {
    static_assert(Code != 153, "[ebb E0153] a hook returns gradients of the same dtypes and extents, several in a std::tuple, or nothing");
    static_assert(Code != 159, "[ebb E0159] a hook takes one gradient: a tensor, a variable, or `auto`; a traced one of a node takes those "
                               "of the outputs, after those of the operands if it runs after the node");
    static_assert(Code != 154, "[ebb E0154] a hook with `auto` is traced and must not capture: use ebb::bind(values..., f) or ebb::opaque");
    if constexpr (Code == 0) return add(kind, std::make_shared<Hook>(f, place.at, place.layouts));
    else return {};
  }

  places<Y...> before_;
  places<X..., Y...> after_;
};

/// The node that made the results, with their types: grad_fn(y), grad_fn(std::tie(y, z)). With operands, in the order of the call and with
/// its repetitions, also with theirs: grad_fn(y, x, w).
/// Throws: error if the results come from several nodes or none, or if the operands are others.
template <class... Y, class... X>
auto grad_fn(const std::tuple<Y...>& results, const X&... operands) {
  constexpr bool fits = (detail::is_variable<std::remove_cvref_t<Y>> && ...) && (detail::is_variable<X> && ...) && sizeof...(Y) > 0;
  static_assert(fits, "[ebb E0136] ebb::grad_fn: name results, and operands, that are variables");
  if constexpr (!fits) return refused_result{};
  else {
    std::apply([](const auto&... y) { (y.require_node(), ...); }, results);
    return typed_node_handle<std::tuple<std::remove_cvref_t<Y>...>, std::tuple<X...>>(results, {operands...});
  }
}
template <class T, std::size_t... E, class... X>
auto grad_fn(const variable<T, E...>& result, const X&... operands) {
  return grad_fn(std::tie(result), operands...);
}

template <class T, std::size_t... E>
template <class... X>
auto variable<T, E...>::grad_fn(const X&... operands) const {
  return ebb::grad_fn(*this, operands...);
}
template <class T, std::size_t... E>
template <class G>
auto variable<T, E...>::accumulate_node() const {
  if (!vertex_ || !vertex_->is_leaf) raise("ebb::variable::accumulate_node: " + name() + " is no leaf: nothing accumulates there");
  if constexpr (may_have_gradient<G>()) {
    require_grad_dtype<G>("ebb::variable::accumulate_node");
    using arrives = variable<G, E...>;
    return typed_node_handle<std::tuple<arrives>, std::tuple<>>(std::tuple(arrives(shape_, vertex_)));
  } else return node_handle(vertex_);
}

}  // namespace ebb::inline EBB_ABI

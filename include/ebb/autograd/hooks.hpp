// ebb/autograd/hooks.hpp — what the user registers, with its types, behind the tape's erased hooks.
// SPDX-License-Identifier: BSL-1.0
//
// [note: what a hook is]
//   traceable   a generic lambda, or ebb::bind(values..., generic lambda): traced on a term of the gradient's type, compiled, and checked
//               for dtype and extents where it is registered. Bound values are inputs: they may differ from call to call.
//   opaque      a callable that takes a tensor, or ebb::opaque(f): called with the gradient's value. It may return nothing, an array of
//               the same extents, or std::optional of one.
//   on the tape a callable that takes a variable: like opaque, but what it computes is part of a graph of the backward.
#pragma once

#include "region.hpp"
#include "update.hpp"

#include <optional>

namespace ebb::inline EBB_ABI {

/// f, called with values in front of its other arguments: how a traced function sees values that change from call to call.
template <class F, class... V>
struct bound {
  F f;
  std::tuple<V...> values;
};
/// ebb::bind(values..., f)
template <class... A>
constexpr auto bind(A... a) {
  auto all = std::tuple(std::move(a)...);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    using F = std::tuple_element_t<sizeof...(A) - 1, decltype(all)>;
    static_assert(std::is_empty_v<F>, "[ebb E0104] a traced lambda must not capture: pass the value as an argument");
    return bound<F, std::tuple_element_t<I, decltype(all)>...>{std::get<sizeof...(A) - 1>(all), {std::get<I>(all)...}};
  }(std::make_index_sequence<sizeof...(A) - 1>{});
}

/// A generic callable that is to be called with arrays, not traced.
template <class F>
struct opaque_function {
  F f;
};
template <class F>
constexpr opaque_function<F> opaque(F f) {
  return {std::move(f)};
}

namespace detail {

template <class F>
inline constexpr bool has_fixed_parameters = std::is_pointer_v<F> || requires { &F::operator(); };

template <class F>
struct unbound {
  using function = F;
  static constexpr std::tuple<> values(const F&) { return {}; }
};
template <class F, class... V>
struct unbound<bound<F, V...>> {
  using function = F;
  static constexpr const std::tuple<V...>& values(const bound<F, V...>& b) { return b.values; }
};

/// The handle of something on the tape, and back.
template <class T, std::size_t... E>
variable<T, E...> as_variable(const layout<E...>& shape, const gradient& g) {
  return {shape, g.value, g.from, g.output};
}
template <class T, std::size_t... E>
gradient as_gradient(const variable<T, E...>& v) {
  return {v.block(), counted<vertex>(v.history()), v.output(), true};
}

template <class F, class T, std::size_t... E>
class traced_hook final : public hook {
 public:
  using function = typename unbound<F>::function;
  using values = std::remove_cvref_t<decltype(unbound<F>::values(std::declval<const F&>()))>;
  traced_hook(const F& f, const layout<E...>& shape) : values_(unbound<F>::values(f)), shape_(shape) {}

  void run(const hook_call& c) override {
    std::apply([&](const auto&... value) {
      constexpr program_function<compile_spec<function>> program;
      if (c.create_graph) {
        *c.in = as_gradient(program(value..., as_variable<T>(shape_, *c.in)));
        return;
      }
      const view<const T, E...> given(reinterpret_cast<const T*>(c.in->value.data()), shape_);
      storage result = c.in->value.use_count() == 1 ? c.in->value : storage(c.in->value.bytes());
      program(into(view<T, E...>(reinterpret_cast<T*>(result.data()), shape_)), value..., given);
      c.in->value = std::move(result);
    }, values_);
  }

 private:
  values values_;
  [[no_unique_address]] layout<E...> shape_;
};

[[noreturn, gnu::cold, gnu::noinline]] inline void raise_hook_size(const any_tensor& was, const any_tensor& is) {
  raise("ebb::variable::register_hook: the hook changed the gradient from " + was.text() + " to " + is.text());
}

template <class F, class T, std::size_t... E>
class opaque_hook final : public hook {
 public:
  opaque_hook(F f, const layout<E...>& shape) : f_(std::move(f)), shape_(shape) {}

  void run(const hook_call& c) override {
    if constexpr (std::is_invocable_v<F&, const tensor<T, E...>&>) take(c, [&] { return f_(to_tensor<T>(shape_, c.in->value)); });
    else take(c, [&] { return f_(as_variable<T>(shape_, *c.in)); });
  }

 private:
  void take(const hook_call& c, auto&& call) {
    using R = decltype(call());
    if constexpr (std::is_void_v<R>) call();
    else put(c, call());
  }
  template <class R>
  void put(const hook_call& c, const R& r) {
    if constexpr (requires { typename R::result_type; r.get(); }) {  // an expression: what it becomes
      put(c, r.get());
    } else if constexpr (is_variable<R>) {
      require_same(r);
      *c.in = as_gradient(r);
      if (!c.create_graph) c.in->from = nullptr;  // r may be a leaf, which is going to be written
    } else if constexpr (array_like<R>) {
      if (c.create_graph) raise("ebb::variable::register_hook: a hook on values replaced a gradient while a graph of the backward is made: "
                                "let it take a variable, or make it traceable");
      require_same(r);
      *c.in = {to_storage(r), nullptr, 0, true};
    } else if (r) {
      put(c, *r);
    }
  }
  void require_same(const auto& r) {
    const extent_list is = extents_of_layout(layout_in(r)), was = extents_of_layout(shape_);
    if (!same_extents(is, was)) raise_hook_size({dtype_of<T>, was, {}}, {dtype_of<T>, is, {}});
  }

  F f_;
  [[no_unique_address]] layout<E...> shape_;
};

template <class F>
inline constexpr bool is_opaque_function = false;
template <class F>
inline constexpr bool is_opaque_function<opaque_function<F>> = true;
template <class F>
concept traceable_hook = !is_opaque_function<F> && !has_fixed_parameters<typename unbound<F>::function>;

/// Nothing, an array of T, a variable of T, or std::optional of one.
template <class R, class T>
constexpr bool is_hook_result() {
  if constexpr (std::is_void_v<R>) return true;
  else if constexpr (is_variable<R>) return std::is_same_v<typename R::value_type, T>;
  else if constexpr (array_like<R>) return std::is_same_v<borrowed_element<R>, T>;
  else if constexpr (requires(R r) { *r; }) return is_hook_result<std::remove_cvref_t<decltype(*std::declval<R&>())>, T>();
  else return false;
}

/// 0, or what stands against F as a hook on gradients of this type.
template <class F, class T, std::size_t... E>
constexpr int code_of_hook() {
  if constexpr (is_opaque_function<F>) return code_of_hook<std::remove_cvref_t<decltype(F::f)>*, T, E...>();  // a pointer: not traced
  else if constexpr (traceable_hook<F>) {
    using function = typename unbound<F>::function;
    if constexpr (!std::is_empty_v<function>) return 154;
    else {
      using R = decltype(std::apply([](auto... v) { return function{}(typename argument<decltype(v)>::traced{}..., term<T, E...>{}); },
                                    std::declval<typename traced_hook<F, T, E...>::values>()));
      return std::is_same_v<R, term<T, E...>> ? 0 : 153;
    }
  } else {
    using function = std::remove_pointer_t<F>;
    if constexpr (std::is_invocable_v<function&, const tensor<T, E...>&>)
      return is_hook_result<std::remove_cvref_t<std::invoke_result_t<function&, const tensor<T, E...>&>>, T>() ? 0 : 153;
    else if constexpr (std::is_invocable_v<function&, const variable<T, E...>&>)
      return is_hook_result<std::remove_cvref_t<std::invoke_result_t<function&, const variable<T, E...>&>>, T>() ? 0 : 153;
    else return 159;
  }
}

/// The hook that F is for gradients of this type.
template <class T, std::size_t... E, class F>
std::shared_ptr<hook> make_tensor_hook(F f, const layout<E...>& shape) {
  if constexpr (is_opaque_function<F>) return std::make_shared<opaque_hook<decltype(f.f), T, E...>>(std::move(f.f), shape);
  else if constexpr (traceable_hook<F>) return std::make_shared<traced_hook<F, T, E...>>(f, shape);
  else return std::make_shared<opaque_hook<F, T, E...>>(std::move(f), shape);
}

/// After an accumulation: f gets the leaf. Update rules have a hook of their own, which clears the gradient.
template <class F, class T, std::size_t... E>
class leaf_hook final : public hook {
 public:
  leaf_hook(F f, const layout<E...>& shape) : f_(std::move(f)), shape_(shape) {}

  void run(const hook_call& c) override {
    variable<T, E...> v(shape_, counted<vertex>(c.at));
    f_(v);
  }

 private:
  F f_;
  [[no_unique_address]] layout<E...> shape_;
};

}  // namespace detail

template <class T, std::size_t... E>
template <class F>
hook_handle variable<T, E...>::register_hook(F f) const {
  constexpr int code = detail::code_of_hook<F, T, E...>();
  static_assert(code != 153, "[ebb E0153] a hook must return a gradient of the same dtype and extents, or nothing");
  static_assert(code != 154, "[ebb E0154] a hook with `auto` is traced and must not capture: use ebb::bind(values..., f) or ebb::opaque");
  static_assert(code != 159, "[ebb E0159] a hook takes one gradient: a tensor, a variable, or `auto`");
  require_history("register_hook");
  hook_list& h = hooks_of(*vertex_);
  if constexpr (code == 0) return {h, h.add(hook_kind::tensor, output_, detail::make_tensor_hook<T>(std::move(f), shape_))};
  else return {};
}

template <class T, std::size_t... E>
template <class F>
hook_handle variable<T, E...>::register_post_accumulate_grad_hook(F f) const {
  constexpr bool is_rule = update_rule<F>, takes_leaf = std::is_invocable_v<F&, variable<T, E...>&>;
  static_assert(is_rule || takes_leaf, "[ebb E0159] a post-accumulate hook takes the variable, or is an update rule");
  if constexpr (takes_leaf && !is_rule) {
    constexpr bool is_void = std::is_void_v<std::invoke_result_t<F&, variable<T, E...>&>>;
    static_assert(is_void, "[ebb E0155] a post-accumulate hook returns nothing");
  }
  require_history("register_post_accumulate_grad_hook");
  if (!vertex_->is_leaf) raise("ebb::variable::register_post_accumulate_grad_hook: " + name() + " is no leaf: nothing accumulates there");
  hook_list& h = hooks_of(*vertex_);
  std::shared_ptr<hook> made;
  if constexpr (is_rule) made = detail::make_rule_hook<T>(f, shape_);
  else if constexpr (takes_leaf) made = std::make_shared<detail::leaf_hook<F, T, E...>>(std::move(f), shape_);
  return {h, h.add(hook_kind::post_accumulate, 0, std::move(made))};
}

}  // namespace ebb::inline EBB_ABI

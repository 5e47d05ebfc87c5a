// ebb/hooks/register.hpp — the users' functions that register hooks: they check types and make the tape's erased hooks.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "traced_hook.hpp"
#include "update.hpp"

#include <optional>

namespace ebb::inline EBB_ABI {

namespace detail {

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
    if constexpr (requires { typename R::result_type; r.get(); }) {  // an expression: its variable
      put(c, r.get());
    } else if constexpr (is_variable<R>) {
      require_same_extents(r, shape_);
      *c.in = as_gradient(r);
      if (!c.create_graph) c.in->from = nullptr;  // r may be a leaf, which may be written later
    } else if constexpr (array_like<R>) {
      if (c.create_graph) raise("ebb::variable::register_hook: a hook on values replaced a gradient while a graph of the backward is made: "
                                "let it take a variable, or make it traceable");
      require_same_extents(r, shape_);
      *c.in = {to_storage(r), nullptr, 0, true};
    } else if (r) {
      put(c, *r);
    }
  }
  F f_;
  [[no_unique_address]] layout<E...> shape_;
};

/// Nothing, an array of T, a variable of T, or std::optional of one.
template <class R, class T>
constexpr bool is_hook_result() {
  if constexpr (std::is_void_v<R>) return true;
  else if constexpr (is_variable<R>) return std::is_same_v<typename R::value_type, T>;
  else if constexpr (array_like<R>) return std::is_same_v<borrowed_element<R>, T>;
  else if constexpr (requires(R r) { *r; }) return is_hook_result<std::remove_cvref_t<decltype(*std::declval<R&>())>, T>();
  else return false;
}

/// 0 if F can be a hook on gradients of this type, else an error code or already_reported.
template <class F, class T, std::size_t... E>
constexpr int code_of_hook() {
  if constexpr (has_refused<F>) return already_reported;
  else if constexpr (traceable_hook<F>) return code_of_traced_hook<F, gradients_of<variable<T, E...>>>();
  else {
    using function = std::remove_pointer_t<callable<F>>;
    if constexpr (std::is_invocable_v<function&, const tensor<T, E...>&>)
      return is_hook_result<std::remove_cvref_t<std::invoke_result_t<function&, const tensor<T, E...>&>>, T>() ? 0 : 153;
    else if constexpr (std::is_invocable_v<function&, const variable<T, E...>&>)
      return is_hook_result<std::remove_cvref_t<std::invoke_result_t<function&, const variable<T, E...>&>>, T>() ? 0 : 153;
    else return 159;
  }
}

/// The hook made of F, for gradients of this type.
template <class T, std::size_t... E, class F>
std::shared_ptr<hook> make_tensor_hook(F f, const layout<E...>& shape) {
  if constexpr (!traceable_hook<F>) return std::make_shared<opaque_hook<callable<F>, T, E...>>(to_callable(std::move(f)), shape);
  else {
    using made = traced_hook<F, gradients_of<variable<T, E...>>>;
    return std::make_shared<made>(f, typename made::numbers{0}, typename made::layouts{shape});
  }
}

/// 0 if F can be a hook after an accumulation, else an error code.
template <class F, class T, class G, std::size_t... E>
constexpr int code_of_leaf_hook() {
  if constexpr (has_refused<F>) return already_reported;
  else if constexpr (update_rule<F>) return 0;
  else if constexpr (traceable_hook<F>) return code_of_traced_leaf_hook<F, term<T, E...>, term<G, E...>>();
  else if constexpr (!std::is_invocable_v<callable<F>&, variable<T, E...>&>) return 172;
  else return std::is_void_v<std::invoke_result_t<callable<F>&, variable<T, E...>&>> ? 0 : 155;
}

/// After an accumulation: f is called with the leaf. Update rules have another hook, which clears the gradient.
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
template <class G, class F>
hook_handle variable<T, E...>::register_hook(F f) const {
  constexpr int code = may_have_gradient<G>() ? detail::code_of_hook<F, G, E...>() : detail::already_reported;
  static_assert(code != 153, "[ebb E0153] a hook returns gradients of the same dtypes and extents, several in a std::tuple, or nothing");
  static_assert(code != 154, "[ebb E0154] a hook with `auto` is traced and must not capture: use ebb::bind(values..., f) or ebb::opaque");
  static_assert(code != 159, "[ebb E0159] a hook takes one gradient: a tensor, a variable, or `auto`; a traced one of a node takes those "
                             "of the outputs, after those of the operands if it runs after the node");
  require_history("register_hook");
  require_grad_dtype<G>("ebb::variable::register_hook");
  if constexpr (code != 0) return {};
  else {
    hook_list& h = hooks_of(*vertex_);
    return {h, h.add(hook_kind::tensor, output_, detail::make_tensor_hook<G>(std::move(f), shape_))};
  }
}

template <class T, std::size_t... E>
template <class G, class F>
hook_handle variable<T, E...>::register_post_accumulate_grad_hook(F f) const {
  constexpr int code = may_have_gradient<G>() ? detail::code_of_leaf_hook<F, T, G, E...>() : detail::already_reported;
  static_assert(code != 154, "[ebb E0154] a hook with `auto` is traced and must not capture: use ebb::bind(values..., f) or ebb::opaque");
  static_assert(code != 155, "[ebb E0155] a post-accumulate hook returns nothing");
  static_assert(code != 172, "[ebb E0172] a post-accumulate hook takes the variable, is an update rule, or is traced, "
                             "[](auto value, auto gradient); one with `auto` that takes the variable is ebb::opaque(f)");
  static_assert(code != 173, "[ebb E0173] a traced post-accumulate hook returns the leaf's value, std::tuple(value, gradient), or "
                             "std::tuple(value, ebb::nothing), of the same dtype and extents");
  require_history("register_post_accumulate_grad_hook");
  if (!vertex_->is_leaf) raise("ebb::variable::register_post_accumulate_grad_hook: " + name() + " is no leaf: nothing accumulates there");
  if constexpr (code != 0) return {};
  else {
    std::shared_ptr<hook> made;
    if constexpr (update_rule<F>) made = detail::make_rule_hook<T>(f, shape_, as_leaf().gradient_type);
    else if constexpr (detail::traceable_hook<F>) {
      require_grad_dtype<G>("ebb::variable::register_post_accumulate_grad_hook");
      made = std::make_shared<detail::traced_leaf_hook<F, T, G, E...>>(f, shape_);
    } else made = std::make_shared<detail::leaf_hook<detail::callable<F>, T, E...>>(detail::to_callable(std::move(f)), shape_);
    hook_list& h = hooks_of(*vertex_);
    return {h, h.add(hook_kind::post_accumulate, 0, std::move(made))};
  }
}

}  // namespace ebb::inline EBB_ABI

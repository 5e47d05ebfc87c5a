// ebb/hooks/multi_grad.hpp — one hook for the gradients of several variables.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "node_handle.hpp"

#include "../autograd/backward.hpp"
#include "../autograd/expression.hpp"

#include <mutex>
#include <vector>

namespace ebb::inline EBB_ABI {

/// When a multi-grad hook is called in a pass: with the last gradient that the pass delivers, or with the first.
namespace when {
struct all_gradients {};
struct any_gradient {};
inline constexpr all_gradients all{};
inline constexpr any_gradient any{};
}  // namespace when

namespace detail {

/// The state shared by the tensor hooks of one multi-grad hook. The vertices own it. Arrived gradients belong to the pass and end with it:
/// passes of several threads, passes within passes, and passes that a throw has ended do not mix.
template <class When, class F>
class multi_grad {
 public:
  multi_grad(F f, std::vector<vertex*> v) : f_(std::move(f)), vertices_(std::move(v)) {}

  void forget(std::size_t number) {
    const std::lock_guard<std::mutex> alone(mutex_);
    vertices_[number] = nullptr;
  }
  void arrive(std::size_t number, const any_tensor& g) {
    backward_pass& pass = *this_tape().pass;
    arrivals& here = pass.state_of<arrivals>(this);
    if constexpr (std::is_same_v<When, when::all_gradients>) {
      if (here.gradients.empty()) here = {std::vector<any_tensor>(vertices_.size()), deliveries(pass)};
      here.gradients[number] = g;
      if (--here.missing > 0) return;
      const std::vector<any_tensor> all = std::exchange(here.gradients, {});
      f_(all);
    } else {
      if (g.defined() && !std::exchange(here.called, true)) f_(g);
    }
  }

 private:
  struct arrivals {
    std::vector<any_tensor> gradients;
    int missing = 0;
    bool called = false;
  };
  /// The number of variables that this pass reaches.
  int deliveries(const backward_pass& pass) {
    const std::lock_guard<std::mutex> alone(mutex_);
    int n = 0;
    for (const vertex* v : vertices_) n += v && pass.will_reach(*v);
    return n;
  }

  F f_;
  std::vector<vertex*> vertices_;
  std::mutex mutex_;
};

template <class When, class F>
class multi_grad_part final : public hook {
 public:
  multi_grad_part(std::shared_ptr<multi_grad<When, F>> all, std::size_t number, std::uint32_t output)
      : all_(std::move(all)), number_(number), output_(output) {}
  ~multi_grad_part() override { all_->forget(number_); }

  void run(const hook_call& c) override {
    if (!c.in->defined) return all_->arrive(number_, {});
    all_->arrive(number_, any_tensor(gradient_type_at(*c.at, output_), extents_of(*c.at, output_), c.in->value));
  }
  bool takes_undefined() const override { return true; }

 private:
  std::shared_ptr<multi_grad<When, F>> all_;
  std::size_t number_;
  std::uint32_t output_;
};

/// A traced function of all gradients. Writes its results to the user's destinations.
template <class F, class Destinations, class... V>
class traced_reader {
 public:
  traced_reader(const F& f, const Destinations& to, const V&... v) : values_(unbound<F>::values(f)), to_(to), layouts_(v.layout()...) {}

  void operator()(const std::vector<any_tensor>& g) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const storage arrived[] = {g[I].defined() ? g[I].block() : zeros_of<typename V::value_type>(std::get<I>(layouts_).size())...};
      std::apply([&](const auto&... value) {
        constexpr program_function<compile_spec<function_in<F>>> program;
        program(to_, value..., as_view<const typename V::value_type>(std::get<I>(layouts_), arrived[I])...);
      }, values_);
    }(std::index_sequence_for<V...>{});
  }

 private:
  bound_values<F> values_;
  Destinations to_;
  std::tuple<typename V::layout_type...> layouts_;
};

/// Calls f for each variable in v; expressions become variables.
template <class V>
void each_root(auto&& f, const V& v) {
  if constexpr (is_expression<V>) f(v.get());
  else each_variable(f, v);
}

}  // namespace detail

/// remove() removes all parts of a multi-grad hook.
class multi_grad_handle {
 public:
  multi_grad_handle() = default;
  explicit multi_grad_handle(std::vector<hook_handle> parts) : parts_(std::move(parts)) {}
  EBB_ONCE void remove() {
    for (hook_handle& h : parts_) h.remove();
    parts_.clear();
  }

 private:
  std::vector<hook_handle> parts_;
};

/// f is called with the gradients of several variables (also tuples, vectors and structs of them), and cannot change them.
///   when::all   f(const std::vector<ebb::any_tensor>&), once a pass, when the last gradient that this pass will deliver has arrived;
///               undefined for variables that the pass does not reach
///   when::any   f(const ebb::any_tensor&), once a pass, with the first gradient that arrives
/// It runs as a tensor hook of the variable whose gradient arrives: see [note: the order of hooks].
/// Throws: error if a variable has no history.
template <class F, class When, class... V>
multi_grad_handle register_multi_grad_hook(F f, When, const V&... variables) {
  using given = std::conditional_t<std::is_same_v<When, when::all_gradients>, std::vector<any_tensor>, any_tensor>;
  constexpr bool traced = detail::traceable_hook<F>;
  static_assert(!traced, "[ebb E0174] a multi-grad hook changes nothing, so a traced one needs a place for what it computes: "
                         "register_multi_grad_hook(ebb::into(norm), f, ebb::when::all, x, w)");
  constexpr bool fits = !traced && std::is_invocable_r_v<void, detail::callable<F>&, const given&>;
  static_assert(traced || fits, "[ebb E0167] a multi-grad hook takes const std::vector<ebb::any_tensor>& with when::all, "
                                "const ebb::any_tensor& with when::any, and returns nothing");
  std::vector<hook_handle> parts;
  if constexpr (fits) {
    std::vector<variable_ref> list;
    (detail::each_root([&](const auto& v) { list.push_back(v); }, variables), ...);
    std::vector<vertex*> vertices;
    for (const variable_ref& v : list) {
      if (!v.at)
        raise("ebb::register_multi_grad_hook: variable " + std::to_string(vertices.size()) + " has no history and gets no gradient");
      vertices.push_back(v.at.get());
    }
    using shared = detail::multi_grad<When, detail::callable<F>>;
    const auto all = std::make_shared<shared>(detail::to_callable(std::move(f)), std::move(vertices));
    for (std::size_t i = 0; i < list.size(); ++i) {
      hook_list& h = hooks_of(*list[i].at);
      parts.emplace_back(h, h.add(hook_kind::tensor, list[i].output,
                                  std::make_shared<detail::multi_grad_part<When, detail::callable<F>>>(all, i, list[i].output)));
    }
  }
  return multi_grad_handle(std::move(parts));
}
/// A traced function of the gradients, in the order of the variables, whose results are written to the destinations once a pass:
///   float dot = 0;
///   ebb::register_multi_grad_hook(ebb::into(dot), [](auto g, auto h) { return ebb::sum(g * h); }, ebb::when::all, x, w);
/// The destinations must live as long as the hook. See [note: traced hooks].
template <class... D, class F, class... V>
multi_grad_handle register_multi_grad_hook(const destinations<D...>& to, const F& f, when::all_gradients, const V&... variables) {
  constexpr bool fits = detail::traceable_hook<F> && (detail::on_tape<V> && ...);
  static_assert(fits, "[ebb E0175] a multi-grad hook that writes results is traced, [](auto... g), and names variables one by one");
  if constexpr (!fits) return {};
  else {
    const auto add = [&]<class... X>(const X&... x) {
      (x.template require_grad_dtype<typename X::value_type>("ebb::register_multi_grad_hook"), ...);
      return register_multi_grad_hook(detail::traced_reader<F, destinations<D...>, X...>(f, to, x...), when::all, x...);
    };
    return add(as_region_argument(variables)...);
  }
}

}  // namespace ebb::inline EBB_ABI

// ebb/train/unscale.hpp — multiplies a gradient by a number and checks that it is finite: grad_scaler's step for one gradient.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../autograd/any_tensor.hpp"
#include "../autograd/hook_list.hpp"
#include "../exec/gradient.hpp"
#include "../trace/functions.hpp"

#include <memory>

namespace ebb::inline EBB_ABI::detail {

/// The state that a scaler shares with its hooks.
struct loss_scale {
  float now = 65536;
  bool used = false;

  float reciprocal() const { return static_cast<float>(1 / static_cast<double>(now)); }
};

/// The dtypes of gradients that may be unscaled: float16 could not hold the result.
template <class T>
inline constexpr bool can_be_unscaled = real_element<T> && !std::is_same_v<T, float16>;

struct unscaled {
  constexpr auto operator()(auto g, auto by) const {
    using T = typename decltype(g)::value_type;
    using wide = computed_in<T>;
    return std::tuple(cast<T>(cast<wide>(g) * cast<wide>(by)), all(isfinite(g)));
  }
};

/// Multiplies the gradient of a leaf by `by`. The gradient loses its history. Returns whether all elements were finite.
/// Throws: std::bad_alloc, if its elements are shared; then it is unchanged.
template <class T>
bool unscale_gradient(gradient& g, std::size_t count, float by) {
  g.value.detach();
  const view<T, dyn> row = gradient_row<T>(g, count);
  tensor<bool> finite(true);
  program_function<compile_spec<unscaled>>{}(into(row, finite), row, by);
  g.from = {};
  return finite;
}

/// A leaf, and how its gradient is unscaled; null: it cannot be.
struct unscale_target {
  using function = bool (*)(gradient&, std::size_t count, float by);
  leaf* at = nullptr;
  function unscale = nullptr;

  template <class T>
  static unscale_target of(leaf& l) {
    if constexpr (sizeof(T) == 2)
      if (l.gradient_type == dtype::f32) return of<float>(l);
    if constexpr (can_be_unscaled<T>) return {&l, &unscale_gradient<T>};
    else return {&l, nullptr};
  }
};

/// Gradients of a leaf that a hook has unscaled since the last update.
struct unscaled_by_hook {
  const leaf* at = nullptr;
  std::shared_ptr<const loss_scale> scale;
  std::atomic<bool> any = false, finite = true;

  EBB_ONCE void begin_anew() {
    any.store(false, std::memory_order_relaxed);
    finite.store(true, std::memory_order_relaxed);
  }
};

class unscaling_hook final : public hook {
 public:
  unscaling_hook(std::shared_ptr<unscaled_by_hook> seen, unscale_target::function unscale) : seen_(std::move(seen)), unscale_(unscale) {}

  EBB_ONCE void run(const hook_call& c) override {
    if (c.create_graph) raise("ebb::grad_scaler: a graph of the backward is made, and the hook that unscales gradients has no derivative");
    if (!unscale_(*c.in, seen_->at->extents.volume(), seen_->scale->reciprocal())) seen_->finite.store(false, std::memory_order_relaxed);
    seen_->any.store(true, std::memory_order_relaxed);
  }

 private:
  std::shared_ptr<unscaled_by_hook> seen_;  // not the leaf: that owns the hook
  unscale_target::function unscale_;
};

}  // namespace ebb::inline EBB_ABI::detail

// ebb/autograd/checkpoint.hpp — checkpoints: a backward computes saved values again instead of keeping them.
// SPDX-License-Identifier: BSL-1.0
//
// [note: checkpoints]
//   ebb::checkpoint(region)    a compiled region: its node keeps arguments only, and its backward, one program, begins with a forward
//   ebb::checkpoint(f)         any callable on variables, with regions, expressions and control flow in it: nodes are recorded, but
//                              their saved values are dropped. The first of these nodes that a backward runs calls f again, on the values
//                              that the arguments had, in the autocast context of the call. All nodes take their saved values from there.
// f must do the same each time: other values that it reads must be unchanged, and random numbers must come from a generator that f makes
// or is given. Hooks, inputs =, grad, create_graph and variables that f captures work as without a checkpoint. Members of a custom
// function's object are kept. Borrowed arguments (views and spans) must live until the backward.
#pragma once

#include "engine.hpp"
#include "expression.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// An argument of a checkpoint: of a variable its value, and whether it has a history.
template <class A>
class checkpoint_argument {
 public:
  explicit checkpoint_argument(const A& a) : value_(a) {}
  const A& again() const { return value_; }

 private:
  A value_;
};
template <class T, std::size_t... E>
class checkpoint_argument<variable<T, E...>> {
  using type = variable<T, E...>;

 public:
  explicit checkpoint_argument(const type& v) : shape_(v.layout()), value_(v.block()), has_history_(v.requires_grad()) {}
  type again() const { return has_history_ ? type(to_tensor<T>(shape_, value_)) : type(shape_, value_, nullptr, 0); }

 private:
  layout<E...> shape_;
  storage value_;
  bool has_history_;
};

/// Collects the saved values while a checkpointed function runs again.
class saved_list final : public saved_hooks {
 public:
  EBB_ONCE std::any pack(const any_tensor& x) override {
    values.push_back(x);
    return values.size() - 1;
  }
  any_tensor unpack(const std::any& number) override { return values[*std::any_cast<std::size_t>(&number)]; }

  std::vector<any_tensor> values;
};

/// A function's results, with expressions evaluated.
template <class R>
auto settled(R r) {
  if constexpr (is_expression<R>) return r.get();
  else return r;
}
template <class... R>
auto settled(std::tuple<R...> r) {
  return std::apply([](auto&... x) { return std::tuple(settled(std::move(x))...); }, r);
}

/// One call of a checkpointed function. Its nodes share this object instead of their saved values. Recomputed values belong to the pass
/// that needed them; each is freed when it has been read.
template <class F, class... A>
class checkpoint_call final : public saved_hooks {
 public:
  explicit checkpoint_call(F f, const A&... a) : f_(std::move(f)), arguments_(checkpoint_argument<A>(a)...) {}

  std::any pack(const any_tensor&) override { return saves_++; }
  any_tensor unpack(const std::any& packed) override {
    const std::size_t number = *std::any_cast<std::size_t>(&packed);
    std::vector<any_tensor>& values = this_tape().pass->state_of<std::vector<any_tensor>>(this);
    if (values.empty() || !values[number].defined()) values = run_again();
    return std::exchange(values[number], any_tensor());
  }
  auto run(const A&... a) {
    auto r = settled(f_(a...));  // expressions are evaluated here, where their saved values are counted
    is_complete_ = true;
    return r;
  }

 private:
  std::vector<any_tensor> run_again() {
    const recording_scope on(true);
    const context_switch as_before(context_);
    const auto list = std::make_shared<saved_list>();
    {
      const packing_scope scope(list);
      std::apply([&](const auto&... a) { static_cast<void>(settled(f_(a.again()...))); }, arguments_);
    }
    if (is_complete_ && list->values.size() != saves_)  // incomplete: f itself runs a backward, and has not returned yet
      raise("ebb::checkpoint: the function saved " + std::to_string(saves_) + " values, and " + std::to_string(list->values.size()) +
            " when it ran again: it must do the same each time");
    return std::move(list->values);
  }

  F f_;
  std::tuple<checkpoint_argument<A>...> arguments_;
  std::size_t saves_ = 0;
  int context_ = current_context();
  bool is_complete_ = false;
};

/// A region whose node keeps arguments only: see [note: checkpoints].
template <class Spec>
struct checkpoint_of : Spec {};
template <class Spec, class G>
struct of_function<checkpoint_of<Spec>, G> {
  using type = checkpoint_of<with_function<Spec, G>>;
};
template <class Spec>
struct recorded_call<program_function<checkpoint_of<Spec>>> {
  template <class... A>
  static constexpr int code = recorded_call<program_function<Spec>>::template code<A...>;
  template <class... A>
  static auto run(const char*, const A&... a) {
    return run_region<recomputed<program_function<Spec>>>("ebb::checkpoint", as_region_argument(a)...);
  }
};

}  // namespace detail

/// A callable that runs again in the backward: see [note: checkpoints].
template <class F>
struct checkpointed_function {
  F f;

  /// Throws: f's exceptions, also in the backward; there also error, if f saves another number of values than before.
  template <class... A>
  auto operator()(const A&... a) const {
    constexpr bool fits = std::is_invocable_v<F&, decltype(as_region_argument(a))...>;
    static_assert(fits, "[ebb E0168] ebb::checkpoint: the function cannot be called with these arguments");
    if constexpr (!fits) return refused_result{};
    else {
      using call = detail::checkpoint_call<F, std::remove_cvref_t<decltype(as_region_argument(a))>...>;
      const auto kept = std::make_shared<call>(f, as_region_argument(a)...);
      if (!this_tape().records) return kept->run(as_region_argument(a)...);
      const packing_scope scope(kept);
      return kept->run(as_region_argument(a)...);
    }
  }
};

/// Saves: the arguments. See [note: checkpoints].
template <class Spec>
constexpr auto checkpoint(const program_function<Spec>&) {
  return program_function<detail::checkpoint_of<Spec>>{};
}
template <class F, class... C>
constexpr auto checkpoint(const region_in<F, C...>&) {
  return detail::by_context<detail::checkpoint_of<detail::compile_spec<F>>, C...>{};
}
template <class F>
constexpr auto checkpoint(F f) {
  return checkpointed_function<F>{std::move(f)};
}

}  // namespace ebb::inline EBB_ABI

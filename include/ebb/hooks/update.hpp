// ebb/hooks/update.hpp — updates one parameter by a rule, in place, also from a hook.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "hook_program.hpp"
#include "rule.hpp"

#include "../autograd/hook_list.hpp"
#include "../autograd/variable.hpp"
#include "../exec/gradient.hpp"
#include "../exec/in_place.hpp"

#include <vector>

namespace ebb::inline EBB_ABI {

/// A rule's state for one parameter.
struct update_state {
  std::uint64_t step = 0;       // number of updates so far
  std::vector<storage> arrays;  // in the dtype of the computation
};

namespace detail {

/// Parameters of 16 bits are updated in float, rounded once at the end; their states are float.
template <class T>
using updated_in = std::conditional_t<sizeof(T) == 2, float, T>;

template <class Update>
struct rounded_update {
  constexpr auto operator()(auto p, auto g, auto... others) const {
    using T = typename decltype(p)::value_type;
    return round<T>(Update{}(cast<float>(p), cast<float>(g), others...));
  }

 private:
  template <class T, class P, class... States>
  static constexpr auto round(const std::tuple<P, States...>& r) {
    return std::apply([](auto p, auto... states) { return std::tuple(cast<T>(p), states...); }, r);
  }
  template <class T>
  static constexpr auto round(const auto& p) {
    return cast<T>(p);
  }
};
template <class Update, class T>
using traced_update = std::conditional_t<sizeof(T) == 2, rounded_update<Update>, Update>;

/// Updates one leaf of type T, whose gradient is of type T or float. If all extents are dyn, a leaf of any shape is handled as one long
/// row.
template <class Rule, class T, class Extents>
struct leaf_update;
template <class Rule, class T, std::size_t... E>
struct leaf_update<Rule, T, extents<E...>> {
  using number = updated_in<T>;

  /// Does everything that may throw, before anything is written.
  static void prepare(const Rule& rule, leaf& l, update_state& s) {
    with_update(rule, [&]<class Update>() {
      if (s.arrays.size() < Update::states) s = {0, zeros(l.extents.volume() * sizeof(number), Update::states)};
    });
    for (storage& a : s.arrays) a.detach();
    l.value.detach();
  }
  static void run(const Rule& rule, leaf& l, update_state& s) {
    with_update(rule, [&]<class Update>() {
      const auto values = rule.values(s.step + 1);
      const auto write_from = [&]<class G>(G) {
        write<Update, G>(l, s, values, std::make_index_sequence<Update::states>{}, std::make_index_sequence<values.size()>{});
      };
      with_gradient_type<T>(l.gradient_type, write_from);
    });
    ++s.step;
    l.version.fetch_add(1, std::memory_order_relaxed);
  }
  static const hook_program* traced(const Rule& rule, dtype gradient) {
    const hook_program* p = nullptr;
    with_update(rule, [&]<class Update>() {
      if constexpr (values_of_rule<Rule> <= max_bound) with_gradient_type<T>(gradient, [&]<class G>(G) { p = &as_graph<Update, G>; });
    });
    return p;
  }
  /// The program's numbers, one after the other.
  static void numbers(const Rule& rule, const update_state& s, void* to) {
    for (const double x : rule.values(s.step + 1)) {
      const auto number_in = static_cast<number>(x);
      std::memcpy(to, &number_in, sizeof number_in);
      to = static_cast<char*>(to) + sizeof number_in;
    }
  }
  static constexpr std::size_t number_bytes = sizeof(number);

 private:
  /// The program's arguments: value, gradient, states, numbers.
  using state_array = term<number, E...>;
  template <class G, std::size_t... S, std::size_t... V>
  static auto terms(std::index_sequence<S...>, std::index_sequence<V...>)
      -> std::tuple<term<T, E...>, term<G, E...>, indexed<state_array, S>..., indexed<term<number>, V>...>;
  template <class Update, class G>
  static constexpr hook_program as_graph = []<class... X>(std::type_identity<std::tuple<X...>>) {
    using update = traced_update<Update, T>;
    hook_program p = program_of_hook<update, X...>(static_cast<int>(values_of_rule<Rule>), 2 + Update::states);
    p.chain = link_of_hook<update, 1, X...>();
    p.parameter = 0;
    p.states = Update::states;
    p.writes_value = p.clears = true;
    return p;
  }(std::type_identity<decltype(terms<G>(std::make_index_sequence<Update::states>{}, std::make_index_sequence<values_of_rule<Rule>>{}))>{});

  static std::vector<storage> zeros(std::size_t bytes, int count) {
    std::vector<storage> all(static_cast<std::size_t>(count));
    for (storage& a : all) {
      a = storage(bytes);
      if (bytes) std::memset(a.data(), 0, bytes);
    }
    return all;
  }
  static layout<E...> shape_of(const leaf& l) {
    if constexpr (sizeof...(E) == 1) return layout_from(extents<E...>{}, {1, {l.extents.volume()}});
    else return layout_from(extents<E...>{}, l.extents);
  }
  /// Whether P may write the parameter and its states over themselves; no other array shares memory with them.
  template <class P>
  static constexpr bool is_in_place(int states) {
    bool all = P::results == states + 1;
    for (int r = 0; all && r < P::results; ++r) {
      const int a = r == 0 ? 0 : r + 1;  // argument 1 is the gradient
      all = has_extents_of<P>(r, a) && overwrites<P>::may(r, a);
    }
    return all;
  }
  template <class Update, class G, std::size_t... S, std::size_t... V>
  static void write(leaf& l, const update_state& s, const auto& values, std::index_sequence<S...>, std::index_sequence<V...>) {
    const layout<E...> shape = shape_of(l);
    const view<T, E...> p(reinterpret_cast<T*>(l.value.data()), shape);
    const view<const G, E...> g(reinterpret_cast<const G*>(l.grad.value.data()), shape);
    [[maybe_unused]] const auto state = [&](std::size_t i) {
      return view<number, E...>(reinterpret_cast<number*>(s.arrays[i].data()), shape);
    };
    using spec = compile_spec<traced_update<Update, T>>;
    using P = executable<
        typename spec::template program<term<T, E...>, term<G, E...>, indexed<state_array, S>..., indexed<term<number>, V>...>>;
    if constexpr (is_in_place<P>(Update::states)) {
      void* const to[] = {l.value.data(), s.arrays[S].data()...};
      run_in_place<spec>(to, p, g, state(S)..., static_cast<number>(values[V])...);
    } else program_function<spec>{}(into(p, state(S)...), p, g, state(S)..., static_cast<number>(values[V])...);
  }
};

/// The same, type-erased.
template <class Rule>
struct any_leaf_update {
  void (*prepare)(const Rule&, leaf&, update_state&);
  void (*run)(const Rule&, leaf&, update_state&);
  const hook_program* (*traced)(const Rule&, dtype gradient);
  void (*numbers)(const Rule&, const update_state&, void* to);
  std::size_t number_bytes;
};
template <class Rule, class T, class Extents, class Update = leaf_update<Rule, T, Extents>>
inline constexpr any_leaf_update<Rule> erased_update{Update::prepare, Update::run, Update::traced, Update::numbers, Update::number_bytes};

template <class Rule, class T, std::size_t... E>
constexpr const any_leaf_update<Rule>& update_for(const layout<E...>&) {
  constexpr bool rows = is_by_element<typename updates_of<Rule>::type>;
  return erased_update<Rule, T, std::conditional_t<rows, extents<dyn>, extents<E...>>>;
}

/// A rule and its state for each of its parameters. Hooks share it with the optimizer that registered them.
template <class Rule>
struct rule_body {
  struct slot {
    const any_leaf_update<Rule>* update;
    update_state state;
  };
  Rule rule;
  std::vector<slot> slots;
};

/// Updates a leaf as soon as its gradient is complete, and frees the gradient.
template <class Rule>
class rule_hook final : public hook {
 public:
  rule_hook(std::shared_ptr<rule_body<Rule>> body, std::size_t number, dtype gradient)
      : body_(std::move(body)), number_(number), gradient_(gradient) {}

  void run(const hook_call& c) override {
    leaf& l = static_cast<leaf&>(*c.at);
    require_usable("ebb::variable: an update rule as a hook", body_->rule);
    const exclusive alone(l);
    if (!l.grad.defined) return;
    slot().update->prepare(body_->rule, l, slot().state);
    slot().update->run(body_->rule, l, slot().state);
    l.grad = {};
  }
  bool is_opaque() const override { return false; }
  const hook_program* traced() const override { return slot().update->traced(body_->rule, gradient_); }
  void values(const void** to) const override {
    slot().update->numbers(body_->rule, slot().state, numbers_);
    for (std::size_t i = 0; i < values_of_rule<Rule>; ++i) to[i] = numbers_ + i * slot().update->number_bytes;
  }
  bool is_ready() const override {
    if constexpr (requires(const Rule& r) { r.problem(); })
      if (body_->rule.problem()) return false;
    return static_cast<int>(slot().state.arrays.size()) >= traced()->states;
  }
  storage* states() override { return slot().state.arrays.data(); }
  void note_update() override { ++slot().state.step; }

  const Rule& rule() const { return body_->rule; }
  update_state& state() const { return slot().state; }

 private:
  auto& slot() const { return body_->slots[number_]; }

  std::shared_ptr<rule_body<Rule>> body_;  // not the leaf: that owns the hook
  std::size_t number_;
  dtype gradient_;
  alignas(double) mutable char numbers_[(values_of_rule<Rule> + 1) * sizeof(double)] = {};  // of an update in a chain; the leaf is locked
};

/// A hook of one leaf, with its own state.
template <class T, class Rule, std::size_t... E>
std::shared_ptr<hook> make_rule_hook(const Rule& rule, const layout<E...>& shape, dtype gradient) {
  static_assert(is_complete<Rule>, "[ebb E0157] an update rule's function gives the parameter, then as many states as it says");
  require_usable("ebb::variable::register_post_accumulate_grad_hook", rule);
  auto body = std::make_shared<rule_body<Rule>>();
  body->rule = rule;
  body->slots.push_back({&update_for<Rule, T>(shape), {}});
  return std::make_shared<rule_hook<Rule>>(std::move(body), 0, gradient);
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI

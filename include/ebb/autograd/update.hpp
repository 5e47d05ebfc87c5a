// ebb/autograd/update.hpp — what an update rule is, and how it updates one parameter.
// SPDX-License-Identifier: BSL-1.0
//
// [note: update rules]
// A rule is a plain struct. Its members are hyperparameters, which may change from step to step; it names the traced function that gives
// a parameter's new value. ebb::sgd and ebb::adam have no rights that a rule of your own does not have:
//
//   struct signum_update {
//     static constexpr int states = 1;          // arrays kept for each parameter, of its extents; they begin as zeros
//     static constexpr bool by_element = true;  // optional: looks at no extents, so that all parameters share one program
//     constexpr auto operator()(auto p, auto g, auto m, auto lr, auto beta) const {
//       const auto next = g + beta * (m - g);
//       return std::tuple(p - lr * ebb::sign(next), next);  // the parameter, then the states
//     }
//   };
//   struct signum {
//     double lr = 1e-3, beta = 0.9;
//     using update = signum_update;
//     auto values(std::uint64_t step) const { return std::array{lr, beta}; }         // what else it gets; the first step is 1
//     const char* problem() const { return lr >= 0 ? nullptr : "lr is negative"; }  // optional: why it cannot be used
//   };
//
// The values are numbers that the program takes as arguments: nothing is compiled again when they change. What is the same for all
// elements belongs into `values`, where it is computed in double; in a traced function it would split the loop. A rule may also have
// several functions, `using updates = std::tuple<plain, with_momentum>`, of which `int which() const` says one: they all get the same
// values, and parameters have states only where the function has.
#pragma once

#include "hook_list.hpp"
#include "variable.hpp"

#include "../exec/gradient.hpp"
#include "../trace/functions.hpp"

#include <tuple>
#include <vector>

namespace ebb::inline EBB_ABI {

namespace detail {

/// The functions of a rule, and which of them is in force.
template <class Rule>
struct updates_of {
  static constexpr bool any = false;
};
template <class Rule>
  requires requires { typename Rule::update; }
struct updates_of<Rule> {
  static constexpr bool any = true;
  using type = std::tuple<typename Rule::update>;
  static int which(const Rule&) { return 0; }
};
template <class Rule>
  requires requires(const Rule& r) {
    typename Rule::updates;
    r.which();
  }
struct updates_of<Rule> {
  static constexpr bool any = true;
  using type = typename Rule::updates;
  static int which(const Rule& r) { return r.which(); }
};

}  // namespace detail

/// See [note: update rules].
template <class Rule>
concept update_rule = detail::updates_of<Rule>::any && requires(const Rule& r, std::uint64_t step) { r.values(step).size(); };

/// What a rule keeps of one parameter.
struct update_state {
  std::uint64_t step = 0;       // how many updates the arrays have seen
  std::vector<storage> arrays;  // in the dtype that is computed in
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

/// f<Update>() for the function in force.
template <class Rule>
void with_update(const Rule& rule, auto&& f) {
  const int which = updates_of<Rule>::which(rule);
  int number = 0;
  [&]<class... Update>(std::type_identity<std::tuple<Update...>>) {
    ((number++ == which ? f.template operator()<Update>() : void()), ...);
  }(std::type_identity<typename updates_of<Rule>::type>{});
}

/// Updates one leaf of type T. Where extents are dyn alone, leaves of any shape are taken as one long row.
template <class Rule, class T, class Extents>
struct leaf_update;
template <class Rule, class T, std::size_t... E>
struct leaf_update<Rule, T, extents<E...>> {
  using number = updated_in<T>;

  /// All that may fail, before anything is written.
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
      write<Update>(l, s, values, std::make_index_sequence<Update::states>{}, std::make_index_sequence<values.size()>{});
    });
    ++s.step;
    l.version.fetch_add(1, std::memory_order_relaxed);
  }

 private:
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
  template <class Update, std::size_t... S, std::size_t... V>
  static void write(leaf& l, const update_state& s, const auto& values, std::index_sequence<S...>, std::index_sequence<V...>) {
    const layout<E...> shape = shape_of(l);
    const view<T, E...> p(reinterpret_cast<T*>(l.value.data()), shape);
    const view<const T, E...> g(reinterpret_cast<const T*>(l.grad.value.data()), shape);
    [[maybe_unused]] const auto state = [&](std::size_t i) {
      return view<number, E...>(reinterpret_cast<number*>(s.arrays[i].data()), shape);
    };
    constexpr program_function<compile_spec<traced_update<Update, T>>> update;
    update(into(p, state(S)...), p, g, state(S)..., static_cast<number>(values[V])...);
  }
};

/// The same with its types forgotten.
template <class Rule>
struct any_leaf_update {
  void (*prepare)(const Rule&, leaf&, update_state&);
  void (*run)(const Rule&, leaf&, update_state&);
};
template <class Rule, class T, class Extents>
inline constexpr any_leaf_update<Rule> erased_update{leaf_update<Rule, T, Extents>::prepare, leaf_update<Rule, T, Extents>::run};

template <class Update>
inline constexpr bool is_by_element = requires { requires Update::by_element; };
template <class... Update>
inline constexpr bool is_by_element<std::tuple<Update...>> = (is_by_element<Update> && ...);
template <class Rule, class T, std::size_t... E>
constexpr const any_leaf_update<Rule>& update_for(const layout<E...>&) {
  constexpr bool rows = is_by_element<typename updates_of<Rule>::type>;
  return erased_update<Rule, T, std::conditional_t<rows, extents<dyn>, extents<E...>>>;
}

/// Whether a parameter may have so many states under the rule.
template <class Rule>
constexpr bool may_keep(std::size_t arrays) {
  return [&]<class... Update>(std::type_identity<std::tuple<Update...>>) {
    return arrays == 0 || ((arrays == Update::states) || ...);
  }(std::type_identity<typename updates_of<Rule>::type>{});
}

template <class T, std::size_t>
using indexed = T;

/// Whether a function gives the parameter and its states, as far as that is known before there is a parameter: of one by element.
template <class Update, std::size_t... S, std::size_t... V>
constexpr bool gives_its_states(std::index_sequence<S...>, std::index_sequence<V...>) {
  if constexpr (!is_by_element<Update>) return true;
  else {
    using row = term<float, dyn>;
    using result = result_of_trace<Update, row, row, indexed<row, S>..., indexed<term<float>, V>...>;
    return std::is_same_v<result, std::tuple<row, indexed<row, S>...>> || (Update::states == 0 && std::is_same_v<result, row>);
  }
}
template <class Rule>
inline constexpr bool is_complete = []<class... Update>(std::type_identity<std::tuple<Update...>>) {
  constexpr std::size_t values = std::tuple_size_v<decltype(std::declval<const Rule&>().values(1))>;
  return (gives_its_states<Update>(std::make_index_sequence<Update::states>{}, std::make_index_sequence<values>{}) && ...);
}(std::type_identity<typename updates_of<Rule>::type>{});

/// Throws: error if the rule says that it cannot be used.
template <class Rule>
void require_usable(const char* call, const Rule& rule) {
  if constexpr (requires { rule.problem(); })
    if (const char* const problem = rule.problem()) raise(std::string(call) + ": " + problem);
}

/// A rule and what it keeps of each of its parameters; hooks share it with the optimizer that registered them.
template <class Rule>
struct rule_body {
  struct slot {
    const any_leaf_update<Rule>* update;
    update_state state;
  };
  Rule rule;
  std::vector<slot> slots;
};

/// Updates a leaf as soon as its gradient is there, and gives the gradient's memory back.
template <class Rule>
class rule_hook final : public hook {
 public:
  rule_hook(std::shared_ptr<rule_body<Rule>> body, std::size_t number) : body_(std::move(body)), number_(number) {}

  void run(const hook_call& c) override {
    auto& slot = body_->slots[number_];
    leaf& l = static_cast<leaf&>(*c.at);
    require_usable("ebb::variable: an update rule as a hook", body_->rule);
    const exclusive alone(l);
    if (!l.grad.defined) return;
    slot.update->prepare(body_->rule, l, slot.state);
    slot.update->run(body_->rule, l, slot.state);
    l.grad = {};
  }
  const Rule& rule() const { return body_->rule; }
  update_state& state() const { return body_->slots[number_].state; }

 private:
  std::shared_ptr<rule_body<Rule>> body_;  // not the leaf: that owns the hook
  std::size_t number_;
};

/// A hook of one leaf with a state of its own.
template <class T, class Rule, std::size_t... E>
std::shared_ptr<hook> make_rule_hook(const Rule& rule, const layout<E...>& shape) {
  static_assert(is_complete<Rule>, "[ebb E0157] an update rule's function gives the parameter, then as many states as it says");
  require_usable("ebb::variable::register_post_accumulate_grad_hook", rule);
  auto body = std::make_shared<rule_body<Rule>>();
  body->rule = rule;
  body->slots.push_back({&update_for<Rule, T>(shape), {}});
  return std::make_shared<rule_hook<Rule>>(std::move(body), 0);
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI

// ebb/hooks/rule.hpp — update rules.
// SPDX-License-Identifier: BSL-1.0
//
// [note: update rules]
// A rule is a plain struct. Its members are hyperparameters, which may change from step to step. It names the traced function that computes
// a parameter's new value. Your rules can do all that ebb::sgd and ebb::adam do:
//
//   struct signum_update {
//     static constexpr int states = 1;          // arrays kept for each parameter, of its extents; they begin as zeros
//     static constexpr bool by_element = true;  // optional: does not use extents, so that all parameters share one program
//     static constexpr const char* state_names[] = {"momentum_buffer"};  // optional: what they are called in files
//     constexpr auto operator()(auto p, auto g, auto m, auto lr, auto beta) const {
//       const auto next = g + beta * (m - g);
//       return std::tuple(p - lr * ebb::sign(next), next);  // the parameter, then the states
//     }
//   };
//   struct signum {
//     double lr = 1e-3, beta = 0.9;
//     using update = signum_update;
//     auto values(std::uint64_t step) const { return std::array{lr, beta}; }         // its other arguments; the first step is 1
//     const char* problem() const { return lr >= 0 ? nullptr : "lr is negative"; }  // optional: why it cannot be used
//   };
//
// The values are numbers that the program takes as arguments: it is not compiled again when they change. Compute numbers that are the same
// for all elements in `values`, in double: in a traced function they would split the loop. A rule may also have several functions,
// `using updates = std::tuple<plain, with_momentum>`; `int which() const` chooses one. All get the same values, and parameters have as many
// states as the chosen function.
#pragma once

#include "../base/error.hpp"
#include "../trace/functions.hpp"
#include "../trace/trace.hpp"

#include <cstdint>
#include <iterator>
#include <string>
#include <tuple>

namespace ebb::inline EBB_ABI {

namespace detail {

/// The functions of a rule, and the chosen one.
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

namespace detail {

/// f<Update>() for the chosen function.
template <class Rule>
void with_update(const Rule& rule, auto&& f) {
  const int which = updates_of<Rule>::which(rule);
  int number = 0;
  [&]<class... Update>(std::type_identity<std::tuple<Update...>>) {
    ((number++ == which ? f.template operator()<Update>() : void()), ...);
  }(std::type_identity<typename updates_of<Rule>::type>{});
}

/// The number of states of one function, and the largest of a rule's functions.
template <class Update>
inline constexpr bool is_by_element = requires { requires Update::by_element; };
template <class... Update>
inline constexpr bool is_by_element<std::tuple<Update...>> = (is_by_element<Update> && ...);

/// The name of a state in files: from the first function of the rule that has so many and names them, else its number.
template <class Rule>
std::string name_of_state(std::size_t number) {
  std::string name = std::to_string(number);
  bool found = false;
  const auto look = [&]<class Update>(std::type_identity<Update>) {
    if constexpr (requires { Update::state_names[0]; })
      if (!found && number < std::size(Update::state_names)) name = Update::state_names[number], found = true;
  };
  [&]<class... Update>(std::type_identity<std::tuple<Update...>>) {
    (look(std::type_identity<Update>{}), ...);
  }(std::type_identity<typename updates_of<Rule>::type>{});
  return name;
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

/// Whether a function by element returns the parameter and its states. Others are checked with a parameter.
template <class Update, std::size_t... S, std::size_t... V>
constexpr bool gives_its_states(std::index_sequence<S...>, std::index_sequence<V...>) {
  if constexpr (!is_by_element<Update>) return true;
  else {
    using row = term<float, dyn>;
    using result = result_of_trace<Update, row, row, indexed<row, S>..., indexed<term<float>, V>...>;
    return std::is_same_v<result, std::tuple<row, indexed<row, S>...>> || (Update::states == 0 && std::is_same_v<result, row>);
  }
}
/// The number of values that its functions take.
template <class Rule>
inline constexpr std::size_t values_of_rule = std::tuple_size_v<decltype(std::declval<const Rule&>().values(1))>;

template <class Rule>
inline constexpr bool is_complete = []<class... Update>(std::type_identity<std::tuple<Update...>>) {
  constexpr std::make_index_sequence<values_of_rule<Rule>> values;
  return (gives_its_states<Update>(std::make_index_sequence<Update::states>{}, values) && ...);
}(std::type_identity<typename updates_of<Rule>::type>{});

/// Throws: error if the rule's problem() returns a sentence.
template <class Rule>
void require_usable(const char* call, const Rule& rule) {
  if constexpr (requires { rule.problem(); })
    if (const char* const problem = rule.problem()) raise(std::string(call) + ": " + problem);
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI

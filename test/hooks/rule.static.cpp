// test/hooks/rule.static.cpp — requirements on update rules, and their programs: each is one loop that writes in place.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/train/adam.hpp>
#include <ebb/hooks/update.hpp>

namespace {

using ebb::term, ebb::dyn;

struct only_numbers {
  double lr = 1;
};
struct without_values {
  using update = ebb::rule::descent;
};
static_assert(ebb::update_rule<ebb::sgd>);
static_assert(ebb::update_rule<ebb::adam>);
static_assert(ebb::update_rule<ebb::adamw>);
static_assert(!ebb::update_rule<only_numbers>);
static_assert(!ebb::update_rule<without_values>);

static_assert(ebb::detail::is_by_element<ebb::detail::updates_of<ebb::sgd>::type>);
static_assert(ebb::detail::may_keep<ebb::sgd>(0) && ebb::detail::may_keep<ebb::sgd>(1) && !ebb::detail::may_keep<ebb::sgd>(2));
static_assert(ebb::detail::may_keep<ebb::adam>(0) && !ebb::detail::may_keep<ebb::adam>(1) && ebb::detail::may_keep<ebb::adam>(2));

/// A rule's program for one long row of T with S states and V values.
template <class Update, class T, int V, class = std::make_index_sequence<Update::states>, class = std::make_index_sequence<V>>
struct program_of;
template <class Update, class T, int V, std::size_t... S, std::size_t... N>
struct program_of<Update, T, V, std::index_sequence<S...>, std::index_sequence<N...>> {
  template <class X, std::size_t>
  using repeated = X;
  using number = ebb::detail::updated_in<T>;
  using type = ebb::executable<ebb::frozen<ebb::detail::forward_program<
      ebb::detail::traced_update<Update, T>, term<T, dyn>, term<T, dyn>, repeated<term<number, dyn>, S>..., repeated<term<number>, N>...>>>;
};

/// Whether the program is one step, and each result may overwrite the parameter or state that it replaces.
template <class P>
constexpr bool is_one_loop_in_place() {
  using may_overwrite = ebb::detail::overwrites<P>;
  bool in_place = may_overwrite::may(0, 0);
  for (int r = 1; r < P::results; ++r) in_place = in_place && may_overwrite::may(r, r + 1);
  return P::plan.size.steps == 1 && in_place;
}
static_assert(is_one_loop_in_place<program_of<ebb::rule::descent, float, 5>::type>());
static_assert(is_one_loop_in_place<program_of<ebb::rule::momentum_descent, float, 5>::type>());
static_assert(is_one_loop_in_place<program_of<ebb::rule::adam, float, 7>::type>());
static_assert(is_one_loop_in_place<program_of<ebb::rule::adamw, ebb::bfloat16, 7>::type>());

}  // namespace

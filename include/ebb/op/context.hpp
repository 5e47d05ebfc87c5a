// ebb/op/context.hpp — autocast inside the rules of ops: the casts that a pull emits in a context.
// SPDX-License-Identifier: BSL-1.0
//
// [note: contexts in rules]
// For a *call*, types decide how a context casts the operands, see autocast/under.hpp: the result of matmul is a term of bf16. Autocast is
// off inside functions, as in PyTorch. A *pull* is written in the dtype of its op. A matrix product in it asks the graph for the context
// in which it runs. Then it casts, multiplies in the context's dtype and converts back to the dtype of the pull. A call of any function
// of class `low` or `full` does the same, a user's function too; autocast is off inside it. So the gradient of an operand always has the
// operand's dtype.
//   context     the context of the function or pull that runs now; null in a function that is traced outside of all contexts
//   pulled_in   the context that new equations store for their pull, if a region has a policy
// A user's function or op may ask for the context too: see autocast_dtype. It does so on operands: no type depends on the answer.
#pragma once

#include "contract.hpp"
#include "convert.hpp"

#include <optional>
#include <type_traits>

namespace ebb::inline EBB_ABI {

namespace detail {

template <class Low>
struct in_context {
  using other = std::conditional_t<std::is_same_v<Low, bfloat16>, float16, bfloat16>;

  static constexpr int lowered(graph& g, int x) {
    const attributes each{each_use};
    if (g.op(x).result == dtype::f32) return emit<op::cast<float>, Low>(g, {x}, each);
    return g.op(x).result == dtype_of<other> ? emit<op::cast<other>, Low>(g, {x}, each) : x;
  }
  static constexpr int product(graph& g, int x, int y, std::int64_t attr) {
    const bool from_float = g.op(x).result == dtype::f32;
    const int low = emit<op::matmul, Low>(g, {lowered(g, x), lowered(g, y)}, {attr});
    return from_float ? emit<op::cast<Low>, float>(g, {low}) : emit<op::cast<Low>, other>(g, {low});
  }
};

template <class C>
struct context_table {
  static constexpr cast_context assumed{0, true, nullptr, &known_off};
};
template <class Low, class Uses>
struct context_table<autocast<Low, Uses>> {
  static constexpr cast_context known{number_of_context<autocast<Low>>, false, &in_context<Low>::product, nullptr};
  static constexpr cast_context assumed{number_of_context<autocast<Low>>, true, &in_context<Low>::product, &known};
};

/// x as an operand of class P in a context of dtype Low: cast, if autocast casts its dtype.
template <precision P, class Low, class T>
constexpr auto in_rule(operand<T> x) {
  using To = std::conditional_t<P == precision::low, Low, float>;
  if constexpr (!can_be_cast(dtype_of<T>) || std::is_same_v<T, To>) return x;
  else return emit_on<op::cast<T>, To>({each_use}, x);
}
template <precision, class>
constexpr auto in_rule(number auto x) {
  return x;
}

/// The first equation from `begin` on that has operands; `otherwise` if there is none, because all equations existed before.
constexpr int first_computed(const graph& g, int begin, int otherwise) {
  for (int k = begin; k < g.size(); ++k)
    if (g.eq[k].count > 0) return k;
  return otherwise;
}

template <class F, class... A>
constexpr auto call_in_context(F, A... a) {
  using result = decltype(F::apply(a...));
  graph* g = nullptr;
  cast_question asked;
  const auto ask = [&]<class X>(const X& x) {
    if constexpr (is_operand<X>) {
      g = x.g;
      if constexpr (can_be_cast(dtype_of<typename X::value_type>))
        if (const auto q = g->ask(autocast_class<F>, dtype_of<typename X::value_type>, called<F>); !asked) asked = q;
    }
  };
  (ask(a), ...);
  const maybe_context here = g->context;
  if (here) g->context = &known_off;
  const auto apply = [&](auto... x) {
    const int before = g->size();
    const auto y = F::apply(x...);
    if (asked) g->note(first_computed(*g, before, y.id), asked);
    return y;
  };
  const auto call = [&]<class Low>(std::type_identity<Low>) {
    return cast_to<typename result::value_type>(apply(in_rule<autocast_class<F>, Low>(a)...));
  };
  const result r = !here || here->number == 0                        ? apply(a...)
                   : low_of_context(here->number) == dtype::bf16 ? call(std::type_identity<bfloat16>{})
                                                                     : call(std::type_identity<float16>{});
  g->context = here;
  return r;
}

}  // namespace detail

/// Context C for graphs, as a policy assumes it.
template <class C>
inline constexpr const cast_context& context_of = detail::context_table<C>::assumed;
/// No context, as assumed by a region that declares none and has the policy same_as_forward.
inline constexpr cast_context off_as_called{0, true, nullptr, &known_off, true};

/// context_of, made dependent on T: else clang would compile the context's casts and products in every program.
template <class C, class T>
inline constexpr const cast_context& context_where = context_of<std::enable_if_t<sizeof(std::type_identity<T>) != 0, C>>;

/// Inside functions on operands and in pulls: the dtype in which autocast computes here, or nothing if it is off. Asking makes the
/// program depend on the context: ebb::policy_matters and the check at run time take that into account.
template <class T>
constexpr std::optional<dtype> autocast_dtype(operand<T> x) {
  graph& g = *x.g;
  if (!g.context) g.casts.asked.by_name = true;
  else if (g.context->assumed) g.casts.in_pulls[g.context->number].by_name = true;
  if (!g.context || g.context->number == 0) return std::nullopt;
  return low_of_context(g.context->number);
}

}  // namespace ebb::inline EBB_ABI

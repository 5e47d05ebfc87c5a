// ebb/autocast/policy.hpp — the autocast context that a backward is compiled for: an assumption about the call of backward, as a type.
// SPDX-License-Identifier: BSL-1.0
//
// [note: policies]
//   same_as_forward   backward is called in the context in which the region was called; the default, as PyTorch's
//   off               backward is called outside of all contexts
//   a context         backward is called in that one; of several, entered in order, the last one counts
//   as_recorded       no assumption: each op of the backward computes in the dtypes that its forward op had
// The context matters where a pull multiplies matrices that it would cast (op/context.hpp): after an inner block without autocast, and
// in the derivatives of ops of class `full`. Elsewhere all policies give one program. A region's own policy is written into its
// equations while it is traced, so regions inside regions keep theirs, and nothing can change it between forward and backward.
// value_and_grad, grad and their like are one program with their function, called in one place: there a named policy is applied,
// not assumed; same_as_forward means the context of that call, which has to be declared like that of any call.
#pragma once

#include "under.hpp"

#include <algorithm>

namespace ebb::inline EBB_ABI {

struct same_as_forward {};
struct as_recorded {};

/// The policy of a region: one of the four, or a list of contexts, entered in order. An empty list is `off`.
template <class... Policy>
struct backward_pass_autocast {};

/// The policy of a region, and others for which its backward is compiled too, from arguments alone: see [note: another policy].
template <class Own, class... Other>
struct backward_policies {};

namespace detail {

/// The context of pulls, as a policy chooses it for a region that is called in the context Entry.
template <class Policy, class Entry>
struct resolve_policy {
  using type = Policy;
};
template <class Entry>
struct resolve_policy<same_as_forward, Entry> {
  using type = Entry;
};
template <class Entry>
struct resolve_policy<as_recorded, Entry> {
  using type = as_recorded;
};
template <class Entry>
struct resolve_policy<backward_pass_autocast<>, Entry> {
  using type = off;
};
template <class Policy, class Entry>
struct resolve_policy<backward_pass_autocast<Policy>, Entry> : resolve_policy<Policy, Entry> {};
template <class First, class Second, class... More, class Entry>
struct resolve_policy<backward_pass_autocast<First, Second, More...>, Entry>
    : resolve_policy<backward_pass_autocast<Second, More...>, Entry> {};

template <class Own, class... Other, class Entry>
struct resolve_policy<backward_policies<Own, Other...>, Entry> : resolve_policy<Own, Entry> {};

template <class Policy, class Entry>
using resolved_policy = typename resolve_policy<Policy, Entry>::type;

/// 0 if a policy is valid, else an error code.
template <class Policy>
inline constexpr int code_of_policy = is_context<Policy> || std::is_same_v<Policy, same_as_forward> || std::is_same_v<Policy, as_recorded>
                                          ? 0
                                          : is_context_of_another_dtype<Policy> ? 182 : 145;
/// The same of one policy among others: no list of several.
template <class Policy>
inline constexpr int code_of_one_policy = code_of_policy<Policy>;
template <class Own, class... Other>
inline constexpr int code_of_one_policy<backward_policies<Own, Other...>> = 145;
template <class... P>
inline constexpr int code_of_policy<backward_pass_autocast<P...>> =
    sizeof...(P) == 1 || ((code_of_one_policy<P> != 0) || ...) ? std::max({0, code_of_one_policy<P>...}) : (is_context<P> && ...) ? 0 : 185;
template <class Own, class... Other>
inline constexpr int code_of_policy<backward_policies<Own, Other...>> = std::max({code_of_one_policy<Own>, code_of_one_policy<Other>...});
/// A class, so that it can be named where the user calls: named deeper, its sentence would be printed far from the user's line.
template <class Policy>
struct refuse_policy {
  template <class Entry>
  using resolved = typename resolve_policy<Policy, Entry>::type;

  static constexpr int code = code_of_policy<Policy>;
  static_assert(code != 182, "[ebb E0182] autocast computes in ebb::bf16 or ebb::f16: there is no such context of another dtype");
  static_assert(code != 145, "[ebb E0145] there is no such autocast policy: same_as_forward, as_recorded, off, or contexts");
  static_assert(code != 185, "[ebb E0185] a list of contexts holds ebb::off and ebb::autocast<...>, no policies");
};

/// Policies by number, as they are known at run time. Of contexts entered in order the last one counts.
inline constexpr const char* policy_names[] = {"ebb::same_as_forward", "ebb::as_recorded", "ebb::off", "ebb::autocast<ebb::bf16>",
                                               "ebb::autocast<ebb::f16>"};
template <class Policy>
inline constexpr int number_of_policy = 2;  // off, and no context
template <>
inline constexpr int number_of_policy<same_as_forward> = 0;
template <>
inline constexpr int number_of_policy<as_recorded> = 1;
template <class Low, class Uses>
inline constexpr int number_of_policy<autocast<Low, Uses>> = 2 + number_of_context<autocast<Low, Uses>>;
template <class Policy>
inline constexpr int number_of_policy<backward_pass_autocast<Policy>> = number_of_policy<Policy>;
template <class First, class Second, class... More>
inline constexpr int number_of_policy<backward_pass_autocast<First, Second, More...>> =
    number_of_policy<backward_pass_autocast<Second, More...>>;

/// The context of pulls under a resolved policy. as_recorded assumes nothing: there is nothing to check.
template <class Resolved>
inline constexpr const cast_context& context_of_pulls = context_of<Resolved>;
template <>
inline constexpr const cast_context& context_of_pulls<as_recorded> = known_off;

template <class Policy>
inline constexpr bool is_same_as_forward = std::is_same_v<Policy, same_as_forward>;
template <class Policy>
inline constexpr bool is_same_as_forward<backward_pass_autocast<Policy>> = is_same_as_forward<Policy>;
template <class Own, class... Other>
inline constexpr bool is_same_as_forward<backward_policies<Own, Other...>> = is_same_as_forward<Own>;

/// The context in which a function enters itself before it does anything else.
template <class F>
struct entry_of {
  using type = off;
};
template <class C, class F>
struct entry_of<entered<C, F>> {
  using type = C;
};

/// F, whose equations are pulled under a policy of their own.
template <class Policy, class F>
struct patched {
  template <class... A>
  using call_on = known_call<F, A...>;

  template <class... A>
    requires are_traced<A...>
  constexpr auto operator()(const A&... a) const -> decltype(F{}(static_cast<only_traced<are_traced<A...>, A>>(a)...)) {
    using around = context_among<A...>;
    using entry = std::conditional_t<std::is_same_v<around, off>, typename entry_of<F>::type, around>;
    graph& g = *first_graph(a...);
    const maybe_context before = g.pulled_in;
    constexpr bool as_called = is_same_as_forward<Policy> && std::is_same_v<entry, off>;
    g.pulled_in = as_called ? off_as_called : context_of_pulls<resolved_policy<Policy, entry>>;
    const auto r = F{}(a...);
    g.pulled_in = before;
    return r;
  }
  template <class... A>
    requires(!are_traced<A...>)
  constexpr auto operator()(const A&... a) const {
    return call_compiled(*this, a...);
  }
};
template <class Policy, class F>
struct entry_of<patched<Policy, F>> : entry_of<F> {};

/// The number of F's own policy, and F under each of the others that it declares, as List<Under<number, function>...>.
template <class F>
struct declared_policies {
  static constexpr int own = -1;  // it has one, and declares no other
  template <template <class...> class List, template <int, class> class Under>
  using others = List<>;
};
template <class Own, class... Other, class F>
struct declared_policies<patched<backward_policies<Own, Other...>, F>> {
  static constexpr int own = number_of_policy<Own>;
  template <template <class...> class List, template <int, class> class Under>
  using others = List<Under<number_of_policy<Other>, patched<Other, F>>...>;
};

/// The other policy takes the place of the one that F has.
template <class Policy, class F>
struct patch_of {
  using type = patched<Policy, F>;
};
template <class Policy, class Old, class F>
struct patch_of<Policy, patched<Old, F>> : patch_of<Policy, F> {};

}  // namespace detail

/// A policy as a value, or each region's own one.
class policy_choice {
 public:
  constexpr policy_choice() = default;
  template <class Policy>
  constexpr policy_choice(Policy) : number_(detail::number_of_policy<Policy>) {
    static_cast<void>(detail::refuse_policy<backward_pass_autocast<Policy>>{});
  }
  constexpr int number() const { return number_; }  // or -1
  constexpr const char* name() const { return detail::policy_names[number_]; }
  constexpr bool operator==(const policy_choice&) const = default;

 private:
  int number_ = -1;
};

}  // namespace ebb::inline EBB_ABI

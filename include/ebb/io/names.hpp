// ebb/io/names.hpp — the names that arrays have in a file: from members of structs, numbers of elements, and ebb::with_name.
// SPDX-License-Identifier: BSL-1.0
//
// [note: names in files]
// An array is called by its way through the structure, with dots between: a member of a struct (BOOST_HANA_DEFINE_STRUCT) by its name, an
// element of a tuple, std::array or std::vector by its number. So `model.layers[1].weight` is "layers.1.weight", as PyTorch names it:
// nested structs with the members that a torch.nn.Module has need nothing else. If names differ, ebb::with_name gives them:
//   file.load(std::tuple(ebb::with_name("fc1.weight", net.w1), ebb::with_name("head", net.output)));
// A named structure keeps the names inside of it: "head.weight", "head.bias". An element of a tuple that is named has no number.
// The state of an update rule is called "state.<number of the parameter>.<name>", as in the state_dict of PyTorch's optimizers.
#pragma once

#include "../base/config.hpp"
#include "../base/repeat.hpp"
#include "../trace/form.hpp"

#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI {

/// A structure, and the name that it has in files. Of an lvalue it holds a reference.
template <class X>
struct named_part {
  std::string name;
  X part;
};
/// See [note: names in files].
template <class X>
named_part<X> with_name(std::string name, X&& x) {
  return {std::move(name), std::forward<X>(x)};
}

namespace detail {

template <class X>
inline constexpr bool is_named_part = false;
template <class X>
inline constexpr bool is_named_part<named_part<X>> = true;

/// P as a part of an X: const if X is, unless it is a reference.
template <class X, class P>
using part_in = std::conditional_t<std::is_const_v<X> && !std::is_reference_v<P>, const P, std::remove_reference_t<P>>;

/// Whether Is<Leaf>::value for each leaf of a structure whose parts may be named. X and the leaves may be const.
template <class X, template <class> class Is>
struct all_named_leaves;
template <class X, template <class> class Is, class... P>
constexpr bool all_named_in(types<P...>) {
  return (all_named_leaves<part_in<X, P>, Is>::value && ...);
}
template <class X, template <class> class Is, class... P>
constexpr bool all_named_in(std::type_identity<std::tuple<P...>>) {  // its form has forgotten which parts are references
  return (all_named_leaves<part_in<X, P>, Is>::value && ...);
}
template <class X, template <class> class Is>
struct all_named_leaves {
  static constexpr bool value = [] {
    using plain = std::remove_const_t<X>;
    using form = detail::form<plain>;
    if constexpr (is_named_part<plain>) return all_named_leaves<part_in<X, decltype(plain::part)>, Is>::value;
    else if constexpr (form::is_leaf) return Is<X>::value;
    else if constexpr (form::is_loop) return all_named_leaves<part_in<X, typename form::element>, Is>::value;
    else if constexpr (boost::hana::Struct<plain>::value) return all_named_in<X, Is>(typename form::parts{});
    else return all_named_in<X, Is>(std::type_identity<plain>{});
  }();
};

EBB_COLD std::string joined_name(const std::string& outer, const std::string& inner) {
  return outer.empty() || inner.empty() ? outer + inner : outer + "." + inner;
}

/// f(name, leaf) for each leaf of x. `outer` is the name of x.
template <class F, class X>
void each_named_leaf(F& f, const std::string& outer, X& x) {
  using form = form_of<X>;
  [[maybe_unused]] const auto part = [&](auto& p, const std::string& name) {
    if constexpr (is_named_part<std::remove_cvref_t<decltype(p)>>) each_named_leaf(f, outer, p);
    else each_named_leaf(f, joined_name(outer, name), p);
  };
  if constexpr (is_named_part<std::remove_cvref_t<X>>) each_named_leaf(f, joined_name(outer, x.name), x.part);
  else if constexpr (form::is_leaf) f(outer, x);
  else if constexpr (form::is_loop) {
    std::size_t i = 0;
    for (auto& p : form::elements(x)) part(p, std::to_string(i++));
  } else
    repeat<form::count>([&]<int I>() {
      if constexpr (boost::hana::Struct<std::remove_cvref_t<X>>::value)
        part(form::template get<std::size_t{I}>(x), form::template name<std::size_t{I}>());
      else part(form::template get<std::size_t{I}>(x), std::to_string(I));
    });
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI

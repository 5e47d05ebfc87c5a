// ebb/autograd/any_tensor.hpp — an array whose dtype and extents are known at run time only: the tape's type of arrays.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "vertex.hpp"

#include "../base/error.hpp"
#include "../tensor/borrow.hpp"
#include "../tensor/layout.hpp"
#include "../tensor/strided.hpp"

#include <array>
#include <cstring>
#include <string>
#include <string_view>

namespace ebb::inline EBB_ABI {

namespace detail {

EBB_ONCE bool same_extents(const extent_list& a, const extent_list& b) {
  if (a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i)
    if (a.e[i] != b.e[i]) return false;
  return true;
}
/// "f32[2, 3]"
inline std::string text_of(dtype type, const extent_list& x) { return std::string(name_of(type)) + list_text(x.e, x.rank); }

template <std::size_t... E>
extent_list extents_of_layout(const layout<E...>& shape) {
  extent_list x;
  for (std::size_t extent : shape.shape()) x.e[x.rank++] = extent;
  return x;
}
template <std::size_t... E>
bool fits_layout(extents<E...>, const extent_list& x) {
  if (x.rank != static_cast<int>(sizeof...(E))) return false;
  int axis = 0;
  return ((E == dyn || E == x.e[axis] ? (++axis, true) : false) && ...);
}
template <std::size_t... E>
layout<E...> layout_from(extents<E...>, const extent_list& x) {
  std::array<std::size_t, sizeof...(E)> shape{};
  for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = x.e[i];
  return {"ebb::tensor", shape};
}

/// f(an element of the gradient of a T): a T, or a float for the float gradient of a 16-bit leaf.
template <class T>
auto with_gradient_type(dtype gradient, auto&& f) {
  if constexpr (sizeof(T) == 2)
    if (gradient == dtype::f32) return f(float{});
  return f(T{});
}
/// The elements of a gradient as one row. Before they are written to, value.detach() makes them the gradient's own.
template <class T>
view<T, dyn> gradient_row(gradient& g, std::size_t count) {
  return {reinterpret_cast<T*>(g.value.data()), layout_from(extents<dyn>{}, {1, {count}})};
}

/// Whether arrays of these types may have the same extents: as far as both are known, they are the same.
template <std::size_t... E, std::size_t... F>
constexpr bool may_be_same(extents<E...>, extents<F...>) {
  if constexpr (sizeof...(E) != sizeof...(F)) return false;
  else return ((E == dyn || F == dyn || E == F) && ...);
}
/// Whether an A can be given for an array of T with these extents.
template <class A, class T, class Extents>
inline constexpr bool may_become = false;
template <array_like A, class T, class Extents>
inline constexpr bool may_become<A, T, Extents> =
    std::is_same_v<borrowed_element<A>, T> && may_be_same(borrowed_extents<A>{}, Extents{});

/// The elements of any array as a block: shared if the array is a tensor, else copied.
template <array_like A>
storage to_storage(const A& a) {
  if constexpr (requires { a.block(); }) return a.block();
  else {
    const std::size_t bytes = layout_in(a).size() * sizeof(borrowed_element<A>);
    storage block(bytes);
    if (bytes) std::memcpy(block.data(), borrow<A>::data(a), bytes);
    return block;
  }
}
/// A tensor of the elements in a block. Shares them if the type allows it.
template <element T, std::size_t... E>
tensor<T, E...> to_tensor(const layout<E...>& shape, const storage& block) {
  using R = tensor<T, E...>;
  if constexpr (!R::is_inline) return R(shape, block);
  else {
    R r = R::uninitialized(shape);
    if (r.size()) std::memcpy(static_cast<void*>(r.mutable_data()), block.data(), r.size() * sizeof(T));
    return r;
  }
}

/// The value of any array as an R of the same rank. Throws: error if its extents differ from the static extents of R.
template <class R, array_like A>
R to_tensor_of(const A& a) {
  return to_tensor<typename R::value_type>(layout_from(typename R::extents_type{}, extents_of_layout(layout_in(a))), to_storage(a));
}

}  // namespace detail

/// Undefined, or elements of some dtype in some shape. Copies share the elements, which are read-only.
class any_tensor {
 public:
  any_tensor() = default;
  any_tensor(dtype type, const extent_list& extents, storage block)
      : block_(std::move(block)), extents_(extents), type_(type), defined_(true) {}
  template <array_like A>
  any_tensor(const A& a)
      : any_tensor(dtype_of<borrowed_element<A>>, detail::extents_of_layout(layout_in(a)), detail::to_storage(a)) {
    if constexpr (requires { a.history(); }) {
      from_ = counted<vertex>(a.history());
      output_ = a.output();
    }
  }

  bool defined() const { return defined_; }
  dtype type() const { return type_; }
  const extent_list& extents() const { return extents_; }
  const storage& block() const { return block_; }
  /// The node that made it, if it was made of a variable.
  const counted<vertex>& history() const { return from_; }
  std::uint32_t output() const { return output_; }
  std::string text() const { return defined_ ? detail::text_of(type_, extents_) : "undefined"; }

  /// The array with its type.
  /// Throws: error if dtype, rank or a static extent differ, or if it is undefined.
  template <element T, std::size_t... E>
  tensor<T, E...> as() const {
    if (!defined_ || type_ != dtype_of<T> || !detail::fits_layout(ebb::extents<E...>{}, extents_)) {
      const std::size_t wanted[] = {E..., 0};
      raise("ebb::any_tensor::as: " + text() + " was asked for as " + std::string(name_of(dtype_of<T>)) +
            list_text(wanted, static_cast<int>(sizeof...(E))));
    }
    return detail::to_tensor<T>(detail::layout_from(ebb::extents<E...>{}, extents_), block_);
  }

 private:
  storage block_;
  counted<vertex> from_;
  std::uint32_t output_ = 0;
  extent_list extents_;
  dtype type_{};
  bool defined_ = false;
};

}  // namespace ebb::inline EBB_ABI

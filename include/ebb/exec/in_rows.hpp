// ebb/exec/in_rows.hpp — strided arrays as arguments and destinations: copied to row-major memory before a call, and from it afterwards.
// SPDX-License-Identifier: BSL-1.0
//
// Programs read and write row-major memory without gaps. An array that is already so is used in place. Others are copied, so a destination
// may overlap any argument. See [note: matrices of others].
#pragma once

#include "../kernel/move.hpp"
#include "../trace/lengths.hpp"

namespace ebb::inline EBB_ABI {

namespace detail {

/// Whether A has an array that may be strided.
template <class A>
using is_strided = std::bool_constant<strided_like<A>>;
template <class A>
inline constexpr bool has_strides = any_leaf<A, is_strided>;

template <strided_like A>
strided_copy box_of(const A& a) {
  extent_list x;
  strided_copy box;
  x.rank = box.rank = borrowed_extents<A>::rank;
  for (int i = 0; i < x.rank; ++i) {
    x.e[i] = box.extent[i] = borrow<A>::extent(a, i);
    box.from[i] = borrow<A>::stride(a, i);
  }
  row_major_strides(x, box.to);
  return box;
}
inline std::size_t elements_in(const strided_copy& box) {
  std::size_t n = 1;
  for (int i = 0; i < box.rank; ++i) n *= box.extent[i];
  return n;
}
inline bool lies_in_rows(const strided_copy& box) {
  bool same = true;
  for (int i = 0; i < box.rank; ++i) same = same && (box.extent[i] == 1 || box.from[i] == box.to[i]);
  return same || elements_in(box) == 0;
}

/// The elements of a strided array, row-major: its own memory, or a copy.
template <class A>
class in_rows {
 public:
  using element = borrowed_element<A>;

  explicit in_rows(const A& a) : shape_(layout_in(a)), data_(borrow<A>::origin(a)) {
    const strided_copy box = box_of(a);
    if (lies_in_rows(box)) return;
    copy_ = storage(elements_in(box) * sizeof(element));
    kernel::copy(box, data_, copy_.data(), sizeof(element));
    data_ = reinterpret_cast<const element*>(copy_.data());
  }
  const element* data() const { return data_; }
  std::size_t extent(int axis) const { return shape_.extent(axis); }

 private:
  borrowed_layout<A> shape_;
  storage copy_;
  const element* data_;
};

/// Row-major memory for a strided destination: its own, or other memory that is copied to the destination at the end.
template <class A>
class written_in_rows {
 public:
  using element = borrowed_element<A>;

  explicit written_in_rows(A& a) : array_(&a), shape_(layout_in(a)), data_(borrow<std::remove_const_t<A>>::mutable_origin(a)) {
    const strided_copy box = box_of(a);
    if (lies_in_rows(box)) return;
    copy_ = storage(elements_in(box) * sizeof(element));
    data_ = reinterpret_cast<element*>(copy_.data());
  }
  void finish() {
    if (!copy_.data()) return;
    strided_copy box = box_of(*array_);
    std::swap(box.from, box.to);
    kernel::copy(box, data_, borrow<std::remove_const_t<A>>::mutable_origin(*array_), sizeof(element));
  }
  element* data() const { return data_; }
  std::size_t extent(int axis) const { return shape_.extent(axis); }

 private:
  A* array_;
  borrowed_layout<A> shape_;
  storage copy_;
  element* data_;
};

}  // namespace detail

template <class A>
struct borrow<detail::in_rows<A>> {
  using element = borrowed_element<A>;
  using extents_type = borrowed_extents<A>;
  static constexpr const element* data(const detail::in_rows<A>& a) { return a.data(); }
  static constexpr std::size_t extent(const detail::in_rows<A>& a, int axis) { return a.extent(axis); }
};
template <class A>
struct borrow<detail::written_in_rows<A>> {
  using element = borrowed_element<A>;
  using extents_type = borrowed_extents<A>;
  static constexpr const element* data(const detail::written_in_rows<A>& a) { return a.data(); }
  static constexpr element* mutable_data(const detail::written_in_rows<A>& a) { return a.data(); }
  static constexpr std::size_t extent(const detail::written_in_rows<A>& a, int axis) { return a.extent(axis); }
};

namespace detail {

/// Maps to the form that programs read. The copy owns the parts of a tuple, std::array or vector, and all members of a struct.
struct to_rows : form_map<to_rows> {
  template <class S>
  using of_struct = std::conditional_t<has_strides<S>, mapped_to<to_values, S>, S>;
};
template <strided_like A>
struct mapped_form<to_rows, A> {
  using type = in_rows<A>;
};
template <class A>
constexpr const A& as_rows(const A& a) {
  return a;
}
template <class A>
  requires has_strides<A>
auto as_rows(const A& a) {
  return filled<mapped_to<to_rows, A>>([]<class To, class From>(const From& from) -> To {
    if constexpr (std::is_same_v<To, in_rows<From>>) return To(from);
    else if constexpr (std::is_same_v<To, From>) return from;
    else if constexpr (strided_like<From>) {
      auto to = To::uninitialized(typename To::layout_type("ebb::borrow", layout_in(from).shape()));
      kernel::copy(box_of(from), borrow<From>::origin(from), to.mutable_data(), sizeof(typename To::value_type));
      return to;
    } else return To(borrowed_view(from));
  }, a);
}

template <class D>
constexpr decltype(auto) as_written_rows(D& d) {
  if constexpr (strided_like<D>) return written_in_rows<D>(d);
  else return (d);
}
/// Calls call(leaf...) with row-major memory in place of the leaves, then copies the elements to the destinations.
template <class... Leaf>
void with_written_rows(const std::tuple<Leaf&...>& leaves, auto&& call) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    std::tuple<decltype(as_written_rows(std::declval<Leaf&>()))...> to(as_written_rows(std::get<I>(leaves))...);
    call(std::get<I>(to)...);
    const auto finish = []<class To>(To& x) {
      if constexpr (requires { x.finish(); }) x.finish();
    };
    (finish(std::get<I>(to)), ...);
  }(std::index_sequence_for<Leaf...>{});
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI

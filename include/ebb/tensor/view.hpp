// ebb/tensor/view.hpp — a non-owning array: a pointer and extents.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/config.hpp"
#include "../num/dtype.hpp"
#include "layout.hpp"

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

namespace ebb::inline EBB_ABI {

template <element T, std::size_t... E>
class tensor;

/// Borrowed elements, in row-major order without gaps: view<const float, dyn, 64>(p, n) reads, view<float, dyn, 64>(p, n) writes too.
/// A view owns and copies nothing: the memory must outlive it, and a view of a tensor is invalid after the tensor's next change. A view of
/// a temporary may be an argument, but should not get a name: clang warns of it. As with std::span, a const view can be written through;
/// the element type decides.
template <class T, std::size_t... E>
  requires element<std::remove_const_t<T>>
class view {
 public:
  using value_type = std::remove_const_t<T>;
  using extents_type = ebb::extents<E...>;
  static constexpr int rank = sizeof...(E);
  static constexpr std::size_t dynamic_rank = extents_type::dynamic_rank;

  constexpr view(const view&) = default;
  constexpr view& operator=(const view&) & = default;
  /// Refused: x[i] is a view, and an assignment would make that temporary look elsewhere.
  template <class Y>
  constexpr auto operator=(const Y&) && {
    static_assert(std::is_void_v<Y>, "[ebb E0305] assigning to a part of a view writes nothing: fill its span(), or give it to ebb::into");
  }

  /// Dynamic extents follow the pointer, in order.
  template <std::integral... N>
    requires(sizeof...(N) == dynamic_rank)
  constexpr explicit view(T* data, N... n) : data_(data), layout_(dynamic_extents<dynamic_rank>(n...), "ebb::view") {}
  constexpr view(T* data, const layout<E...>& shape) : data_(data), layout_(shape) {}

  /// Throws: error if the span has more or fewer elements.
  template <std::integral... N>
    requires(rank > 0 && sizeof...(N) == dynamic_rank)
  constexpr explicit view(std::span<T> elements, N... n) : view(elements.data(), n...) {
    if (elements.size() != size()) raise_bad_count("ebb::view", elements.size(), shape().data(), rank);
  }
  constexpr view(std::span<T> elements)
    requires(rank == 1)
      : data_(elements.data()), layout_("ebb::view", {elements.size()}) {}

  /// Throws: error if a static extent of this view differs.
  template <class U, std::size_t... F>
    requires(std::convertible_to<U (*)[], T (*)[]> && sizeof...(F) == sizeof...(E))
  constexpr view(const view<U, F...>& other) : data_(other.data()), layout_("ebb::view", other.shape()) {}
  template <std::size_t... F>
    requires(std::is_const_v<T> && sizeof...(F) == sizeof...(E))
  constexpr view(const tensor<value_type, F...>& other EBB_LIFETIMEBOUND) : data_(other.data()), layout_("ebb::view", other.shape()) {}
  template <class U, std::size_t... F>
    requires(sizeof...(F) != sizeof...(E))
  view(const tensor<U, F...>& other) = delete;

  constexpr std::array<std::size_t, sizeof...(E)> shape() const { return layout_.shape(); }
  constexpr std::size_t extent(int axis) const { return layout_.extent(axis); }
  constexpr std::size_t size() const { return layout_.size(); }

  constexpr T* data() const { return data_; }
  constexpr std::span<T> span() const { return {data_, size()}; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size(); }

  /// The element. Negative indices count from the end.
  /// Throws: error naming the index and the shape.
  template <std::integral... I>
    requires(sizeof...(I) == sizeof...(E))
  constexpr T& operator()(I... index) const {
    return data_[layout_.offset("ebb::view::operator()", index...)];
  }
  /// A view of the part at these indices of the first axes.
  template <std::integral... I>
    requires(0 < sizeof...(I) && sizeof...(I) < sizeof...(E))
  constexpr auto operator()(I... index) const {
    return part_of(*this, "ebb::view::operator()", index...);
  }
  /// The element of a vector, else row i.
  constexpr decltype(auto) operator[](std::integral auto i) const
    requires(rank > 0)
  {
    return (*this)(i);
  }
  /// Item i of the leading axis.
  /// Throws: error naming the index and the extent.
  constexpr auto row(std::size_t i) const
    requires(rank > 0)
  {
    return row_of(*this, "ebb::view::row", i);
  }

 private:
  T* data_;
  [[no_unique_address]] layout<E...> layout_;
};

template <class T, std::size_t N>
view(std::span<T, N>) -> view<T, N>;  // std::dynamic_extent is dyn
template <element T, std::size_t... E>
view(const tensor<T, E...>&) -> view<const T, E...>;

static_assert(dyn == std::dynamic_extent);

// view<T, E, Rest...>, i -> view<T, Rest...>
template <class T, std::size_t First, std::size_t... Rest>
constexpr view<T, Rest...> row_of(const view<T, First, Rest...>& whole, const char* call, std::size_t i) {
  std::array<std::size_t, sizeof...(Rest)> shape{};
  for (std::size_t k = 0; k < sizeof...(Rest); ++k) shape[k] = whole.shape()[k + 1];
  const layout<Rest...> inner(call, shape);
  if (i >= whole.extent(0)) {
    const auto given = static_cast<std::int64_t>(i);
    const std::size_t extent = whole.extent(0);
    raise_bad_index(call, &given, &extent, 1);
  }
  return {whole.data() + i * inner.size(), inner};
}

// view<T, E, F, Rest...>, i, j -> view<T, Rest...>
template <class T, std::size_t First, std::size_t... Rest>
constexpr auto part_of(const view<T, First, Rest...>& whole, const char* call, std::integral auto i, std::integral auto... more) {
  const std::size_t extent = whole.extent(0);
  const auto given = static_cast<std::int64_t>(i);
  const auto place = static_cast<std::size_t>(given) + (std::is_signed_v<decltype(i)> && given < 0 ? extent : 0);
  if (place >= extent) raise_bad_index(call, &given, &extent, 1);
  const auto part = row_of(whole, call, place);
  if constexpr (sizeof...(more) == 0) return part;
  else return part_of(part, call, more...);
}

}  // namespace ebb::inline EBB_ABI

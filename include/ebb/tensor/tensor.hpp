// ebb/tensor/tensor.hpp — the owning array: static or dynamic extents, copy-on-write; small ones are inline and constexpr.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/config.hpp"
#include "../num/dtype.hpp"
#include "cells.hpp"
#include "layout.hpp"
#include "literal.hpp"
#include "view.hpp"

#include <array>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI {

/// x as an element of type T; narrow floats are converted by way of float.
template <element T, class X>
constexpr T as_element(const X& x) {
  if constexpr (std::is_same_v<T, X>) return x;
  else if constexpr (std::is_constructible_v<float, X> && !std::is_arithmetic_v<X>) return as_element<T>(static_cast<float>(x));
  else if constexpr (std::is_arithmetic_v<T>) return static_cast<T>(x);
  else return T(static_cast<float>(x));
}

/// An array of T with extents E..., each a number or `dyn`; tensor<T> has rank 0 and converts from and to T. Elements are in
/// row-major order without gaps. `tensor<float, dyn, 64> x(n)` takes its dynamic extents in order and is all zeros.
///
/// A tensor is a value: copies never see each other's changes. A write first gives a tensor memory of its own, so a copy costs a count
/// and `x.at(i, j) = 1` copies at most once. Reading never copies, whether x is const or not: that is why writing has separate names
/// (`at`, `mutable_data`, `mutable_span`) and `x(i, j)` only reads. Pointers and views into a tensor are invalid after its next change;
/// do not copy a tensor while you write through a pointer to it. A view of a temporary, `auto r = (a + b).row(0)`, ends with that line.
///
/// Static tensors of at most 1 KiB hold their elements inside, without a heap, and work in constant expressions. Others share a block
/// aligned to 64 and padded with zeros to a multiple of 64 bytes. Many threads may read and copy one tensor at once.
///
/// A moved-from tensor with a dynamic extent is empty; a static one on the heap may only be assigned to or destroyed.
template <element T, std::size_t... E>
class tensor {
 public:
  using value_type = T;
  using extents_type = ebb::extents<E...>;
  using layout_type = ebb::layout<E...>;
  static constexpr int rank = sizeof...(E);
  static constexpr std::size_t dynamic_rank = extents_type::dynamic_rank;
  /// Whether the elements are inside the object.
  static constexpr bool is_inline = extents_type::is_static && (sizeof(T) * ... * E) <= inline_bytes;

  /// Zeros; dynamic extents are 0.
  constexpr tensor() = default;
  constexpr tensor(const tensor&) = default;
  constexpr tensor(tensor&&) = default;
  constexpr tensor& operator=(const tensor&) & = default;
  constexpr tensor& operator=(tensor&&) & = default;
  /// Refused: a part x(i) or x[i] is a copy, and assigning to it would change nothing.
  template <class Y>
  constexpr auto operator=(const Y&) && {
    static_assert(std::is_void_v<Y>, "[ebb E0303] x[i] is a copy and cannot be assigned: write x.at(i, j) = y, or take an ebb::view of x");
  }
  constexpr explicit tensor(const layout_type& shape) : cells_(shape) {}
  template <std::integral... N>
    requires(dynamic_rank > 0 && sizeof...(N) == dynamic_rank)
  constexpr explicit tensor(N... n) : tensor(layout_at(n...)) {}
  template <std::integral... N>
    requires(dynamic_rank > 0 && dynamic_rank < rank && sizeof...(N) == rank)
  constexpr explicit tensor(N...) {
    static_assert(sizeof...(N) == dynamic_rank, "[ebb E0131] give the extents that are dyn, and no others: the type holds the static ones");
  }

  /// {{1, 2, 3}, {4, 5, 6}}: dynamic extents come from the list. A tensor of rank 0 is made from its element.
  /// Throws: error if the list is ragged or does not fit the static extents.
  constexpr tensor(nested_list<T, rank> list) : tensor(layout_of_list(list), uninitialized_t{}) {
    copy_list<T, rank>(list, shape().data(), cells_.mutable_data());
  }
  /// {1, 2, 3, 4, 5, 6} for any static shape of six. A template, so that {{1}, {2}} is a nested list.
  /// Throws: error if the count differs.
  template <int = 0>
    requires(extents_type::is_static && rank > 1)
  constexpr tensor(std::initializer_list<T> list) : tensor(layout_of(list.size()), uninitialized_t{}) {
    copy_from(list.begin());
  }

  /// Copies the elements. Dynamic extents follow; a single one may be omitted.
  /// Throws: error if the count differs.
  template <std::integral... N>
    requires(rank > 0 && (sizeof...(N) == dynamic_rank || (sizeof...(N) == 0 && dynamic_rank == 1)))
  constexpr explicit tensor(std::span<const T> elements, N... n) : tensor(layout_of(elements.size(), n...), uninitialized_t{}) {
    copy_from(elements.data());
  }
  /// Copies the elements of the view.
  /// Throws: error if a static extent differs.
  template <class U, std::size_t... F>
    requires(std::same_as<std::remove_const_t<U>, T> && sizeof...(F) == sizeof...(E))
  constexpr explicit tensor(const view<U, F...>& elements) : tensor(layout_type("ebb::tensor", elements.shape()), uninitialized_t{}) {
    copy_from(elements.data());
  }
  /// The same value in a type that fixes more or fewer extents; shares the block if both have one.
  /// Throws: error if a static extent differs.
  template <std::size_t... F>
    requires(sizeof...(F) == sizeof...(E) && !std::same_as<tensor, tensor<T, F...>>)
  constexpr explicit tensor(const tensor<T, F...>& other) : cells_(cells_from(other)) {}
  template <class U, std::size_t... F>
    requires(sizeof...(F) != sizeof...(E))
  tensor(const tensor<U, F...>&) = delete;

  /// Takes a block that holds the elements.
  /// Throws: error if it is too small.
  tensor(const layout_type& shape, storage block)
    requires(!is_inline)
      : cells_(shape, std::move(block)) {
    if (cells_.block().bytes() < size() * sizeof(T))
      raise_bad_count("ebb::tensor", cells_.block().bytes() / sizeof(T), shape.shape().data(), rank);
  }

  /// Unspecified elements, for outputs: write each before it is read.
  static constexpr tensor uninitialized(const layout_type& shape) { return tensor(shape, uninitialized_t{}); }
  static constexpr tensor uninitialized(std::integral auto... n) { return uninitialized(layout_at(n...)); }

  static constexpr tensor zeros(std::integral auto... n) { return tensor(layout_at(n...)); }
  static constexpr tensor ones(std::integral auto... n) { return full(as_element<T>(1), n...); }
  static constexpr tensor full(T value, std::integral auto... n) {
    return generate([value](std::size_t) { return value; }, n...);
  }
  /// 0, 1, 2, ... in row-major order.
  static constexpr tensor iota(std::integral auto... n) {
    return generate([](std::size_t i) { return as_element<T>(i); }, n...);
  }
  /// Element (i, j, ...) is f(i, j, ...), or f(k) with k counted in row-major order if f takes one number; f is called in that order.
  template <class F>
  static constexpr tensor generate(F f, std::integral auto... n) {
    tensor result = uninitialized(n...);
    T* to = result.mutable_data();
    const std::size_t count = result.size();
    if constexpr (std::is_invocable_v<F&, decltype(E)...>) {
      const auto shape = result.shape();
      std::array<std::size_t, sizeof...(E)> index{};
      for (std::size_t k = 0; k < count; ++k) {
        to[k] = as_element<T>(call_at(f, index, std::make_index_sequence<sizeof...(E)>{}));
        for (std::size_t axis = sizeof...(E); axis-- > 0 && ++index[axis] == shape[axis];) index[axis] = 0;
      }
    } else {
      for (std::size_t k = 0; k < count; ++k) to[k] = as_element<T>(f(k));
    }
    return result;
  }

  constexpr std::array<std::size_t, sizeof...(E)> shape() const { return cells_.shape().shape(); }
  constexpr std::size_t extent(int axis) const { return cells_.shape().extent(axis); }
  constexpr std::size_t size() const { return cells_.shape().size(); }
  constexpr layout_type layout() const { return cells_.shape(); }

  constexpr const T* data() const EBB_LIFETIMEBOUND { return cells_.data(); }
  constexpr std::span<const T> span() const EBB_LIFETIMEBOUND { return {data(), size()}; }
  constexpr const T* begin() const { return data(); }
  constexpr const T* end() const { return data() + size(); }

  /// The element. Negative indices count from the end.
  /// Throws: error naming the index and the shape.
  template <std::integral... I>
    requires(sizeof...(I) == sizeof...(E))
  constexpr const T& operator()(I... index) const {
    return data()[layout().offset("ebb::tensor::operator()", index...)];
  }
  /// A copy of the part at these indices of the first axes; row(i) makes no copy.
  /// Throws: error naming the index and the extents.
  template <std::integral... I>
    requires(0 < sizeof...(I) && sizeof...(I) < sizeof...(E))
  constexpr auto operator()(I... index) const {
    return copy_of(part_of(view<const T, E...>(data(), layout()), "ebb::tensor::operator()", index...));
  }
  /// The element of a vector, else a copy of row i; for an array i of numbers, the rows with these numbers: take(x, i).
  constexpr decltype(auto) operator[](const auto& i) const
    requires(rank > 0)
  {
    if constexpr (std::integral<std::remove_cvref_t<decltype(i)>>) return (*this)(i);
    else return take(*this, i);
  }
  /// Item i of the leading axis.
  /// Throws: error naming the index and the extent.
  constexpr auto row(std::size_t i) const EBB_LIFETIMEBOUND
    requires(rank > 0)
  {
    return row_of(view<const T, E...>(data(), layout()), "ebb::tensor::row", i);
  }
  constexpr operator T() const
    requires(rank == 0)
  {
    return *data();
  }
  /// An array of one bool as a condition: `if (a == b)` compiles for arrays of one element. More bools are not a condition.
  /// Throws: error naming the shape if `dyn` extents give another number of elements.
  template <std::same_as<bool> B>
    requires(std::same_as<T, B> && rank > 0)
  constexpr explicit operator B() const {
    constexpr bool one = ((E == 1 || E == dyn) && ...);
    static_assert(one, "[ebb E0137] an array of bools is no condition: ask ebb::any or ebb::all of them, ebb::all_equal of two arrays");
    if constexpr (dynamic_rank > 0 && one)
      if (size() != 1) raise_no_condition(shape().data(), rank);
    return *data();
  }

  /// Writing: each of these first makes this tensor the only owner of its elements.
  constexpr T* mutable_data() { return cells_.mutable_data(); }
  constexpr std::span<T> mutable_span() { return {mutable_data(), size()}; }
  constexpr view<T, E...> mutable_view() { return {mutable_data(), layout()}; }
  /// The element to write: x.at(i, j) = 1.
  /// Throws: error naming the index and the shape.
  template <std::integral... I>
    requires(sizeof...(I) == sizeof...(E))
  constexpr T& at(I... index) {
    const std::size_t offset = layout().offset("ebb::tensor::at", index...);
    return mutable_data()[offset];
  }

  /// The number of tensors that share the elements; if there is more than one, the next write copies them.
  constexpr std::size_t use_count() const { return cells_.use_count(); }
  constexpr bool is_shared() const { return use_count() > 1; }
  const storage& block() const
    requires(!is_inline)
  {
    return cells_.block();
  }

 private:
  using cells = std::conditional_t<is_inline, inline_cells<T, E...>, shared_cells<T, E...>>;

  constexpr tensor(const layout_type& shape, uninitialized_t tag) : cells_(shape, tag) {}

  static constexpr layout_type layout_at(std::integral auto... n) {
    return layout_type(dynamic_extents<dynamic_rank>(n...), "ebb::tensor");
  }
  static constexpr layout_type layout_of_list(const nested_list<T, rank>& list) {
    std::array<std::size_t, sizeof...(E)> shape{};
    measure_list<T, rank>(list, shape.data());
    return {"ebb::tensor", shape};
  }
  static constexpr layout_type layout_of(std::size_t count, std::integral auto... n) {
    layout_type result;
    if constexpr (sizeof...(n) == dynamic_rank) {
      result = layout_at(n...);
    } else {
      constexpr std::size_t known = (std::size_t{1} * ... * (E == dyn ? 1 : E));
      result = layout_at(known ? count / known : 0);
    }
    if (result.size() != count) raise_bad_count("ebb::tensor", count, result.shape().data(), rank);
    return result;
  }
  template <std::size_t... F>
  static constexpr cells cells_from(const tensor<T, F...>& other) {
    const layout_type shape("ebb::tensor", other.shape());
    if constexpr (!is_inline && !tensor<T, F...>::is_inline) {
      return cells(shape, other.block());
    } else {
      tensor copy(shape, uninitialized_t{});
      copy.copy_from(other.data());
      return std::move(copy.cells_);
    }
  }
  template <std::size_t... F>
  static constexpr tensor<T, F...> copy_of(const view<const T, F...>& part) {
    return tensor<T, F...>(part);
  }
  constexpr void copy_from(const T* from) {
    T* to = cells_.mutable_data();
    const std::size_t count = size();
    for (std::size_t k = 0; k < count; ++k) to[k] = from[k];
  }
  template <class F, std::size_t... Axis>
  static constexpr decltype(auto) call_at(F& f, const std::array<std::size_t, sizeof...(E)>& index, std::index_sequence<Axis...>) {
    return f(index[Axis]...);
  }

  cells cells_;
};

/// first, first + step, ... up to but without last. Element i is first + i * step: the product is rounded, then the sum.
/// Throws: error naming the three if step is 0, or one of them or their number is infinite or NaN.
template <element T>
  requires(!std::same_as<T, bool>)
tensor<T, dyn> arange(T first, T last, T step = as_element<T>(1)) {
  const auto refuse = [](auto from, auto to, auto by) {
    raise("ebb::arange: no numbers from " + number_text(from) + " to " + number_text(to) + " by " + number_text(by));
  };
  if constexpr (std::is_integral_v<T>) {
    if (step == 0) refuse(first, last, step);
    const auto bits = [](T x) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(x)); };  // unsigned, so that any distance fits
    const std::uint64_t from = bits(first), by = bits(step), distance = step > 0 ? bits(last) - from : from - bits(last);
    const std::uint64_t stride = step > 0 ? by : 0 - by;
    const bool any = step > 0 ? first < last : last < first;
    return tensor<T, dyn>::generate([=](std::size_t i) { return static_cast<T>(from + i * by); },
                                    any ? distance / stride + (distance % stride != 0) : 0);
  } else {
    using wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const wide from = static_cast<wide>(first), by = static_cast<wide>(step), distance = static_cast<wide>(last) - from;
    const wide steps = distance / by;
    if (!(steps < wide(1ll << 62) && steps > -wide(1ll << 62))) refuse(from, static_cast<wide>(last), by);
    std::size_t count = steps > 0 ? static_cast<std::size_t>(steps) : 0;
    if (steps > 0 && static_cast<wide>(count) * by != distance) ++count;
    return tensor<T, dyn>::generate([&](std::size_t i) { return as_element<T>(from + static_cast<wide>(i) * by); }, count);
  }
}

}  // namespace ebb::inline EBB_ABI

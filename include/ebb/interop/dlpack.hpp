// ebb/interop/dlpack.hpp — to_dlpack and from_dlpack: arrays shared with NumPy, PyTorch, JAX and others in one process, without copies.
// SPDX-License-Identifier: BSL-1.0
//
// Not in ebb.hpp: programs that share no arrays need not compile it.
//   ebb::dlpack::managed_versioned* m = ebb::to_dlpack(std::move(x));           // a tensor, for others
//   const auto y = ebb::from_dlpack<const float, ebb::dyn, 3>(m);               // an array of others: an argument as any, see below
//   auto out = ebb::from_dlpack<float, ebb::dyn>(other);                        // one to be written: a destination for ebb::into
// examples/python has what Python adds: capsules and their names.
#pragma once

#include "dlpack_abi.hpp"

#include "../base/error.hpp"
#include "../tensor/borrow.hpp"
#include "../tensor/strided.hpp"

#include <array>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI {

namespace detail {

/// The expectations of from_dlpack.
struct dlpack_wish {
  dtype type;
  bool is_written;
  int rank;
  const std::size_t* extents;
};

[[noreturn]] EBB_COLD void raise_no_tensor(const char* call) {
  raise(call + std::string(": expected a DLPack tensor, found a null pointer"));
}
[[noreturn]] EBB_COLD void raise_other_version(const char* call, std::uint32_t major) {
  raise(call + std::string(": expected version 1 of DLPack, found ") + std::to_string(major));
}

/// Throws: error naming the call, what was expected and what was found. Returns the element at index 0, and the strides of all axes.
EBB_ONCE void* check_dlpack(const char* call, const dlpack_wish& wish, const dlpack::detail::description& found, std::size_t* shape,
                            std::ptrdiff_t* strides) {
  const dlpack::array& a = found.at;
  const auto expect = [&](const std::string& expected, const std::string& instead) {
    raise(call + std::string(": expected ") + expected + ", found " + instead);
  };
  const auto same = [](dlpack::data_type x, dlpack::data_type y) { return x.code == y.code && x.bits == y.bits && x.lanes == y.lanes; };

  if (a.device.device_type != dlpack::cpu) expect("memory of the CPU", "that of " + dlpack::detail::text_of(a.device));
  if (a.ndim < 0 || a.ndim > max_rank) expect("at most " + std::to_string(max_rank) + " axes", std::to_string(a.ndim));
  if (a.ndim > 0 && !a.shape) expect("the extents of " + std::to_string(a.ndim) + " axes", "a null pointer");
  bool fits = a.ndim == wish.rank && same(a.dtype, dlpack::type_of(wish.type));
  for (int i = 0; fits && i < a.ndim; ++i) fits = wish.extents[i] == dyn || a.shape[i] == static_cast<std::int64_t>(wish.extents[i]);
  if (!fits)
    expect(std::string(name_of(wish.type)) + " of shape " + list_text(wish.extents, wish.rank),
             dlpack::detail::text_of(a.dtype) + " of shape " + list_text(a.shape, a.ndim));
  if (wish.is_written && (found.flags & dlpack::read_only)) expect("an array that can be written", "one that is read-only");

  // The extents and strides of an array that fits in memory: each product below is that of a distance in bytes.
  const auto size = static_cast<std::int64_t>(size_of(wish.type));
  bool is_empty = false, is_good = true;
  std::int64_t count = size, step = 1, low = 0, high = 0;
  for (int i = a.ndim - 1; i >= 0; --i) {
    is_good = is_good && a.shape[i] >= 0;
    is_empty = is_empty || a.shape[i] == 0;
  }
  for (int i = a.ndim - 1; i >= 0 && is_good && !is_empty; --i) {
    std::int64_t distance = 0;
    const std::int64_t stride = a.strides ? a.strides[i] : step;
    is_good = !__builtin_mul_overflow(count, a.shape[i], &count) && !__builtin_mul_overflow(step, a.shape[i], &step);
    if (a.shape[i] == 1) continue;  // its stride means nothing
    is_good = is_good && !__builtin_mul_overflow(stride, a.shape[i] - 1, &distance) && !__builtin_mul_overflow(distance, size, &distance);
    std::int64_t& end = distance < 0 ? low : high;
    is_good = is_good && !__builtin_add_overflow(end, distance, &end);
  }
  if (!is_good)
    expect("extents and strides of an array in memory",
             "shape " + list_text(a.shape, a.ndim) + (a.strides ? " with strides " + list_text(a.strides, a.ndim) : ""));

  step = 1;
  for (int i = a.ndim - 1; i >= 0; --i) {
    shape[i] = static_cast<std::size_t>(a.shape[i]);
    strides[i] = is_empty || a.shape[i] == 1 || !a.strides ? step : a.strides[i];
    if (!is_empty) step *= a.shape[i];
  }
  if (is_empty) return nullptr;  // such arrays may have no memory
  if (!a.data) expect(std::to_string(count / size) + " elements", "a null pointer");
  std::byte* const first = static_cast<std::byte*>(a.data) + a.byte_offset;
  const auto past = reinterpret_cast<std::uintptr_t>(first) % static_cast<std::uintptr_t>(size);
  if (past != 0)
    expect("elements aligned to " + std::to_string(size) + " bytes", "an address " + std::to_string(past) + " past such a boundary");
  if (wish.is_written && !dlpack::detail::elements_are_apart(a.ndim, a.shape, strides))
    expect("elements to be written in memory of their own",
             "shape " + list_text(a.shape, a.ndim) + " with strides " + list_text(strides, a.ndim));
  if (wish.type == dtype::boolean && !wish.is_written) {
    strided_copy box;
    box.rank = a.ndim;
    for (int i = 0; i < a.ndim; ++i) box.extent[i] = shape[i], box.from[i] = strides[i];
    each_element(box, [&](std::ptrdiff_t from, std::ptrdiff_t) {
      if (first[from] > std::byte{1}) expect("bools that are 0 or 1", "one of the bits " + std::to_string(static_cast<int>(first[from])));
    });
  }
  return first;
}

}  // namespace detail

/// An array of another library, read or written where it is. It is an argument and, unless T is const, a destination as any array: one
/// that is row-major without gaps is used in place, another is copied in each call, see [note: matrices of others]. Moving hands on the
/// duty to give the array back, which the destructor does: by DLPack's deleter, called once.
template <class T, std::size_t... E>
  requires element<std::remove_const_t<T>>
class dlpack_array {
 public:
  using value_type = std::remove_const_t<T>;
  using extents_type = ebb::extents<E...>;
  static constexpr int rank = sizeof...(E);

  dlpack_array(dlpack_array&& other) noexcept
      : data_(other.data_), layout_(other.layout_), strides_(other.strides_), managed_(std::exchange(other.managed_, nullptr)),
        give_back_(other.give_back_) {}
  dlpack_array& operator=(dlpack_array&& other) noexcept {
    dlpack_array taken(std::move(other));
    std::swap(data_, taken.data_);
    std::swap(layout_, taken.layout_);
    std::swap(strides_, taken.strides_);
    std::swap(managed_, taken.managed_);
    std::swap(give_back_, taken.give_back_);
    return *this;
  }
  ~dlpack_array() {
    if (managed_) give_back_(managed_);
  }

  std::array<std::size_t, sizeof...(E)> shape() const { return layout_.shape(); }
  std::size_t extent(int axis) const { return layout_.extent(axis); }
  std::size_t size() const { return layout_.size(); }
  /// In elements, from one index of the axis to the next.
  std::ptrdiff_t stride(int axis) const { return strides_[static_cast<std::size_t>(axis)]; }
  /// The element at index 0, ...; null if there are no elements.
  T* origin() const { return data_; }
  /// Whether the elements are in row-major order without gaps.
  bool in_rows() const {
    std::ptrdiff_t step = 1;
    bool same = true;
    for (std::size_t i = sizeof...(E); i-- > 0;) {
      same = same && strides_[i] == step;
      step *= static_cast<std::ptrdiff_t>(extent(static_cast<int>(i)));
    }
    return same || size() == 0;
  }
  /// The elements as a view, for as long as this object lives.
  /// Throws: error naming the shape and the strides if they are not row-major without gaps.
  ebb::view<T, E...> view() const EBB_LIFETIMEBOUND {
    if (!in_rows())
      raise("ebb::dlpack_array::view: expected elements in row-major order without gaps, found shape " + shape_text(shape()) +
            " with strides " + list_text(strides_.data(), rank) + ": calls take the array itself, and to_tensor() copies it");
    return {data_, layout_};
  }
  /// A copy.
  tensor<value_type, E...> to_tensor() const {
    auto result = tensor<value_type, E...>::uninitialized(layout_);
    strided_copy box;
    box.rank = rank;
    extent_list x;
    x.rank = rank;
    for (int i = 0; i < rank; ++i) box.extent[i] = x.e[i] = extent(i), box.from[i] = stride(i);
    row_major_strides(x, box.to);
    value_type* const to = result.mutable_data();
    each_element(box, [&](std::ptrdiff_t i, std::ptrdiff_t k) { to[k] = data_[i]; });
    return result;
  }

 private:
  template <class U, std::size_t... F, class M>
  friend auto from_dlpack(M* m, const char* call);

  dlpack_array(T* data, const layout<E...>& shape) : data_(data), layout_(shape) {}

  T* data_;
  [[no_unique_address]] layout<E...> layout_;
  std::array<std::ptrdiff_t, sizeof...(E)> strides_{};
  void* managed_ = nullptr;
  void (*give_back_)(void*) = nullptr;
};

template <class T, std::size_t... E>
struct borrow<dlpack_array<T, E...>> {
  using element = std::remove_const_t<T>;
  using extents_type = extents<E...>;
  static const element* origin(const dlpack_array<T, E...>& a) { return a.origin(); }
  static element* mutable_origin(const dlpack_array<T, E...>& a)
    requires(!std::is_const_v<T>)
  {
    return a.origin();
  }
  static std::size_t extent(const dlpack_array<T, E...>& a, int axis) { return a.extent(axis); }
  static std::ptrdiff_t stride(const dlpack_array<T, E...>& a, int axis) { return a.stride(axis); }
};

/// The array of another library, without a copy: from_dlpack<const float, dyn, 3>(m) reads it, from_dlpack<float, dyn, 3>(m) may write it
/// too. m is a pointer to a struct of DLPack, see [note: the structs of DLPack]; from now on the result owns it.
/// Throws: error naming `call`, what was expected and what was found. Device, dtype, lanes, rank and static extents must agree, and the
///         major version must be 1. Elements are aligned; bools that are read are 0 or 1. Elements that may be written are not read-only,
///         and no two of them are in the same memory. If it throws, m still belongs to the caller.
template <class T, std::size_t... E, class M>
auto from_dlpack(M* m, const char* call = "ebb::from_dlpack") {
  constexpr bool is_managed = dlpack::managed_like<M>, is_array = element<std::remove_const_t<T>> && sizeof...(E) <= max_rank;
  static_assert(is_managed, "[ebb E0350] from_dlpack, to_dlpack: a struct with the members of DLManagedTensor or DLManagedTensorVersioned");
  static_assert(is_array || !is_managed,
                "[ebb E0351] from_dlpack<T, extents...>: T is an element type, const if it is only read, with at most 8 extents");
  if constexpr (is_managed && is_array) {
    if (!m) detail::raise_no_tensor(call);
    if constexpr (dlpack::versioned_like<M>)
      if (m->version.major != dlpack::written_version.major) detail::raise_other_version(call, m->version.major);
    std::array<std::size_t, sizeof...(E)> shape{};
    std::array<std::ptrdiff_t, sizeof...(E)> strides{};
    const detail::dlpack_wish wish{dtype_of<std::remove_const_t<T>>, !std::is_const_v<T>, sizeof...(E), layout<E...>::declared.data()};
    void* const data = detail::check_dlpack(call, wish, dlpack::detail::description::of(*m), shape.data(), strides.data());
    dlpack_array<T, E...> result(static_cast<T*>(data), layout<E...>(call, shape));
    result.strides_ = strides;
    result.managed_ = m;
    result.give_back_ = [](void* managed) {
      if (auto* const x = static_cast<M*>(managed); x->deleter) x->deleter(x);
    };
    return result;
  } else return nullptr;
}

namespace detail {

template <class X>
inline constexpr bool is_some_tensor = false;
template <element T, std::size_t... E>
inline constexpr bool is_some_tensor<tensor<T, E...>> = true;

/// An array for others, with all that it needs.
template <class M, class Owner, int Rank>
struct dlpack_export {
  M managed;
  std::int64_t shape[Rank + 1] = {}, strides[Rank + 1] = {};
  Owner owner;

  static void destroy(M* m) { delete static_cast<dlpack_export*>(m->manager_ctx); }
};

/// `data_of(owner)` is where the elements are, after the owner was moved to its place.
template <class M, element T, int Rank, class Owner>
M* exported(const std::array<std::size_t, Rank>& shape, bool is_read_only, Owner&& owner, auto data_of) {
  using all = dlpack_export<M, std::remove_cvref_t<Owner>, Rank>;
  auto* const x = new all{.managed = {}, .owner = std::forward<Owner>(owner)};
  std::int64_t step = 1;
  for (int i = Rank - 1; i >= 0; --i) {
    const std::size_t extent = shape[static_cast<std::size_t>(i)];
    x->shape[i] = static_cast<std::int64_t>(extent);
    x->strides[i] = step;
    if (extent) step *= x->shape[i];
  }
  auto& t = x->managed.dl_tensor;
  constexpr dlpack::data_type type = dlpack::type_of(dtype_of<T>);
  t.data = const_cast<T*>(data_of(x->owner));
  t.device = {static_cast<decltype(t.device.device_type)>(dlpack::cpu), 0};
  t.ndim = Rank;
  t.dtype = {type.code, type.bits, type.lanes};
  t.shape = x->shape;
  t.strides = x->strides;
  t.byte_offset = 0;
  x->managed.manager_ctx = x;
  x->managed.deleter = all::destroy;
  if constexpr (dlpack::versioned_like<M>) {
    x->managed.version = {dlpack::written_version.major, dlpack::written_version.minor};
    x->managed.flags = is_read_only ? dlpack::read_only : 0;
  }
  return &x->managed;
}

}  // namespace detail

/// A tensor for another library, which calls the deleter when it needs the elements no more. They are shared, not copied, except those of
/// small static tensors, which are inside of the object. A tensor is a value: if others share the elements, the array is read-only. So
/// to_dlpack(std::move(x)) gives an array that can be written, and to_dlpack(x) one that cannot. M is the struct to return.
/// Throws: error if M is a legacy struct, which cannot say that it is read-only, and other tensors share the elements.
template <class M = dlpack::managed_versioned, element T, std::size_t... E>
M* to_dlpack(tensor<T, E...> x) {
  constexpr bool is_managed = dlpack::managed_like<M>;
  static_assert(is_managed, "[ebb E0350] from_dlpack, to_dlpack: a struct with the members of DLManagedTensor or DLManagedTensorVersioned");
  if constexpr (is_managed) {
    const bool is_shared = x.is_shared();
    if constexpr (!dlpack::versioned_like<M>)
      if (is_shared)
        raise("ebb::to_dlpack: " + std::to_string(x.use_count()) + " tensors share the elements of shape " + shape_text(x.shape()) +
              ", and a legacy struct cannot say that they are read-only: move the only tensor, or make a dlpack::managed_versioned");
    return detail::exported<M, T, sizeof...(E)>(x.shape(), is_shared, std::move(x), [](const auto& owner) { return owner.data(); });
  } else return nullptr;
}

/// The elements of a view for another library; `owner` is kept until the deleter is called, and destroyed by it, in the thread of that
/// call: a std::shared_ptr to what holds the elements. A view of const elements is exported as read-only.
template <class M = dlpack::managed_versioned, class T, std::size_t... E, class Owner>
M* to_dlpack(const view<T, E...>& x, Owner owner) {
  constexpr bool is_managed = dlpack::managed_like<M>, is_read_only = std::is_const_v<T>;
  constexpr bool can_say_so = !is_managed || !is_read_only || dlpack::versioned_like<M>;
  static_assert(is_managed, "[ebb E0350] from_dlpack, to_dlpack: a struct with the members of DLManagedTensor or DLManagedTensorVersioned");
  static_assert(can_say_so, "[ebb E0352] to_dlpack: a legacy struct cannot say that an array is read-only: the view's elements are const");
  if constexpr (is_managed && can_say_so)
    return detail::exported<M, std::remove_const_t<T>, sizeof...(E)>(x.shape(), is_read_only, std::move(owner),
                                                                     [&](const auto&) { return x.data(); });
  else return nullptr;
}

template <class M = dlpack::managed_versioned, class X>
  requires(!detail::is_some_tensor<X>)
M* to_dlpack(const X&) {
  constexpr bool has_owner = detail::is_some_tensor<X>;
  static_assert(has_owner, "[ebb E0353] to_dlpack takes a tensor, or a view and the owner of its elements, which the receiver then keeps");
  return nullptr;
}

}  // namespace ebb::inline EBB_ABI

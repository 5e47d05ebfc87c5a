// ebb/tensor/cells.hpp — storage of a tensor's elements: inside the object, or in a block on the heap shared by its copies.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/config.hpp"
#include "layout.hpp"
#include "storage.hpp"

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI {

/// Static tensors up to this size hold their elements inside the object.
inline constexpr std::size_t inline_bytes = 1024;

/// Leaves the elements uninitialized: the caller writes all of them before reading any.
struct uninitialized_t {};

/// Elements inside the object: no heap, usable in constant expressions, trivially copied. Aligned to the largest power of two up to
/// 64 that divides their size: sizeof(tensor<double, 3>) is 24, and tensor<float, 16> is one aligned vector. Not padded.
template <class T, std::size_t... E>
class inline_cells {
 public:
  constexpr inline_cells() : cells_{} {}
  constexpr explicit inline_cells(const layout<E...>&) : cells_{} {}
  constexpr inline_cells(const layout<E...>&, uninitialized_t) {
    // Zeroing up to one cache line costs nothing, and g++ warns of unwritten values that are returned in registers.
    if (__builtin_is_constant_evaluated() || bytes <= 64)
      for (T& x : cells_) x = T{};
  }

  constexpr layout<E...> shape() const { return {}; }
  constexpr const T* data() const { return cells_; }
  constexpr T* mutable_data() { return cells_; }
  constexpr std::size_t use_count() const { return 1; }

 private:
  static constexpr std::size_t count = (std::size_t{1} * ... * E);
  static constexpr std::size_t bytes = sizeof(T) * (count ? count : 1);
  static constexpr std::size_t divisor = bytes & (~bytes + 1);

  alignas(divisor < 64 ? divisor : 64) T cells_[count ? count : 1];
};

/// Elements in a block on the heap; copies share it until one of them is written.
template <class T, std::size_t... E>
class shared_cells {
 public:
  shared_cells() : shared_cells(layout<E...>{}) {}
  explicit shared_cells(const layout<E...>& shape) : shared_cells(shape, uninitialized_t{}) {
    if (block_.bytes()) std::memset(block_.data(), 0, block_.bytes());
  }
  shared_cells(const layout<E...>& shape, uninitialized_t) : block_(shape.size() * sizeof(T)), shape_(shape) {}
  shared_cells(const layout<E...>& shape, storage block) : block_(std::move(block)), shape_(shape) {}

  shared_cells(const shared_cells&) = default;
  shared_cells(shared_cells&& other) noexcept : block_(std::move(other.block_)), shape_(std::exchange(other.shape_, {})) {}
  shared_cells& operator=(shared_cells other) noexcept {
    std::swap(block_, other.block_);
    std::swap(shape_, other.shape_);
    return *this;
  }
  ~shared_cells() = default;

  layout<E...> shape() const { return shape_; }
  const T* data() const { return reinterpret_cast<const T*>(block_.data()); }
  T* mutable_data() {
    block_.detach();
    return reinterpret_cast<T*>(block_.data());
  }
  std::size_t use_count() const { return block_.data() ? block_.use_count() : 1; }
  const storage& block() const { return block_; }

 private:
  storage block_;
  [[no_unique_address]] layout<E...> shape_;
};

}  // namespace ebb::inline EBB_ABI

// ebb/base/vec.hpp — a growing array for passes that works in constant expressions on all compilers.
// SPDX-License-Identifier: BSL-1.0
//
// It uses no functions of std: each vec<T> would instantiate them, and every program has many vec<T>. At run time items without a copy
// constructor are copied by functions that all types share.
//
// Not std::vector: under _GLIBCXX_DEBUG std::vector is not a constant expression, and its iterators take clang three times the steps.
#pragma once

#include "config.hpp"

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <new>
#include <type_traits>

namespace ebb::inline EBB_ABI {

namespace detail {

/// A larger array of `capacity` items of `item` bytes: copies of the first `size` ones, then of `blank`, or zeros if that is null. It frees
/// the old array.
EBB_ONCE_APART void* grown(void* items, int size, int capacity, std::size_t item, const void* blank) {
  const std::size_t used = static_cast<std::size_t>(size) * item, all = static_cast<std::size_t>(capacity) * item;
  char* const to = static_cast<char*>(::operator new[](all));
  if (used > 0) std::memcpy(to, items, used);
  if (!blank) std::memset(to + used, 0, all - used);
  else std::memcpy(to + used, blank, item);
  for (std::size_t done = item; blank && used + done < all; done *= 2)
    std::memcpy(to + used + done, to + used, done < all - used - done ? done : all - used - done);
  ::operator delete[](items);
  return to;
}

EBB_ONCE_APART void* copied(const void* items, int size, std::size_t item) {
  if (size == 0) return nullptr;
  const std::size_t all = static_cast<std::size_t>(size) * item;
  return std::memcpy(::operator new[](all), items, all);
}

}  // namespace detail

template <class T>
class vec {
 public:
  constexpr vec() = default;
  EBB_APART constexpr vec(int count, const T& fill) {
    reserve(count);
    for (; size_ < count; ++size_) data_[size_] = fill;
  }
  EBB_APART constexpr vec(std::initializer_list<T> items) {
    reserve(static_cast<int>(items.size()));
    for (const T& item : items) data_[size_++] = item;
  }
  EBB_APART constexpr vec(const vec& other) {
    if constexpr (is_bytes)
      if (!__builtin_is_constant_evaluated()) {
        data_ = static_cast<T*>(detail::copied(other.data_, other.size_, sizeof(T)));
        size_ = capacity_ = other.size_;
        return;
      }
    reserve(other.size_);
    for (; size_ < other.size_; ++size_) data_[size_] = other.data_[size_];
  }
  constexpr vec(vec&& other) noexcept { swap(other); }
  EBB_APART constexpr vec& operator=(const vec& other) {
    vec copy(other);
    swap(copy);
    return *this;
  }
  constexpr vec& operator=(vec&& other) noexcept {
    swap(other);
    return *this;
  }
  constexpr ~vec() {
    if constexpr (std::is_trivially_destructible_v<T>) delete[] data_;
    else if (data_) destroy();
  }

  constexpr void swap(vec& other) noexcept {
    T* const data = data_;
    const int size = size_, capacity = capacity_;
    data_ = other.data_;
    size_ = other.size_;
    capacity_ = other.capacity_;
    other.data_ = data;
    other.size_ = size;
    other.capacity_ = capacity;
  }
  constexpr void reserve(int capacity) {
    if (capacity > capacity_) grow(capacity);
  }
  /// Appends an item and returns its number.
  constexpr int push(T item) {
    if (size_ == capacity_) reserve(capacity_ ? 2 * capacity_ : 8);
    data_[size_] = static_cast<T&&>(item);
    return size_++;
  }
  /// Adds room for `count` items, which the caller fills: one call instead of many pushes.
  constexpr T* extend(int count) {
    if (size_ + count > capacity_) reserve(size_ + count > 2 * capacity_ ? size_ + count : 2 * capacity_);
    size_ += count;
    return data_ + (size_ - count);
  }
  constexpr void append(const T* items, int count) {
    T* const to = extend(count);
    for (int i = 0; i < count; ++i) to[i] = items[i];
  }
  constexpr T pop() { return static_cast<T&&>(data_[--size_]); }
  constexpr void shrink(int size) { size_ = size; }

  constexpr T& operator[](int i) { return data_[i]; }
  constexpr const T& operator[](int i) const { return data_[i]; }
  constexpr int size() const { return size_; }
  constexpr int capacity() const { return capacity_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* data() { return data_; }
  constexpr const T* data() const { return data_; }
  constexpr T* begin() { return data_; }
  constexpr T* end() { return data_ + size_; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr T& back() { return data_[size_ - 1]; }
  constexpr const T& back() const { return data_[size_ - 1]; }

  constexpr bool operator==(const vec& other) const {
    if (size_ != other.size_) return false;
    for (int i = 0; i < size_; ++i)
      if (!(data_[i] == other.data_[i])) return false;
    return true;
  }

 private:
  // Items that one function for all types may copy.
  static constexpr bool is_bytes = std::is_trivially_copyable_v<T> && alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__;

  EBB_APART constexpr void grow(int capacity) {
    if constexpr (is_bytes)
      if (!__builtin_is_constant_evaluated()) {
        const T blank{};
        constexpr bool is_zero = std::is_arithmetic_v<T> || std::is_pointer_v<T>;
        data_ = static_cast<T*>(detail::grown(data_, size_, capacity, sizeof(T), is_zero ? nullptr : &blank));
        capacity_ = capacity;
        return;
      }
    T* grown = new T[static_cast<std::size_t>(capacity)]{};
    for (int i = 0; i < size_; ++i) grown[i] = static_cast<T&&>(data_[i]);
    delete[] data_;
    data_ = grown;
    capacity_ = capacity;
  }
  EBB_APART constexpr void destroy() { delete[] data_; }

  T* data_ = nullptr;
  int size_ = 0, capacity_ = 0;
};

}  // namespace ebb::inline EBB_ABI

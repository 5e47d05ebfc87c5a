// ebb/base/objects.hpp — a growing array of objects for run time: growing moves them, removing destroys them.
// SPDX-License-Identifier: BSL-1.0
//
// The part of std::vector that the library needs. A std::vector costs the compiler some sixty functions for each element type, in every
// program, because functions that are not templates are compiled wherever they are included; see [note: compiled where used].
#pragma once

#include "config.hpp"

#include <cstddef>
#include <new>

namespace ebb::inline EBB_ABI {

template <class T>
class objects {
 public:
  using value_type = T;

  objects() = default;
  explicit objects(std::size_t count) : objects() { resize(count); }
  objects(const T* first, const T* last) : objects() { assign(first, last); }
  objects(const objects& other) : objects() { assign(other.begin(), other.end()); }
  objects(objects&& other) noexcept { take(other); }
  objects& operator=(const objects&) = delete;
  objects& operator=(objects&& other) noexcept {
    objects taken(static_cast<objects&&>(other));
    clear();
    ::operator delete(data_);
    take(taken);
    return *this;
  }
  ~objects() {
    clear();
    ::operator delete(data_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  /// Throws: std::bad_alloc, as all functions that grow the array; then the array is unchanged.
  void push_back(T item) {
    if (size_ == capacity_) grow(size_ + 1);
    new (data_ + size_) T(static_cast<T&&>(item));
    ++size_;
  }
  void pop_back() { data_[--size_].~T(); }
  void clear() {
    for (std::size_t i = 0; i < size_; ++i) data_[i].~T();
    size_ = 0;
  }
  /// New elements are T().
  void resize(std::size_t size) {
    if (size > capacity_) grow(size);
    while (size_ > size) pop_back();
    for (; size_ < size; ++size_) new (data_ + size_) T();
  }
  void reserve(std::size_t capacity) {
    if (capacity > capacity_) grow(capacity);
  }
  /// The elements must not be this array's own.
  void assign(const T* first, const T* last) {
    clear();
    reserve(static_cast<std::size_t>(last - first));
    for (; first != last; ++first, ++size_) new (data_ + size_) T(*first);
  }
  void assign(std::size_t count, const T& item) {
    clear();
    reserve(count);
    for (; size_ < count; ++size_) new (data_ + size_) T(item);
  }
  void erase_if(auto&& condition) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      if (condition(data_[i])) continue;
      if (kept < i) data_[kept] = static_cast<T&&>(data_[i]);
      ++kept;
    }
    while (size_ > kept) pop_back();
  }

 private:
  void take(objects& other) {
    data_ = other.data_;
    size_ = other.size_;
    capacity_ = other.capacity_;
    other.data_ = nullptr;
    other.size_ = other.capacity_ = 0;
  }
  void grow(std::size_t least) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__ && noexcept(T(static_cast<T&&>(*data_))));
    const std::size_t capacity = least < 2 * capacity_ ? 2 * capacity_ : least;
    T* const to = static_cast<T*>(::operator new(capacity * sizeof(T)));
    for (std::size_t i = 0; i < size_; ++i) {
      new (to + i) T(static_cast<T&&>(data_[i]));
      data_[i].~T();
    }
    ::operator delete(data_);
    data_ = to;
    capacity_ = capacity;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace ebb::inline EBB_ABI

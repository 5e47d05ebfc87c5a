// ebb/base/owned.hpp — a handle that owns an object.
// SPDX-License-Identifier: BSL-1.0
//
// What std::unique_ptr does, and what the library needs of it. That one brings a deleter and a tuple with it, which cost the compiler
// ten milliseconds for each type of object, in every program; see [note: compiled where used].
#pragma once

#include "config.hpp"

#include <cstddef>

namespace ebb::inline EBB_ABI {

template <class T>
class owned {
 public:
  constexpr owned() = default;
  constexpr owned(std::nullptr_t) {}
  constexpr explicit owned(T* object) : p_(object) {}
  constexpr owned(owned&& other) noexcept : p_(other.release()) {}
  /// Of a class derived from T, whose destructor is virtual then, or of one that is not const.
  template <class Other>
  constexpr owned(owned<Other>&& other) noexcept : p_(other.release()) {}
  constexpr owned& operator=(owned&& other) noexcept {
    T* const given = other.release();  // which may be its own
    T* const old = p_;
    p_ = given;
    delete old;
    return *this;
  }
  constexpr ~owned() { delete p_; }

  constexpr T* get() const { return p_; }
  constexpr T* operator->() const { return p_; }
  constexpr T& operator*() const { return *p_; }
  constexpr explicit operator bool() const { return p_ != nullptr; }
  constexpr bool operator==(std::nullptr_t) const { return p_ == nullptr; }
  /// The object is the caller's from here on.
  constexpr T* release() {
    T* const object = p_;
    p_ = nullptr;
    return object;
  }

 private:
  T* p_ = nullptr;
};

template <class T, class... A>
constexpr owned<T> make_owned(A&&... a) {
  return owned<T>(new T(static_cast<A&&>(a)...));
}

}  // namespace ebb::inline EBB_ABI

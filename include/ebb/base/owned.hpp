// ebb/base/owned.hpp — owned<T>: a handle that owns an object.
// SPDX-License-Identifier: BSL-1.0
//
// The part of std::unique_ptr that the library needs. std::unique_ptr brings a deleter and a tuple, which cost the compiler ten
// milliseconds for each type of object, in every program; see [note: compiled where used].
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
  /// From a handle of a class derived from T, whose destructor is then virtual, or of a T that is not const.
  template <class Other>
  constexpr owned(owned<Other>&& other) noexcept : p_(other.release()) {}
  constexpr owned& operator=(owned&& other) noexcept {
    T* const given = other.release();  // may be this object's own
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
  /// Hands the object over to the caller.
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

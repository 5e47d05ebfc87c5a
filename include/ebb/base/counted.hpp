// ebb/base/counted.hpp — counted<T>: a shared handle to an object that contains its reference count.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "pool.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

namespace ebb::inline EBB_ABI {

/// The number of owners of an object. Counting is atomic only once the process has threads: an atomic step takes 2.5 ns.
class owner_count {
 public:
  constexpr explicit owner_count(std::size_t n = 0) noexcept : n_(n) {}

  /// Sets the count to one owner, for an object that no other thread can reach yet.
  EBB_INLINE void begin() noexcept { n_.store(1, std::memory_order_relaxed); }
  EBB_INLINE void add() noexcept {
    if (is_single_threaded()) n_.store(n_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    else n_.fetch_add(1, std::memory_order_relaxed);
  }
  /// True if that was the last owner.
  EBB_INLINE bool drop() noexcept {
    if (n_.load(std::memory_order_acquire) == 1) return true;  // there is no other owner that could change it
    if (is_single_threaded()) {
      n_.store(n_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
      return false;
    }
    return n_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  /// The answer 1 holds until the caller shares the object; others may be outdated.
  std::size_t value() const noexcept { return n_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::size_t> n_;
};

/// Shares a T, which has a member `owner_count owners`; argument-dependent lookup finds destroy(T*).
template <class T>
class counted {
 public:
  constexpr counted() noexcept = default;
  constexpr counted(std::nullptr_t) noexcept {}
  /// Adds an owner.
  EBB_INLINE explicit counted(T* p) noexcept : p_(p) {
    if (p_) p_->owners.add();
  }
  /// The first owner of a new object.
  EBB_INLINE static counted first_of(T* p) noexcept {
    p->owners.begin();
    counted c;
    c.p_ = p;
    return c;
  }
  EBB_INLINE counted(const counted& other) noexcept : counted(other.p_) {}
  EBB_INLINE counted(counted&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  EBB_INLINE counted& operator=(const counted& other) noexcept {
    counted copy(other);
    std::swap(p_, copy.p_);
    return *this;
  }
  EBB_INLINE counted& operator=(counted&& other) noexcept {
    T* const old = std::exchange(p_, nullptr);
    p_ = std::exchange(other.p_, nullptr);
    drop(old);
    return *this;
  }
  EBB_INLINE ~counted() { drop(p_); }

  T* get() const noexcept { return p_; }
  T* operator->() const noexcept { return p_; }
  T& operator*() const noexcept { return *p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }
  bool operator==(const counted&) const = default;

 private:
  EBB_INLINE static void drop(T* p) noexcept {
    if (p && p->owners.drop()) destroy(p);
  }

  T* p_ = nullptr;
};

}  // namespace ebb::inline EBB_ABI

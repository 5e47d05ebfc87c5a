// bench/suite/data.hpp — the inputs of the suite: splitmix64 gives the same numbers on every machine.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

namespace suite {

/// splitmix64. Its top 53 bits, over 2^53, are uniform in [0, 1).   Source: G. Steele, D. Lea, C. Flood, OOPSLA 2014.
class generator {
 public:
  explicit generator(std::uint64_t seed) : state_(seed) {}

  double unit() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
  double in(double low, double high) { return low + (high - low) * unit(); }

 private:
  std::uint64_t state_;
};

/// An array aligned to 64 bytes, with all pages touched. Any four arrays in a row begin at least 13 cache lines apart within a page: loads
/// and stores whose addresses differ by a multiple of 4096 wait for each other, and chance would decide which ones do.
template <class T>
class array {
 public:
  explicit array(std::size_t n) : block_(::operator new(n * sizeof(T) + 4096, std::align_val_t{4096})), size_(n) {
    static unsigned count = 0;
    data_ = reinterpret_cast<T*>(static_cast<char*>(block_) + count++ % 15 * 1088 % 4096);
    for (std::size_t i = 0; i < n; ++i) data_[i] = T{};
  }
  array(generator& g, std::size_t n, double low, double high) : array(n) {
    for (std::size_t i = 0; i < n; ++i) data_[i] = static_cast<T>(g.in(low, high));
  }
  array(const array&) = delete;
  array& operator=(const array&) = delete;
  ~array() { ::operator delete(block_, std::align_val_t{4096}); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  operator std::span<const T>() const { return {data_, size_}; }

 private:
  void* block_;
  T* data_;
  std::size_t size_;
};

}  // namespace suite

// test/kernel/values.hpp — test values of every element type, equality of bits, and memory between pages without access.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/num/dtype.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace test {

inline double number(ebb::bfloat16 x) { return static_cast<float>(x); }
inline double number(ebb::float16 x) { return static_cast<float>(x); }
template <class T>
double number(T x) { return static_cast<double>(x); }

/// Whether the bits are equal; any NaN equals any other.
template <ebb::element T>
bool same_bits(T a, T b) {
  return ebb::to_cell(a) == ebb::to_cell(b) || (std::isnan(number(a)) && std::isnan(number(b)));
}

/// Special values, then random ones.
template <class T>
std::vector<T> values(int random = 40) {
  std::mt19937_64 next(7);
  std::vector<T> out;
  if constexpr (std::is_same_v<T, bool>) {
    for (int i = 0; i < 9 + random; ++i) out.push_back((next() & 1) != 0);
  } else if constexpr (std::is_integral_v<T>) {
    using L = std::numeric_limits<T>;
    for (T x : {T(0), T(1), T(-1), T(2), T(7), T(-8), L::max(), L::min(), T(L::max() - 1), T(L::min() + 1), T(1000003)}) out.push_back(x);
    for (int i = 0; i < random; ++i) out.push_back(static_cast<T>(next() >> (next() % 60)));
  } else {
    using U = std::conditional_t<std::is_same_v<T, double>, double, float>;
    using L = std::numeric_limits<U>;
    for (U x : {U(0),         U(1),          U(0.5),         U(1.5),          U(2.5),
                U(3),         U(0.75),       U(1e-3),        U(123.456),      U(8388607.5),
                U(4194304.5), U(1e15),       L::min(),       L::denorm_min(), L::min() / 4,
                L::max(),     L::infinity(), L::quiet_NaN(), L::epsilon(),    U(1) + L::epsilon()}) {
      out.push_back(T(x));
      out.push_back(T(-x));
    }
    std::normal_distribution<U> normal;
    for (int i = 0; i < random; ++i) out.push_back(T(normal(next) * std::pow(U(10), static_cast<U>(next() % 9) - 4)));
  }
  return out;
}

/// n elements of T, with a page without access right after them and another right before their page.
template <class T>
class guarded {
 public:
  explicit guarded(std::size_t n) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), inner_((n * sizeof(T) / page_ + 1) * page_) {
    base_ = static_cast<char*>(mmap(nullptr, inner_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + page_, inner_, PROT_READ | PROT_WRITE);
    at_end_ = reinterpret_cast<T*>(base_ + page_ + inner_ - n * sizeof(T));
  }
  guarded(const guarded&) = delete;
  guarded& operator=(const guarded&) = delete;
  ~guarded() { munmap(base_, inner_ + 2 * page_); }
  /// The n elements that end at the page after them.
  T* at_end() { return at_end_; }
  /// The n elements that begin at the page before them.
  T* at_start() { return reinterpret_cast<T*>(base_ + page_); }

 private:
  std::size_t page_, inner_;
  char* base_;
  T* at_end_;
};

}  // namespace test

// bench/ops/loop.hpp — plain loops over floats as peers of rows with shapes of their own.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "given.hpp"
#include "table.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace ops {

/// The arrays that a loop reads and writes. Restricted pointers: the compiler vectorizes what it can.
using read = const float* __restrict;
using write = float* __restrict;

template <class F>
[[gnu::noinline]] void run_loop(const float* const* in, void* const* out, std::size_t) {
  const auto to = [out](int j) { return static_cast<float*>(out[j]); };
  if constexpr (std::is_invocable_v<F, read, write>) F{}(in[0], to(0));
  else if constexpr (std::is_invocable_v<F, read, read, write>) F{}(in[0], in[1], to(0));
  else if constexpr (std::is_invocable_v<F, read, read, read, write>) F{}(in[0], in[1], in[2], to(0));
  else F{}(in[0], in[1], to(0), to(1));
}

/// Adds a peer of the value; `add_slope` of the gradient.
template <class F>
void add_loop(table& t, const char* name, F, const char* who = "plain") {
  t.peers.push_back({name, who, false, &run_loop<F>, nullptr});
}
template <class F>
void add_slope(table& t, const char* name, F) {
  t.peers.push_back({name, "plain", true, &run_loop<F>, nullptr});
}

/// Eight elements: a register of AVX2. No compiler may accumulate parts of one row apart by itself.
using block = float __attribute__((vector_size(32)));

/// f combines the elements of a row of n, a multiple of 16, each after g. Both take blocks.
template <class F, class G>
float reduced(read x, std::size_t n, F f, G g) {
  const auto load = [x, g](std::size_t j) {
    block r;
    __builtin_memcpy(&r, x + j, sizeof r);
    return g(r);
  };
  block r = load(0), other = load(8);
  for (std::size_t j = 16; j < n; j += 16) {
    r = f(r, load(j));
    other = f(other, load(j + 8));
  }
  r = f(r, other);
  r = f(r, __builtin_shufflevector(r, r, 4, 5, 6, 7, 0, 1, 2, 3));
  r = f(r, __builtin_shufflevector(r, r, 2, 3, 0, 1, 6, 7, 4, 5));
  r = f(r, __builtin_shufflevector(r, r, 1, 0, 3, 2, 5, 4, 7, 6));
  return r[0];
}
inline constexpr auto itself = [](auto a) { return a; };
inline constexpr auto plus = [](auto a, auto b) { return a + b; };
inline constexpr auto larger = [](auto a, auto b) { return a > b ? a : b; };
inline constexpr auto smaller = [](auto a, auto b) { return a < b ? a : b; };
/// The same number for each element.
template <class T>
T each(float x) {
  return T{} + x;
}

}  // namespace ops

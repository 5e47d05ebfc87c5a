// ebb/exec/whole.hpp — steps that are one equation on whole arrays: products, moves, rows by index.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../kernel/nest.hpp"
#include "../plan/plan.hpp"

#include <cstring>
#include <string>

namespace ebb::inline EBB_ABI::detail {

/// What a whole step is given at a call, at compile time and at run time alike.
struct whole_call {
  const op_info* op = nullptr;
  const std::int64_t* attr = nullptr;
  int count = 0;
  const void* const* in = nullptr;
  const extent_list* shapes = nullptr;  // of the operands
  dtype index = dtype::i64;             // of operand 1, where that names rows
  void* out = nullptr;
  extent_list result;
};

inline void copy_elements(const strided_copy& c, const void* from, void* to, std::size_t size) {
  each_element(c, [&](std::ptrdiff_t i, std::ptrdiff_t o) {
    const auto n = static_cast<std::ptrdiff_t>(size);
    std::memcpy(static_cast<char*>(to) + o * n, static_cast<const char*>(from) + i * n, size);
  });
}

inline void move_whole(const whole_call& c) {
  const std::size_t size = size_of(c.op->result);
  const move_call call{c.shapes, c.result, c.attr};
  std::size_t covered = 0;
  for (int j = 0; j < c.count; ++j) covered += c.shapes[j].volume();
  if (covered < c.result.volume()) std::memset(c.out, 0, c.result.volume() * size);
  for (int j = 0; j < c.count; ++j) copy_elements(c.op->copy(call, j), c.in[j], c.out, size);
}

/// Throws: error if an index is out of range.
inline std::size_t checked_row(const whole_call& c, std::size_t i, std::size_t rows) {
  const std::int64_t r = c.index == dtype::i32 ? static_cast<const std::int32_t*>(c.in[1])[i] : static_cast<const std::int64_t*>(c.in[1])[i];
  if (r < 0 || static_cast<std::size_t>(r) >= rows)
    raise("ebb: " + std::string(c.op->name) + ": index " + std::to_string(r) + " at place " + std::to_string(i) + " is out of range for " +
          std::to_string(rows) + " rows");
  return static_cast<std::size_t>(r);
}

inline void gather_whole(const whole_call& c) {
  const std::size_t width = c.shapes[0].volume(1, c.shapes[0].rank) * size_of(c.op->result), count = c.shapes[1].volume();
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(static_cast<char*>(c.out) + i * width, static_cast<const char*>(c.in[0]) + checked_row(c, i, c.shapes[0].e[0]) * width, width);
}

template <class T>
void scatter_whole(const whole_call& c) {
  const std::size_t width = c.result.volume(1, c.result.rank), count = c.shapes[1].volume();
  std::memset(c.out, 0, c.result.volume() * size_of(c.op->result));
  for (std::size_t i = 0; i < count; ++i) {
    T* to = static_cast<T*>(c.out) + checked_row(c, i, c.result.e[0]) * width;
    const T* from = static_cast<const T*>(c.in[0]) + i * width;
    for (std::size_t j = 0; j < width; ++j) {
      if constexpr (std::is_same_v<T, bool>) to[j] = to[j] || from[j];
      else if constexpr (std::is_arithmetic_v<T>) to[j] = static_cast<T>(to[j] + from[j]);
      else to[j] = static_cast<T>(static_cast<float>(to[j]) + static_cast<float>(from[j]));
    }
  }
}

template <class T>
void contract_whole(const whole_call& c) {
  const int r = c.result.rank;
  const bool tx = c.attr[0] & 1, ty = c.attr[0] & 2;
  const std::size_t batches = c.result.volume(0, r - 2), m = c.result.e[r - 2], n = c.result.e[r - 1];
  const std::size_t k = c.shapes[0].e[tx ? r - 2 : r - 1];
  if constexpr (std::is_floating_point_v<T>) {
    const T *x = static_cast<const T*>(c.in[0]), *y = static_cast<const T*>(c.in[1]);
    T* out = static_cast<T*>(c.out);
    for (std::size_t b = 0; b < batches; ++b)
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          T sum = 0;
          for (std::size_t q = 0; q < k; ++q)
            sum = lane::fma(x[b * m * k + (tx ? q * m + i : i * k + q)], y[b * k * n + (ty ? j * k + q : q * n + j)], sum);
          out[b * m * n + i * n + j] = sum;
        }
  }
}

template <kind What, class T>
void run_whole(const whole_call& c) {
  if constexpr (What == kind::contract) contract_whole<T>(c);
  else if constexpr (What == kind::gather) gather_whole(c);
  else if constexpr (What == kind::scatter) scatter_whole<T>(c);
  else move_whole(c);
}

template <class P, int S>
void run_whole(const nest_call& call) {
  constexpr plan_step s = P::plan.steps[static_cast<std::size_t>(S)];
  constexpr equation e = P::g.eq[static_cast<std::size_t>(s.equation)];
  const void* in[static_cast<std::size_t>(e.count)];
  extent_list shapes[static_cast<std::size_t>(e.count)];
  const auto operand = [](int j) -> const equation& { return P::g.eq[static_cast<std::size_t>(P::g.pool[static_cast<std::size_t>(e.first + j)])]; };
  for (int j = 0; j < e.count; ++j) {
    in[j] = call.buffer[P::plan.joined[static_cast<std::size_t>(s.joined.first + j)]];
    shapes[j] = extents_at(P::shape_at(operand(j).shape), call.symbol);
  }
  static constexpr std::int64_t attr[] = {e.attr[0], e.attr[1]};
  whole_call c;
  c.op = e.op;
  c.attr = attr;
  c.count = e.count;
  c.in = in;
  c.shapes = shapes;
  if constexpr (e.count > 1) c.index = operand(1).op->result;
  c.out = call.buffer[s.out];
  c.result = extents_at(P::shape_at(e.shape), call.symbol);
  run_whole<s.what, type_of<e.op->result>>(c);
}

}  // namespace ebb::inline EBB_ABI::detail

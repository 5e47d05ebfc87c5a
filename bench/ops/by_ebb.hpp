// bench/ops/by_ebb.hpp — ebb's kernels of an op: its value, and the gradient of its sum by all operands.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "table.hpp"

#include <ebb/functional.hpp>

#include <span>
#include <utility>

namespace ops {

template <class F>
struct by_ebb {
  template <class T, class Result, std::size_t... J>
  static void value(const T* const* in, void* const* out, std::size_t n, std::index_sequence<J...>) {
    static constexpr auto f = ebb::compile(F{});
    f(ebb::into(std::span<Result>(static_cast<Result*>(out[0]), n)), std::span<const T>(in[J], n)...);
  }
  template <class T, std::size_t... J>
  static void gradient(const T* const* in, void* const* out, std::size_t n, std::index_sequence<J...>) {
    static constexpr auto f = ebb::grad<static_cast<int>(J)...>([](auto... x) { return ebb::sum(F{}(x...)); });
    f(ebb::into(std::span<T>(static_cast<T*>(out[J]), n)...), std::span<const T>(in[J], n)...);
  }
};

/// Adds a row. Arity operands; ranges that are not given are those of the first operand.
template <int Arity = 1, class F>
void add(table& t, const char* name, range first, F, range second = {0, 0}, range third = {0, 0}) {
  using all = std::make_index_sequence<Arity>;
  op o{name, {first}, false, nullptr, nullptr, nullptr, nullptr};
  if (Arity > 1) o.operands.push_back(second.low == second.high ? first : second);
  if (Arity > 2) o.operands.push_back(third.low == third.high ? first : third);
  o.value_f = [](const float* const* in, void* const* out, std::size_t n) { by_ebb<F>::template value<float, float>(in, out, n, all{}); };
  o.value_d = [](const double* const* in, void* const* out, std::size_t n) {
    by_ebb<F>::template value<double, double>(in, out, n, all{});
  };
  o.gradient_f = [](const float* const* in, void* const* out, std::size_t n) { by_ebb<F>::gradient(in, out, n, all{}); };
  o.gradient_d = [](const double* const* in, void* const* out, std::size_t n) { by_ebb<F>::gradient(in, out, n, all{}); };
  t.ops.push_back(o);
}

/// Adds a row of a function without a gradient. Result: bool, or void for the dtype of the operands.
template <class Result = void, int Arity = 1, class F>
void add_value(table& t, const char* name, range first, F) {
  using all = std::make_index_sequence<Arity>;
  using to_f = std::conditional_t<std::is_void_v<Result>, float, Result>;
  using to_d = std::conditional_t<std::is_void_v<Result>, double, Result>;
  op o{name, std::vector<range>(Arity, first), std::is_same_v<Result, bool>, nullptr, nullptr, nullptr, nullptr};
  o.value_f = [](const float* const* in, void* const* out, std::size_t n) { by_ebb<F>::template value<float, to_f>(in, out, n, all{}); };
  o.value_d = [](const double* const* in, void* const* out, std::size_t n) { by_ebb<F>::template value<double, to_d>(in, out, n, all{}); };
  t.ops.push_back(o);
}

}  // namespace ops

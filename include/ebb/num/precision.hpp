// ebb/num/precision.hpp — autocast contexts, the precision classes of ops, and the casts that follow from both.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dtype.hpp"

#include <string_view>

namespace ebb::inline EBB_ABI {

using bf16 = bfloat16;
using f16 = float16;

/// The precision class of an op: a property of the op, so that there is no list of ops elsewhere. low: its operands are cast to the
/// context's dtype. full: to float. widest: to the widest dtype among them. as_is: they are not cast.
enum class precision : std::uint8_t { as_is, low, full, widest };

/// The context without casts. As a policy: each op of the backward runs in the dtypes of its operands.
struct off {};

/// The context of PyTorch's torch.autocast("cpu", dtype): ops of class `low` compute in Low, ops of class `full` in float.
/// Uses: by default a weight with k uses is cast k times, and its k gradients are summed in float. With Uses = ebb::shared_casts an
/// argument is cast once, and the gradients are summed in Low, as with PyTorch's cast cache.
struct own_casts {};
struct shared_casts {};
template <class Low, class Uses = own_casts>
struct autocast {
  using low = Low;
};

template <class C>
inline constexpr bool is_context = std::is_same_v<C, off>;
template <class Low, class Uses>
inline constexpr bool is_context<autocast<Low, Uses>> = std::is_same_v<Low, bfloat16> || std::is_same_v<Low, float16>;

namespace detail {
/// True for autocast<double> and the like: every function that takes a context reports this in the same words.
template <class C>
inline constexpr bool is_context_of_another_dtype = false;
template <class Low, class Uses>
inline constexpr bool is_context_of_another_dtype<autocast<Low, Uses>> = !is_context<autocast<Low, Uses>>;
template <class C>
struct refuse_dtype {
  static_assert(!is_context_of_another_dtype<C>,
                "[ebb E0182] autocast computes in ebb::bf16 or ebb::f16: there is no such context of another dtype");
};
}  // namespace detail

/// Contexts by number, for use at run time: 0 is off, 1 autocast<bf16>, 2 autocast<f16>.
inline constexpr int contexts = 3;
constexpr dtype low_of_context(int number) { return number == 1 ? dtype::bf16 : dtype::f16; }
template <class C>
inline constexpr int number_of_context = 0;
template <class Low, class Uses>
inline constexpr int number_of_context<autocast<Low, Uses>> = std::is_same_v<Low, bfloat16> ? 1 : 2;

/// Whether autocast casts operands of dtype d: it leaves double and integers alone.
constexpr bool can_be_cast(dtype d) { return d == dtype::f32 || d == dtype::f16 || d == dtype::bf16; }

/// The dtype that an operand of dtype d is cast to under an op of class p.
constexpr dtype dtype_in_context(int number, precision p, dtype d) {
  if (number == 0 || !can_be_cast(d)) return d;
  return p == precision::low ? low_of_context(number) : p == precision::full ? dtype::f32 : d;
}

/// A query that a pull made before it emitted an equation: which dtype does an operand of dtype d have under an op of class p, in the
/// context that the pull assumes? The equation keeps the query, so that an error can name it if the assumption is wrong. It is one number
/// because every pass copies equations.
struct cast_question {
  static constexpr int codes = 1 + 7 * contexts;
  std::uint8_t code = 0;  // 0: no query

  static constexpr cast_question about(int context, precision p, dtype d) {
    if (!can_be_cast(d)) return {};
    return {static_cast<std::uint8_t>(1 + (context * 2 + (p == precision::full)) * 3 + static_cast<int>(d) - static_cast<int>(dtype::f16))};
  }
  /// A query for the context itself: the consequences of the answer are unknown, so every other context differs.
  static constexpr cast_question by_name(int context) { return {static_cast<std::uint8_t>(1 + contexts * 6 + context)}; }

  constexpr explicit operator bool() const { return code != 0; }
  constexpr bool is_by_name() const { return code > contexts * 6; }
  constexpr int context() const { return is_by_name() ? code - 1 - contexts * 6 : (code - 1) / 6; }
  constexpr dtype operand() const { return static_cast<dtype>(static_cast<int>(dtype::f16) + (code - 1) % 3); }
  constexpr dtype answer(int number) const {
    return dtype_in_context(number, (code - 1) / 3 % 2 ? precision::full : precision::low, operand());
  }
  /// Whether the answer is different in the context of that number.
  constexpr bool differs(int number) const {
    return code != 0 && (is_by_name() ? context() != number : answer(context()) != answer(number));
  }
};

/// The dtypes of operands that met ops of a class that a context may cast, as bits: they decide whether the context matters.
struct casts_asked {
  std::uint8_t low = 0, full = 0;
  bool by_name = false;         // a function asked for the context itself
  std::string_view by[2][3]{};  // the first op of class `low`, and of class `full`, that met f16, bf16, f32

  constexpr void ask(precision p, dtype d, std::string_view op) {
    const auto bit = static_cast<std::uint8_t>(1u << static_cast<int>(d));
    if (p == precision::low) low = static_cast<std::uint8_t>(low | bit);
    if (p == precision::full) full = static_cast<std::uint8_t>(full | bit);
    if ((p == precision::low || p == precision::full) && can_be_cast(d))
      if (std::string_view& name = by[p == precision::full][place_of(d)]; name.empty()) name = op;
  }
  constexpr void ask(const casts_asked& more) {
    low = static_cast<std::uint8_t>(low | more.low);
    full = static_cast<std::uint8_t>(full | more.full);
    by_name = by_name || more.by_name;
    for (int c = 0; c < 2; ++c)
      for (int d = 0; d < 3; ++d)
        if (by[c][d].empty()) by[c][d] = more.by[c][d];
  }
  /// An operand whose dtype is different in contexts `a` and `b`.
  struct difference {
    std::string_view op;  // empty: there is none, apart from functions that asked for the context itself
    precision under = precision::as_is;
    dtype operand{};
  };
  constexpr difference first_difference(int a, int b) const {
    for (const precision p : {precision::low, precision::full})
      for (int d = 0; d <= static_cast<int>(dtype::f64); ++d) {
        const auto type = static_cast<dtype>(d);
        if (((p == precision::low ? low : full) >> d & 1) && dtype_in_context(a, p, type) != dtype_in_context(b, p, type))
          return {by[p == precision::full][place_of(type)], p, type};
      }
    return {};
  }
  /// Whether some operand's dtype is different in contexts `a` and `b`.
  constexpr bool differs(int a, int b) const { return (by_name && a != b) || first_difference(a, b).under != precision::as_is; }
  constexpr bool ever_differs() const { return differs(0, 1) || differs(0, 2) || differs(1, 2); }

 private:
  static constexpr int place_of(dtype d) { return static_cast<int>(d) - static_cast<int>(dtype::f16); }
};

}  // namespace ebb::inline EBB_ABI

// ebb/num/precision.hpp — autocast contexts, and what they do with an op's operands: a property of the op, never a list elsewhere.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dtype.hpp"

#include <string_view>

namespace ebb::inline EBB_ABI {

using bf16 = bfloat16;
using f16 = float16;

/// low: cast to the context's dtype. full: cast to float. widest: cast to the widest among them. as_is: taken as they come.
enum class precision : std::uint8_t { as_is, low, full, widest };

/// The context in which nothing is cast; as a policy: each op of the backward in the dtypes of its operands.
struct off {};

/// The context of PyTorch's torch.autocast("cpu", dtype): ops of class `low` compute in Low, those of class `full` in float.
/// Uses: a weight that is used k times is cast for each use, and its k gradients are summed in float; with Uses = ebb::shared_casts the
/// casts of an argument are one, and the gradients are summed in Low, as PyTorch's cast cache does it.
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
/// autocast<double>: whoever takes a context says the same of it.
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

/// Contexts by number, as they are known at run time: 0 is off, 1 autocast<bf16>, 2 autocast<f16>.
inline constexpr int contexts = 3;
constexpr dtype low_of_context(int number) { return number == 1 ? dtype::bf16 : dtype::f16; }
template <class C>
inline constexpr int number_of_context = 0;
template <class Low, class Uses>
inline constexpr int number_of_context<autocast<Low, Uses>> = std::is_same_v<Low, bfloat16> ? 1 : 2;

/// Autocast converts these: double and integers stay what they are.
constexpr bool can_be_cast(dtype d) { return d == dtype::f32 || d == dtype::f16 || d == dtype::bf16; }

/// What an operand of dtype d becomes under an op of class p.
constexpr dtype dtype_in_context(int number, precision p, dtype d) {
  if (number == 0 || !can_be_cast(d)) return d;
  return p == precision::low ? low_of_context(number) : p == precision::full ? dtype::f32 : d;
}

/// What a pull asked before it gave an equation: what an operand of dtype d under an op of class p becomes in the context that it assumes.
/// An equation keeps it, so that it can be named where the assumption is wrong. As a number: equations are copied by every pass.
struct cast_question {
  static constexpr int codes = 1 + 7 * contexts;
  std::uint8_t code = 0;  // 0: nothing

  static constexpr cast_question about(int context, precision p, dtype d) {
    if (!can_be_cast(d)) return {};
    return {static_cast<std::uint8_t>(1 + (context * 2 + (p == precision::full)) * 3 + static_cast<int>(d) - static_cast<int>(dtype::f16))};
  }
  /// For the context itself: nobody knows what follows from the answer.
  static constexpr cast_question by_name(int context) { return {static_cast<std::uint8_t>(1 + contexts * 6 + context)}; }

  constexpr explicit operator bool() const { return code != 0; }
  constexpr bool is_by_name() const { return code > contexts * 6; }
  constexpr int context() const { return is_by_name() ? code - 1 - contexts * 6 : (code - 1) / 6; }
  constexpr dtype operand() const { return static_cast<dtype>(static_cast<int>(dtype::f16) + (code - 1) % 3); }
  constexpr dtype answer(int number) const {
    return dtype_in_context(number, (code - 1) / 3 % 2 ? precision::full : precision::low, operand());
  }
  /// Whether the context of that number would have answered otherwise.
  constexpr bool differs(int number) const {
    return code != 0 && (is_by_name() ? context() != number : answer(context()) != answer(number));
  }
};

/// Which operands were met under ops of a class that a context would cast, as bits: what decides whether a context matters.
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
  /// An operand that would be of another dtype in context `a` than in context `b`.
  struct difference {
    std::string_view op;  // empty: there is none, but for what asks by name
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
  /// Whether some operand would be of another dtype in context `a` than in context `b`.
  constexpr bool differs(int a, int b) const { return (by_name && a != b) || first_difference(a, b).under != precision::as_is; }
  constexpr bool ever_differs() const { return differs(0, 1) || differs(0, 2) || differs(1, 2); }

 private:
  static constexpr int place_of(dtype d) { return static_cast<int>(d) - static_cast<int>(dtype::f16); }
};

}  // namespace ebb::inline EBB_ABI

// bench/ops/shaped.hpp — rows of floats of functions whose operands and results have shapes of their own.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "given.hpp"
#include "table.hpp"

#include <ebb/functional.hpp>

#include <utility>
#include <vector>

namespace ops {

/// A shape of a result, or of an operand of the table. The first extent is a number of the call, the others are known while compiling.
template <std::size_t... E>
struct of;
template <>
struct of<> {
  static float& result(void* to) { return *static_cast<float*>(to); }
};
template <std::size_t First, std::size_t... Others>
struct of<First, Others...> {
  static auto operand(const float* from) { return ebb::view<const float, ebb::dyn, Others...>(from, First); }
  static auto result(void* to) { return ebb::view<float, ebb::dyn, Others...>(static_cast<float*>(to), First); }
};

/// An operand of indices: the first of places().
template <std::size_t First, std::size_t... Others>
struct at {
  static auto operand(const float*) { return ebb::view<const std::int64_t, ebb::dyn, Others...>(places().data(), First); }
};

/// edges() as an operand.
struct in_order {
  static auto operand(const float*) { return ebb::view<const float, 64>(edges().data()); }
};

/// The gradient is that of the sum of squares of the results.
template <class F, class Out, class... Ins>
struct on_shapes {
  static void value(const float* const* in, void* const* out, std::size_t) {
    static constexpr auto f = ebb::compile(F{});
    [&]<std::size_t... J>(std::index_sequence<J...>) {
      f(ebb::into(Out::result(out[0])), Ins::operand(in[J < 3 ? J : 0])...);
    }(std::index_sequence_for<Ins...>());
  }
  template <std::size_t... J>
  static void gradient(const float* const* in, void* const* out, std::index_sequence<J...>) {
    static constexpr auto f = ebb::grad<static_cast<int>(J)...>([](auto... x) { return ebb::sum(ebb::square(F{}(x...))); });
    using operands = std::tuple<Ins...>;
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      f(ebb::into(std::tuple_element_t<J, operands>::result(out[J])...), Ins::operand(in[K < 3 ? K : 0])...);
    }(std::index_sequence_for<Ins...>());
  }
};

/// Adds a row. The first Arity operands are the table's, with elements in these ranges.
template <class Out, class... Ins, class F, std::size_t Arity>
void add_shaped_value(table& t, const char* name, const range (&ranges)[Arity], F) {
  t.ops.push_back({name, {ranges, ranges + Arity}, false, &on_shapes<F, Out, Ins...>::value, nullptr, nullptr, nullptr});
}
template <class Out, class... Ins, class F, std::size_t Arity>
void add_shaped(table& t, const char* name, const range (&ranges)[Arity], F f) {
  add_shaped_value<Out, Ins...>(t, name, ranges, f);
  t.ops.back().gradient_f = [](const float* const* in, void* const* out, std::size_t) {
    on_shapes<F, Out, Ins...>::gradient(in, out, std::make_index_sequence<Arity>());
  };
}

/// Results and their places, added: both are computed.
inline constexpr auto added = [](auto r) { return std::get<0>(r) + ebb::cast<float>(std::get<1>(r)); };

}  // namespace ops

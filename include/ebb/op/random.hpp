// ebb/op/random.hpp — random numbers in traced functions, from a key that is an argument: uniform, normal, bernoulli, split_key, fold_in.
// SPDX-License-Identifier: BSL-1.0
//
// [note: keys in traced functions]
//   const auto noise = ebb::normal<float, 64>(key);              // 64 numbers
//   const auto z = ebb::normal<float>(key, mean, deviation);     // one for each element of the parameters
// A key is an integer of rank 0: an argument of the traced function, such as ebb::tensor<std::int64_t>(step). It stands for
// ebb::random_key(key): the numbers are those that ebb::normal<float, 64>(step) gives outside, bit for bit, however the program runs.
// Nothing is saved: a backward draws the same numbers again. Inside `map` a key that all rows share gives each row the same numbers: give
// each row a key. Inside of a graph a key is four real numbers, 16 bits of it in each: they are exact in float.
// Parameters may be arrays, and get gradients: numbers are lo + (hi - lo) u and mean + deviation z, where u and z do not depend on them.
#pragma once

#include "bits.hpp"
#include "compare.hpp"
#include "gather.hpp"
#include "operators.hpp"
#include "shape.hpp"
#include "subscript.hpp"

#include "../random/random.hpp"

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<525, Call> : Call {
  static_assert(Call::code != 525, "[ebb E0525] random numbers in a traced function: the key is an integer, or an integer array of rank 0");
};
template <class Call>
struct refusal<526, Call> : Call {
  static_assert(Call::code != 526, "[ebb E0526] uniform, normal, bernoulli in a traced function: extents are fixed by the type, or, if "
                                   "none are given, those of the parameters");
};

namespace detail {

/// The key of four numbers: word(i) is number i.
constexpr random_key key_from(auto&& word) {
  std::uint64_t seed = 0;
  for (std::size_t i = 0; i < 4; ++i) seed |= static_cast<std::uint64_t>(word(i)) << 16 * i;
  return random_key(seed);
}
/// take(key, begin, size) for each key of all numbers word(i): elements begin ... begin + size - 1 of the result are its own.
constexpr void each_key(std::size_t words, std::size_t all, auto word, auto take) {
  const std::size_t keys = words / 4, size = keys == 0 ? 0 : all / keys;
  for (std::size_t k = 0; k < keys; ++k) take(key_from([&](std::size_t i) { return word(4 * k + i); }), k * size, size);
}
/// The four numbers of a key.
template <class T, class I>
constexpr operand<T> words_of(operand<I> key) {
  graph& g = *key.g;
  shape words;
  words.push(4);
  const int four = g.intern(words);
  const auto repeated = broadcast_to(cast_to<std::int64_t>(key), four, 1);
  using Number = typename decltype(repeated)::value_type;
  const auto shifted = emit_on<op::shift_right>({}, repeated, literal_like(repeated, 16) * index_along<Number>(g, four, 0));
  return cast_to<T>(emit_on<op::bitwise_and>({}, shifted, literal_like(shifted, 65535)));
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

/// Random numbers from the real numbers that hold a key. The shape is given, not inferred; it may have leading axes for which there are
/// keys of their own.
struct from_key : op_base {
  static constexpr kind what = kind::own;
  static constexpr int arity = 1;
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
};

/// Op::number<S>(bits) for each element, whose bits depend on its place alone.
template <class Op, int Bits>
struct drawn : from_key {
  template <class T>
  static void whole(const whole_call& c) {
    using S = ebb::detail::computed_in<T>;
    const T* const words = static_cast<const T*>(c.in[0]);
    T* const out = static_cast<T*>(c.out);
    each(c.shapes[0].volume(), c.result.volume(), [&](std::size_t i) { return static_cast<S>(words[i]); },
         [&](std::size_t i, auto bits) { out[i] = static_cast<T>(Op::template number<S>(bits)); });
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    each(c.in[0].volume(), c.out.volume(), [&](std::size_t i) { return in(0, i); },
         [&](std::size_t i, auto bits) { put(i, Op::template number<S>(bits)); });
  }

 private:
  static constexpr void each(std::size_t words, std::size_t all, auto word, auto put) {
    ebb::detail::each_key(words, all, word, [&](random_key key, std::size_t begin, std::size_t size) {
      ebb::draw<Bits>(key, size, [&](std::size_t i, auto bits) { put(begin + i, bits); });
    });
  }
};

/// Multiples of 2^-K from 0 to below 1.   Saves: nothing: it has no gradient.   Error: exact for dtypes with so many digits.
template <int K>
struct random_uniform : drawn<random_uniform<K>, (K > 32 ? 64 : 32)> {
  static constexpr std::string_view name = "random_uniform";
  template <class S>
  static constexpr S number(auto bits) {
    return static_cast<S>(bits >> ((K > 32 ? 64 : 32) - K)) * (S(1) / static_cast<S>(std::uint64_t{1} << K));
  }
};

/// Numbers of the standard normal distribution by inversion, from K times 32 bits, for K = 1 and 2.   Saves: nothing: it has no gradient.
/// Error: 1 ulp.
template <int K>
struct random_normal : drawn<random_normal<K>, 32 * K> {
  static constexpr std::string_view name = "random_normal";
  template <class S>
  static constexpr S number(auto bits) {
    return static_cast<S>(standard_normal(bits));
  }
};

/// Keys from a key, operand 0, and numbers, operand 1. attr 0: 0 for those of split, 1 for those of fold_in. Operand 0 may have leading
/// axes: then each of its keys has numbers of its own.   Saves: nothing: it has no gradient.   Error: exact.
struct derived_keys : op_base {
  static constexpr std::string_view name = "derived_keys";
  static constexpr kind what = kind::own;
  static constexpr int arity = 2;
  static constexpr domain accepts = domain::integer;
  template <class T>
  static void whole(const whole_call& c) {
    const T *const keys = static_cast<const T*>(c.in[0]), *const numbers = static_cast<const T*>(c.in[1]);
    T* const out = static_cast<T*>(c.out);
    const std::size_t all = c.result.volume(), each = all == 0 ? 1 : all / c.shapes[0].volume();
    for (std::size_t i = 0; i < all; ++i) out[i] = static_cast<T>(from(keys[i / each], numbers[i], c.attr[0]));
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    const std::size_t all = c.out.volume(), each = all == 0 ? 1 : all / c.in[0].volume();
    for (std::size_t i = 0; i < all; ++i) put(i, static_cast<S>(from(in(0, i / each), in(1, i), c.attr[0])));
  }

 private:
  static constexpr std::int64_t from(std::int64_t key, std::int64_t number, std::int64_t folds) {
    const random_key k(key);
    return static_cast<std::int64_t>((folds ? k.fold_in(number) : k.part(static_cast<std::uint64_t>(number))).seed());
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

/// The key and the parameters of random numbers with extents E, or with those of the parameters.
template <std::size_t... E>
struct draws {
  static constexpr bool keeps_numbers = true;

  /// The number of the common shape, or a code below 0.
  template <class I, class... P>
  static constexpr int shape_for(operand<I> key, P... parameter) {
    graph& g = *key.g;
    int code = key.is_refused() ? key.id : 0;
    [[maybe_unused]] const auto see = [&]<class X>(X x) {
      if constexpr (is_operand<X>)
        if (code == 0 && x.is_refused()) code = x.id;
    };
    (see(parameter), ...);
    if (code != 0) return code;
    if (!index_element<I> || key.rank() != 0) return -525;
    if constexpr (((E == dyn) || ...) || sizeof...(E) > max_rank) return -526;
    shape to;
    (to.push(static_cast<int>(E)), ...);
    if constexpr (sizeof...(E) == 0 && (is_operand<P> || ...)) {
      const shape all[] = {extents_of(parameter)...};
      to = broadcast_shapes(g.syms, all, sizeof...(P));
      if (to.is_refused()) return -to.code();
    }
    return g.intern(g.syms.find(to));
  }
  /// A parameter, which is a T, in every element of the shape.
  template <class T, class W>
  static constexpr operand<W> spread(graph& g, int to, auto parameter) {
    if constexpr (is_operand<decltype(parameter)>)
      return broadcast_to<>::like(cast_to<W>(cast_to<T>(parameter)), shape(g.shapes[to]));
    else return literal_in<W>(g, to, beside<T>(parameter));
  }
  template <class Op, class W, class I>
  static constexpr operand<W> numbers(operand<I> key, int to) {
    return {key.g, emit_as<Op, W>(*key.g, to, {ebb::detail::words_of<W>(key).id})};
  }

 private:
  static constexpr shape extents_of(auto parameter) {
    if constexpr (is_operand<decltype(parameter)>) return parameter.extents();
    else return {};
  }
};

template <class T, std::size_t... E>
struct uniform : draws<E...> {
  static constexpr std::string_view name = "uniform";
  using base = draws<E...>;
  using W = detail::computed_in<T>;

  template <class I>
  static constexpr operand<T> apply(operand<I> key) {
    const int to = base::shape_for(key);
    if (to < 0) return refuse<T>(*key.g, -to);
    return cast_to<T>(base::template numbers<op::random_uniform<uniform_digits<T>>, W>(key, to));
  }
  template <class I>
  static constexpr operand<T> apply(operand<I> key, auto lo, auto hi) {
    graph& g = *key.g;
    const int to = base::shape_for(key, lo, hi);
    if (to < 0) return refuse<T>(g, -to);
    const auto from = base::template spread<T, W>(g, to, lo), end = base::template spread<T, W>(g, to, hi);
    if (from.is_refused() || end.is_refused()) return refuse<T>(g, 102);
    const auto x = cast_to<T>(from + base::template numbers<op::random_uniform<uniform_digits<T>>, W>(key, to) * (end - from));
    return emit_on<op::where>({}, emit_on<op::less>({}, cast_to<W>(x), end), x, cast_to<T>(from));  // rounding may reach the end
  }
};

template <class T, std::size_t... E>
struct normal : draws<E...> {
  static constexpr std::string_view name = "normal";
  using base = draws<E...>;
  using drawn = op::random_normal<std::is_same_v<T, double> ? 2 : 1>;

  template <class I>
  static constexpr operand<T> apply(operand<I> key) {
    using W = std::conditional_t<std::is_same_v<T, float>, float, double>;  // rounded once
    const int to = base::shape_for(key);
    if (to < 0) return refuse<T>(*key.g, -to);
    return cast_to<T>(base::template numbers<drawn, W>(key, to));
  }
  template <class I>
  static constexpr operand<T> apply(operand<I> key, auto mean, auto deviation) {
    graph& g = *key.g;
    const int to = base::shape_for(key, mean, deviation);
    if (to < 0) return refuse<T>(g, -to);
    const auto centre = base::template spread<T, double>(g, to, mean), scale = base::template spread<T, double>(g, to, deviation);
    if (centre.is_refused() || scale.is_refused()) return refuse<T>(g, 102);
    return cast_to<T>(centre + scale * base::template numbers<drawn, double>(key, to));
  }
};

template <std::size_t... E>
struct bernoulli : draws<E...> {
  static constexpr std::string_view name = "bernoulli";
  using base = draws<E...>;

  template <class I>
  static constexpr operand<bool> apply(operand<I> key, auto p) {
    graph& g = *key.g;
    const int to = base::shape_for(key, p);
    if (to < 0) return refuse<bool>(g, -to);
    const auto chance = base::template spread<double, double>(g, to, p);
    if (chance.is_refused()) return refuse<bool>(g, 102);
    return emit_on<op::less>({}, base::template numbers<op::random_uniform<32>, double>(key, to), chance);
  }
};

/// All Count keys, one after the other.
template <int Count>
struct split_key {
  template <class I>
  static constexpr operand<std::int64_t> apply(operand<I> key) {
    graph& g = *key.g;
    if (key.is_refused()) return {&g, key.id};
    if (!index_element<I> || key.rank() != 0) return refuse<std::int64_t>(g, 525);
    shape all;
    all.push(Count);
    const int to = g.intern(all);
    const auto whole = cast_to<std::int64_t>(key);
    const auto numbers = index_along<typename decltype(whole)::value_type>(g, to, 0);
    return {&g, emit_as<op::derived_keys, std::int64_t>(g, to, {whole.id, numbers.id}, {0})};
  }
};
struct fold_in {
  template <class I, class N>
  static constexpr operand<std::int64_t> apply(operand<I> key, operand<N> number) {
    graph& g = *key.g;
    if (key.is_refused() || number.is_refused()) return {&g, key.is_refused() ? key.id : number.id};
    if (!index_element<I> || !index_element<N> || key.rank() != 0 || number.rank() != 0) return refuse<std::int64_t>(g, 525);
    const int k = cast_to<std::int64_t>(key).id, n = cast_to<std::int64_t>(number).id;
    return {&g, emit_as<op::derived_keys, std::int64_t>(g, key.shape_number(), {k, n}, {1})};
  }
  template <class I>
  static constexpr operand<std::int64_t> apply(operand<I> key, std::integral auto number) {
    return apply(key, literal_in<std::int64_t>(*key.g, key.g->intern({}), number));
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

namespace detail {

/// Whether Key is an argument of a traced function, or an array: not what makes a random_key.
template <class Key>
concept key_operand = !std::is_convertible_v<const Key&, random_key>;

}  // namespace detail

/// In traced functions: uniform numbers from a key of rank 0, in [0, 1) or, by parameters, in [lo, hi). See [note: keys in traced
/// functions].
/// uniform<float, 64>(key), uniform<float, 64>(key, lo, hi), uniform<float>(key, lo, hi)
/// Shape: E, to which parameters are broadcast; without E the parameters' own.   Dtype: T.   Saves: nothing; by parameters lo, hi.
/// Error: exact; by parameters 1.5 ulp of the larger bound. For hi <= lo every number is lo.   Source: jax.random.uniform.
template <real_element T, std::size_t... E, detail::key_operand Key, class... P>
  requires(sizeof...(P) == 0 || sizeof...(P) == 2)
constexpr auto uniform(const Key& key, const P&... parameter) {
  return apply_function(functions::uniform<T, E...>{}, key, parameter...);
}
/// In traced functions: normally distributed numbers from a key of rank 0, with mean 0 and deviation 1 or with those given.
/// normal<float, 64>(key), normal<float, 64>(key, mean, deviation), normal<float>(key, mean, deviation)
/// Shape: as uniform.   Dtype: T, from numbers of double that are rounded once.   Saves: nothing; by parameters the deviation.
/// Error: 1 ulp, and with parameters 1 ulp of double. A deviation below 0 is not refused.   Source: jax.random.normal.
template <real_element T, std::size_t... E, detail::key_operand Key, class... P>
  requires(sizeof...(P) == 0 || sizeof...(P) == 2)
constexpr auto normal(const Key& key, const P&... parameter) {
  return apply_function(functions::normal<T, E...>{}, key, parameter...);
}
/// In traced functions: true with probability p, from a key of rank 0.   bernoulli<64>(key, 0.1), bernoulli(key, p)
/// Shape: as uniform.   Dtype: bool, no gradient.   Saves: nothing.
/// Error: exact, where p is rounded up to a multiple of 2^-32. NaN gives false.   Source: jax.random.bernoulli.
template <std::size_t... E, detail::key_operand Key, class P>
constexpr auto bernoulli(const Key& key, const P& p) {
  return apply_function(functions::bernoulli<E...>{}, key, p);
}
template <std::size_t... E, detail::key_operand Key>
constexpr auto bernoulli(const Key& key) {
  return apply_function(functions::bernoulli<E...>{}, key, 0.5);
}
/// Count new keys, of an argument of rank 0 or of a random_key: const auto [a, b] = ebb::split_key<2>(key). They are those of
/// key.split<2>().
/// Shape: a std::array of Count arrays of rank 0.   Dtype: int64, no gradient.   Saves: nothing.   Error: exact.
template <int Count, class Key>
constexpr auto split_key(const Key& key) {
  static_assert(Count > 0, "[ebb E0529] split_key: the number of keys is positive");
  if constexpr (!detail::key_operand<Key>) return random_key(key).template split<static_cast<std::size_t>(Count)>();
  else {
    const auto all = apply_function(functions::split_key<(Count > 0 ? Count : 1)>{}, key);
    return [&]<int... I>(std::integer_sequence<int, I...>) {
      return std::array{apply_function(functions::select<0, I>{}, all)...};
    }(std::make_integer_sequence<int, (Count > 0 ? Count : 1)>{});
  }
}
/// A new key for each number, such as that of a layer or a step, which may be computed: key.fold_in(number) of a random_key.
/// Shape: [].   Dtype: int64, no gradient.   Saves: nothing.   Error: exact.
template <class Key, class Number>
constexpr auto fold_in(const Key& key, const Number& number) {
  if constexpr (!detail::key_operand<Key> && std::integral<Number>) return random_key(key).fold_in(number);
  else return apply_function(functions::fold_in{}, key, number);
}

}  // namespace ebb::inline EBB_ABI

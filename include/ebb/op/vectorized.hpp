// ebb/op/vectorized.hpp — an op's value on lanes and on blocks of memory, with the erased signatures of op_info.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../kernel/convert.hpp"
#include "../kernel/fold.hpp"
#include "../kernel/lanes.hpp"
#include "../kernel/narrow.hpp"
#include "op.hpp"
#include "small_matrix.hpp"

namespace ebb::inline EBB_ABI {

/// The kernels of Op for dtype T.
template <class Op, class T>
struct vectorized {
  using result = typename Op::template result<T>;
  template <int J>
  using argument = typename Op::template operand_type<T, J>;
  using order = std::make_integer_sequence<int, (Op::arity > 0 ? Op::arity : 0)>;

  /// Narrow floats are computed in float and rounded once for each op.
  template <class A>
  static EBB_INLINE auto widened(const lanes<A>& x) {
    if constexpr (half_width<A>) return convert<float>(x);
    else return x;
  }
  template <class X>
  static EBB_INLINE lanes<result> narrowed(const X& x) {
    if constexpr (half_width<result> && std::is_same_v<X, lanes<float>>) return convert<result>(x);
    else return x;
  }
  template <class... X>
  static EBB_INLINE auto value(const X&... x) {
    if constexpr (requires { Op::value(x...); }) return Op::value(x...);
    else return Op::template value<detail::computed_in<result>>(x...);
  }

  static EBB_INLINE void vector(const void* a, const void* b, const void* c, void* out) {
    lanes<result>& to = *static_cast<lanes<result>*>(out);
    if constexpr (Op::what == kind::reduce) {
      to = narrowed(Op::value(widened(*static_cast<const lanes<result>*>(a)), widened(*static_cast<const lanes<T>*>(b))));
    } else {
      const void* const in[] = {a, b, c};
      [&]<int... J>(std::integer_sequence<int, J...>) EBB_LAMBDA {
        to = narrowed(value(widened(*static_cast<const lanes<argument<J>>*>(in[J]))...));
      }(order{});
    }
  }

  static EBB_INLINE void ordered(const void* a, const void* b, const void*, void* out) {
    *static_cast<lanes<T>*>(out) = Op::ordered(*static_cast<const lanes<T>*>(a), *static_cast<const lanes<T>*>(b));
  }
  static EBB_INLINE void divided(const void* a, const void* b, const void* c, void* out) {
    const lanes<T>*x = static_cast<const lanes<T>*>(a), *y = static_cast<const lanes<T>*>(b), *part = static_cast<const lanes<T>*>(c);
    *static_cast<lanes<T>*>(out) = Op::by_reciprocal(*x, *y, part[0], part[1]);
  }

  /// n elements of adjacent arrays. A reduction combines elementwise: out = combine(out, in[0]).
  static void block(const void* const* in, void* out, std::size_t n) {
    if constexpr (Op::what == kind::reduce) {
      const void* const pair[] = {out, in[0]};
      each_step(n, [&](std::size_t i, int count) {
        const auto older = load<result>(pair[0], i, count);
        const auto x = load<T>(pair[1], i, count);
        lanes<result> y;
        vector(&older, &x, nullptr, &y);
        store(y, out, i, count);
      });
    } else {
      [&]<int... J>(std::integer_sequence<int, J...>) {
        each_step(n, [&](std::size_t i, int count) {
          const std::tuple<lanes<argument<J>>...> x{load<argument<J>>(in[J], i, count)...};
          const void* const given[] = {&std::get<J>(x)..., nullptr, nullptr, nullptr};
          lanes<result> y;
          vector(given[0], given[1], given[2], &y);
          store(y, out, i, count);
        });
      }(order{});
    }
  }

  /// n elements into the 32 logical lanes at `rest`, the first of them into lane `phase`; see [note: logical reduction tree].
  static void accumulate(void* rest, const void* x, std::size_t n, std::size_t phase) {
    result* const lane = static_cast<result*>(rest);
    const T* from = static_cast<const T*>(x);
    for (; n > 0 && phase % logical_lanes != 0; --n, ++phase) add_one(lane[phase % logical_lanes], *from++);
    for (; n >= logical_lanes; n -= logical_lanes, from += logical_lanes) {
      const void* const in[] = {from};
      block(in, lane, logical_lanes);
    }
    for (std::size_t i = 0; i < n; ++i) add_one(lane[i], *from++);
  }

  static constexpr op_kernels make() {
    op_kernels k;
    if constexpr (Op::what == kind::elementwise || Op::what == kind::reduce) {
      k.vector = &vector;
      k.block = &block;
    }
    if constexpr (std::is_floating_point_v<T>)
      if constexpr (requires(T x) { Op::by_reciprocal(x, x, x, x); }) k.divided = &divided;
    if constexpr (Op::what == kind::reduce) {
      k.accumulate = &accumulate;
      if constexpr (std::is_floating_point_v<T> && target_has::quick_masks)
        if constexpr (requires(T x) { Op::ordered(x, x); }) k.ordered = &ordered;
    }
    k.whole = detail::whole_function_of<Op, T>();
    k.small_matrix = detail::small_matrix_function_of<Op, T>();
    k.product = detail::product_function_of<Op, T>();
    return k;
  }
  static constexpr op_kernels table = make();

 private:
  static EBB_INLINE void each_step(std::size_t n, auto&& f) {
    std::size_t i = 0;
    for (; i + lane_count <= n; i += lane_count) f(i, lane_count);
    if (i < n) f(i, static_cast<int>(n - i));
  }
  template <class A>
  static EBB_INLINE lanes<A> load(const void* p, std::size_t i, int count) {
    const A* from = static_cast<const A*>(p) + i;
    return count == lane_count ? lanes<A>::load(from) : lanes<A>::load(from, count);
  }
  static EBB_INLINE void store(const lanes<result>& x, void* p, std::size_t i, int count) {
    result* to = static_cast<result*>(p) + i;
    if (count == lane_count) x.store(to);
    else x.store(to, count);
  }
  static void add_one(result& to, T x) {
    to = detail::narrowed<result>(Op::value(detail::widened(to), detail::widened(x)));
  }
};

}  // namespace ebb::inline EBB_ABI

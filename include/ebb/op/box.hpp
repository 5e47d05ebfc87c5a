// ebb/op/box.hpp — ops on boxes that begin at operands: they copy rows, whose first address is computed once.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "move.hpp"
#include "whole.hpp"

#include "../graph/box.hpp"

namespace ebb::inline EBB_ABI::op {

/// I: the dtype of the numbers. F: the function named in errors about them. See [note: boxes at operands].
template <class I, class F>
struct boxed : op_base {
  static constexpr kind what = kind::own;
  static constexpr int arity = -1;
  static constexpr domain accepts = domain::any;
  static constexpr bool names_places = true;
  static constexpr std::string_view asker = short_name_of<F>(), counted = "places where the box fits";
  using of_places = I;
  static constexpr int show(const std::int64_t* attr, int rank, std::int64_t* numbers) {
    const box_form f = box_form::of(attr);
    int count = 0;
    for (int a = 0; f.own + a < rank; ++a)
      if (f.axes >> a & 1) numbers[count++] = f.own + a;
    return count;
  }

 protected:
  /// Calls f(from, to) for each box.
  static void each_box(const whole_call& c, const box_call& k, auto&& f) {
    const void* const* const starts = c.in + box_form::of(c.attr).first();
    k.each_box([starts](int j, std::size_t i) EBB_LAMBDA { return static_cast<const I*>(starts[j])[i]; }, f);
  }
  /// Calls f(from, to) for each element of each box.
  static constexpr void each_element_of(const move_call& c, const box_call& k, const extent_list& whole, const extent_list& part,
                                        auto&& number, auto&& f) {
    const box_form form = box_form::of(c.attr);
    k.each_box(
        [&](int j, std::size_t i) {
          int axis = 0;
          for (int left = j; !(form.axes >> axis & 1) || left-- > 0;) ++axis;
          const std::int64_t at = number(form.first() + j, i);
          const auto last = static_cast<std::int64_t>(whole.e[form.own + axis]) -
                            static_cast<std::int64_t>(part.e[part.rank - k.box.rank + axis]);
          if (at < 0 || at > last) raise("ebb::evaluate: a box at " + std::to_string(at) + " leaves its array");
          return at;
        },
        [&](std::ptrdiff_t from, std::ptrdiff_t to) {
          each_element(k.box, [&](std::ptrdiff_t i, std::ptrdiff_t q) {
            f(static_cast<std::size_t>(from + i), static_cast<std::size_t>(to + q));
          });
        });
  }
};

/// A box of operand 0.   Shape: given.   Saves: the numbers.   Error: exact.
template <class I, class F>
struct box : boxed<I, F> {
  static constexpr std::string_view name = "box";
  template <class T, int J>
  using operand_type = std::conditional_t<(J > 0), I, T>;
  template <class T>
  static void whole(const whole_call& c) {
    const box_call k(c.attr, c.shapes[0], c.result);
    constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
    boxed<I, F>::each_box(c, k, [&](std::ptrdiff_t from, std::ptrdiff_t to) {
      const char* const x = static_cast<const char*>(c.in[0]) + from * size;
      char* const out = static_cast<char*>(c.out) + to * size;
      k.each_rows([=](std::ptrdiff_t i, std::ptrdiff_t q, std::ptrdiff_t n, std::size_t rows, std::ptrdiff_t between) EBB_LAMBDA {
        kernel::copy_rows(out + q * size, n * size, x + i * size, between * size, rows, static_cast<std::size_t>(n * size));
      });
    });
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put, auto number) {
    const box_call k(c.attr, c.in[0], c.out);
    boxed<I, F>::each_element_of(c, k, c.in[0], c.out, number, [&](std::size_t from, std::size_t to) { put(to, in(0, from)); });
  }
  template <class T>
  static constexpr vec<int> pull(operand<T> g, const vec<operand<T>>& in, operand<T> out);
};

/// Boxes, operand 0, added into zeros.   Shape: given.   Saves: the numbers.   Error: that of the sums.
template <class I, class F>
struct box_sum : boxed<I, F> {
  static constexpr std::string_view name = "box_sum";
  template <class T, int J>
  using operand_type = std::conditional_t<(J > 0), I, T>;
  template <class T>
  static void whole(const whole_call& c) {
    const box_call k(c.attr, c.result, c.shapes[0]);
    if (const std::size_t all = k.batches * k.whole; all > 0) std::memset(c.out, 0, all * sizeof(T));
    boxed<I, F>::each_box(c, k, [&](std::ptrdiff_t from, std::ptrdiff_t to) {
      T* const out = static_cast<T*>(c.out) + from;
      const T* const x = static_cast<const T*>(c.in[0]) + to;
      if (k.part == 1) {  // zeros that have just been written are slow to read
        const auto before = k.each == 1 ? ebb::detail::computed_in<T>(0) : ebb::detail::widened(*out);
        *out = ebb::detail::narrowed<T>(before + ebb::detail::widened(*x));
        return;
      }
      k.each_rows([=](std::ptrdiff_t i, std::ptrdiff_t q, std::ptrdiff_t n, std::size_t rows, std::ptrdiff_t between) EBB_LAMBDA {
        constexpr std::size_t first[] = {0};
        for (std::ptrdiff_t r = 0; r < static_cast<std::ptrdiff_t>(rows); ++r)
          kernel::add_rows(out + i + r * between, x + q + r * n, kernel::row_list<std::size_t>{first, 1}, static_cast<std::size_t>(n));
      });
    });
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put, auto number) {
    const box_call k(c.attr, c.out, c.in[0]);
    vec<S> sums(static_cast<int>(c.out.volume()), ebb::detail::narrowed<S>(ebb::detail::computed_in<S>(0)));
    boxed<I, F>::each_element_of(c, k, c.out, c.in[0], number, [&](std::size_t from, std::size_t to) {
      S& sum = sums[static_cast<int>(from)];
      sum = ebb::detail::narrowed<S>(ebb::detail::widened(sum) + in(0, to));
    });
    for (int i = 0; i < sums.size(); ++i) put(static_cast<std::size_t>(i), ebb::detail::widened(sums[i]));
  }
  template <class T>
  static constexpr vec<int> pull(operand<T> g, const vec<operand<T>>& in, operand<T> out);
};

/// Operand 0 with the boxes, operand 1, in their places.   Shape: operand 0's.   Saves: the numbers.   Error: exact.
template <class I, class F>
struct box_put : boxed<I, F> {
  static constexpr std::string_view name = "box_put";
  template <class T, int J>
  using operand_type = std::conditional_t<(J > 1), I, T>;
  template <class T>
  static void whole(const whole_call& c) {
    const box_call k(c.attr, c.result, c.shapes[1]);
    constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
    if (const std::size_t all = k.batches * k.whole; all > 0) std::memcpy(c.out, c.in[0], all * sizeof(T));
    boxed<I, F>::each_box(c, k, [&](std::ptrdiff_t from, std::ptrdiff_t to) {
      char* const out = static_cast<char*>(c.out) + from * size;
      const char* const u = static_cast<const char*>(c.in[1]) + to * size;
      k.each_rows([=](std::ptrdiff_t i, std::ptrdiff_t q, std::ptrdiff_t n, std::size_t rows, std::ptrdiff_t between) EBB_LAMBDA {
        kernel::copy_rows(out + i * size, between * size, u + q * size, n * size, rows, static_cast<std::size_t>(n * size));
      });
    });
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put, auto number) {
    const box_call k(c.attr, c.out, c.in[1]);
    for (std::size_t i = 0, n = c.out.volume(); i < n; ++i) put(i, in(0, i));
    boxed<I, F>::each_element_of(c, k, c.out, c.in[1], number, [&](std::size_t from, std::size_t to) { put(from, in(1, to)); });
  }
  template <class T>
  static constexpr vec<int> pull(operand<T> g, const vec<operand<T>>& in, operand<T> out);
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI {

/// Inside rules: an equation about boxes. x, u: the operands before the numbers; u may be -1, none.
template <class Op, class T>
constexpr operand<T> box_equation(graph& g, int shape_number, int x, int u, const vec<int>& numbers, box_form f) {
  vec<int> in;
  in.push(x);
  if (u >= 0) in.push(u);
  for (const int i : numbers) in.push(i);
  const int k = emit_as<Op, T>(g, shape_number, number_range{in.data(), in.size()}, attributes{f.own, f.attribute()});
  return {&g, k};
}

namespace detail {

/// The numbers of the operands `in` of `out`, an equation about boxes, and its form with another meaning.
template <class T>
constexpr vec<int> numbers_of_box(const vec<operand<T>>& in, operand<T> out) {
  const std::int64_t attr[] = {out.attribute(0), out.attribute(1)};
  vec<int> r;
  for (int j = box_form::of(attr).first(); j < in.size(); ++j) r.push(in[j].id);
  return r;
}
template <class T>
constexpr box_form form_of_box(operand<T> out, int what) {
  const std::int64_t attr[] = {out.attribute(0), out.attribute(1)};
  box_form f = box_form::of(attr);
  f.what = what;
  return f;
}
/// The gradients of the first operands; the numbers have none.
constexpr vec<int> grads_of_box(int operands, int x, int u = -1) {
  vec<int> r(operands, -1);
  r[0] = x;
  if (u >= 0) r[1] = u;
  return r;
}

/// The box of x with the shape of `like`: slices, which may need no copy, if all numbers are literals.
template <class I, class F, class T>
constexpr operand<T> box_like(operand<T> x, operand<T> like, const vec<int>& numbers, box_form f) {
  graph& g = *x.g;
  for (const int i : numbers)
    if (g.op(i).what != kind::literal) return box_equation<op::box<I, F>, T>(g, like.shape_number(), x.id, -1, numbers, f);
  for (int a = f.own, j = 0; a < x.rank(); ++a) {
    if (!(f.axes >> (a - f.own) & 1)) continue;
    const auto start = std::int64_t{from_cell<I>(static_cast<cell>(g.eq[numbers[j++]].attr[0]))};
    x = slice_as(x, {a, start}, g.intern(with_extent(x.extents(), a, like.extent(a))));
  }
  return x;
}

}  // namespace detail

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::op {

template <class I, class F>
template <class T>
constexpr vec<int> box<I, F>::pull(operand<T> g, const vec<operand<T>>& in, operand<T> out) {
  const auto f = ebb::detail::form_of_box(out, box_form::adds);
  const auto numbers = ebb::detail::numbers_of_box(in, out);
  return ebb::detail::grads_of_box(in.size(), box_equation<box_sum<I, F>, T>(*g.g, in[0].shape_number(), g.id, -1, numbers, f).id);
}
template <class I, class F>
template <class T>
constexpr vec<int> box_sum<I, F>::pull(operand<T> g, const vec<operand<T>>& in, operand<T> out) {
  const auto f = ebb::detail::form_of_box(out, box_form::reads);
  const auto numbers = ebb::detail::numbers_of_box(in, out);
  return ebb::detail::grads_of_box(in.size(), box_equation<box<I, F>, T>(*g.g, in[0].shape_number(), g.id, -1, numbers, f).id);
}
template <class I, class F>
template <class T>
constexpr vec<int> box_put<I, F>::pull(operand<T> g, const vec<operand<T>>& in, operand<T> out) {
  const auto numbers = ebb::detail::numbers_of_box(in, out);
  const auto zeros = literal_like(in[1], 0);
  const auto of_x = box_equation<box_put<I, F>, T>(*g.g, out.shape_number(), g.id, zeros.id, numbers,
                                                   ebb::detail::form_of_box(out, box_form::puts));
  const auto of_u = ebb::detail::box_like<I, F>(g, in[1], numbers, ebb::detail::form_of_box(out, box_form::reads));
  return ebb::detail::grads_of_box(in.size(), of_x.id, of_u.id);
}

}  // namespace ebb::inline EBB_ABI::op

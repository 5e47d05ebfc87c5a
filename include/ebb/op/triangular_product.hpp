// ebb/op/triangular_product.hpp — products with one triangle of a square matrix: matmul(lower(q), x), matmul(x, transpose(upper(q))).
// SPDX-License-Identifier: BSL-1.0
//
// [note: triangles in products]
// lower(q) and upper(q) are no arrays: they say which part of q a product reads. matmul takes one of them on one side, and transpose gives
// another one. Such a product costs half of the full one, and elements of q outside of the triangle count for nothing: an infinity or a
// NaN there, or an infinity in x that only a zero of the triangle would meet, changes no element.
#pragma once

#include "../kernel/triangle_of_product.hpp"
#include "../kernel/triangular_product.hpp"
#include "shape.hpp"
#include "triangle.hpp"

namespace ebb::inline EBB_ABI::op {

/// Products of kind::triangle. An operand is one matrix, or has the batches of the result.
struct of_triangle : op_base {
  static constexpr kind what = kind::triangle;
  static constexpr int arity = 2;
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr precision autocast = precision::full;

 protected:
  /// The batches of the operands, or the refusal of those that differ.
  static constexpr shape batch_of(symbols& s, const shape& x, const shape& y) {
    if (x.rank < 2 || y.rank < 2) return refused(105);
    if (x.rank > 2 && y.rank > 2) {
      if (x.rank != y.rank) return refused(102);
      for (int i = 0; i < x.rank - 2; ++i)
        if (!s.unify(x.e[i], y.e[i])) return refused(102);
    }
    return s.find(axes_between(x.rank > 2 ? x : y, 0, (x.rank > 2 ? x : y).rank - 2));
  }
  /// Calls f(x, y, out) for each matrix of the result, which has `size` elements; those of the operands have size_of_x and size_of_y.
  template <class T>
  static void each(const whole_call& c, std::size_t batch, std::size_t size_of_x, std::size_t size_of_y, std::size_t size, auto&& f) {
    const T *x = static_cast<const T*>(c.in[0]), *y = static_cast<const T*>(c.in[1]);
    T* out = static_cast<T*>(c.out);
    for (std::size_t i = 0; i < batch; ++i, out += size) {
      f(x, y, out);
      if (c.shapes[0].rank > 2) x += size_of_x;
      if (c.shapes[1].rank > 2) y += size_of_y;
    }
  }
  /// x summed along its leading axes if `of` is one matrix.
  template <class T>
  static constexpr operand<T> summed(operand<T> x, operand<T> of) {
    if (x.is_refused() || of.is_refused() || of.rank() == x.rank()) return x;
    return sum_over(x, (std::int64_t{1} << (x.rank() - 2)) - 1);
  }
};

/// The product of a triangle t with x, on the left or on the right of it. attr 0: 1 if t is transposed, 2 if it is on the right. attr 1:
/// see tensor/triangle_order.hpp. An operand is one matrix, or has the batches of the result.
/// Saves: t, x. Only the triangle that is read gets a gradient, without the diagonal if that is taken to be 1.
/// Error: k / 2 ulp of sum |t| |x|, see [note: order of a product with a triangle].
struct triangular_product : of_triangle {
  static constexpr std::string_view name = "triangular_product", asker = "matmul";

  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t* attr) {
    const shape &t = in[0], &x = in[1];
    if (const shape squares = batch_of_squares(s, t); squares.is_refused()) return squares;
    const shape batch = batch_of(s, t, x);
    if (batch.is_refused()) return batch;
    if (!s.unify(t.e[t.rank - 1], x.e[x.rank - (attr[0] & triangle_right ? 1 : 2)])) return refused(101);
    return s.find(joined(batch, axes_between(x, x.rank - 2, x.rank)));
  }

  template <class T>
  static void whole(const whole_call& c) {
    const int r = c.result.rank;
    if (c.result.volume() == 0) return;
    const bool right = c.attr[0] & triangle_right;
    const std::size_t n = c.result.e[right ? r - 1 : r - 2];
    // Rows of all matrices are rows of one, if they share a matrix on the right.
    const bool merges = right && c.shapes[0].rank == 2;
    const std::size_t batch = merges ? 1 : c.result.volume(0, r - 2), m = c.result.volume() / batch / n;
    const kernel::triangular_product s{static_cast<std::ptrdiff_t>(n), static_cast<std::ptrdiff_t>(m), right,
                                       (c.attr[0] & triangle_transposed) != 0, c.attr[1]};
    const std::size_t bytes = kernel::multiply_triangle_scratch_bytes<T>(s);
    void* const scratch = bytes > 0 ? thread_scratch().take(bytes) : nullptr;
    each<T>(c, batch, n * n, n * m, n * m, [&](const T* t, const T* x, T* out) { kernel::multiply_triangle(s, t, x, out, scratch); });
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    const triangle_chains all(c, c.in[0].rank, c.in[1].rank);
    const std::size_t size = c.out.volume();
    for (std::size_t i = 0; i < size; ++i) {
      S sum = 0;
      all.each_link(i, [&](std::size_t t, std::size_t x, bool is_one) { sum = lane::fma(is_one ? S(1) : in(0, t), in(1, x), sum); });
      put(i, sum);
    }
  }

  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> t, operand<T> x, operand<T> out);
};

/// The triangle of a product, and zeros outside of it: of a b^T, or of a^T b if attr 0 is 6; else it is 4. attr 1: see
/// tensor/triangle_order.hpp; a diagonal that is taken to be 1 is outside. An operand is one matrix, or has the batches of the result.
/// Saves: a, b.   Error: k / 2 ulp of sum |a| |b|; elements are chains, see [note: order of a product].
struct triangle_of_product : of_triangle {
  static constexpr std::string_view name = "triangle_of_product", asker = "matmul";

  static constexpr shape infer(symbols& s, const shape* in, int, const std::int64_t* attr) {
    const shape &x = in[0], &y = in[1];
    const shape batch = batch_of(s, x, y);
    if (batch.is_refused()) return batch;
    for (int i : {1, 2})
      if (!s.unify(x.e[x.rank - i], y.e[y.rank - i])) return refused(101);
    shape r = batch;
    for (int i = 0; i < 2; ++i) r.push(x.e[x.rank - (attr[0] & triangle_right ? 1 : 2)]);
    return s.find(r);
  }

  template <class T>
  static void whole(const whole_call& c) {
    const int r = c.result.rank;
    if (c.result.volume() == 0) return;
    const std::size_t n = c.result.e[r - 1], size = c.shapes[0].volume(c.shapes[0].rank - 2, c.shapes[0].rank);
    const kernel::triangle_of_product s{static_cast<std::ptrdiff_t>(n), static_cast<std::ptrdiff_t>(size / n),
                                        (c.attr[0] & triangle_right) != 0, c.attr[1]};
    void* const scratch = thread_scratch().take(kernel::multiply_to_triangle_scratch_bytes<T>(s));
    each<T>(c, c.result.volume(0, r - 2), size, size, n * n,
            [&](const T* x, const T* y, T* out) { kernel::multiply_to_triangle(s, x, y, out, scratch); });
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    const bool of_columns = c.attr[0] & triangle_right, upper = c.attr[1] & upper_triangle, strict = c.attr[1] & unit_diagonal_bit;
    const std::size_t n = c.out.e[c.out.rank - 1], total = c.out.volume(), size = c.in[0].volume(c.in[0].rank - 2, c.in[0].rank);
    const std::size_t k = n == 0 ? 0 : size / n;
    for (std::size_t e = 0; e < total; ++e) {
      const std::size_t j = e % n, i = e / n % n, matrix = e / n / n;
      const auto element = [&](int operand, std::size_t row, std::size_t p) {
        return in(operand, (c.in[operand].rank > 2 ? matrix * size : 0) + (of_columns ? p * n + row : row * k + p));
      };
      const bool inside = (upper ? i <= j : j <= i) && !(strict && i == j);
      const auto left = [&](std::size_t p) { return element(0, i, p); };
      const auto right = [&](std::size_t p) { return element(1, j, p); };
      put(e, inside ? multiply_in_order<S>(k, left, right, false) : S(0));
    }
  }

  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T> y, operand<T> out) {
    const std::int64_t right = out.attribute(0) & triangle_right, read = triangular | (out.attribute(1) & upper_triangle);
    if ((out.attribute(1) & unit_diagonal_bit) != 0) g = triangle_of(g, read != triangular, true);
    const std::int64_t of_x = right | (right ? triangle_transposed : 0), of_y = right | (right ? 0 : triangle_transposed);
    return grads(summed(emit_on<triangular_product>({of_x, read}, g, y), x), summed(emit_on<triangular_product>({of_y, read}, g, x), y));
  }
};

template <class T>
constexpr auto triangular_product::pull(operand<T> g, operand<T> t, operand<T> x, operand<T> out) {
  const std::int64_t sides = out.attribute(0), flags = out.attribute(1), right = sides & triangle_right;
  const auto of_x = summed(emit_on<triangular_product>({sides ^ triangle_transposed, flags}, t, g), x);
  if (g.is_refused() || x.is_refused()) return grads(g, of_x);
  const bool transposed = sides & triangle_transposed;
  if (t.rank() == 2 && g.rank() > 2) {
    if (!right) {
      const auto of_t = transposed ? product_of(x, g, right_transposed) : product_of(g, x, right_transposed);
      return grads(triangle_of(summed(of_t, t), (flags & upper_triangle) != 0, (flags & unit_diagonal_bit) != 0), of_x);
    }
    // The rows of all matrices are rows of one.
    shape tall;
    tall.push(volume_of(g.g->syms, axes_between(g.extents(), 0, g.rank() - 1)));
    tall.push(g.extent(g.rank() - 1));
    x = view_as(x, tall);
    g = view_as(g, tall);
  }
  const bool g_first = transposed == (right != 0);
  return grads(emit_on<triangle_of_product>({from_product | right, flags}, g_first ? g : x, g_first ? x : g), of_x);
}

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

/// Flags: upper_triangle, unit_diagonal_bit, taken_transposed.flag, from_right.flag.
template <std::int64_t Flags>
struct triangular_product {
  static constexpr std::string_view name = "matmul";
  static constexpr precision autocast = op::triangular_product::autocast;
  template <class A, class B>
  static constexpr auto apply(operand<A> a, operand<B> b) {
    using T = decltype(detail::accepted<op::triangular_product, promoted<A, B>>());
    const auto t = cast_to<T>(a);
    auto x = cast_to<T>(b);
    if (t.is_refused()) return t;
    if (x.is_refused()) return x;
    if (t.rank() < 2) return refuse<T>(*x.g, 180);
    if (x.rank() == 0) return refuse<T>(*x.g, 105);
    detail::factor<T> m(t);
    const bool is_vector = x.rank() == 1;
    bool right = (Flags & from_right.flag) != 0, transposed = m.transposed != ((Flags & taken_transposed.flag) != 0);
    if (is_vector) {
      // A column on the left is a row on the right, so that the vectors of a batch are rows of one matrix.
      x = view_as(x, with_axis(x.extents(), 0, 1));
      transposed = transposed == right;
      right = true;
    }
    if (m.x.rank() > 2 && x.rank() > 2) {
      const shape batches[] = {m.batch(), axes_between(x.extents(), 0, x.rank() - 2)};
      const shape batch = broadcast_shapes(x.g->syms, batches, 2);
      if (batch.is_refused()) return refuse<T>(*x.g, batch.code());
      m.repeat_to(batch);
      x = detail::fit(x, joined(batch, axes_between(x.extents(), x.rank() - 2, x.rank())));
    }
    const operand<T> r = emit_on<op::triangular_product>({transposed + 2 * right, triangle_read<Flags>(m.transposed)}, m.x, x);
    return is_vector && !r.is_refused() ? view_as(r, without_axes(r.extents(), std::int64_t{1} << (r.rank() - 2))) : r;
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

struct refused_result;  // see trace/refused.hpp

/// A triangle of a square matrix as an operand of matmul: see [note: triangles in products]. Q is a reference if the caller
/// has the array by name; terms and views are copied.
template <class Q, std::int64_t Flags>
struct triangle {
  Q q;
};

namespace detail {

template <class A>
struct triangle_flags {
  static constexpr std::int64_t value = -1;
};
template <class Q, std::int64_t Flags>
struct triangle_flags<triangle<Q, Flags>> {
  static constexpr std::int64_t value = Flags;
};
template <class A>
inline constexpr bool is_triangle = triangle_flags<std::remove_cvref_t<A>>::value >= 0;

/// Whether a matrix is a term, a view or the like, which a triangle copies.
template <class Q>
inline constexpr bool is_light = std::is_trivially_copyable_v<Q> && sizeof(Q) <= 64;

template <std::int64_t Flags, class Q, class... Tag>
constexpr auto triangle_with(Q&& q, Tag...) {
  constexpr std::int64_t flags = matrix_flags<Tag...>(unit_diagonal.flag);
  static_assert(flags >= 0, "[ebb E0572] lower, upper: after the matrix comes nothing, or the tag ebb::unit_diagonal");
  using held = std::conditional_t<is_light<std::remove_cvref_t<Q>>, std::remove_cvref_t<Q>, Q>;
  return triangle<held, Flags | or_none(flags)>{std::forward<Q>(q)};
}

/// The result of a refused call, once F is known.
template <class F>
struct refused_by {
  using type = refused_result;
};

}  // namespace detail

template <class Q, std::int64_t Flags, class X>
  requires(!detail::is_triangle<X> && !std::is_same_v<X, refused_result>)
constexpr auto apply_function(functions::matmul, const triangle<Q, Flags>& t, const X& x) {
  return apply_function(functions::triangular_product<Flags>{}, t.q, x);
}
template <class X, class Q, std::int64_t Flags>
  requires(!detail::is_triangle<X> && !std::is_same_v<X, refused_result>)
constexpr auto apply_function(functions::matmul, const X& x, const triangle<Q, Flags>& t) {
  return apply_function(functions::triangular_product<Flags | from_right.flag>{}, t.q, x);
}
template <class Q, std::int64_t Flags>
constexpr auto apply_function(functions::transpose<>, const triangle<Q, Flags>& t) {
  return triangle<Q, Flags ^ taken_transposed.flag>{t.q};
}
/// Any other call with a triangle.
template <class F, class... A>
  requires(detail::is_triangle<A> || ...) && (!std::is_same_v<A, refused_result> && ...)
constexpr auto apply_function(F, const A&...) {
  static_assert(sizeof(F) == 0, "[ebb E0573] lower, upper: a triangle is one operand of ebb::matmul, or the operand of ebb::transpose");
  return typename detail::refused_by<F>::type{};
}

/// The lower triangle of a square matrix as an operand of matmul, in half of the time of the full matrix; elements above the diagonal are
/// not read.   matmul(lower(q), x)   matmul(x, transpose(lower(q)))   matmul(lower(q, unit_diagonal), x)
/// Shape: q [..., n, n]; that of the product as for matmul.   Dtype: as solve_triangular.   Saves: q, x.
/// Error: see [note: order of a product with a triangle].
template <class Q, class... Tag>
  requires(!std::same_as<std::remove_cvref_t<Q>, graph>)
constexpr auto lower(Q&& q, Tag... tag) {
  return detail::triangle_with<0>(std::forward<Q>(q), tag...);
}
template <class Q, class... Tag>
constexpr auto upper_tag::operator()(Q&& q, Tag... tag) const {
  return detail::triangle_with<upper_triangle>(std::forward<Q>(q), tag...);
}

}  // namespace ebb::inline EBB_ABI

// ebb/shapes/fft.hpp — the Fourier transform of real numbers along the last axis, and its inverse: rfft and irfft, for any length.
// SPDX-License-Identifier: BSL-1.0
//
// Complex results are two arrays, of real and of imaginary parts:
//   const auto [re, im] = ebb::rfft(x);   re + i im = sum over j of x_j e^(-2 pi i j k / n), for k = 0 to n / 2
//   ebb::irfft<n>(re, im)                 x again
// Method: the length is split into its prime factors, with 4 taken as one factor (Cooley and Tukey, Math. Comp. 19, 1965). Time grows with
// n times the sum of the factors: a large prime is slow. The order of operations depends on n only. The gradient is the adjoint transform.
#pragma once

#include "../kernel/workspace.hpp"
#include "../num/trigonometric.hpp"
#include "../op/compare.hpp"
#include "../op/shape.hpp"
#include "../op/whole.hpp"
#include "../op/exponential.hpp"

#include <tuple>

namespace ebb::inline EBB_ABI {

template <class Call>
struct refusal<499, Call> : Call {
  static_assert(Call::code != 499, "[ebb E0499] rfft, irfft: the array has no axis, or too many; irfft<n> takes n / 2 + 1 frequencies");
};

}  // namespace ebb::inline EBB_ABI

namespace ebb::inline EBB_ABI::kernel {

/// The complex transform of rows of n elements. W: float or double.
template <class W>
class fourier {
 public:
  static constexpr std::size_t numbers_for(std::size_t n) { return 8 * n; }

  /// memory: numbers_for(n).
  constexpr fourier(std::size_t n, W* memory)
      : n_(n), cos_(memory), sin_(cos_ + n), re_(sin_ + n), im_(re_ + n), to_re_(im_ + n), to_im_(to_re_ + n), part_(to_im_ + n) {
    for (std::size_t k = 0; k < n; ++k) set_root(k);
  }
  /// The real parts of the transform of x, then the imaginary ones, `count` each.
  template <class T>
  constexpr void forward(const T* x, T* out, std::size_t count) {
    for (std::size_t i = 0; i < n_; ++i) re_[i] = static_cast<W>(x[i]), im_[i] = 0;
    if (n_ > 0) run(re_, im_, 1, to_re_, to_im_, n_);
    for (std::size_t k = 0; k < count; ++k) {
      out[k] = static_cast<T>(k < n_ ? to_re_[k] : W(0));
      out[count + k] = static_cast<T>(k < n_ ? to_im_[k] : W(0));
    }
  }
  /// Its adjoint: n numbers from `count` real parts and `count` imaginary ones. The sum of z_k e^(+i ..) is the conjugate of a transform.
  template <class T>
  constexpr void adjoint(const T* x, T* out, std::size_t count) {
    for (std::size_t i = 0; i < n_; ++i) {
      re_[i] = i < count ? static_cast<W>(x[i]) : W(0);
      im_[i] = i < count ? -static_cast<W>(x[count + i]) : W(0);
    }
    if (n_ > 0) run(re_, im_, 1, to_re_, to_im_, n_);
    for (std::size_t i = 0; i < n_; ++i) out[i] = static_cast<T>(to_re_[i]);
  }

 private:
  /// e^(-2 pi i k / n) from an angle of at most pi / 4, so that multiples of a quarter turn are exact.
  constexpr void set_root(std::size_t k) {
    const std::size_t quarter = 4 * k / n_, rest = 4 * k - quarter * n_;
    const bool beyond = 2 * rest > n_;
    const double angle = 1.57079632679489661923 * (static_cast<double>(beyond ? n_ - rest : rest) / static_cast<double>(n_));
    const W c = static_cast<W>(lane::cos(angle)), s = static_cast<W>(lane::sin(angle)), x = beyond ? s : c, y = beyond ? c : s;
    cos_[k] = quarter == 0 ? x : quarter == 1 ? -y : quarter == 2 ? -x : y;
    sin_[k] = quarter == 0 ? -y : quarter == 1 ? -x : quarter == 2 ? y : x;
  }
  static constexpr std::size_t factor_of(std::size_t n) {
    if (n % 4 == 0) return 4;
    for (std::size_t p = 2; p * p <= n; ++p)
      if (n % p == 0) return p;
    return n;
  }
  /// The transform of the n elements at every `step`-th place. step n is the whole length.
  constexpr void run(const W* re, const W* im, std::size_t step, W* to_re, W* to_im, std::size_t n) {
    if (n == 1) {
      *to_re = *re, *to_im = *im;
      return;
    }
    const std::size_t p = factor_of(n), m = n / p;
    for (std::size_t r = 0; r < p; ++r) run(re + r * step, im + r * step, step * p, to_re + r * m, to_im + r * m, m);
    W *const u = part_, *const v = part_ + 1;  // re and im of part r at 2 r
    for (std::size_t k = 0; k < m; ++k) {
      u[0] = to_re[k], v[0] = to_im[k];
      for (std::size_t r = 1; r < p; ++r) {
        const W x = to_re[r * m + k], y = to_im[r * m + k], c = cos_[r * k * step], s = sin_[r * k * step];
        u[2 * r] = x * c - y * s, v[2 * r] = x * s + y * c;
      }
      if (p == 2) {
        to_re[k] = u[0] + u[2], to_im[k] = v[0] + v[2];
        to_re[m + k] = u[0] - u[2], to_im[m + k] = v[0] - v[2];
      } else if (p == 4) {
        const W a = u[0] + u[4], b = v[0] + v[4], c = u[0] - u[4], d = v[0] - v[4];
        const W e = u[2] + u[6], f = v[2] + v[6], g = u[2] - u[6], h = v[2] - v[6];
        to_re[k] = a + e, to_im[k] = b + f;
        to_re[m + k] = c + h, to_im[m + k] = d - g;
        to_re[2 * m + k] = a - e, to_im[2 * m + k] = b - f;
        to_re[3 * m + k] = c - h, to_im[3 * m + k] = d + g;
      } else {
        const std::size_t turn = n_ / p;
        for (std::size_t q = 0; q < p; ++q) {
          W x = u[0], y = v[0];
          for (std::size_t r = 1, at = q; r < p; ++r, at = at + q < p ? at + q : at + q - p) {
            const W c = cos_[at * turn], s = sin_[at * turn];
            x += u[2 * r] * c - v[2 * r] * s, y += u[2 * r] * s + v[2 * r] * c;
          }
          to_re[q * m + k] = x, to_im[q * m + k] = y;
        }
      }
    }
  }

  std::size_t n_;
  W *cos_, *sin_, *re_, *im_, *to_re_, *to_im_, *part_;
};

}  // namespace ebb::inline EBB_ABI::kernel

namespace ebb::inline EBB_ABI::op {

/// The common part of rfft and its adjoint. Shape: given, not inferred.
struct fourier_rows : op_base {
  static constexpr kind what = kind::rows;
  static constexpr int arity = 1;
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  template <class Op, class T>
  static void all_rows(const whole_call& c) {
    using W = ebb::detail::computed_in<T>;
    const extent_list& x = c.shapes[0];
    const std::size_t length = x.e[x.rank - 1], count = c.result.e[c.result.rank - 1], n = Op::length_of(length, count);
    if (c.result.volume() == 0) return;
    char* const memory = thread_scratch().take(kernel::fourier<W>::numbers_for(n) * sizeof(W));
    kernel::fourier<W> f(n, reinterpret_cast<W*>(memory));
    const auto* from = static_cast<const T*>(c.in[0]);
    auto* to = static_cast<T*>(c.out);
    for (std::size_t i = x.volume(0, x.rank - 1); i > 0; --i, from += length, to += count) Op::one(f, from, length, to, count);
  }
  template <class Op, class T>
  static constexpr void one_row(const T* x, std::size_t length, T* out, std::size_t count) {
    using W = ebb::detail::computed_in<T>;
    const std::size_t n = Op::length_of(length, count);
    vec<W> memory(static_cast<int>(kernel::fourier<W>::numbers_for(n)), W(0));
    kernel::fourier<W> f(n, memory.data());
    Op::one(f, x, length, out, count);
  }
};

struct rfft_adjoint;

/// The transform of real rows: real parts, then imaginary parts.   Saves: nothing.   Error: see functions.   Source: as shapes/fft.hpp.
struct rfft : fourier_rows {
  static constexpr std::string_view name = "rfft";
  static constexpr std::size_t length_of(std::size_t length, std::size_t) { return length; }
  static constexpr void one(auto& f, const auto* x, std::size_t, auto* out, std::size_t count) { f.forward(x, out, count / 2); }
  template <class T>
  static constexpr void row(const T* const* in, const std::size_t* length, T* out, std::size_t count, const std::int64_t*) {
    one_row<rfft>(in[0], length[0], out, count);
  }
  template <class T>
  static void whole(const whole_call& c) {
    all_rows<rfft, T>(c);
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T>) {
    return grads(operand<T>{g.g, emit_as<rfft_adjoint, T>(*g.g, x.shape_number(), {g.id})});
  }
};

/// The transposed matrix of rfft.   Saves: nothing.   Error: as rfft.
struct rfft_adjoint : fourier_rows {
  static constexpr std::string_view name = "rfft_adjoint";
  static constexpr std::size_t length_of(std::size_t, std::size_t count) { return count; }
  static constexpr void one(auto& f, const auto* x, std::size_t length, auto* out, std::size_t) { f.adjoint(x, out, length / 2); }
  template <class T>
  static constexpr void row(const T* const* in, const std::size_t* length, T* out, std::size_t count, const std::int64_t*) {
    one_row<rfft_adjoint>(in[0], length[0], out, count);
  }
  template <class T>
  static void whole(const whole_call& c) {
    all_rows<rfft_adjoint, T>(c);
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T>) {
    return grads(operand<T>{g.g, emit_as<rfft, T>(*g.g, x.shape_number(), {g.id})});
  }
};

}  // namespace ebb::inline EBB_ABI::op

namespace ebb::inline EBB_ABI::functions {

/// [..., n]: [..., 2, n / 2 + 1].
struct rfft {
  static constexpr precision autocast = precision::full;
  template <class A>
  static constexpr auto apply(operand<A> a) {
    using T = promoted_to_real<A>;
    const auto x = cast_to<T>(a);
    if (x.is_refused()) return x;
    if (x.rank() == 0 || x.rank() == max_rank) return refuse<T>(*x.g, 499);
    graph& g = *x.g;
    const int last = x.rank() - 1, m = g.syms.derive(extent_rule::quotient, g.syms.derive(extent_rule::sum, x.extent(last), 1), 2);
    const shape packed = with_extent(x.extents(), last, g.syms.derive(extent_rule::product, m, 2));
    const operand<T> r{&g, emit_as<op::rfft, T>(g, g.intern(g.syms.find(packed)), {x.id})};
    return view_as(r, with_axis(with_extent(x.extents(), last, m), last, 2));
  }
};

/// N = 0: twice the frequencies but one.
template <int N>
struct irfft {
  static constexpr std::string_view name = "irfft";
  static constexpr precision autocast = precision::full;
  template <class A, class B>
  static constexpr auto apply(operand<A> a, operand<B> b) {
    using T = promoted_to_real<promoted<A, B>>;
    const auto re = cast_to<T>(a), im = cast_to<T>(b);
    if (re.is_refused() || im.is_refused()) return re.is_refused() ? re : im;
    graph& g = *re.g;
    if (!g.syms.unify(re.extents(), im.extents())) return refuse<T>(g, 102);
    const int last = re.rank() - 1;
    if (last < 0 || (N > 0 && !g.syms.unify(re.extent(last), N / 2 + 1))) return refuse<T>(g, 499);
    const int m = re.extent(last);
    const int n = N > 0 ? N : g.syms.derive(extent_rule::product, g.syms.derive(extent_rule::difference, m, 1), 2);
    // Frequencies that are their own conjugate, the first and for even n the last, count once.
    const auto k = index_along<std::int64_t>(g, re.shape_number(), last);
    auto once = emit_on<op::equal>({}, k, literal_like(k, 0));
    if (N % 2 == 0) {
      const auto count = count_along<std::int64_t>(re, std::int64_t{1} << last);
      const auto all = ebb::broadcast_to(count, re.shape_number(), axis_run(0, re.rank()));
      once = emit_on<op::logical_or>({}, once, emit_on<op::equal>({}, k + 1, all));
    }
    const auto weight = emit_on<op::where>({}, once, literal_like(re, 1), literal_like(re, 2));
    const operand<T> packed{&g, emit<op::concat, T>(g, {(re * weight).id, (im * weight).id}, {last})};
    const operand<T> sum{&g, emit_as<op::rfft_adjoint, T>(g, g.intern(g.syms.find(with_extent(re.extents(), last, n))), {packed.id})};
    const auto length = cast_to<T>(count_along<std::int64_t>(sum, std::int64_t{1} << last));
    return sum / ebb::broadcast_to(length, sum.shape_number(), axis_run(0, sum.rank()));
  }
};

}  // namespace ebb::inline EBB_ABI::functions

namespace ebb::inline EBB_ABI {

/// The Fourier transform of real numbers along the last axis, at the frequencies 0 to n / 2, in a tuple: real parts, imaginary parts.
///   const auto [re, im] = ebb::rfft(x);
/// Shape: x [..., n]: twice [..., n / 2 + 1].   Dtype: x's; integers give float; narrow floats are computed in float.   Saves: nothing.
/// Error: 2 ulp of the sum of |x|, for each factor of n; a factor p adds p ulp.   Throws: if x has no axis.
template <class X>
constexpr auto rfft(X&& x) {
  const auto both = apply_function(functions::rfft{}, std::forward<X>(x));
  return std::tuple(select<-2, 0>(both), select<-2, 1>(both));
}
/// The n real numbers with this transform: irfft<n>(re, im); without n there are 2 (m - 1), for m frequencies. As in NumPy, the imaginary
/// part of frequency 0, and of n / 2 for even n, counts as 0 and has no gradient.
/// Shape: re, im [..., n / 2 + 1]: [..., n].   Dtype, Saves, Error: as rfft, of the sum of |re| and |im|.
/// Throws: if a call's frequencies do not fit n.
template <int N = 0, class Re, class Im>
constexpr auto irfft(Re&& re, Im&& im) {
  static_assert(N >= 0, "[ebb E0500] irfft<n>: a number of elements is not negative");
  return apply_function(functions::irfft<(N > 0 ? N : 0)>{}, std::forward<Re>(re), std::forward<Im>(im));
}

}  // namespace ebb::inline EBB_ABI

// ebb/shapes/fourier.hpp — the Fourier transforms of rows of any length, of real and of complex numbers, and their adjoints.
// SPDX-License-Identifier: BSL-1.0
//
// Method: the length is split into its prime factors, with 4 taken as one factor (Cooley and Tukey, Math. Comp. 19, 1965). Time grows with
// n times the sum of the factors: a large prime is slow. The order of operations depends on n only. The gradient is the adjoint transform.
#pragma once

#include "../kernel/workspace.hpp"
#include "../num/trigonometric.hpp"
#include "../op/emit.hpp"
#include "../op/whole.hpp"

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
  /// n complex numbers from as many, real parts first. The adjoint is the conjugate of the transform of conjugates.
  template <class T>
  constexpr void both(const T* x, T* out, bool is_adjoint) {
    for (std::size_t i = 0; i < n_; ++i) {
      re_[i] = static_cast<W>(x[i]);
      im_[i] = is_adjoint ? -static_cast<W>(x[n_ + i]) : static_cast<W>(x[n_ + i]);
    }
    if (n_ > 0) run(re_, im_, 1, to_re_, to_im_, n_);
    for (std::size_t i = 0; i < n_; ++i) {
      out[i] = static_cast<T>(to_re_[i]);
      out[n_ + i] = static_cast<T>(is_adjoint ? -to_im_[i] : to_im_[i]);
    }
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
        W x = u[0], y = v[0];  // frequency 0: sums without factors, so that an infinite element is not multiplied by 0
        for (std::size_t r = 1; r < p; ++r) x += u[2 * r], y += v[2 * r];
        to_re[k] = x, to_im[k] = y;
        for (std::size_t q = 1; q < p; ++q) {
          x = u[0], y = v[0];
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

/// The common part of transforms and their adjoints. Shape: given, not inferred.
template <class Op, class Adjoint>
struct fourier_rows : op_base {
  static constexpr kind what = kind::rows;
  static constexpr int arity = 1;
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  template <class T>
  static void whole(const whole_call& c) {
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
  template <class T>
  static constexpr void row(const T* const* in, const std::size_t* length, T* out, std::size_t count, const std::int64_t*) {
    using W = ebb::detail::computed_in<T>;
    const std::size_t n = Op::length_of(length[0], count);
    vec<W> memory(static_cast<int>(kernel::fourier<W>::numbers_for(n)), W(0));
    kernel::fourier<W> f(n, memory.data());
    Op::one(f, in[0], length[0], out, count);
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T>) {
    return grads(operand<T>{g.g, emit_as<Adjoint, T>(*g.g, x.shape_number(), {g.id})});
  }
};

struct rfft_adjoint;
struct fft_adjoint;

/// The transform of real rows: real parts, then imaginary parts.   Saves: nothing.   Error: see functions.   Source: as shapes/fft.hpp.
struct rfft : fourier_rows<rfft, rfft_adjoint> {
  static constexpr std::string_view name = "rfft";
  static constexpr std::size_t length_of(std::size_t length, std::size_t) { return length; }
  static constexpr void one(auto& f, const auto* x, std::size_t, auto* out, std::size_t count) { f.forward(x, out, count / 2); }
};

/// The transposed matrix of rfft.   Saves: nothing.   Error: as rfft.
struct rfft_adjoint : fourier_rows<rfft_adjoint, rfft> {
  static constexpr std::string_view name = "rfft_adjoint";
  static constexpr std::size_t length_of(std::size_t, std::size_t count) { return count; }
  static constexpr void one(auto& f, const auto* x, std::size_t length, auto* out, std::size_t) { f.adjoint(x, out, length / 2); }
};

/// The transform of complex rows: real parts, then imaginary parts, as in the result.   Saves: nothing.   Error: as rfft.
struct fft : fourier_rows<fft, fft_adjoint> {
  static constexpr std::string_view name = "fft";
  static constexpr std::size_t length_of(std::size_t length, std::size_t) { return length / 2; }
  static constexpr void one(auto& f, const auto* x, std::size_t, auto* out, std::size_t) { f.both(x, out, false); }
};

/// The transposed matrix of fft: the inverse transform times n.   Saves: nothing.   Error: as rfft.
struct fft_adjoint : fourier_rows<fft_adjoint, fft> {
  static constexpr std::string_view name = "fft_adjoint";
  static constexpr std::size_t length_of(std::size_t length, std::size_t) { return length / 2; }
  static constexpr void one(auto& f, const auto* x, std::size_t, auto* out, std::size_t) { f.both(x, out, true); }
};

}  // namespace ebb::inline EBB_ABI::op

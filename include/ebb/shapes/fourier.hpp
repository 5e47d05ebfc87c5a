// ebb/shapes/fourier.hpp — the Fourier transforms of rows of any length, of real and of complex numbers, and their adjoints.
// SPDX-License-Identifier: BSL-1.0
//
// Method: the length is split into its prime factors, with 4 taken as one factor (Cooley and Tukey, Math. Comp. 19, 1965). Time grows with
// n times the sum of the factors: a large prime is slow. The order of operations depends on n only. The gradient is the adjoint transform.
//
// [note: transforms in lanes]
// Elements with the same number in adjacent transforms are adjacent (T. G. Stockham, AFIPS 28, 1966). So are the rows of a group: lanes run
// along both. Each step reads one array and writes the other.
#pragma once

#include "../kernel/lanes.hpp"
#include "../kernel/transpose.hpp"
#include "../kernel/workspace.hpp"
#include "../num/trigonometric.hpp"
#include "../op/emit.hpp"
#include "../op/whole.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace ebb::inline EBB_ABI::kernel {

/// A step of the transforms of some rows: `factor` of those of `m` elements become one. Element k of transform t of a row is at
/// (k * count + t) * rows + row if there are `count` transforms; after the step these are `apart`.
template <class W>
struct fourier_step {
  std::size_t n, rows, factor, m, apart;
  const W *cos, *sin, *re, *im;
  W *to_re, *to_im, *part;

  /// Registers E of adjacent elements. The last one begins earlier, and repeats what its neighbour did.
  template <class E>
  EBB_INLINE constexpr void run() const {
    if (factor == 4) each<E>([](const auto& s, auto at) EBB_LAMBDA { s.four(at); });
    else if (factor == 2) each<E>([](const auto& s, auto at) EBB_LAMBDA { s.two(at); });
    else each<E>([](const auto& s, auto at) EBB_LAMBDA { s.any(at); });
  }

 private:
  /// Element k of `width / rows` transforms of all rows, from the place `from` on.
  template <class E>
  struct place {
    static constexpr std::size_t lanes = sizeof(E) / sizeof(W);
    std::size_t k, width, from;
  };
  template <class E>
  struct number {
    E re, im;
  };
  template <class E>
  EBB_INLINE constexpr void each(auto f) const {
    const std::size_t width = apart * rows, lanes = place<E>::lanes;
    for (std::size_t k = 0; k < m; ++k)
      for (std::size_t j = 0; j < width; j += lanes) f(*this, place<E>{k, width, std::min(j, width - lanes)});
  }
  template <class E>
  EBB_INLINE static constexpr E get(const W* p) {
    if constexpr (std::is_same_v<E, W>) return *p;
    else return simd::load_bytes<W, sizeof(E)>(p);
  }
  template <class E>
  EBB_INLINE static constexpr void set(W* p, E x) {
    if constexpr (std::is_same_v<E, W>) *p = x;
    else std::memcpy(p, &x, sizeof x);
  }
  template <class E>
  EBB_INLINE constexpr void put(place<E> at, std::size_t k, E x, E y) const {
    set<E>(to_re + k * at.width + at.from, x);
    set<E>(to_im + k * at.width + at.from, y);
  }
  /// The element of transform r of those that become one, times its root.
  template <class E>
  EBB_INLINE constexpr number<E> turned(place<E> at, std::size_t r) const {
    const std::size_t from = (at.k * factor + r) * at.width + at.from;
    const E x = get<E>(re + from), y = get<E>(im + from);
    if (r == 0) return {x, y};
    const W c = cos[r * at.k * apart], s = sin[r * at.k * apart];
    return {x * c - y * s, x * s + y * c};
  }
  template <class E>
  EBB_INLINE constexpr void two(place<E> at) const {
    const auto x = turned(at, 0), y = turned(at, 1);
    put<E>(at, at.k, x.re + y.re, x.im + y.im);
    put<E>(at, m + at.k, x.re - y.re, x.im - y.im);
  }
  template <class E>
  EBB_INLINE constexpr void four(place<E> at) const {
    const auto x = turned(at, 0), y = turned(at, 1), z = turned(at, 2), w = turned(at, 3);
    const E a = x.re + z.re, b = x.im + z.im, c = x.re - z.re, d = x.im - z.im;
    const E e = y.re + w.re, f = y.im + w.im, g = y.re - w.re, h = y.im - w.im;
    put<E>(at, at.k, a + e, b + f);
    put<E>(at, m + at.k, c + h, d - g);
    put<E>(at, 2 * m + at.k, a - e, b - f);
    put<E>(at, 3 * m + at.k, c - h, d + g);
  }
  template <class E>
  EBB_INLINE constexpr void any(place<E> at) const {
    // Real and imaginary parts lie apart: of pairs of them g++ 12 makes an instruction that fuses products and sums.
    W *const x_of = part, *const y_of = part + factor * place<E>::lanes;
    const auto first = turned(at, 0);
    E x = first.re, y = first.im;  // frequency 0: sums without factors, so that an infinite element is not multiplied by 0
    for (std::size_t r = 1; r < factor; ++r) {
      const auto z = turned(at, r);
      set<E>(x_of + r * place<E>::lanes, z.re);
      set<E>(y_of + r * place<E>::lanes, z.im);
      x = x + z.re, y = y + z.im;
    }
    put<E>(at, at.k, x, y);
    const std::size_t turn = n / factor;
    for (std::size_t q = 1; q < factor; ++q) {
      x = first.re, y = first.im;
      for (std::size_t r = 1, root = q; r < factor; ++r, root = root + q < factor ? root + q : root + q - factor) {
        const W c = cos[root * turn], s = sin[root * turn];
        const E u = get<E>(x_of + r * place<E>::lanes), v = get<E>(y_of + r * place<E>::lanes);
        x = x + (u * c - v * s), y = y + (u * s + v * c);
      }
      put<E>(at, q * m + at.k, x, y);
    }
  }
};

template <class W>
EBB_APART void run_in_lanes(const fourier_step<W>& s) {
  constexpr std::size_t least = 16;
  const std::size_t bytes = s.apart * s.rows * sizeof(W);
  if (bytes >= simd::register_bytes) s.template run<simd::vector<W>>();
  else if (bytes >= least) s.template run<simd::vector<W, least>>();
  else s.template run<W>();
}
/// The cosines and sines of lane_count angles, in lanes.
template <class W>
EBB_APART void cos_and_sin(const W* angle, W* cos, W* sin) {
  const auto x = lanes<W>::load(angle);
  lane::cos(x).store(cos);
  lane::sin(x).store(sin);
}

/// The complex transforms of rows of n elements. W: float or double. InLanes: not in a constant expression.
template <class W, bool InLanes>
class fourier {
 public:
  static constexpr std::size_t numbers_for(std::size_t n, std::size_t rows) { return 2 * n + 6 * n * rows; }
  /// The rows that are computed together: so many that the numbers stay in the cache.
  static constexpr std::size_t group_of(std::size_t n, std::size_t rows) {
    constexpr std::size_t lanes = static_cast<std::size_t>(simd::count_of<W>), few = 16 / sizeof(W), cached = 4096;
    return std::min(rows, !InLanes ? 1 : n <= cached / lanes * 8 ? lanes : few);
  }

  /// memory: numbers_for(n, rows).
  constexpr fourier(std::size_t n, std::size_t rows, W* memory)
      : n_(n), rows_(rows), cos_(memory), sin_(cos_ + n), now_(sin_ + n), next_(now_ + 2 * n * rows), part_(next_ + 2 * n * rows) {
    set_roots();
  }
  /// The next call has so many rows, at most those of the constructor.
  constexpr void set_rows(std::size_t rows) { rows_ = rows; }

  /// Of each row the real parts of the transform of x, then the imaginary ones, `count` each.
  template <class T>
  constexpr void forward(const T* x, T* out, std::size_t count) {
    const std::size_t all = n_ * rows_;
    read(x, n_, n_, now_);
    std::fill_n(now_ + all, all, W(0));
    run();
    const std::size_t least = std::min(n_, count);
    write(now_, least, out, 2 * count);
    write(now_ + all, least, out + count, 2 * count);
    for (std::size_t r = 0; least < count && r < 2 * rows_; ++r) std::fill_n(out + r * count + least, count - least, T(0));
  }
  /// Its adjoint: n numbers from `count` real parts and `count` imaginary ones. The sum of z_k e^(+i ..) is the conjugate of a transform.
  template <class T>
  constexpr void adjoint(const T* x, T* out, std::size_t count) {
    const std::size_t all = n_ * rows_, least = std::min(n_, count);
    read(x, 2 * count, least, now_);
    read(x + count, 2 * count, least, now_ + all);
    flip(now_ + all, least * rows_);
    for (W* to : {now_, now_ + all}) std::fill_n(to + least * rows_, all - least * rows_, W(0));
    run();
    write(now_, n_, out, n_);
  }
  /// n complex numbers from as many, real parts first. The adjoint is the conjugate of the transform of conjugates.
  template <class T>
  constexpr void both(const T* x, T* out, bool is_adjoint) {
    const std::size_t all = n_ * rows_;
    read(x, 2 * n_, 2 * n_, now_);
    if (is_adjoint) flip(now_ + all, all);
    run();
    if (is_adjoint) flip(now_ + all, all);
    write(now_, 2 * n_, out, 2 * n_);
  }

 private:
  /// Columns of the rows of x, one after another; and the other way.
  constexpr void read(const auto* x, std::size_t length, std::size_t columns, W* to) const { turn(x, length, to, rows_, rows_, columns); }
  constexpr void write(const W* from, std::size_t columns, auto* out, std::size_t length) const {
    turn(from, rows_, out, length, columns, rows_);
  }
  /// Row i of `from` becomes column i of `to`. Rows are so many elements apart.
  template <class A, class B>
  constexpr void turn(const A* from, std::size_t from_row, B* to, std::size_t to_row, std::size_t rows, std::size_t columns) const {
    if constexpr (InLanes && std::is_same_v<A, B>) {
      constexpr auto bytes = static_cast<std::ptrdiff_t>(sizeof(W));
      if (rows_ == 1) std::copy_n(from, rows * columns, to);
      else
        transpose<sizeof(W)>(reinterpret_cast<char*>(to), static_cast<std::ptrdiff_t>(to_row) * bytes, reinterpret_cast<const char*>(from),
                             static_cast<std::ptrdiff_t>(from_row) * bytes, rows, columns);
    } else
      for (std::size_t i = 0; i < columns; ++i)
        for (std::size_t r = 0; r < rows; ++r) to[i * to_row + r] = static_cast<B>(from[r * from_row + i]);
  }
  static constexpr void flip(W* x, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) x[i] = -x[i];
  }
  /// e^(-2 pi i k / n) from an angle of at most pi / 4, so that multiples of a quarter turn are exact.
  constexpr void set_roots() {
    constexpr std::size_t some = InLanes ? lane_count : 1;
    double angle[some] = {}, c[some] = {}, s[some] = {};
    std::size_t quarter = 0, rest = 0, quarters[some] = {};  // k is so many quarters of n, and rest / 4
    bool beyond[some] = {};
    for (std::size_t k = 0; k < n_; k += some) {
      for (std::size_t i = 0; i < some; ++i) {
        beyond[i] = 2 * rest > n_;
        quarters[i] = quarter;
        angle[i] = 1.57079632679489661923 * (static_cast<double>(beyond[i] ? n_ - rest : rest) / static_cast<double>(n_));
        for (rest += 4; rest >= n_; rest -= n_) ++quarter;
      }
      if constexpr (InLanes) cos_and_sin(angle, c, s);
      else c[0] = lane::cos(angle[0]), s[0] = lane::sin(angle[0]);
      for (std::size_t i = 0; i < std::min(some, n_ - k); ++i) {
        const W u = static_cast<W>(c[i]), v = static_cast<W>(s[i]), x = beyond[i] ? v : u, y = beyond[i] ? u : v;
        const std::size_t q = quarters[i];
        cos_[k + i] = q == 0 ? x : q == 1 ? -y : q == 2 ? -x : y;
        sin_[k + i] = q == 0 ? -y : q == 1 ? -x : q == 2 ? y : x;
      }
    }
  }
  static constexpr std::size_t factor_of(std::size_t n) {
    if (n % 4 == 0) return 4;
    for (std::size_t p = 2; p * p <= n; ++p)
      if (n % p == 0) return p;
    return n;
  }
  constexpr void run() {
    std::size_t factors[64] = {}, count = 0, m = 1;
    for (std::size_t n = n_; n > 1; n /= factors[count++]) factors[count] = factor_of(n);
    for (const std::size_t all = n_ * rows_; count > 0; std::swap(now_, next_)) {
      const std::size_t factor = factors[--count];
      const fourier_step<W> s{n_, rows_, factor, m, n_ / m / factor, cos_, sin_, now_, now_ + all, next_, next_ + all, part_};
      if constexpr (InLanes) run_in_lanes(s);
      else s.template run<W>();
      m *= factor;
    }
  }

  std::size_t n_, rows_;
  W *cos_, *sin_, *now_, *next_, *part_;
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
    using in_lanes = kernel::fourier<W, true>;
    std::size_t rows = x.volume(0, x.rank - 1), group = in_lanes::group_of(n, rows);
    in_lanes f(n, group, reinterpret_cast<W*>(thread_scratch().take(in_lanes::numbers_for(n, group) * sizeof(W))));
    const auto* from = static_cast<const T*>(c.in[0]);
    auto* to = static_cast<T*>(c.out);
    for (; rows > 0; rows -= group, from += group * length, to += group * count) {
      group = std::min(group, rows);
      f.set_rows(group);
      Op::several(f, from, length, to, count);
    }
  }
  template <class T>
  static constexpr void row(const T* const* in, const std::size_t* length, T* out, std::size_t count, const std::int64_t*) {
    using W = ebb::detail::computed_in<T>;
    using one = kernel::fourier<W, false>;
    const std::size_t n = Op::length_of(length[0], count);
    vec<W> memory(static_cast<int>(one::numbers_for(n, 1)), W(0));
    one f(n, 1, memory.data());
    Op::several(f, in[0], length[0], out, count);
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
  static constexpr void several(auto& f, const auto* x, std::size_t, auto* out, std::size_t count) { f.forward(x, out, count / 2); }
};

/// The transposed matrix of rfft.   Saves: nothing.   Error: as rfft.
struct rfft_adjoint : fourier_rows<rfft_adjoint, rfft> {
  static constexpr std::string_view name = "rfft_adjoint";
  static constexpr std::size_t length_of(std::size_t, std::size_t count) { return count; }
  static constexpr void several(auto& f, const auto* x, std::size_t length, auto* out, std::size_t) { f.adjoint(x, out, length / 2); }
};

/// The transform of complex rows: real parts, then imaginary parts, as in the result.   Saves: nothing.   Error: as rfft.
struct fft : fourier_rows<fft, fft_adjoint> {
  static constexpr std::string_view name = "fft";
  static constexpr std::size_t length_of(std::size_t length, std::size_t) { return length / 2; }
  static constexpr void several(auto& f, const auto* x, std::size_t, auto* out, std::size_t) { f.both(x, out, false); }
};

/// The transposed matrix of fft: the inverse transform times n.   Saves: nothing.   Error: as rfft.
struct fft_adjoint : fourier_rows<fft_adjoint, fft> {
  static constexpr std::string_view name = "fft_adjoint";
  static constexpr std::size_t length_of(std::size_t length, std::size_t) { return length / 2; }
  static constexpr void several(auto& f, const auto* x, std::size_t, auto* out, std::size_t) { f.both(x, out, true); }
};

}  // namespace ebb::inline EBB_ABI::op

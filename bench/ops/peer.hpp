// bench/ops/peer.hpp — the same formula as a plain loop, over libmvec's functions, and over SLEEF's.
// SPDX-License-Identifier: BSL-1.0
//
// A formula is written once on num<T, Library>: an element for a plain loop, or a register for libmvec and SLEEF. libmvec's functions have
// up to 4 ulp; of SLEEF those with 1 ulp are taken, as ebb's are near to that. All peers are compiled with -O3.
#pragma once

#include "table.hpp"

#include <cmath>
#include <type_traits>

#ifndef __AVX2__  // their registers
#undef OPS_MVEC
#undef OPS_SLEEF
#endif
#ifdef OPS_MVEC
#include <immintrin.h>
#endif
#ifdef OPS_SLEEF
#include <immintrin.h>
#include <sleef.h>
#endif

namespace ops {

struct plain {
  static constexpr const char* name = "plain";
};
struct mvec {
  static constexpr const char* name = "mvec";
};
struct sleef {
  static constexpr const char* name = "sleef";
};

#if defined(OPS_MVEC) || defined(OPS_SLEEF)
#ifdef __AVX512F__
using registers_f = __m512;
using registers_d = __m512d;
#else
using registers_f = __m256;
using registers_d = __m256d;
#endif
#else
using registers_f = float;
using registers_d = double;
#endif

template <class T, class Library>
struct num {
  using held = std::conditional_t<std::is_same_v<Library, plain>, T, std::conditional_t<sizeof(T) == 4, registers_f, registers_d>>;
  held v;
  num() = default;
  num(double x) : v(held{} + static_cast<T>(x)) {}
  static num of(held x) {
    num r;
    r.v = x;
    return r;
  }
  friend num operator+(num a, num b) { return of(a.v + b.v); }
  friend num operator-(num a, num b) { return of(a.v - b.v); }
  friend num operator*(num a, num b) { return of(a.v * b.v); }
  friend num operator/(num a, num b) { return of(a.v / b.v); }
  friend num operator-(num a) { return of(-a.v); }
  friend auto operator<(num a, num b) { return a.v < b.v; }
  friend auto operator>(num a, num b) { return a.v > b.v; }
  friend num select(auto mask, num a, num b) { return of(mask ? a.v : b.v); }
  friend num abs(num a) {
    if constexpr (std::is_same_v<Library, plain>) return of(std::fabs(a.v));
    else return select(a.v < held{}, -a, a);
  }
  friend num max(num a, num b) { return select(a.v > b.v, a, b); }
  friend num min(num a, num b) { return select(a.v < b.v, a, b); }
  friend num sqrt(num a) {
    if constexpr (std::is_same_v<Library, plain>) return of(std::sqrt(a.v));
#if defined(OPS_MVEC) || defined(OPS_SLEEF)
#ifdef __AVX512F__
    else if constexpr (sizeof(T) == 4) return of(_mm512_sqrt_ps(a.v));
    else return of(_mm512_sqrt_pd(a.v));
#else
    else if constexpr (sizeof(T) == 4) return of(_mm256_sqrt_ps(a.v));
    else return of(_mm256_sqrt_pd(a.v));
#endif
#endif
  }
};

/// Functions of the C library, one element at a time.
#define OPS_PLAIN(f) \
  template <class T> \
  num<T, plain> f(num<T, plain> x) { return num<T, plain>::of(std::f(x.v)); }
#define OPS_PLAIN2(f) \
  template <class T> \
  num<T, plain> f(num<T, plain> x, num<T, plain> y) { return num<T, plain>::of(std::f(x.v, y.v)); }
OPS_PLAIN(exp) OPS_PLAIN(exp2) OPS_PLAIN(expm1) OPS_PLAIN(log) OPS_PLAIN(log2) OPS_PLAIN(log10) OPS_PLAIN(log1p) OPS_PLAIN(tanh)
OPS_PLAIN(sinh) OPS_PLAIN(cosh) OPS_PLAIN(asinh) OPS_PLAIN(acosh) OPS_PLAIN(atanh) OPS_PLAIN(sin) OPS_PLAIN(cos) OPS_PLAIN(tan)
OPS_PLAIN(asin) OPS_PLAIN(acos) OPS_PLAIN(atan) OPS_PLAIN(erf) OPS_PLAIN(erfc) OPS_PLAIN(lgamma) OPS_PLAIN(tgamma) OPS_PLAIN(cbrt)
OPS_PLAIN(floor) OPS_PLAIN(ceil) OPS_PLAIN(trunc) OPS_PLAIN(rint)
OPS_PLAIN2(pow) OPS_PLAIN2(atan2) OPS_PLAIN2(hypot) OPS_PLAIN2(fmod) OPS_PLAIN2(copysign) OPS_PLAIN2(nextafter)
#undef OPS_PLAIN
#undef OPS_PLAIN2

#ifdef OPS_MVEC
#ifdef __AVX512F__
#define OPS_MVEC_F(f) _ZGVeN16v_##f
#define OPS_MVEC_D(f) _ZGVeN8v_##f
#define OPS_MVEC_F2(f) _ZGVeN16vv_##f
#define OPS_MVEC_D2(f) _ZGVeN8vv_##f
#else
#define OPS_MVEC_F(f) _ZGVdN8v_##f
#define OPS_MVEC_D(f) _ZGVdN4v_##f
#define OPS_MVEC_F2(f) _ZGVdN8vv_##f
#define OPS_MVEC_D2(f) _ZGVdN4vv_##f
#endif
#define OPS_OF_MVEC(name) \
  extern "C" registers_f OPS_MVEC_F(name##f)(registers_f); \
  extern "C" registers_d OPS_MVEC_D(name)(registers_d); \
  inline num<float, mvec> name(num<float, mvec> x) { return num<float, mvec>::of(OPS_MVEC_F(name##f)(x.v)); } \
  inline num<double, mvec> name(num<double, mvec> x) { return num<double, mvec>::of(OPS_MVEC_D(name)(x.v)); }
#define OPS_OF_MVEC2(name) \
  extern "C" registers_f OPS_MVEC_F2(name##f)(registers_f, registers_f); \
  extern "C" registers_d OPS_MVEC_D2(name)(registers_d, registers_d); \
  inline num<float, mvec> name(num<float, mvec> x, num<float, mvec> y) { return num<float, mvec>::of(OPS_MVEC_F2(name##f)(x.v, y.v)); } \
  inline num<double, mvec> name(num<double, mvec> x, num<double, mvec> y) { return num<double, mvec>::of(OPS_MVEC_D2(name)(x.v, y.v)); }
OPS_OF_MVEC(exp) OPS_OF_MVEC(exp2) OPS_OF_MVEC(exp10) OPS_OF_MVEC(expm1) OPS_OF_MVEC(log) OPS_OF_MVEC(log2) OPS_OF_MVEC(log10)
OPS_OF_MVEC(log1p) OPS_OF_MVEC(tanh) OPS_OF_MVEC(sinh) OPS_OF_MVEC(cosh) OPS_OF_MVEC(asinh) OPS_OF_MVEC(acosh) OPS_OF_MVEC(atanh)
OPS_OF_MVEC(sin) OPS_OF_MVEC(cos) OPS_OF_MVEC(tan) OPS_OF_MVEC(asin) OPS_OF_MVEC(acos) OPS_OF_MVEC(atan) OPS_OF_MVEC(erf)
OPS_OF_MVEC(erfc) OPS_OF_MVEC(cbrt) OPS_OF_MVEC2(pow) OPS_OF_MVEC2(atan2) OPS_OF_MVEC2(hypot)
#endif

#ifdef OPS_SLEEF
#ifdef __AVX512F__
#define OPS_SLEEF_NAME(f, ulp) Sleef_##f##16_##ulp##avx512f
#define OPS_SLEEF_NAME_D(f, ulp) Sleef_##f##8_##ulp##avx512f
#else
#define OPS_SLEEF_NAME(f, ulp) Sleef_##f##8_##ulp##avx2
#define OPS_SLEEF_NAME_D(f, ulp) Sleef_##f##4_##ulp##avx2
#endif
#define OPS_OF_SLEEF(name, ulp) \
  inline num<float, sleef> name(num<float, sleef> x) { return num<float, sleef>::of(OPS_SLEEF_NAME(name##f, ulp)(x.v)); } \
  inline num<double, sleef> name(num<double, sleef> x) { return num<double, sleef>::of(OPS_SLEEF_NAME_D(name##d, ulp)(x.v)); }
#define OPS_OF_SLEEF2(name, ulp) \
  inline num<float, sleef> name(num<float, sleef> x, num<float, sleef> y) { \
    return num<float, sleef>::of(OPS_SLEEF_NAME(name##f, ulp)(x.v, y.v)); \
  } \
  inline num<double, sleef> name(num<double, sleef> x, num<double, sleef> y) { \
    return num<double, sleef>::of(OPS_SLEEF_NAME_D(name##d, ulp)(x.v, y.v)); \
  }
OPS_OF_SLEEF(exp, u10) OPS_OF_SLEEF(exp2, u10) OPS_OF_SLEEF(exp10, u10) OPS_OF_SLEEF(expm1, u10) OPS_OF_SLEEF(log, u10)
OPS_OF_SLEEF(log2, u10) OPS_OF_SLEEF(log10, u10) OPS_OF_SLEEF(log1p, u10) OPS_OF_SLEEF(tanh, u10) OPS_OF_SLEEF(sinh, u10)
OPS_OF_SLEEF(cosh, u10) OPS_OF_SLEEF(asinh, u10) OPS_OF_SLEEF(acosh, u10) OPS_OF_SLEEF(atanh, u10) OPS_OF_SLEEF(sin, u10)
OPS_OF_SLEEF(cos, u10) OPS_OF_SLEEF(tan, u10) OPS_OF_SLEEF(asin, u10) OPS_OF_SLEEF(acos, u10) OPS_OF_SLEEF(atan, u10)
OPS_OF_SLEEF(erf, u10) OPS_OF_SLEEF(erfc, u15) OPS_OF_SLEEF(lgamma, u10) OPS_OF_SLEEF(tgamma, u10) OPS_OF_SLEEF(cbrt, u10)
OPS_OF_SLEEF(sinpi, u05) OPS_OF_SLEEF(cospi, u05) OPS_OF_SLEEF2(pow, u10) OPS_OF_SLEEF2(atan2, u10) OPS_OF_SLEEF2(hypot, u05)
#endif

template <class T>
num<T, plain> exp10(num<T, plain> x) {
  return num<T, plain>::of(std::pow(T(10), x.v));
}
template <class T>
num<T, plain> sinpi(num<T, plain> x) {
  return sin(3.14159265358979323846 * x);
}
template <class T>
num<T, plain> cospi(num<T, plain> x) {
  return cos(3.14159265358979323846 * x);
}

/// The results of a derivative: one array for each operand.
template <class N>
struct pair {
  N first, second;
};

template <class T, class Library, class F, int Arity>
[[gnu::noinline]] void run(const T* const* in, void* const* out, std::size_t n) {
  using N = num<T, Library>;
  using held = typename N::held;
  constexpr std::size_t width = sizeof(held) / sizeof(T);
  const T* __restrict x = in[0];
  const T* __restrict y = Arity > 1 ? in[1] : in[0];
  const auto load = [](const T* from) {
    held r;
    __builtin_memcpy(&r, from, sizeof r);
    return N::of(r);
  };
  for (std::size_t i = 0; i < n; i += width) {
    const auto store = [&](int j, N r) { __builtin_memcpy(static_cast<T*>(out[j]) + i, &r.v, sizeof r.v); };
    const auto r = [&] {
      if constexpr (Arity == 1) return F{}(load(x + i));
      else return F{}(load(x + i), load(y + i));
    }();
    if constexpr (std::is_same_v<std::remove_const_t<decltype(r)>, N>) store(0, r);
    else {
      store(0, r.first);
      store(1, r.second);
    }
  }
}

/// Plain loops write through restricted pointers, so that the compiler vectorizes what it can.
template <class T, class F, int Arity>
[[gnu::noinline]] void run_plain(const T* const* in, void* const* out, std::size_t n) {
  using N = num<T, plain>;
  const T* __restrict x = in[0];
  const T* __restrict y = in[Arity - 1];
  T* __restrict a = static_cast<T*>(out[0]);
  if constexpr (Arity == 1) {
    for (std::size_t i = 0; i < n; ++i) a[i] = F{}(N::of(x[i])).v;
  } else if constexpr (std::is_same_v<decltype(F{}(N(), N())), N>) {
    for (std::size_t i = 0; i < n; ++i) a[i] = F{}(N::of(x[i]), N::of(y[i])).v;
  } else {
    T* __restrict b = static_cast<T*>(out[1]);
    for (std::size_t i = 0; i < n; ++i) {
      const auto r = F{}(N::of(x[i]), N::of(y[i]));
      a[i] = r.first.v;
      b[i] = r.second.v;
    }
  }
}

inline constexpr unsigned by_plain = 1, by_mvec = 2, by_sleef = 4, by_all = 7;

/// Adds the value and the gradient by the libraries in Who. Value and Slope are formulas on num; a slope by two operands is a pair.
template <unsigned Who = by_all, int Arity = 1, class Value, class Slope>
void add(table& t, const char* name, Value, Slope) {
  const auto each = [&]<class F>(F, bool gradient) {
    if constexpr (Who & by_plain)
      t.peers.push_back({name, plain::name, gradient, &run_plain<float, F, Arity>, &run_plain<double, F, Arity>});
#ifdef OPS_MVEC
    if constexpr ((Who & by_mvec) != 0)
      t.peers.push_back({name, mvec::name, gradient, &run<float, mvec, F, Arity>, &run<double, mvec, F, Arity>});
#endif
#ifdef OPS_SLEEF
    if constexpr ((Who & by_sleef) != 0)
      t.peers.push_back({name, sleef::name, gradient, &run<float, sleef, F, Arity>, &run<double, sleef, F, Arity>});
#endif
  };
  each(Value{}, false);
  if constexpr (!std::is_same_v<Slope, std::nullptr_t>) each(Slope{}, true);
}

}  // namespace ops

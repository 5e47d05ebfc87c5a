// ebb/kernel/instructions.hpp — operations without a C++ operator, by an instruction of the target or in a portable form.
// SPDX-License-Identifier: BSL-1.0
//
// A function that is only declared is not for this target: see base/target.hpp.
// Repaired here, all seen in xsimd 8.1: fma does not fuse on AVX-512; floor and nearbyint lose the sign of zero on SSE2; minimum and
// maximum of a NaN depend on the target; sqrt of floats is an approximation on aarch64.
#pragma once

#include "../num/bfloat16.hpp"
#include "../num/float16.hpp"
#include "under_mask.hpp"

namespace ebb::inline EBB_ABI::simd {

// --- comparisons -------------------------------------------------------------------------------------------------------------------

/// Whether x or y is NaN, as masks that any_lane and | take.
#if defined(__AVX512F__)
EBB_INLINE mask<float> unordered(vector<float> x, vector<float> y) { return _mm512_cmp_ps_mask(x, y, _CMP_UNORD_Q); }
EBB_INLINE mask<double> unordered(vector<double> x, vector<double> y) { return _mm512_cmp_pd_mask(x, y, _CMP_UNORD_Q); }
#elif defined(__AVX__)
EBB_INLINE mask<float> unordered(vector<float> x, vector<float> y) {
  return reinterpret_cast<mask<float>>(_mm256_cmp_ps(x, y, _CMP_UNORD_Q));
}
EBB_INLINE mask<double> unordered(vector<double> x, vector<double> y) {
  return reinterpret_cast<mask<double>>(_mm256_cmp_pd(x, y, _CMP_UNORD_Q));
}
#elif defined(__SSE2__)
EBB_INLINE mask<float> unordered(vector<float> x, vector<float> y) { return reinterpret_cast<mask<float>>(_mm_cmpunord_ps(x, y)); }
EBB_INLINE mask<double> unordered(vector<double> x, vector<double> y) { return reinterpret_cast<mask<double>>(_mm_cmpunord_pd(x, y)); }
#else
template <class V>
EBB_INLINE auto unordered(V x, V y) { return (x != x) | (y != y); }
#endif

/// Whether a mask is true in any lane.
template <class M>
EBB_INLINE bool any_lane(M m) {
  if constexpr (std::is_integral_v<M>) return m != 0;
  else return to_bits(reinterpret_cast<mask<float>>(m)) != 0;
}

// --- arithmetic --------------------------------------------------------------------------------------------------------------------

// For float and for double: fma (rounded once where lane::fused), sqrt, floor, trunc, rint (ties to even), and the larger and the smaller
// one as x86 has them: y if they are equal or not comparable.
using floats = vector<float>;
using doubles = vector<double>;

#if defined(__AVX512F__)

// These are the masked forms of the intrinsics: in the others, g++ 12 warns about an uninitialized value.
EBB_INLINE floats fma(floats x, floats y, floats z) { return lane::fused ? floats(_mm512_fmadd_ps(x, y, z)) : x * y + z; }
EBB_INLINE doubles fma(doubles x, doubles y, doubles z) { return lane::fused ? doubles(_mm512_fmadd_pd(x, y, z)) : x * y + z; }
EBB_INLINE floats sqrt(floats x) { return _mm512_maskz_sqrt_ps(0xffff, x); }
EBB_INLINE doubles sqrt(doubles x) { return _mm512_maskz_sqrt_pd(0xff, x); }
EBB_INLINE floats floor(floats x) { return _mm512_maskz_roundscale_ps(0xffff, x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
EBB_INLINE doubles floor(doubles x) { return _mm512_maskz_roundscale_pd(0xff, x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
EBB_INLINE floats trunc(floats x) { return _mm512_maskz_roundscale_ps(0xffff, x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
EBB_INLINE doubles trunc(doubles x) { return _mm512_maskz_roundscale_pd(0xff, x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
EBB_INLINE floats rint(floats x) { return _mm512_maskz_roundscale_ps(0xffff, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
EBB_INLINE doubles rint(doubles x) { return _mm512_maskz_roundscale_pd(0xff, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
EBB_INLINE floats larger(floats x, floats y) { return _mm512_maskz_max_ps(0xffff, x, y); }
EBB_INLINE doubles larger(doubles x, doubles y) { return _mm512_maskz_max_pd(0xff, x, y); }
EBB_INLINE floats smaller(floats x, floats y) { return _mm512_maskz_min_ps(0xffff, x, y); }
EBB_INLINE doubles smaller(doubles x, doubles y) { return _mm512_maskz_min_pd(0xff, x, y); }
/// x * 2^n, rounded once.
EBB_INLINE floats scale(floats x, floats n) { return _mm512_maskz_scalef_ps(0xffff, x, n); }
EBB_INLINE doubles scale(doubles x, doubles n) { return _mm512_maskz_scalef_pd(0xff, x, n); }
/// The m with |x| = m * 2^n and 0.75 <= m < 1.5.
EBB_INLINE floats significand(floats x) { return _mm512_maskz_getmant_ps(0xffff, x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_zero); }
EBB_INLINE doubles significand(doubles x) { return _mm512_maskz_getmant_pd(0xff, x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_zero); }
/// The n with x = m * 2^n and 1 <= m < 2.
EBB_INLINE floats exponent(floats x) { return _mm512_maskz_getexp_ps(0xffff, x); }
EBB_INLINE doubles exponent(doubles x) { return _mm512_maskz_getexp_pd(0xff, x); }
// x / y, rounded down, and towards zero.
inline constexpr __mmask16 every_float = 0xffff;
inline constexpr __mmask8 every_double = 0xff;
inline constexpr int downwards = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC, towards_zero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
EBB_INLINE floats quotient_down(floats x, floats y) { return _mm512_maskz_div_round_ps(every_float, x, y, downwards); }
EBB_INLINE doubles quotient_down(doubles x, doubles y) { return _mm512_maskz_div_round_pd(every_double, x, y, downwards); }
EBB_INLINE floats quotient_to_zero(floats x, floats y) { return _mm512_maskz_div_round_ps(every_float, x, y, towards_zero); }
EBB_INLINE doubles quotient_to_zero(doubles x, doubles y) { return _mm512_maskz_div_round_pd(every_double, x, y, towards_zero); }

#else

template <class T>
EBB_INLINE vector<T> fma_of(vector<T> x, vector<T> y, vector<T> z) {
  if constexpr (lane::fused) return from_xsimd<T>(xsimd::fma(to_xsimd<T>(x), to_xsimd<T>(y), to_xsimd<T>(z)));
  else return x * y + z;
}
EBB_INLINE floats fma(floats x, floats y, floats z) { return fma_of<float>(x, y, z); }
EBB_INLINE doubles fma(doubles x, doubles y, doubles z) { return fma_of<double>(x, y, z); }
#if defined(__aarch64__)  // xsimd 8.1 approximates the root of floats, as 32-bit ARM has to: sqrt(0) was -0, sqrt(inf) NaN
EBB_INLINE floats sqrt(floats x) { return reinterpret_cast<floats>(vsqrtq_f32(to_xsimd<float>(x))); }
EBB_INLINE doubles sqrt(doubles x) { return reinterpret_cast<doubles>(vsqrtq_f64(to_xsimd<double>(x))); }
#else
EBB_INLINE floats sqrt(floats x) { return from_xsimd<float>(xsimd::sqrt(to_xsimd<float>(x))); }
EBB_INLINE doubles sqrt(doubles x) { return from_xsimd<double>(xsimd::sqrt(to_xsimd<double>(x))); }
#endif
#if defined(__SSE4_1__) || defined(__aarch64__)  // without the instruction xsimd 8.1 goes through integers, which is undefined for large x
EBB_INLINE floats floor(floats x) { return copysign<float>(from_xsimd<float>(xsimd::floor(to_xsimd<float>(x))), x); }
EBB_INLINE doubles floor(doubles x) { return copysign<double>(from_xsimd<double>(xsimd::floor(to_xsimd<double>(x))), x); }
EBB_INLINE floats trunc(floats x) { return copysign<float>(from_xsimd<float>(xsimd::trunc(to_xsimd<float>(x))), x); }
EBB_INLINE doubles trunc(doubles x) { return copysign<double>(from_xsimd<double>(xsimd::trunc(to_xsimd<double>(x))), x); }
EBB_INLINE floats rint(floats x) { return copysign<float>(from_xsimd<float>(xsimd::nearbyint(to_xsimd<float>(x))), x); }
EBB_INLINE doubles rint(doubles x) { return copysign<double>(from_xsimd<double>(xsimd::nearbyint(to_xsimd<double>(x))), x); }
#else
template <class V>
V floor(V x);
template <class V>
V trunc(V x);
template <class V>
V rint(V x);
#endif
#if defined(__AVX__)
EBB_INLINE floats larger(floats x, floats y) { return _mm256_max_ps(x, y); }
EBB_INLINE doubles larger(doubles x, doubles y) { return _mm256_max_pd(x, y); }
EBB_INLINE floats smaller(floats x, floats y) { return _mm256_min_ps(x, y); }
EBB_INLINE doubles smaller(doubles x, doubles y) { return _mm256_min_pd(x, y); }
#elif defined(__SSE2__)
EBB_INLINE floats larger(floats x, floats y) { return _mm_max_ps(x, y); }
EBB_INLINE doubles larger(doubles x, doubles y) { return _mm_max_pd(x, y); }
EBB_INLINE floats smaller(floats x, floats y) { return _mm_min_ps(x, y); }
EBB_INLINE doubles smaller(doubles x, doubles y) { return _mm_min_pd(x, y); }
#else
EBB_INLINE floats larger(floats x, floats y) { return select<float>(less<float>(y, x), x, y); }
EBB_INLINE doubles larger(doubles x, doubles y) { return select<double>(less<double>(y, x), x, y); }
EBB_INLINE floats smaller(floats x, floats y) { return select<float>(less<float>(x, y), x, y); }
EBB_INLINE doubles smaller(doubles x, doubles y) { return select<double>(less<double>(x, y), x, y); }
#endif

template <class V>
V scale(V x, V n);
template <class V>
V significand(V x);
template <class V>
V exponent(V x);
template <class V>
V quotient_down(V x, V y);
template <class V>
V quotient_to_zero(V x, V y);

#endif

// --- halves of registers -----------------------------------------------------------------------------------------------------------

/// The lower half of a register, and the first `count` elements of one in memory: see target_has::halves.
template <class T>
using half = vector<T, register_bytes / 2>;
template <class T>
half<T> lower_half(vector<T> x);
template <class T>
half<T> load_half(const T* p, int count);
template <class T>
void store_half(T* p, half<T> x, int count);

#if defined(__AVX512VL__) && defined(__AVX512F__) && defined(__FMA__)
EBB_INLINE half<float> fma(half<float> x, half<float> y, half<float> z) { return _mm256_fmadd_ps(x, y, z); }
EBB_INLINE half<double> fma(half<double> x, half<double> y, half<double> z) { return _mm256_fmadd_pd(x, y, z); }
template <class T>
EBB_INLINE half<T> lower_half(vector<T> x) {  // g++ 12 warns about an uninitialized value in the intrinsic
  return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA { return __builtin_shufflevector(x, x, I...); }
  (std::make_integer_sequence<int, count_of<T> / 2>{});
}
template <class T>
EBB_INLINE half<T> load_half(const T* p, int count) {
  const auto m = static_cast<__mmask8>((1u << count) - 1u);
  if constexpr (sizeof(T) == 4) return _mm256_maskz_loadu_ps(m, p);
  else return _mm256_maskz_loadu_pd(m, p);
}
template <class T>
EBB_INLINE void store_half(T* p, half<T> x, int count) {
  const auto m = static_cast<__mmask8>((1u << count) - 1u);
  if constexpr (sizeof(T) == 4) _mm256_mask_storeu_ps(p, m, x);
  else _mm256_mask_storeu_pd(p, m, x);
}
#endif

// --- bfloat16 and float16 ----------------------------------------------------------------------------------------------------------

/// The bits as floats, and floats rounded to nearest even as bits.
template <class T>
vector<float> widen(narrow_bits x);
template <class T>
narrow_bits narrow(vector<float> x);

template <>
EBB_INLINE vector<float> widen<bfloat16>(narrow_bits x) {
  return reinterpret_cast<vector<float>>(__builtin_convertvector(x, float_bits) << 16);
}
/// The bfloat16 nearest to x, as a float.
EBB_INLINE vector<float> nearest_bfloat16(vector<float> x) {
  const auto u = reinterpret_cast<float_bits>(x);
  const auto rounded = reinterpret_cast<vector<float>>(u + 0x7fffu + ((u >> 16) & 1u));
  const auto quiet = reinterpret_cast<vector<float>>(u | 0x400000u);
  return reinterpret_cast<vector<float>>(reinterpret_cast<float_bits>(select<float>(equal<float>(x, x), rounded, quiet)) & 0xffff0000u);
}
/// The bits of x, which is a bfloat16.
EBB_INLINE narrow_bits upper_halves(vector<float> x) { return __builtin_convertvector(reinterpret_cast<float_bits>(x) >> 16, narrow_bits); }
// AVX-512's conversion flushes subnormal numbers to zero, so it is used if a test finds none. Rounding within a register
// (nearest_bfloat16) takes integers, which are as fast.
template <>
EBB_INLINE narrow_bits narrow<bfloat16>(vector<float> x) {
#if defined(__AVX512BF16__) && defined(__AVX512F__)
  constexpr int subnormal = 0x20;
  const auto bits = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(x));
  if (_mm512_fpclass_ps_mask(reinterpret_cast<__m512>(x), subnormal) == 0) [[likely]] return reinterpret_cast<narrow_bits>(bits);
#endif
  return upper_halves(nearest_bfloat16(x));
}

#if defined(__AVX512F__)
template <>
EBB_INLINE vector<float> widen<float16>(narrow_bits x) {
  return reinterpret_cast<vector<float>>(_mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(x)));
}
template <>
EBB_INLINE narrow_bits narrow<float16>(vector<float> x) {
  return reinterpret_cast<narrow_bits>(_mm512_maskz_cvtps_ph(0xffff, reinterpret_cast<__m512>(x), _MM_FROUND_TO_NEAREST_INT));
}
#elif defined(__AVX__) && defined(__F16C__)
template <>
EBB_INLINE vector<float> widen<float16>(narrow_bits x) {
  return reinterpret_cast<vector<float>>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(x)));
}
template <>
EBB_INLINE narrow_bits narrow<float16>(vector<float> x) {
  return reinterpret_cast<narrow_bits>(_mm256_cvtps_ph(reinterpret_cast<__m256>(x), _MM_FROUND_TO_NEAREST_INT));
}
#else
// The method of num/float16.hpp. widen corrects the exponent by a product, which is exact, also for subnormals.
template <>
EBB_INLINE vector<float> widen<float16>(narrow_bits x) {
  const float_bits u = __builtin_convertvector(x, float_bits);
  const auto magnitude = reinterpret_cast<vector<float>>((u & 0x7fffu) << 13) * 0x1p112f;
  const float_bits special = reinterpret_cast<float_bits>((u & 0x7c00u) == 0x7c00u) & 0x7f800000u;
  return reinterpret_cast<vector<float>>(reinterpret_cast<float_bits>(magnitude) | special | ((u & 0x8000u) << 16));
}
template <>
EBB_INLINE narrow_bits narrow<float16>(vector<float> x) {
  const auto u = reinterpret_cast<float_bits>(x);
  const float_bits magnitude = u & 0x7fffffffu;
  const auto choose = [](auto condition, float_bits a, float_bits b) EBB_LAMBDA {
    const auto m = reinterpret_cast<float_bits>(condition);
    return (m & a) | (~m & b);
  };
  const float_bits normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const auto small = reinterpret_cast<float_bits>(reinterpret_cast<vector<float>>(magnitude) + 0.5f) - 0x3f000000u;
  const float_bits infinite = float_bits{} + 0x7c00u, nan = ((magnitude >> 13) & 0x3ffu) | 0x7e00u;
  const float_bits h = choose(magnitude > 0x7f800000u, nan, choose(magnitude >= 0x477ff000u, infinite,
                       choose(magnitude >= 0x38800000u, normal, small)));
  return __builtin_convertvector(h | ((u >> 16) & 0x8000u), narrow_bits);
}
#endif

/// acc + a1 * b1, plus a0 * b0, for pairs (0 in the lower half) of bfloat16: see [note: order of a bfloat16 product].
EBB_INLINE vector<float> dot_pairs(vector<std::uint32_t> a, vector<std::uint32_t> b, vector<float> acc) {
#if defined(__AVX512BF16__) && defined(__AVX512F__)
#if defined(__clang__) && __clang_major__ < 18
  asm("" : "+v"(a));  // clang 16 crashes over a register of bfloat16 that is filled from one place in memory
#endif
  return reinterpret_cast<vector<float>>(
      _mm512_dpbf16_ps(reinterpret_cast<__m512>(acc), reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b)));
#else
  const auto even = [](float_bits x) EBB_LAMBDA { return reinterpret_cast<vector<float>>(x << 16); };
  const auto odd = [](float_bits x) EBB_LAMBDA { return reinterpret_cast<vector<float>>(x & 0xffff0000u); };
  return fma(even(a), even(b), fma(odd(a), odd(b), acc));
#endif
}

// --- products with few columns -----------------------------------------------------------------------------------------------------

#if defined(__AVX512F__)

/// Half a register of 64 bytes from each. The second half is a load under a mask: a shuffle would wait for the only unit that shuffles.
template <class T>
EBB_INLINE vector<T> join_halves(const T* low, const T* high) {
  const auto half = [](const T* p) EBB_LAMBDA { return reinterpret_cast<__m256d>(load_bytes<T, 32>(p)); };
  return reinterpret_cast<vector<T>>(_mm512_mask_broadcast_f64x4(_mm512_castpd256_pd512(half(low)), 0xf0, half(high)));
}

#else

template <class T>
vector<T> join_halves(const T* low, const T* high);

#endif

// --- chains ------------------------------------------------------------------------------------------------------------------------

/// x, computed before the values that follow in program order: g++'s scheduler would reorder the loads.
template <class V>
EBB_INLINE V in_order(V x) {
#if defined(__x86_64__) && !defined(__clang__)
  asm volatile("" : : "v"(x));
#endif
  return x;
}

/// x, which stays in its register: g++ would load it again in each operation that may read memory, and most loads of a row's neighbours
/// are of two lines of the cache.
template <class V>
EBB_INLINE V in_register(V x) {
#if defined(__AVX512F__) && !defined(__clang__)
  asm("" : "+v"(x));
#endif
  return x;
}

/// Lane i is lane index[i] of x, which has elements of 4 or 8 bytes.
template <class T>
EBB_INLINE vector<T> permuted(vector<T> x, vector<int_of<T>> index) {
#if defined(__AVX512F__)
  const auto lanes_of_x = reinterpret_cast<__m512i>(x), from = reinterpret_cast<__m512i>(index);
  if constexpr (sizeof(T) == 4) return reinterpret_cast<vector<T>>(_mm512_maskz_permutexvar_epi32(0xffff, from, lanes_of_x));
  else return reinterpret_cast<vector<T>>(_mm512_maskz_permutexvar_epi64(0xff, from, lanes_of_x));
#elif defined(__AVX2__)
  // Elements of 8 bytes are pairs of floats.
  auto pairs = reinterpret_cast<__m256i>(index);
  if constexpr (sizeof(T) == 8) pairs = reinterpret_cast<__m256i>(2 * index | (2 * index + 1) << 32);
  return reinterpret_cast<vector<T>>(_mm256_permutevar8x32_ps(reinterpret_cast<__m256>(x), pairs));
#else
  vector<T> r{};
  for (int i = 0; i < count_of<T>; ++i) r[i] = x[index[i]];
  return r;
#endif
}

/// The same of x and y, one after the other.
template <class T>
EBB_INLINE vector<T> permuted(vector<T> x, vector<T> y, vector<int_of<T>> index) {
#if defined(__AVX512F__)
  const auto a = reinterpret_cast<__m512i>(x), b = reinterpret_cast<__m512i>(y), from = reinterpret_cast<__m512i>(index);
  if constexpr (sizeof(T) == 4) return reinterpret_cast<vector<T>>(_mm512_maskz_permutex2var_epi32(0xffff, a, from, b));
  else return reinterpret_cast<vector<T>>(_mm512_maskz_permutex2var_epi64(0xff, a, from, b));
#else
  constexpr int_of<T> last = count_of<T> - 1;
  return select<T>(less<int_of<T>>(all(last), index), permuted<T>(y, index & last), permuted<T>(x, index & last));
#endif
}

/// An arbitrary value: nothing is computed.
template <class V>
EBB_INLINE V any_value() {
#if defined(__x86_64__)
  V x;
  asm volatile("" : "=v"(x));
  return x;
#else
  return V{};
#endif
}

/// For the end of a function that passed vectors to others: g++ does not clear the upper halves of registers that it passed.
EBB_INLINE void clear_upper_halves() {
#if defined(__AVX__)
  _mm256_zeroupper();
#endif
}

}  // namespace ebb::inline EBB_ABI::simd

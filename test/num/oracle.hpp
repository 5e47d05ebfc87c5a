// test/num/oracle.hpp — errors in units in the last place, and arguments to measure them at.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../catch.hpp"

#include <ebb/num/lane.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace test {

/// Whether both have the same bits, or both are NaN.
template <class T>
bool same(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

/// The distance of got from want in units in the last place of a T near want. A wrong NaN, infinity or sign of zero is very far.
template <class T>
double ulps(T got, long double want) {
  using L = std::numeric_limits<T>;
  constexpr double far = 1e9;
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : far;
  if (std::isinf(want)) return got == static_cast<T>(want) ? 0 : far;
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : far;
  if (got == 0 && std::signbit(got) != std::signbit(want)) return far;
  int exponent = 0;
  std::frexp(want, &exponent);
  exponent = std::min(std::max(exponent, L::min_exponent), L::max_exponent);
  const long double unit = std::ldexp(1.0L, exponent - L::digits);
  // Infinity counts as the number after the largest finite one.
  const long double after_largest = std::ldexp(1.0L, L::max_exponent);
  const long double value = std::isinf(got) ? std::copysign(after_largest, static_cast<long double>(got)) : static_cast<long double>(got);
  const long double reference = std::fabs(want) > after_largest ? std::copysign(after_largest, want) : want;
  return static_cast<double>(std::fabs(value - reference) / unit);
}

template <class T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> out;
  for (T x : {T(0), T(1), T(0.5), T(2), T(3), T(0.75), T(1.5), T(-1) + L::epsilon() / 2, T(1) + L::epsilon(), L::epsilon(), L::min(),
              L::denorm_min(), L::min() - L::denorm_min(), L::max(), L::infinity(), T(0.34), T(88.72284), T(87.34), T(103.97), T(709.7828),
              T(744.5), T(1e4)}) {
    out.push_back(x);
    out.push_back(-x);
  }
  out.push_back(L::quiet_NaN());
  return out;
}

/// Special values, then every 20011th of all floats; for double random bits, ordinary sizes, numbers close to 1 and subnormal ones.
template <class T>
std::vector<T> arguments() {
  std::vector<T> out = special_values<T>();
  if constexpr (sizeof(T) == 4) {
    for (std::uint32_t b = 0, i = 0; i < 214630; ++i, b += 20011) out.push_back(ebb::lane::from_bits<T>(b));
  } else {
    std::mt19937_64 next(11);
    for (int i = 0; i < 200000; ++i) {
      const std::uint64_t b = next(), rest = b & 0x800fffffffffffffu;
      const std::uint64_t exponents[] = {b >> 52 & 0x7ff, 1003 + next() % 31, 1021 + next() % 4, 0};
      out.push_back(i % 5 == 4 ? 1 + std::ldexp(static_cast<double>(static_cast<std::int64_t>(next())), -66)
                               : ebb::lane::from_bits<T>(rest | exponents[i % 5] << 52));
    }
  }
  return out;
}

/// Four numbers as a lane type: it offers what lane.hpp requires and nothing more.
template <class U>
struct four_integers {
  using element = U;
  U v[4];
  static four_integers all(U x) { return {{x, x, x, x}}; }
  template <class F>
  static four_integers each(F f) { return {{f(0), f(1), f(2), f(3)}}; }
  friend four_integers operator+(four_integers a, four_integers b) { return each([&](int i) -> U { return a.v[i] + b.v[i]; }); }
  friend four_integers operator-(four_integers a, four_integers b) { return each([&](int i) -> U { return a.v[i] - b.v[i]; }); }
  friend four_integers operator&(four_integers a, four_integers b) { return each([&](int i) -> U { return a.v[i] & b.v[i]; }); }
  friend four_integers operator|(four_integers a, four_integers b) { return each([&](int i) -> U { return a.v[i] | b.v[i]; }); }
  friend four_integers operator^(four_integers a, four_integers b) { return each([&](int i) -> U { return a.v[i] ^ b.v[i]; }); }
  friend four_integers operator<<(four_integers a, int n) { return each([&](int i) -> U { return a.v[i] << n; }); }
  friend four_integers operator>>(four_integers a, int n) { return each([&](int i) -> U { return a.v[i] >> n; }); }
};

struct four_truths {
  bool v[4];
  template <class F>
  static four_truths each(F f) { return {{f(0), f(1), f(2), f(3)}}; }
  friend four_truths operator&&(four_truths a, four_truths b) { return each([&](int i) { return a.v[i] && b.v[i]; }); }
  friend four_truths operator||(four_truths a, four_truths b) { return each([&](int i) { return a.v[i] || b.v[i]; }); }
  friend four_truths operator!(four_truths a) { return each([&](int i) { return !a.v[i]; }); }
};

template <class T>
struct four {
  using element = T;
  using mask = four_truths;
  using bits = four_integers<ebb::lane::bits_of<T>>;
  T v[4];

  template <class F>
  static four each(F f) { return {{f(0), f(1), f(2), f(3)}}; }
  static four all(T x) { return {{x, x, x, x}}; }
  static four fma(four a, four b, four c) {
    return each([&](int i) { return ebb::lane::fused ? std::fma(a.v[i], b.v[i], c.v[i]) : a.v[i] * b.v[i] + c.v[i]; });
  }
  static four select(mask m, four a, four b) { return each([&](int i) { return m.v[i] ? a.v[i] : b.v[i]; }); }
  static four sqrt(four a) { return each([&](int i) { return std::sqrt(a.v[i]); }); }
  static bits to_bits(four a) { return bits::each([&](int i) { return ebb::lane::to_bits(a.v[i]); }); }
  static four from_bits(bits b) { return each([&](int i) { return ebb::lane::from_bits<T>(b.v[i]); }); }
  friend four operator+(four a, four b) { return each([&](int i) { return a.v[i] + b.v[i]; }); }
  friend four operator-(four a, four b) { return each([&](int i) { return a.v[i] - b.v[i]; }); }
  friend four operator*(four a, four b) { return each([&](int i) { return a.v[i] * b.v[i]; }); }
  friend four operator/(four a, four b) { return each([&](int i) { return a.v[i] / b.v[i]; }); }
  friend four operator-(four a) { return each([&](int i) { return -a.v[i]; }); }
  friend mask operator<(four a, four b) { return mask::each([&](int i) { return a.v[i] < b.v[i]; }); }
  friend mask operator<=(four a, four b) { return mask::each([&](int i) { return a.v[i] <= b.v[i]; }); }
  friend mask operator>(four a, four b) { return mask::each([&](int i) { return a.v[i] > b.v[i]; }); }
  friend mask operator>=(four a, four b) { return mask::each([&](int i) { return a.v[i] >= b.v[i]; }); }
  friend mask operator==(four a, four b) { return mask::each([&](int i) { return a.v[i] == b.v[i]; }); }
  friend mask operator!=(four a, four b) { return mask::each([&](int i) { return a.v[i] != b.v[i]; }); }
};
static_assert(ebb::lane::lane_type<four<float>> && ebb::lane::lane_type<four<double>> && ebb::lane::lane_type<float>);

/// The largest error of f and its argument.
template <class T>
struct measured {
  double ulps = 0;
  T at{};
};
template <class T, class F, class G>
measured<T> worst(F f, G oracle, const std::vector<T>& at) {
  measured<T> out;
  for (T x : at)
    if (const double e = ulps(f(x), oracle(static_cast<long double>(x))); e > out.ulps) out = {e, x};
  return out;
}

/// The number of arguments at which f of four numbers and f of one number differ in bits.
template <class T, class F>
int differences(F f, const std::vector<T>& at) {
  int out = 0;
  for (std::size_t i = 0; i + 4 <= at.size(); i += 4) {
    const four<T> x{{at[i], at[i + 1], at[i + 2], at[i + 3]}}, y = f(x);
    for (std::size_t k = 0; k < 4; ++k) out += !same(y.v[k], f(at[i + k]));
  }
  return out;
}

/// Checks that f is within `bound` units of the oracle at all these arguments; within twice that without fma.
template <class T, class F, class G>
void check_ulps(const char* name, F f, G oracle, double bound, const std::vector<T>& at) {
  const auto [ulps, x] = worst(f, oracle, at);
  INFO(name << " of " << sizeof(T) << " bytes is worst at " << x << ", by " << ulps);
  CHECK(ulps <= (ebb::lane::fused ? bound : 2 * bound));
}
/// As check_ulps, and checks that f of lanes has the bits of f of scalars.
template <class T, class F, class G>
void check(const char* name, F f, G oracle, double bound, const std::vector<T>& at) {
  check_ulps(name, f, oracle, bound, at);
  INFO(name << " of " << sizeof(T) << " bytes");
  CHECK(differences(f, at) == 0);
}

/// The hardest arguments for a range reduction: the neighbours of n `unit`, for n up to a million and for powers of two, and of `edge`,
/// where the ways to reduce meet.
template <class T>
std::vector<T> next_to_multiples(long double unit, T edge) {
  std::vector<T> out;
  const auto around = [&](long double n) {
    T x = static_cast<T>(n * unit);
    x = std::nextafter(x, T(0));
    for (int i = 0; i < 3; ++i, x = std::nextafter(x, std::numeric_limits<T>::infinity())) out.push_back(x), out.push_back(-x);
  };
  for (int n = 1; n < 6000; ++n) around(n);
  for (int n = 6000; n < 1000000; n += 997) around(n);
  for (int e = 0; e < std::numeric_limits<T>::max_exponent - 2; ++e) around(std::ldexp(1.0L, e));
  for (T x : {edge, std::nextafter(edge, T(0)), std::nextafter(edge, 2 * edge)}) out.push_back(x), out.push_back(-x);
  return out;
}

}  // namespace test

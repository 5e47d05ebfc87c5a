// bench/accuracy/main.cpp — the largest error of each unary function, in units in the last place, beside the bound that it states.
// SPDX-License-Identifier: BSL-1.0
//
//   bench.accuracy [function]              100,000 numbers of each width from all binades, for all functions or one
//   bench.accuracy --all function          all 2^32 floats: minutes, for a quick function
//   bench.accuracy --smoke                 the same 100,000 numbers; only failures are printed
//
// The program fails if a bound does not hold. References are the C library's functions in long double and those of exact.hpp.
#include "exact.hpp"

#include <ebb/functional.hpp>
#include <ebb/special.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

namespace {

using real = long double;

struct row {
  const char* name;
  double bound;
  float (*f)(float);
  double (*d)(double);
  real (*exact)(real);
  double low = -INFINITY, high = INFINITY;  // where the bound holds and the reference is right
};

/// The distance of got from want in units in the last place of a T near want; in the subnormal range one unit is allowed for the rounding.
template <class T>
double error(T got, real want) {
  using L = std::numeric_limits<T>;
  constexpr double far = 1e9;
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : far;
  const real limit = std::ldexp(1.0L, L::max_exponent);  // infinity counts as the number after the largest finite one
  if (std::isinf(want)) return got == static_cast<T>(want) ? 0 : far;
  int exponent = 0;
  if (want != 0) std::frexp(want, &exponent);
  exponent = want == 0 ? L::min_exponent : std::min(std::max(exponent, L::min_exponent), L::max_exponent);
  const real value = std::isinf(got) ? std::copysign(limit, static_cast<real>(got)) : static_cast<real>(got);
  const real reference = std::fabs(want) > limit ? std::copysign(limit, want) : want;
  const double units = static_cast<double>(std::fabs(value - reference) / std::ldexp(1.0L, exponent - L::digits));
  return std::fabs(want) < L::min() ? std::max(units - 1, 0.0) : units;
}

template <class T>
struct worst {
  double units = 0;
  T at{};
  void see(T x, T got, real want) {
    if (const double e = error(got, want); e > units) units = e, at = x;
  }
};

/// 100,000 numbers: of float every 42,949th by bits, of double random bits, half of them of ordinary size; and the ends.
template <class T>
std::vector<T> numbers() {
  using L = std::numeric_limits<T>;
  std::vector<T> out;
  for (T x : {T(0), T(1), T(0.5), T(2), L::min(), L::denorm_min(), L::max(), L::infinity(), L::epsilon()})
    out.push_back(x), out.push_back(-x);
  out.push_back(L::quiet_NaN());
  if constexpr (sizeof(T) == 4) {
    for (std::uint64_t b = 0; b < std::uint64_t{1} << 32; b += 42'949)
      out.push_back(ebb::lane::from_bits<T>(static_cast<std::uint32_t>(b)));
  } else {
    std::mt19937_64 next(11);
    for (int i = 0; i < 100'000; ++i) {
      const std::uint64_t b = next(), rest = b & 0x800fffffffffffffu;
      out.push_back(ebb::lane::from_bits<T>(rest | (i % 2 ? 1003 + next() % 31 : b >> 52 & 0x7ff) << 52));
    }
  }
  return out;
}

int failures = 0;
bool smoke = false;

template <class T>
void report(const row& r, const worst<T>& w, const char* over) {
  const double bound = ebb::lane::fused ? r.bound : 2 * r.bound;  // bounds are stated for processors with fma
  const bool fails = !(w.units <= bound);
  failures += fails;
  if (fails || !smoke)
    std::printf("%-14s %-6s %9.3f  at %-15.9g of %.3g%s  %s\n", r.name, sizeof(T) == 4 ? "float" : "double", w.units,
                static_cast<double>(w.at), bound, fails ? ": WRONG" : "", over);
}
template <class T>
void some(const row& r, T (*f)(T)) {
  static const std::vector<T> at = numbers<T>();
  worst<T> w;
  for (T x : at)
    if (!(x < static_cast<T>(r.low)) && !(x > static_cast<T>(r.high))) w.see(x, f(x), r.exact(static_cast<real>(x)));
  report(r, w, "");
}
void all(const row& r) {
  worst<float> w;
  for (std::uint64_t b = 0; b < std::uint64_t{1} << 32; ++b) {
    const float x = ebb::lane::from_bits<float>(static_cast<std::uint32_t>(b));
    if (!(x < static_cast<float>(r.low)) && !(x > static_cast<float>(r.high)) && x == x) w.see(x, r.f(x), r.exact(static_cast<real>(x)));
  }
  report(r, w, "over all floats");
}

#define ACCURACY_ROW(name, bound, ...) \
  row { #name, bound, [](float x) { return ebb::name(x); }, [](double x) { return ebb::name(x); }, __VA_ARGS__ }

const row rows[] = {
    ACCURACY_ROW(exp, 1, [](real x) { return std::exp(x); }),
    ACCURACY_ROW(exp2, 1, [](real x) { return std::exp2(x); }),
    ACCURACY_ROW(exp10, 1.5, exact::exp10),
    ACCURACY_ROW(expm1, 2, [](real x) { return std::expm1(x); }),
    ACCURACY_ROW(log, 1, [](real x) { return std::log(x); }),
    ACCURACY_ROW(log2, 1.1, [](real x) { return std::log2(x); }),
    ACCURACY_ROW(log10, 1, [](real x) { return std::log10(x); }),
    ACCURACY_ROW(log1p, 2, [](real x) { return std::log1p(x); }),
    ACCURACY_ROW(tanh, 2, [](real x) { return std::tanh(x); }),
    ACCURACY_ROW(sigmoid, 2, exact::sigmoid),
    ACCURACY_ROW(softplus, 3, exact::softplus),
    ACCURACY_ROW(log_sigmoid, 3, [](real x) { return -exact::softplus(-x); }),
    ACCURACY_ROW(sinh, 2.1, [](real x) { return std::sinh(x); }),
    ACCURACY_ROW(cosh, 2, [](real x) { return std::cosh(x); }),
    ACCURACY_ROW(asinh, 2, [](real x) { return std::asinh(x); }),
    ACCURACY_ROW(acosh, 2, [](real x) { return std::acosh(x); }),
    ACCURACY_ROW(atanh, 2, [](real x) { return std::atanh(x); }),
    ACCURACY_ROW(sin, 1, [](real x) { return std::sin(x); }),
    ACCURACY_ROW(cos, 1, [](real x) { return std::cos(x); }),
    ACCURACY_ROW(tan, 2, [](real x) { return std::tan(x); }),
    ACCURACY_ROW(asin, 2, [](real x) { return std::asin(x); }),
    ACCURACY_ROW(acos, 2, [](real x) { return std::acos(x); }),
    ACCURACY_ROW(atan, 1, [](real x) { return std::atan(x); }),
    ACCURACY_ROW(sinpi, 2, exact::sinpi),
    ACCURACY_ROW(cospi, 2, exact::cospi),
    ACCURACY_ROW(tanpi, 3, exact::tanpi),
    ACCURACY_ROW(sinc, 3, exact::sinc),
    ACCURACY_ROW(sqrt, 0.5, [](real x) { return std::sqrt(x); }),
    ACCURACY_ROW(rsqrt, 1.5, exact::rsqrt),
    ACCURACY_ROW(cbrt, 1, [](real x) { return std::cbrt(x); }),
    ACCURACY_ROW(square, 0.5, [](real x) { return x * x; }),
    ACCURACY_ROW(reciprocal, 0.5, [](real x) { return 1 / x; }),
    ACCURACY_ROW(erf, 2, [](real x) { return std::erf(x); }),
    ACCURACY_ROW(erfc, 2, [](real x) { return std::erfc(x); }),
    ACCURACY_ROW(erfcx, 5, test::erfcx),
    ACCURACY_ROW(ndtr, 3, exact::ndtr),
    ACCURACY_ROW(log_ndtr, 3, exact::log_ndtr),
    ACCURACY_ROW(erfinv, 4, exact::erfinv),
    ACCURACY_ROW(erfcinv, 4, exact::erfcinv),
    ACCURACY_ROW(ndtri, 4, exact::ndtri),
    ACCURACY_ROW(lgamma, 4, [](real x) { return std::lgamma(x); }, 0),
    ACCURACY_ROW(digamma, 4, exact::digamma, 1.6),  // next to the root, 1.46, the reference would cancel
    ACCURACY_ROW(tgamma, 4, [](real x) { return std::tgamma(x); }, 0),
    ACCURACY_ROW(i0, 4, exact::i0),
    ACCURACY_ROW(i1, 4, exact::i1),
    ACCURACY_ROW(i0e, 4, exact::i0e),
    ACCURACY_ROW(i1e, 5, exact::i1e),
    ACCURACY_ROW(silu, 2.5, exact::silu),
    ACCURACY_ROW(mish, 2.5, exact::mish),
    ACCURACY_ROW(gelu, 3, exact::gelu),
    ACCURACY_ROW(elu, 2.5, exact::elu),
    ACCURACY_ROW(celu, 3.5, exact::elu),
    ACCURACY_ROW(softsign, 1.5, exact::softsign),
    ACCURACY_ROW(tanhshrink, 4, exact::tanhshrink),
    ACCURACY_ROW(squareplus, 4, exact::squareplus),
    ACCURACY_ROW(entr, 2, exact::entr, 0),
    ACCURACY_ROW(log1mexp, 4, exact::log1mexp, -INFINITY, 0),
    ACCURACY_ROW(logit, 3, exact::logit),
    ACCURACY_ROW(logcosh, 5, exact::logcosh),
};

}  // namespace

int main(int argc, char** argv) {
  bool every = false, found = false;
  std::string_view only;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--smoke") smoke = true;
    else if (std::string_view(argv[i]) == "--all") every = true;
    else only = argv[i];
  }
  if (!smoke) std::printf("%-14s %-6s %9s\n", "function", "type", "error");
  for (const row& r : rows) {
    if (!only.empty() && only != r.name) continue;
    found = true;
    if (every) all(r);
    else {
      some<float>(r, r.f);
      some<double>(r, r.d);
    }
  }
  if (!found) std::printf("there is no function %s\n", only.data());
  if (failures) std::printf("%d bounds do not hold\n", failures);
  return failures || !found;
}

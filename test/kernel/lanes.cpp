// test/kernel/lanes.cpp — every primitive, lane by lane, against scalar code.
// SPDX-License-Identifier: BSL-1.0
// covers: lanes.hpp batch.hpp under_mask.hpp instructions.hpp narrow.hpp
#include "../catch.hpp"
#include "values.hpp"

#include <ebb/kernel/lanes.hpp>
#include <ebb/kernel/narrow.hpp>

using ebb::bfloat16, ebb::float16, ebb::lanes, ebb::lane_count;
namespace lane = ebb::lane;

namespace {

template <class T>
lanes<T> spread(const std::vector<T>& from, std::size_t start, std::size_t step) {
  T buffer[lane_count];
  for (std::size_t i = 0; i < lane_count; ++i) buffer[i] = from[(start + i * step) % from.size()];
  return lanes<T>::load(buffer);
}

/// Checks that `batch(a, b)` is `scalar(a[i], b[i])` in every lane, for all pairs of values.
template <class T, class Batch, class Scalar>
void check(const char* name, Batch batch, Scalar scalar) {
  const std::vector<T> v = test::values<T>();
  INFO(name << " of " << ebb::name_of(ebb::dtype_of<T>));
  for (std::size_t s = 0; s < v.size(); ++s)
    for (std::size_t t = 0; t < v.size(); t += lane_count) {
      const lanes<T> a = spread(v, s, 0), b = spread(v, t, 1);
      const auto both = batch(a, b), swapped = batch(b, a);
      bool good = true;
      for (int i = 0; i < lane_count; ++i)
        good = good && test::same_bits(both[i], scalar(a[i], b[i])) && test::same_bits(swapped[i], scalar(b[i], a[i]));
      if (!good) {
        int i = 0;
        while (i + 1 < lane_count && test::same_bits(both[i], scalar(a[i], b[i])) && test::same_bits(swapped[i], scalar(b[i], a[i]))) ++i;
        CAPTURE(i, test::number(a[i]), test::number(b[i]), test::number(both[i]), test::number(swapped[i]));
        REQUIRE(good);
      }
    }
  SUCCEED();
}

template <class T>
using unsigned_of = std::make_unsigned_t<T>;

template <class T>
void check_comparisons() {
  check<T>("<", [](auto a, auto b) { return lanes<bool>(a < b); }, [](T a, T b) { return a < b; });
  check<T>("<=", [](auto a, auto b) { return lanes<bool>(a <= b); }, [](T a, T b) { return a <= b; });
  check<T>(">", [](auto a, auto b) { return lanes<bool>(a > b); }, [](T a, T b) { return a > b; });
  check<T>(">=", [](auto a, auto b) { return lanes<bool>(a >= b); }, [](T a, T b) { return a >= b; });
  check<T>("==", [](auto a, auto b) { return lanes<bool>(a == b); }, [](T a, T b) { return a == b; });
  check<T>("!=", [](auto a, auto b) { return lanes<bool>(a != b); }, [](T a, T b) { return a != b; });
  check<T>("select", [](auto a, auto b) { return lanes<T>::select(a < b, a, b); }, [](T a, T b) { return a < b ? a : b; });
  check<T>("select by a joined mask", [](auto a, auto b) { return lanes<T>::select(lanes<bool>(a < b), a, b); },
           [](T a, T b) { return a < b ? a : b; });
  check<T>("and, or, not of masks", [](auto a, auto b) { return lanes<bool>((a < b && !(a == b)) || a != a); },
           [](T a, T b) { return (a < b && !(a == b)) || a != a; });
  check<T>("xor of masks", [](auto a, auto b) { return lanes<bool>((a < b) ^ (a <= b)); }, [](T a, T b) { return (a < b) != (a <= b); });
}

}  // namespace

TEMPLATE_TEST_CASE("lanes of floats give the bits of scalars", "", float, double) {
  using T = TestType;
  check<T>("+", [](auto a, auto b) { return a + b; }, [](T a, T b) { return a + b; });
  check<T>("-", [](auto a, auto b) { return a - b; }, [](T a, T b) { return a - b; });
  check<T>("*", [](auto a, auto b) { return a * b; }, [](T a, T b) { return a * b; });
  check<T>("/", [](auto a, auto b) { return a / b; }, [](T a, T b) { return a / b; });
  check<T>("negation", [](auto a, auto) { return -a; }, [](T a, T) { return -a; });
  check<T>("fma", [](auto a, auto b) { return lane::fma(a, b, a); },
           [](T a, T b) { return lane::fused ? std::fma(a, b, a) : a * b + a; });
  check<T>("fma that cancels", [](auto a, auto b) { return lane::fma(a, b, -(a * b)); },
           [](T a, T b) { return lane::fused ? std::fma(a, b, -(a * b)) : a * b - (a * b); });
  check<T>("sqrt", [](auto a, auto) { return lane::sqrt(a); }, [](T a, T) { return std::sqrt(a); });
  check<T>("abs", [](auto a, auto) { return lane::abs(a); }, [](T a, T) { return std::fabs(a); });
  check<T>("copysign", [](auto a, auto b) { return lane::copysign(a, b); }, [](T a, T b) { return std::copysign(a, b); });
  check<T>("floor", [](auto a, auto) { return lane::floor(a); }, [](T a, T) { return std::floor(a); });
  check<T>("trunc", [](auto a, auto) { return lane::trunc(a); }, [](T a, T) { return std::trunc(a); });
  check<T>("rint", [](auto a, auto) { return lane::rint(a); }, [](T a, T) { return std::nearbyint(a); });
  check<T>("isnan", [](auto a, auto) { return lanes<bool>(lane::isnan(a)); }, [](T a, T) { return std::isnan(a); });
  check<T>("at_least", [](auto a, auto b) { return lane::at_least(a, b); }, [](T a, T b) { return a < b ? b : a; });
  check<T>("at_most", [](auto a, auto b) { return lane::at_most(a, b); }, [](T a, T b) { return b < a ? b : a; });
  check<T>("maximum", [](auto a, auto b) { return lane::maximum(a, b); }, [](T a, T b) { return a != a ? a : b < a ? a : b; });
  check<T>("minimum", [](auto a, auto b) { return lane::minimum(a, b); }, [](T a, T b) { return a != a ? a : a < b ? a : b; });
  check_comparisons<T>();
}

TEMPLATE_TEST_CASE("operations on the bits of lanes give those of scalars", "", float, double) {
  using T = TestType;
  using U = lane::bits_of<T>;
  const auto bits = [](T x) { return std::bit_cast<U>(x); };
  const auto real = [](U x) { return std::bit_cast<T>(x); };
  check<T>(
      "shift right", [](auto a, auto) { return lane::from_bits<lanes<T>>(lane::to_bits(a) >> 3); },
      [&](T a, T) { return real(bits(a) >> 3); });
  check<T>(
      "shift left", [](auto a, auto) { return lane::from_bits<lanes<T>>(lane::to_bits(a) << 5); },
      [&](T a, T) { return real(bits(a) << 5); });
  check<T>("sum of bits", [](auto a, auto b) { return lane::from_bits<lanes<T>>(lane::to_bits(a) + lane::to_bits(b)); },
           [&](T a, T b) { return real(static_cast<U>(bits(a) + bits(b))); });
  check<T>(
      "and, or, xor",
      [](auto a, auto b) {
        return lane::from_bits<lanes<T>>((lane::to_bits(a) & lane::to_bits(b)) ^ (lane::to_bits(a) | lane::to_bits(b)));
      },
      [&](T a, T b) { return real((bits(a) & bits(b)) ^ (bits(a) | bits(b))); });
}

TEMPLATE_TEST_CASE("scale and split of lanes give the bits of scalars", "", float, double) {
  using T = TestType;
  const std::vector<T> v = test::values<T>();
  const int range = 2 * lane::format<T>::bias - 2;
  for (T x : {T(0.25), T(0.9), T(1), T(1.2345), T(-3.99), T(4)})
    for (int n = -range; n <= range; n += 7) {
      const lanes<T> got = lane::scale(lanes<T>::all(x), lanes<T>::all(static_cast<T>(n)));
      REQUIRE(test::same_bits(got[lane_count - 1], static_cast<T>(std::scalbn(x, n))));
    }
  for (T x : v) {
    if (!(x > 0) || std::isinf(x)) continue;
    const auto [significand, exponent] = lane::split(lanes<T>::all(x));
    CAPTURE(x);
    REQUIRE(significand[1] >= T(0.75));
    REQUIRE(significand[1] < T(1.5));
    REQUIRE(std::scalbn(significand[1], static_cast<int>(exponent[1])) == x);
  }
}

TEMPLATE_TEST_CASE("lanes of integers give the values of scalars", "", std::int32_t, std::int64_t) {
  using T = TestType;
  using U = unsigned_of<T>;
  check<T>("+", [](auto a, auto b) { return a + b; }, [](T a, T b) { return static_cast<T>(U(a) + U(b)); });
  check<T>("-", [](auto a, auto b) { return a - b; }, [](T a, T b) { return static_cast<T>(U(a) - U(b)); });
  check<T>("*", [](auto a, auto b) { return a * b; }, [](T a, T b) { return static_cast<T>(U(a) * U(b)); });
  check<T>(
      "/", [](auto a, auto b) { return a / b; }, [](T a, T b) { return b == 0    ? T(0)
                                                                       : b == -1 ? static_cast<T>(U(0) - U(a))
                                                                                 : a / b; });
  check<T>("negation", [](auto a, auto) { return -a; }, [](T a, T) { return static_cast<T>(U(0) - U(a)); });
  check<T>("&", [](auto a, auto b) { return a & b; }, [](T a, T b) { return a & b; });
  check<T>("|", [](auto a, auto b) { return a | b; }, [](T a, T b) { return a | b; });
  check<T>("^", [](auto a, auto b) { return a ^ b; }, [](T a, T b) { return a ^ b; });
  check<T>("~", [](auto a, auto) { return ~a; }, [](T a, T) { return ~a; });
  check<T>("<<", [](auto a, auto) { return a << 4; }, [](T a, T) { return static_cast<T>(U(a) << 4); });
  check<T>(">>", [](auto a, auto) { return a >> 4; }, [](T a, T) { return static_cast<T>(a >> 4); });
  check<T>("abs", [](auto a, auto) { return lanes<T>::abs(a); }, [](T a, T) { return a < 0 ? static_cast<T>(U(0) - U(a)) : a; });
  check<T>("at_least", [](auto a, auto b) { return lanes<T>::at_least(a, b); }, [](T a, T b) { return a < b ? b : a; });
  check<T>("at_most", [](auto a, auto b) { return lanes<T>::at_most(a, b); }, [](T a, T b) { return b < a ? b : a; });
  check_comparisons<T>();
}

TEMPLATE_TEST_CASE("lanes of narrow floats are float, rounded after each operation", "", bfloat16, float16) {
  using T = TestType;
  const auto f = [](T x) { return static_cast<float>(x); };
  check<T>("+", [](auto a, auto b) { return a + b; }, [&](T a, T b) { return T(f(a) + f(b)); });
  check<T>("-", [](auto a, auto b) { return a - b; }, [&](T a, T b) { return T(f(a) - f(b)); });
  check<T>("*", [](auto a, auto b) { return a * b; }, [&](T a, T b) { return T(f(a) * f(b)); });
  check<T>("/", [](auto a, auto b) { return a / b; }, [&](T a, T b) { return T(f(a) / f(b)); });
  check<T>("fma", [](auto a, auto b) { return lanes<T>::fma(a, b, a); }, [&](T a, T b) { return T(f(a) * f(b) + f(a)); });
  check<T>("negation", [](auto a, auto) { return -a; }, [&](T a, T) { return T(-f(a)); });
  check<T>("abs", [](auto a, auto) { return lanes<T>::abs(a); }, [&](T a, T) { return T(std::fabs(f(a))); });
  check<T>("sqrt", [](auto a, auto) { return lanes<T>::sqrt(a); }, [&](T a, T) { return T(std::sqrt(f(a))); });
  check<T>("floor", [](auto a, auto) { return lanes<T>::floor(a); }, [&](T a, T) { return T(std::floor(f(a))); });
  check<T>("rint", [](auto a, auto) { return lanes<T>::rint(a); }, [&](T a, T) { return T(std::nearbyint(f(a))); });
  check<T>("<", [](auto a, auto b) { return a < b; }, [&](T a, T b) { return f(a) < f(b); });
  check<T>("!=", [](auto a, auto b) { return a != b; }, [&](T a, T b) { return f(a) != f(b); });
  check<T>("at_least", [](auto a, auto b) { return lanes<T>::at_least(a, b); }, [&](T a, T b) { return f(a) < f(b) ? b : a; });
  check<T>("select", [](auto a, auto b) { return lanes<T>::select(a > b, a, b); }, [&](T a, T b) { return f(a) > f(b) ? a : b; });
}

TEMPLATE_TEST_CASE("lanes of narrow floats round as their scalars do", "", bfloat16, float16) {
  using T = TestType;
  const auto round = [](float x) {
    T out[lane_count];
    lanes<T>::rounded(lanes<float>::all(x)).store(out);
    return out[0].bits;
  };
  // Every bit pattern of the narrow type, then the numbers a quarter, a half and three quarters of the way to the next.
  int wrong = 0;
  for (std::uint32_t b = 0; b < 0x10000; ++b) {
    T x;
    x.bits = static_cast<std::uint16_t>(b);
    const float wide = static_cast<float>(x);
    if (std::isnan(wide)) {
      wrong += !std::isnan(static_cast<float>(lanes<T>::all(x)[0]));
      continue;
    }
    T memory[lane_count];
    for (T& m : memory) m = x;
    const lanes<T> loaded = lanes<T>::load(memory);
    wrong += std::bit_cast<std::uint32_t>(loaded.wide[lane_count - 1]) != std::bit_cast<std::uint32_t>(wide);
    loaded.store(memory);
    wrong += memory[lane_count - 1].bits != x.bits;
    for (std::uint32_t below : {0x1u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u}) {
      const float between = std::bit_cast<float>(std::bit_cast<std::uint32_t>(wide) + below);
      wrong += !std::isnan(between) && round(between) != T(between).bits;
      const float tiny = between * 0x1p-14f;
      wrong += !std::isnan(tiny) && round(tiny) != T(tiny).bits;
    }
  }
  CHECK(wrong == 0);
  CHECK(std::isnan(static_cast<float>(lanes<T>::rounded(lanes<float>::all(std::bit_cast<float>(0x7f800001u)))[0])));
}

TEMPLATE_TEST_CASE("loads and stores touch count elements and no more", "", bool, std::int32_t, std::int64_t, bfloat16, float16, float,
                   double) {
  using T = TestType;
  const std::vector<T> v = test::values<T>();
  for (int count = 0; count <= lane_count; ++count) {
    CAPTURE(count);
    const auto n = static_cast<std::size_t>(count);
    test::guarded<T> from(n), to(n);
    for (const bool at_end : {true, false}) {
      T* const p = at_end ? from.at_end() : from.at_start();
      T* const q = at_end ? to.at_end() : to.at_start();
      for (std::size_t i = 0; i < n; ++i) p[i] = v[i], q[i] = v[i + 1];
      const lanes<T> x = lanes<T>::load(p, count);
      for (int i = 0; i < lane_count; ++i) REQUIRE(test::same_bits(x[i], i < count ? v[static_cast<std::size_t>(i)] : T{}));
      x.store(q, count);
      for (std::size_t i = 0; i < n; ++i) REQUIRE(test::same_bits(q[i], v[i]));
    }
    T beyond[lane_count + 1];
    for (int i = 0; i <= lane_count; ++i) beyond[i] = v[static_cast<std::size_t>(i)];
    lanes<T>::all(v[3]).store(beyond, count);
    for (int i = 0; i <= lane_count; ++i) REQUIRE(test::same_bits(beyond[i], i < count ? v[3] : v[static_cast<std::size_t>(i)]));
  }
  test::guarded<T> whole(lane_count);
  for (int i = 0; i < lane_count; ++i) whole.at_end()[i] = v[static_cast<std::size_t>(i)];
  const lanes<T> x = lanes<T>::load(whole.at_end());
  x.store(whole.at_start());
  for (int i = 0; i < lane_count; ++i) REQUIRE(test::same_bits(whole.at_start()[i], v[static_cast<std::size_t>(i)]));
}

TEST_CASE("masks of lanes convert, combine, compare and select as bools do") {
  for (int count = 0; count <= lane_count; ++count) {
    const lanes<bool> m = lanes<bool>::first(count);
    for (int i = 0; i < lane_count; ++i) REQUIRE(m[i] == (i < count));
    REQUIRE(m.to_bits() == (1u << count) - 1);
    REQUIRE(lanes<bool>(ebb::wide_mask(m)).to_bits() == m.to_bits());
  }
  const lanes<bool> a = lanes<bool>::from_bits(0b0011), b = lanes<bool>::from_bits(0b0101);
  CHECK(((a & b).to_bits() & 15) == 0b0001);
  CHECK(((a | b).to_bits() & 15) == 0b0111);
  CHECK(((a ^ b).to_bits() & 15) == 0b0110);
  CHECK(((a == b).to_bits() & 15) == 0b1001);
  CHECK(((a != b).to_bits() & 15) == 0b0110);
  CHECK(((a < b).to_bits() & 15) == 0b0100);
  CHECK(((a <= b).to_bits() & 15) == 0b1101);
  CHECK(((a > b).to_bits() & 15) == 0b0010);
  CHECK(((a >= b).to_bits() & 15) == 0b1011);
  CHECK((lanes<bool>::select(a, b, !b).to_bits() & 15) == 0b1001);
  CHECK(ebb::lane_index<std::int64_t>()[lane_count - 1] == lane_count - 1);
  CHECK(ebb::lane_index<float>()[lane_count / 2] == lane_count / 2);
}

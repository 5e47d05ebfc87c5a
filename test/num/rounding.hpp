// test/num/rounding.hpp — the correct rounding to a half-width type: from long double, and as recorded from PyTorch.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../catch.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace test {

/// The number nearest to x with `digits` digits and an exponent from `least` (the last digit of subnormal numbers) to `greatest`; ties to
/// even.
inline long double nearest(float x, int digits, int least, int greatest) {
  if (!std::isfinite(x) || x == 0) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  const long double unit = std::ldexp(1.0L, std::max(exponent - digits, least)), rounded = std::nearbyint(x / unit) * unit;
  return std::fabs(rounded) >= std::ldexp(1.0L, greatest) ? std::copysign(INFINITY, x) : rounded;
}

/// The lines of golden/rounding.txt of this kind, without their first word.
inline std::vector<std::string> recorded(const std::string& kind) {
  std::ifstream file(EBB_TEST_DATA "/golden/rounding.txt");
  std::vector<std::string> out;
  for (std::string line; std::getline(file, line);)
    if (line.rfind(kind + " ", 0) == 0) out.push_back(line.substr(kind.size() + 1));
  return out;
}

inline bool is_nan(float x) { return std::isnan(x); }

/// Checks that rounding to `Half` agrees with every recorded value. column: the column of Half in lines with two results; name: the name of
/// Half in the file; round: from float and from double; widen: to float.
template <class Half>
void check_recorded(int column, const std::string& name, auto round, auto widen) {
  int lines = 0;
  const auto equal = [](Half got, std::uint16_t want) {
    const float wanted = static_cast<float>(std::bit_cast<Half>(want));
    return is_nan(wanted) ? is_nan(static_cast<float>(got)) : got.bits == want;
  };
  for (const std::string kind : {"round", "round64"})
    for (const std::string& line : recorded(kind)) {
      std::istringstream words(line);
      std::uint64_t from = 0;
      std::uint32_t results[2] = {};
      words >> std::hex >> from >> results[0] >> results[1];
      const Half got = kind == "round" ? round(std::bit_cast<float>(static_cast<std::uint32_t>(from))) : round(std::bit_cast<double>(from));
      INFO(kind << " " << line);
      CHECK(equal(got, static_cast<std::uint16_t>(results[column])));
      ++lines;
    }
  for (const std::string& line : recorded("widen " + name)) {
    std::istringstream words(line);
    std::uint32_t from = 0, want = 0;
    words >> std::hex >> from >> want;
    const float got = widen(std::bit_cast<Half>(static_cast<std::uint16_t>(from))), wanted = std::bit_cast<float>(want);
    INFO("widen " << line);
    CHECK((is_nan(wanted) ? is_nan(got) : std::bit_cast<std::uint32_t>(got) == want));
    ++lines;
  }
  CHECK(lines == 229 + 11 + 11);
}

template <class Half>
void check_recorded(int column, const std::string& name) {
  check_recorded<Half>(column, name, [](auto x) { return Half(static_cast<float>(x)); }, [](Half x) { return static_cast<float>(x); });
}

/// Checks that all 65536 bit patterns come back from float unchanged, except that a NaN becomes quiet and keeps its sign.
template <class Half>
void check_round_trip(std::uint16_t quiet) {
  int wrong = 0;
  for (std::uint32_t b = 0; b < 65536; ++b) {
    const float wide = static_cast<float>(std::bit_cast<Half>(static_cast<std::uint16_t>(b)));
    const std::uint32_t back = Half(wide).bits;
    wrong += back != (is_nan(wide) ? b | quiet : b);
    wrong += std::signbit(wide) != (b >= 0x8000);
  }
  CHECK(wrong == 0);
}

/// Checks every half-width number, its midpoint to the next one, and the float neighbours of both; and a sample of all floats.
template <class Half>
void check_ties(int digits, int least, int greatest) {
  int wrong = 0;
  const auto widened = [](std::uint32_t b) { return static_cast<float>(std::bit_cast<Half>(static_cast<std::uint16_t>(b))); };
  const auto check = [&](float x) {
    const long double want = nearest(x, digits, least, greatest);
    const float got = static_cast<float>(Half(x));
    wrong += !(static_cast<long double>(got) == want && std::signbit(got) == std::signbit(x));
  };
  for (std::uint32_t b = 0; b < 0x8000; ++b) {
    const float x = widened(b), next = widened(b + 1);
    if (!std::isfinite(x)) continue;
    const float middle = std::isfinite(next) ? static_cast<float>((static_cast<double>(x) + next) / 2) : x;
    for (float y : {x, middle})
      for (float z : {y, std::nextafter(y, INFINITY), std::nextafter(y, -INFINITY)}) check(z), check(-z);
  }
  for (std::uint64_t b = 0; b < (std::uint64_t{1} << 32); b += 10007)
    if (const float x = std::bit_cast<float>(static_cast<std::uint32_t>(b)); !is_nan(x)) check(x);
  CHECK(wrong == 0);
}

}  // namespace test

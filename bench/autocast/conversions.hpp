// bench/autocast/conversions.hpp — casts between float and the half-width types against a memcpy of as many bytes.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "turns.hpp"

#include <ebb/ebb.hpp>

#include <cstdio>
#include <cstring>

namespace bench {

/// Returns false if an element is wrong.
template <class To, class From>
bool measure_conversion(const char* what, std::size_t n, int rounds, double batch) {
  ebb::tensor<From, ebb::dyn> x(n);
  ebb::tensor<To, ebb::dyn> y(n);
  From* const from = x.mutable_data();
  for (std::size_t i = 0; i < n; ++i) from[i] = From(static_cast<float>(i % 1000) * 0.37f);
  // Reads and writes as many bytes as the cast does in all.
  const std::size_t bytes = n * (sizeof(From) + sizeof(To)) / 2;
  ebb::tensor<float, ebb::dyn> source(bytes / 4 + 1), target(bytes / 4 + 1);
  void* const to = target.mutable_data();
  std::memset(source.mutable_data(), 1, bytes);

  constexpr auto cast = ebb::compile([](auto a) { return ebb::cast<To>(a); });
  const auto r = in_turns([&] { cast(ebb::into(y), x); }, [&] { std::memcpy(to, source.data(), bytes); }, rounds, batch);
  std::printf("%-20s %9zu %11.1f %11.1f  %6.3f  %.3f..%.3f\n", what, n, r.first * 1e6, r.second * 1e6, r.ratio, r.quarter,
              r.three_quarters);
  for (std::size_t i = 0; i < n; ++i)
    if (ebb::to_cell(y(i)) != ebb::to_cell(To(static_cast<float>(from[i])))) {
      std::printf("WRONG: element %zu\n", i);
      return false;
    }
  return true;
}

inline bool measure_conversions(bool smoke, int rounds) {
  std::printf("us a call; goal: 1.1 of memcpy of the same bytes at 10000000\n");
  std::printf("%-20s %9s %11s %11s  %6s  %s\n", "cast", "n", "cast", "memcpy", "ratio", "quartiles");
  bool right = true;
  for (const std::size_t n : {std::size_t{10'000}, std::size_t{10'000'000}}) {
    if (smoke && n > 1'000'000) continue;
    const double batch = smoke ? 1e-5 : 1e-3;
    right = measure_conversion<float, ebb::bfloat16>("bfloat16 to float", n, rounds, batch) && right;
    right = measure_conversion<ebb::bfloat16, float>("float to bfloat16", n, rounds, batch) && right;
    right = measure_conversion<float, ebb::float16>("float16 to float", n, rounds, batch) && right;
    right = measure_conversion<ebb::float16, float>("float to float16", n, rounds, batch) && right;
  }
  return right;
}

}  // namespace bench

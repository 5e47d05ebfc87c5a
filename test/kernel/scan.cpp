// test/kernel/scan.cpp — running sums along each axis, in both directions, give the bits of one sum for each row.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "values.hpp"

#include <ebb/kernel/scan.hpp>

#include <random>

namespace {

template <class T>
using wide = std::conditional_t<ebb::half_width<T>, float, T>;

template <class T>
void check(std::size_t outer, std::size_t length, std::size_t inner) {
  std::mt19937_64 next(outer * 131 + length * 17 + inner);
  test::guarded<T> x(outer * length * inner), out(outer * length * inner);
  for (std::size_t i = 0; i < outer * length * inner; ++i)
    x.at_end()[i] = static_cast<T>(static_cast<wide<T>>(static_cast<int>(next() % 2001) - 1000) / wide<T>(8));
  const auto add = [](const auto& a, const auto& b) { return a + b; };
  for (const bool reversed : {false, true})
    for (const bool exclusive : {false, true}) {
      CAPTURE(outer, length, inner, reversed, exclusive, sizeof(T));
      ebb::kernel::scan({outer, length, inner, reversed, exclusive}, x.at_end(), out.at_end(), T(0), add);
      std::size_t wrong = 0;
      for (std::size_t o = 0; o < outer; ++o)
        for (std::size_t j = 0; j < inner; ++j) {
          T sum(0);
          for (std::size_t k = 0; k < length; ++k) {
            const std::size_t at = (o * length + (reversed ? length - 1 - k : k)) * inner + j;
            const T after = static_cast<T>(static_cast<wide<T>>(sum) + static_cast<wide<T>>(x.at_end()[at]));
            wrong += !test::same_bits(out.at_end()[at], exclusive ? sum : after);
            sum = after;
          }
        }
      REQUIRE(wrong == 0);
    }
}

TEST_CASE("scans of every shape have the bits of one sum for each row") {
  const auto of = []<class T>(T) {
    for (std::size_t outer : {std::size_t{1}, std::size_t{3}, std::size_t{8}, std::size_t{21}})
      for (std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{37}})
        for (std::size_t inner : {std::size_t{1}, std::size_t{2}, std::size_t{16}, std::size_t{70}}) check<T>(outer, length, inner);
  };
  of(float{});
  of(double{});
  of(std::int64_t{});
  of(ebb::bfloat16{});
  of(ebb::float16{});
}

}  // namespace

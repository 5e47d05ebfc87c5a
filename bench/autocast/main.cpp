// bench/autocast/main.cpp — low precision: the cost of conversions, matrix products and the check of contexts.
// SPDX-License-Identifier: BSL-1.0
//
// bench.autocast [--smoke]
#include "check.hpp"
#include "conversions.hpp"
#include "products.hpp"

#include <string_view>

int main(int count, char** arguments) {
  const bool smoke = count > 1 && std::string_view(arguments[1]) == "--smoke";
  const int rounds = smoke ? 3 : 31;
  const bool converted = bench::measure_conversions(smoke, rounds);
  std::printf("\n");
  const bool multiplied = bench::measure_products(smoke, rounds);
  std::printf("\n");
  const bool compared = bench::measure_check(smoke, rounds);
  return converted && multiplied && compared ? 0 : 1;
}

// test/kernel/small_determinant.cpp — determinants of small matrices, alone and in batches, have the bits of the general method.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "values.hpp"

#include <ebb/kernel/small_determinant.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace {

/// Matrices of small whole numbers, of which many are exchanged, negative or singular; with `special` some have a NaN or an infinity.
template <class T>
void check(std::ptrdiff_t n, std::ptrdiff_t batch, bool special) {
  CAPTURE(n, batch, special);
  std::mt19937_64 next(static_cast<std::uint64_t>(100 * n + batch));
  const auto size = static_cast<std::size_t>(n * n), count = static_cast<std::size_t>(batch);
  std::vector<T> a;
  for (std::size_t i = 0; i < size * count; ++i) {
    const int whole = static_cast<int>(next() % 7) - 3;
    a.push_back(i / size % 3 == 0 ? static_cast<T>(whole) : static_cast<T>(whole) + static_cast<T>(next() % 1000) / T(999));
  }
  for (std::size_t k = 0; k < count; k += 4) a[k * size] = T(0);
  if (special) {
    a[a.size() / 2] = std::numeric_limits<T>::quiet_NaN();
    a[a.size() - 1] = std::numeric_limits<T>::infinity();
  }
  std::vector<T> got(2 * count, T(7));
  using V = ebb::simd::vector<T>;
  const std::size_t bytes = std::max(ebb::kernel::small::determinant_bytes(n), ebb::kernel::solve_scratch_bytes<T>({n, 0}));
  std::vector<V> scratch(bytes / sizeof(V) + 1), room(bytes / sizeof(V) + 1);
  std::vector<T> all(2 * count, T(7));
  const std::ptrdiff_t done = ebb::kernel::log_determinants_small<T>(n, batch, a.data(), got.data(), scratch.data());
  REQUIRE(done <= batch);
  CHECK((batch - done < ebb::kernel::small::enough_to_expand<T> && done >= 0));
  std::size_t wrong = 0;
  ebb::kernel::log_determinants<T>(n, batch, a.data(), all.data(), scratch.data());
  for (std::ptrdiff_t k = 0; k < batch; ++k) {
    T want[2];
    ebb::kernel::log_determinant<T>(n, a.data() + k * n * n, want, room.data());
    for (std::ptrdiff_t j = 0; j < 2; ++j) {
      const auto differs = [&](T g) { return std::isnan(want[j]) ? !std::isnan(g) : std::memcmp(&g, &want[j], sizeof(T)) != 0; };
      wrong += differs(all[static_cast<std::size_t>(2 * k + j)]) || (k < done && differs(got[static_cast<std::size_t>(2 * k + j)]));
    }
  }
  CHECK(wrong == 0);
  for (std::ptrdiff_t k = 2 * done; k < 2 * batch; ++k) wrong += got[static_cast<std::size_t>(k)] != T(7);
  CHECK(wrong == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("determinants of small matrices, in lanes and alone, have the bits of the general method", "", float, double) {
  for (std::ptrdiff_t n = 1; n <= ebb::kernel::small::most; ++n)
    for (const std::ptrdiff_t batch : {1, 2, 4, 8, 9, 16, 17, 31, 50})
      for (const bool special : {false, true}) check<TestType>(n, batch, special);
}

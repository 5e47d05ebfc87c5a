// test/kernel/small_triangle.cpp — batches of small triangular systems: the bits of the reference at every place of a batch.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"
#include "values.hpp"

#include <ebb/kernel/small_triangle.hpp>
#include <ebb/tensor/triangle_order.hpp>

#include <cmath>

using ebb::kernel::triangular_system;

namespace {

template <class T>
void check_small_triangles(const triangular_system& s, std::ptrdiff_t batch, bool in_place, bool degenerate) {
  CAPTURE(s.n, s.m, s.transposed, s.flags, batch, in_place, degenerate);
  std::mt19937_64 next(static_cast<std::uint64_t>(s.n * 1000 + s.m * 10 + s.flags));
  const auto size = static_cast<std::size_t>(s.n * s.n), sides = static_cast<std::size_t>(s.n * s.m);
  const auto numbers = [&](std::size_t count) {
    std::vector<T> r;
    for (std::size_t i = 0; i < count; ++i) r.push_back(static_cast<T>(static_cast<int>(next() % 2001) - 1000) / T(331));
    return r;
  };
  std::vector<T> t = numbers(size * static_cast<std::size_t>(batch)), b = numbers(sides * static_cast<std::size_t>(batch)), x(b.size());
  if (degenerate) {  // a 0 and an infinity on a diagonal, a NaN on the right
    t[0] = T(0);
    t[t.size() - 1] = std::numeric_limits<T>::infinity();
    b[b.size() / 2] = std::numeric_limits<T>::quiet_NaN();
  }
  std::vector<T> expected = b;
  for (std::ptrdiff_t k = 0; k < batch; ++k)
    ebb::solve_triangle_in_order(t.data() + k * s.n * s.n, expected.data() + k * s.n * s.m, static_cast<int>(s.n), static_cast<int>(s.m),
                                 s.transposed, s.flags);
  std::vector<ebb::simd::vector<T>> scratch(ebb::kernel::small::scratch_bytes(s) / sizeof(ebb::simd::vector<T>));
  if (in_place) x = b;
  ebb::kernel::solve_triangles_small(s, batch, t.data(), in_place ? x.data() : b.data(), x.data(), scratch.data());
  const auto check = [&] {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool both_nan = x[i] != x[i] && expected[i] != expected[i];
      wrong += !both_nan && std::memcmp(&x[i], &expected[i], sizeof(T)) != 0;
    }
    CHECK(wrong == 0);
  };
  check();
  if (batch > 1 || s.n > 4) return;
  x = b;  // a single system has a kernel of its own
  ebb::kernel::solve_triangle_known(s, t.data(), in_place ? x.data() : b.data(), x.data());
  check();
}

}  // namespace

TEMPLATE_TEST_CASE("small triangular systems have the bits of the reference at every place of a batch", "", float, double) {
  for (std::ptrdiff_t n = 1; n <= 16; ++n)
    for (const std::ptrdiff_t m : {1, 2, 3, 8, 11, 16})
      for (const std::int64_t which : {0, 2, 4, 6})
        for (const bool transposed : {false, true})
          for (const std::ptrdiff_t batch : {1, 5, 19})
            check_small_triangles<TestType>({n, m, transposed, ebb::triangular | which}, batch,
                                            batch == 5 || m == 11 || (batch == 1 && which == 2), m == 3);
}

// test/order/sorting.cpp — the kernel of sort against std::stable_sort: all dtypes, special numbers, ties, short and long rows, first few.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/order/sorting.hpp>

#include <random>
#include <vector>

namespace {

/// Whether a comes before b: written with comparisons of numbers, not of keys.
template <class T>
bool is_before(T a, T b, bool descending) {
  using number = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
  const auto x = static_cast<number>(a), y = static_cast<number>(b);
  const bool x_last = x != x, y_last = y != y;
  if (x_last || y_last) return descending ? x_last && !y_last : y_last && !x_last;
  return descending ? x > y : x < y;
}

template <class T>
void sort_and_compare(const std::vector<T>& x, std::size_t rows, std::size_t wanted, bool descending) {
  const std::size_t n = x.size() / rows;
  std::vector<std::int64_t> got(rows * wanted, -1);
  std::vector<T> copy(x);
  ebb::kernel::sort_rows(copy.data(), rows, n, got.data(), wanted, descending);
  std::size_t wrong = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    std::vector<std::int64_t> places;
    for (std::size_t i = 0; i < n; ++i) places.push_back(static_cast<std::int64_t>(i));
    const auto at = [&](std::int64_t i) { return x[r * n + static_cast<std::size_t>(i)]; };
    std::stable_sort(places.begin(), places.end(), [&](auto a, auto b) { return is_before(at(a), at(b), descending); });
    for (std::size_t i = 0; i < wanted; ++i) wrong += got[r * wanted + i] != places[i];
  }
  INFO(n << " elements, the first " << wanted << (descending ? ", descending" : ""));
  CHECK(wrong == 0);
}

template <class T>
void sort_all_kinds(std::vector<T> special) {
  std::mt19937_64 next(5);
  for (const int elements : {1, 2, 7, 16, 31, 32, 33, 63, 64, 65, 128, 129, 200, 256, 257, 511, 2048, 2049, 3000}) {
    const auto n = static_cast<std::size_t>(elements);
    for (const bool descending : {false, true}) {
      std::vector<T> few, many;
      for (std::size_t i = 0; i < 2 * n; ++i) {
        few.push_back(special[next() % special.size()]);
        many.push_back(next() % 8 == 0 ? special[next() % special.size()]
                                       : static_cast<T>(static_cast<float>(static_cast<int>(next() % 90000) - 45000) / 7));
      }
      sort_and_compare(few, 2, n, descending);
      sort_and_compare(many, 2, n, descending);
      sort_and_compare(many, 1, n, descending);
      sort_and_compare(few, 2, (n + 4) / 5, descending);
      sort_and_compare(few, 2, n - n / 8, descending);
    }
  }
}

template <class T>
std::vector<T> specials() {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  return {T(0.f), T(-0.f), T(1.f), T(-1.f), T(inf), T(-inf), T(nan), T(-nan), T(2.f), T(-2.f), T(1e-7f)};
}

TEST_CASE("the places of sorted rows are those of std::stable_sort") {
  sort_all_kinds(specials<float>());
  sort_all_kinds(specials<double>());
  sort_all_kinds(specials<ebb::bfloat16>());
  sort_all_kinds(specials<ebb::float16>());
  sort_all_kinds<std::int32_t>({0, -1, 1, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()});
  sort_all_kinds<std::int64_t>({0, -1, 1, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                                (std::int64_t{1} << 53) + 1, std::int64_t{1} << 53});
}

TEST_CASE("bools, and numbers that differ in the last bit, are sorted exactly") {
  const bool x[] = {true, false, true, false, false};
  std::int64_t places[5] = {};
  ebb::kernel::sort_rows(x, 1, 5, places, 5, false);
  CHECK(std::vector<std::int64_t>(places, places + 5) == std::vector<std::int64_t>{1, 3, 4, 0, 2});
  ebb::kernel::sort_rows(x, 1, 5, places, 5, true);
  CHECK(std::vector<std::int64_t>(places, places + 5) == std::vector<std::int64_t>{0, 2, 1, 3, 4});
  const double y[] = {1, std::nextafter(1.0, 0.0), std::nextafter(1.0, 2.0), -std::numeric_limits<double>::denorm_min(), 0};
  ebb::kernel::sort_rows(y, 1, 5, places, 5, false);
  CHECK(std::vector<std::int64_t>(places, places + 5) == std::vector<std::int64_t>{3, 4, 1, 0, 2});
}

}  // namespace

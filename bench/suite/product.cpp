// bench/suite/product.cpp — row f: the sum of all elements of a product of two square matrices, and the gradient by both.
// SPDX-License-Identifier: BSL-1.0
#include "../row_sums.hpp"
#include "data.hpp"
#include "rows.hpp"
#include "tile.hpp"

#include <ebb/ebb.hpp>

#include <algorithm>

namespace suite {
namespace {

using ebb::into;

constexpr auto gradient = ebb::value_and_grad<0, 1>([](auto a, auto b) { return ebb::sum(ebb::matmul(a, b)); });

/// Rows are taken five at a time, columns in strips of a few registers that lie together.
template <class T>
class products {
 public:
  explicit products(std::size_t n)
      : n_(n), strip_(std::min<std::size_t>(registers, (n + width - 1) / width) * width), right_(n * ((n + strip_ - 1) / strip_ * strip_)),
        ones_(n * n) {}

  /// Three products, as for any sum of g * (A B): g holds ones, which no product makes use of.
  [[gnu::noinline]] T by_products(const T* a, const T* b, T* da, T* db) {
    const T sum = sum_of_product(a, b);
    std::fill_n(ones_.data(), n_ * n_, T(1));
    pack_transposed(b);
    multiply(ones_.data(), n_, 1, store_to(da));
    pack(ones_.data());
    multiply(a, 1, n_, store_to(db));
    return sum;
  }
  /// One product; the gradients are sums of rows and of columns.
  [[gnu::noinline]] T by_sums(const T* a, const T* b, T* da, T* db) {
    const T sum = sum_of_product(a, b);
    for (std::size_t p = 0; p < n_; p += width) {
      const int count = static_cast<int>(std::min<std::size_t>(width, n_ - p));
      simd::vector<T> column{}, lines[width] = {};
      for (std::size_t i = 0; i < n_; ++i) column = column + simd::load_first(a + i * n_ + p, count);
      for (int k = 0; k < count; ++k) {
        const T* const line = b + (p + static_cast<std::size_t>(k)) * n_;
        std::size_t j = 0;
        for (; j + width <= n_; j += width) lines[k] = lines[k] + simd::load(line + j);
        if (j < n_) lines[k] = lines[k] + simd::load_first(line + j, static_cast<int>(n_ - j));
      }
      const simd::vector<T> row = bench::row_sums<width / 2, T>(lines);
      for (std::size_t i = 0; i < n_; ++i) simd::store_first(da + i * n_ + p, row, count);
      for (int k = 0; k < count; ++k) {
        T* const to = db + (p + static_cast<std::size_t>(k)) * n_;
        std::size_t j = 0;
        for (; j + width <= n_; j += width) simd::store(to + j, simd::all(column[k]));
        if (j < n_) simd::store_first(to + j, simd::all(column[k]), static_cast<int>(n_ - j));
      }
    }
    return sum;
  }

 private:
  static constexpr int width = simd::count_of<T>, registers = simd::register_bytes == 64 ? 4 : 2, tall = 5;
  std::size_t n_, strip_;
  array<T> right_, ones_;

  T sum_of_product(const T* a, const T* b) {
    simd::vector<T> sums[tall] = {};
    pack(b);
    multiply(a, n_, 1, [&](int r, std::size_t, std::size_t, auto v) EBB_LAMBDA { sums[r] = sums[r] + v; });
    const simd::vector<T> all = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + sums[4];
    T sum = 0;
    for (int i = 0; i < width; ++i) sum += all[i];
    return sum;
  }
  /// The right factor as strips of columns, with zeros after the last one.
  void pack(const T* from) {
    T* to = right_.data();
    for (std::size_t j = 0; j < n_; j += strip_)
      for (std::size_t p = 0; p < n_; ++p)
        for (std::size_t c = j; c < j + strip_; c += width, to += width) {
          const std::size_t count = c < n_ ? std::min<std::size_t>(width, n_ - c) : 0;
          simd::store(to, count > 0 ? simd::load_first(from + p * n_ + c, static_cast<int>(count)) : simd::vector<T>{});
        }
  }
  void pack_transposed(const T* from) {
    constexpr std::size_t size = sizeof(T);
    for (std::size_t j = 0; j < n_; j += strip_)
      ebb::kernel::transpose<size>(reinterpret_cast<char*>(right_.data() + j * n_), static_cast<std::ptrdiff_t>(strip_ * size),
                                   reinterpret_cast<const char*>(from + j * n_), static_cast<std::ptrdiff_t>(n_ * size),
                                   std::min(strip_, n_ - j), n_);
  }
  auto store_to(T* c) {
    return [this, c](int r, std::size_t i, std::size_t j, simd::vector<T> v) EBB_LAMBDA {
      simd::store_first(c + (i + static_cast<std::size_t>(r)) * n_ + j, v, static_cast<int>(std::min<std::size_t>(width, n_ - j)));
    };
  }
  /// to(r, i, j, x): x begins at element (i + r, j) of the product.
  template <class To>
  void multiply(const T* a, std::size_t a_row, std::size_t a_step, To to) {
    const T* right = right_.data();
    for (std::size_t j = 0; j < n_; j += strip_, right += n_ * strip_)
      for (std::size_t i = 0; i < n_; i += tall) {
        const auto tile_of = [&](auto used) {
          tile<tall, decltype(used)::value, T>(
              static_cast<int>(n_), a + i * a_row, static_cast<int>(a_row), static_cast<int>(a_step), right, static_cast<int>(strip_),
              [](int, int) EBB_LAMBDA { return simd::vector<T>{}; },
              [&](int r, int c, simd::vector<T> v) EBB_LAMBDA { to(r, i, j + static_cast<std::size_t>(c * width), v); });
        };
        const std::size_t used = std::min<std::size_t>(registers, (n_ - j + width - 1) / width);
        if (used == 1) tile_of(std::integral_constant<int, 1>{});
        else if (used == 2) tile_of(std::integral_constant<int, 2>{});
        else if (used == 3) tile_of(std::integral_constant<int, 3>{});
        else tile_of(std::integral_constant<int, 4>{});
      }
  }
};

template <class T, std::size_t Extent>
ebb::view<T, Extent, Extent> square(T* data, [[maybe_unused]] std::size_t n) {
  if constexpr (Extent == ebb::dyn) return ebb::view<T, Extent, Extent>(data, n, n);
  else return ebb::view<T, Extent, Extent>(data);
}

/// Sums: the reference has one product, else three.
template <class T, std::size_t Extent, bool Sums = false>
void row_of(session& s, row r) {
  if (!s.wanted(r.key, r.type, r.n)) return;
  generator g(51);
  const std::size_t n = r.n, all = n * n;
  const array<T> a(g, all, -1, 1), b(g, all, -1, 1);
  array<T> da(all), db(all);
  products<T> by_tiles(n);
  std::vector<T> memory(2 * all);
  T value = 0;
  const auto in_a = square<const T, Extent>(a.data(), n), in_b = square<const T, Extent>(b.data(), n);
  const auto out_a = square<T, Extent>(da.data(), n), out_b = square<T, Extent>(db.data(), n);
  const auto by_ebb = [&] { gradient(into(value, out_a, out_b), in_a, in_b); };
  const auto by_hand = [&] {
    if constexpr (Sums) value = by_tiles.by_sums(a.data(), b.data(), da.data(), db.data());
    else value = by_tiles.by_products(a.data(), b.data(), da.data(), db.data());
  };
  const auto by_plain = [&] { value = plain::product(a.data(), b.data(), da.data(), db.data(), memory.data(), n); };

  if (s.how != session::mode::count) {
    std::vector<long double> by_a(all), by_b(all);
    long double want = 0, magnitude = 0;
    for (std::size_t p = 0; p < n; ++p) {
      long double column = 0, line = 0;
      for (std::size_t i = 0; i < n; ++i) {
        column += a[i * n + p];
        line += b[p * n + i];
      }
      want += column * line;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) magnitude += std::fabs(static_cast<long double>(a[i * n + p]) * b[p * n + j]);
      for (std::size_t i = 0; i < n; ++i) {
        by_a[i * n + p] = line;
        by_b[p * n + i] = column;
      }
    }
    const auto check = [&](const char* who) {
      s.check(r, who, "value", &value, &want, 1, 32, magnitude / static_cast<long double>(n));
      s.check(r, who, "gradient by a", da.data(), by_a.data(), all, 32);
      s.check(r, who, "gradient by b", db.data(), by_b.data(), all, 32);
    };
    by_ebb();
    check("ebb");
    std::fill_n(da.data(), all, T(0));
    std::fill_n(db.data(), all, T(0));
    by_hand();
    check("hand");
  }
  s.measure(r, by_ebb, by_hand, by_plain);
}

}  // namespace

void product(session& s) {
  row_of<double, ebb::dyn>(s, {"f", "double", 10, 1.45e3, 368, 1.2});
  row_of<double, ebb::dyn>(s, {"f", "double", 100, 799e3, 117e3, 1.03});
  row_of<double, ebb::dyn>(s, {"f", "double", 500, 132e6, 14.7e6, 1.03});
  row_of<float, ebb::dyn>(s, {"f", "float", 10, 1.02e3, 359, 1.2});
  row_of<float, ebb::dyn>(s, {"f", "float", 100, 680e3, 58.9e3, 1.03});
  row_of<float, ebb::dyn>(s, {"f", "float", 500, 110e6, 7.4e6, 0.97});
  row_of<double, 10>(s, {"f-static", "double", 10, 1.45e3, 368, 1.2});
  row_of<float, 10>(s, {"f-static", "float", 10, 1.02e3, 359, 1.2});
  for (const std::size_t n : {10u, 100u, 500u}) row_of<double, ebb::dyn, true>(s, {"f-sums", "double", n});
  for (const std::size_t n : {10u, 100u, 500u}) row_of<float, ebb::dyn, true>(s, {"f-sums", "float", n});
}

}  // namespace suite

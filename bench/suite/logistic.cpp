// bench/suite/logistic.cpp — row d2: logistic regression on 1000 examples of 50 features: the loss and the gradient of its parameters.
// SPDX-License-Identifier: BSL-1.0
#include "../row_sums.hpp"
#include "data.hpp"
#include "rows.hpp"

#include <ebb/ebb.hpp>

namespace suite {
namespace {

using ebb::fold_halves, ebb::into, ebb::lane_count, ebb::lanes;
namespace lane = ebb::lane;
namespace simd = ebb::simd;

constexpr int rows = 1000, columns = 50;

constexpr auto gradient = ebb::value_and_grad<0, 1>([](auto w, auto b, auto x, auto t) {
  auto z = ebb::matmul(x, w) + b;
  return ebb::mean(ebb::log(1 + ebb::exp(z)) - t * z);
});

/// One pass over x: a block of rows is multiplied by w, and again by the gradient of z while it is in the first-level cache. w and its
/// gradient stay in registers (of AVX-512).
template <class T>
[[gnu::noinline]] T hand(const T* x, const T* t, const T* w, T b, T* dw, T* db) {
  using V = simd::vector<T>;
  constexpr int width = simd::count_of<T>, whole = columns / width, rest = columns % width, parts = lanes<T>::parts;
  constexpr auto columns_of_w = std::make_integer_sequence<int, whole + (rest > 0)>{};
  const auto at = [](const T* p, auto c) EBB_LAMBDA {
    if constexpr (decltype(c)::value < whole) return simd::load(p + decltype(c)::value * width);
    else return simd::load_first(p + whole * width, rest);
  };
  return [&]<int... C>(std::integer_sequence<int, C...>) EBB_LAMBDA {
    const V weight[] = {at(w, std::integral_constant<int, C>{})...};
    V slope[] = {(static_cast<void>(C), V{})...};
    lanes<T> loss = lanes<T>::all(0), sum = lanes<T>::all(0);
    const lanes<T> one = lanes<T>::all(1), share = lanes<T>::all(T(1) / rows);
    alignas(64) T r[lane_count];
    for (int first = 0; first < rows; first += lane_count) {
      const int count = rows - first < lane_count ? rows - first : lane_count;
      const T* const block = x + first * columns;
      V product[lane_count] = {};
      const auto multiply = [&](int i) EBB_LAMBDA {
        V p{};
        ((p = simd::fma(at(block + i * columns, std::integral_constant<int, C>{}), weight[C], p)), ...);
        product[i] = p;
      };
      if (count == lane_count)
        for (int i = 0; i < lane_count; ++i) multiply(i);
      else
        for (int i = 0; i < count; ++i) multiply(i);
      lanes<T> z;
      for (int p = 0; p < parts; ++p) z.part[p] = bench::row_sums<width / 2, T>(product + p * width) + simd::all(b);
      const lanes<T> target = lanes<T>::load(t + first, count), e = lane::exp(z), f = one + e;
      const lanes<bool> valid = lanes<bool>::first(count);
      loss = loss + lane::select(valid, lane::log(f) - target * z, lanes<T>::all(0));
      const lanes<T> dz = lane::select(valid, (e / f - target) * share, lanes<T>::all(0));
      sum = sum + dz;
      dz.store(r);
      for (int i = 0; i < count; ++i) {
        const V d = simd::all(r[i]);
        ((slope[C] = simd::fma(at(block + i * columns, std::integral_constant<int, C>{}), d, slope[C])), ...);
      }
    }
    const auto add = [](lanes<T> u, lanes<T> v) EBB_LAMBDA { return u + v; };
    ((C < whole ? simd::store(dw + C * width, slope[C]) : simd::store_first(dw + C * width, slope[C], rest)), ...);
    *db = fold_halves(sum, add);
    return fold_halves(loss, add) / rows;
  }(columns_of_w);
}

template <class T>
void row_of(session& s, row r) {
  if (!s.wanted(r.key, r.type, r.n)) return;
  generator for_x(45), for_t(46), for_w(47);
  ebb::tensor<T, rows, columns> x;
  ebb::tensor<T, rows> t;
  ebb::tensor<T, columns> w, dw;
  T b, db = 0, value = 0;
  for (T& v : x.mutable_span()) v = static_cast<T>(for_x.in(-1, 1));
  for (T& v : t.mutable_span()) v = for_t.unit() > 0.5 ? T(1) : T(0);
  for (T& v : w.mutable_span()) v = static_cast<T>(for_w.in(-0.5, 0.5));
  b = static_cast<T>(for_w.in(-0.5, 0.5));
  const auto by_ebb = [&] { gradient(into(value, dw, db), w, b, x, t); };
  const auto by_hand = [&] { value = hand(x.data(), t.data(), w.data(), b, dw.mutable_data(), &db); };
  const auto by_plain = [&] { value = plain::logistic(x.data(), t.data(), w.data(), b, dw.mutable_data(), &db); };

  if (s.how != session::mode::count) {
    const std::vector<long double> lx(x.begin(), x.end()), lt(t.begin(), t.end()), lw(w.begin(), w.end());
    std::vector<long double> want(columns);
    long double want_b = 0;
    const long double want_value = plain::logistic<long double>(lx.data(), lt.data(), lw.data(), b, want.data(), &want_b);
    const auto check = [&](const char* who) {
      s.check(r, who, "value", &value, &want_value, 1, 16);
      s.check(r, who, "gradient by w", dw.data(), want.data(), columns, 16);
      s.check(r, who, "gradient by b", &db, &want_b, 1, 16, 0.1L);
    };
    by_ebb();
    check("ebb");
    by_hand();
    check("hand");
  }
  s.measure(r, by_ebb, by_hand, by_plain);
}

}  // namespace

void logistic(session& s) {
  row_of<double>(s, {"d2", "double", rows, 52.8e3, 11.8e3, 1.05});
  row_of<float>(s, {"d2", "float", rows, 48.8e3, 6.54e3, 0.87});
}

}  // namespace suite

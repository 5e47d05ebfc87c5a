// test/kernel/fold.cpp — the last part of a reduction gives the bits of the tree written out for one element at a time.
// SPDX-License-Identifier: BSL-1.0
// covers: fold.hpp tensor/reduction_tree.hpp
#include "../catch.hpp"
#include "values.hpp"

#include <ebb/kernel/fold.hpp>

#include <array>

using ebb::bfloat16, ebb::float16, ebb::lanes, ebb::lane_count;

namespace {

template <class T>
T add(T a, T b) {
  if constexpr (ebb::half_width<T>) return T(static_cast<float>(a) + static_cast<float>(b));
  else if constexpr (std::is_same_v<T, bool>) return a != b;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  else return a + b;
}
constexpr auto add_lanes = []<class T>(lanes<T> a, lanes<T> b) {
  if constexpr (std::is_same_v<T, bool>) return a ^ b;
  else return a + b;
};

template <class T>
T tree(std::vector<T> x) {
  for (std::size_t half = x.size() / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) x[i] = add<T>(x[i], x[i + half]);
  return x[0];
}

template <class T>
std::vector<T> some(std::size_t n) {
  std::mt19937_64 next(n);
  std::vector<T> out;
  for (std::size_t i = 0; i < n; ++i) {
    const int x = static_cast<int>(next() % 20001) - 10000;
    if constexpr (ebb::half_width<T>) out.push_back(T(static_cast<float>(x) / 77.f));
    else if constexpr (std::is_same_v<T, bool>) out.push_back(x > 0);
    else out.push_back(static_cast<T>(static_cast<double>(x) / 7.7));
  }
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("accumulators are combined as one tree", "", bool, std::int32_t, std::int64_t, float16, bfloat16, float, double) {
  using T = TestType;
  const std::vector<T> x = some<T>(ebb::logical_lanes);
  T flat[ebb::logical_lanes];
  for (std::size_t i = 0; i < ebb::logical_lanes; ++i) flat[i] = x[i];
  lanes<T> acc[ebb::accumulators];
  for (int u = 0; u < ebb::accumulators; ++u) acc[u] = lanes<T>::load(flat + u * lane_count);
  CHECK(test::same_bits(ebb::combine(acc, add_lanes), tree<T>(x)));

  const std::vector<T> first(x.begin(), x.begin() + lane_count);
  CHECK(test::same_bits(ebb::fold_halves(acc[0], add_lanes), tree<T>(first)));
}

// The same 32 numbers must give the same bits on every target. So the result, computed by another program, is written down here.
TEST_CASE("the tree is the same on every target") {
  float flat[ebb::logical_lanes];
  for (int i = 0; i < ebb::logical_lanes; ++i) flat[i] = (i % 2 == 0 ? 1.f : -1.f) * static_cast<float>(i * i * 1001) / 7.f;
  lanes<float> acc[ebb::accumulators];
  for (int u = 0; u < ebb::accumulators; ++u) acc[u] = lanes<float>::load(flat + u * lane_count);
  const float sum = ebb::combine(acc, add_lanes);
  CHECK(std::bit_cast<std::uint32_t>(sum) == 0xc78a8800u);
}

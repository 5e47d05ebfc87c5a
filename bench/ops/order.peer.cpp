// bench/ops/order.peer.cpp — reductions with places, order, scans, and counts by plain loops.
// SPDX-License-Identifier: BSL-1.0
#include "loop.hpp"

#include <array>
#include <cstring>

namespace {

using ops::read, ops::write, ops::reduced, ops::itself;

constexpr std::size_t rows = 64, columns = 64;

/// f(a row) is the result of each of them.
template <class F>
void add_rows(ops::table& t, const char* name, F) {
  ops::add_loop(t, name, [](read x, write out) {
    for (std::size_t i = 0; i < rows; ++i) out[i] = F{}(x + i * columns);
  });
}
/// f(a row, the row of the result).
template <class F>
void add_scan(ops::table& t, const char* name, F) {
  ops::add_loop(t, name, [](read x, write out) {
    for (std::size_t i = 0; i < rows; ++i) F{}(x + i * columns, out + i * columns);
  });
}
/// The gradient of the square of one element of each row plus its place: place(a row) is its place.
template <class F>
void add_slope_at(ops::table& t, const char* name, F) {
  ops::add_slope(t, name, [](read x, write out) {
    std::fill(out, out + rows * columns, 0.0f);
    for (std::size_t i = 0; i < rows; ++i) {
      const std::size_t at = F{}(x + i * columns);
      out[i * columns + at] = 2 * (x[i * columns + at] + static_cast<float>(at));
    }
  });
}

/// An element's bits in the order of numbers, above its place: one comparison orders both.
std::uint64_t packed(float x, std::size_t at) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits ^= static_cast<std::uint32_t>(static_cast<std::int32_t>(bits) >> 31) | 0x80000000u;
  return static_cast<std::uint64_t>(bits) << 32 | at;
}
std::array<std::uint64_t, columns> packed(read x) {
  std::array<std::uint64_t, columns> r;
  for (std::size_t j = 0; j < columns; ++j) r[j] = packed(x[j], j);
  return r;
}
std::size_t place_of(std::uint64_t key) { return key & 0xffffffffu; }

template <int K>
std::size_t kth(read x) {
  auto keys = packed(x);
  std::nth_element(keys.begin(), keys.begin() + K, keys.end());
  return place_of(keys[K]);
}
template <class F>
std::size_t first_of(read x, F f) {  // the extremum in registers, then its place
  const float r = reduced(x, columns, f, itself);
  return static_cast<std::size_t>(std::find(x, x + columns, r) - x);
}
constexpr auto largest = [](read x) { return first_of(x, ops::larger); };
constexpr auto smallest = [](read x) { return first_of(x, ops::smaller); };
constexpr auto number = [](auto a) { return a == a ? a : ops::each<decltype(a)>(0); };

float quantile(read x) {
  std::array<float, columns> r;
  std::copy(x, x + columns, r.begin());
  constexpr double position = 0.3 * (columns - 1);
  constexpr int below = static_cast<int>(position);
  std::nth_element(r.begin(), r.begin() + below, r.end());
  const float low = r[below], high = *std::min_element(r.begin() + below + 1, r.end());
  return low + (high - low) * static_cast<float>(position - below);
}

/// The number of edges below x, without a branch.
std::size_t edges_below(const float* edges, float x) {
  std::size_t first = 0;
  for (std::size_t half = 32; half > 0; half /= 2) first += edges[first + half - 1] < x ? half : 0;
  return first + (edges[first] < x ? 1 : 0);
}

}  // namespace

void ops::peers_of_order(table& t) {
  add_rows(t, "amax", [](read x) { return reduced(x, columns, larger, itself); });
  add_rows(t, "amin", [](read x) { return reduced(x, columns, smaller, itself); });
  add_rows(t, "aminmax", [](read x) { return reduced(x, columns, smaller, itself) + 2 * reduced(x, columns, larger, itself); });
  add_rows(t, "argmax", [](read x) { return static_cast<float>(largest(x)); });
  add_rows(t, "argmin", [](read x) { return static_cast<float>(smallest(x)); });
  add_loop(t, "argmax<0>", [](read x, write out) {
    float best[columns];
    std::int32_t at[columns] = {};
    std::copy(x, x + columns, best);
    for (std::size_t i = 1; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) {
        const bool more = x[i * columns + j] > best[j];
        best[j] = more ? x[i * columns + j] : best[j];
        at[j] = more ? static_cast<std::int32_t>(i) : at[j];
      }
    for (std::size_t j = 0; j < columns; ++j) out[j] = static_cast<float>(at[j]);
  });
  add_rows(t, "max_with_index", [](read x) {
    const std::size_t at = largest(x);
    return x[at] + static_cast<float>(at);
  });
  add_rows(t, "min_with_index", [](read x) {
    const std::size_t at = smallest(x);
    return x[at] + static_cast<float>(at);
  });
  add_slope_at(t, "max_with_index", largest);
  add_slope_at(t, "min_with_index", smallest);
  add_loop(t, "all", [](read x, write out) {
    int all = 1;
    for (std::size_t i = 0; i < elements; ++i) all &= x[i] < 2 ? 1 : 0;
    *out = static_cast<float>(all);
  });
  add_rows(t, "any", [](read x) {
    int any = 0;
    for (std::size_t j = 0; j < columns; ++j) any |= x[j] > 2 ? 1 : 0;
    return static_cast<float>(any);
  });
  add_rows(t, "count_nonzero", [](read x) {
    int count = 0;
    for (std::size_t j = 0; j < columns; ++j) count += x[j] > 0 ? 1 : 0;
    return static_cast<float>(count);
  });
  add_rows(t, "nansum", [](read x) { return reduced(x, columns, plus, number); });
  add_rows(t, "nanmean", [](read x) {
    return reduced(x, columns, plus, number) /
           reduced(x, columns, plus, [](auto a) { return a == a ? each<decltype(a)>(1) : each<decltype(a)>(0); });
  });
  add_rows(t, "nanmax",
           [](read x) { return reduced(x, columns, larger, [](auto a) { return a == a ? a : each<decltype(a)>(-HUGE_VALF); }); });
  add_rows(t, "nanmin",
           [](read x) { return reduced(x, columns, smaller, [](auto a) { return a == a ? a : each<decltype(a)>(HUGE_VALF); }); });

  const auto element = [&t]<int K>(const char* name, std::integral_constant<int, K>) {
    add_rows(t, name, [](read x) {
      const std::size_t at = kth<K>(x);
      return x[at] + static_cast<float>(at);
    });
    add_slope_at(t, name, [](read x) { return kth<K>(x); });
  };
  element("median", std::integral_constant<int, 31>());
  element("nanmedian", std::integral_constant<int, 31>());
  element("kthvalue", std::integral_constant<int, 7>());
  add_rows(t, "quantile", [](read x) { return quantile(x); });
  add_rows(t, "nanquantile", [](read x) { return quantile(x); });
  add_loop(t, "topk", [](read x, write out) {
    for (std::size_t i = 0; i < rows; ++i) {
      const float* const r = x + i * columns;
      auto keys = packed(r);
      for (auto& key : keys) key ^= 0xffffffff00000000u;  // the largest comes first
      std::partial_sort(keys.begin(), keys.begin() + 8, keys.end());
      for (std::size_t j = 0; j < 8; ++j) out[i * 8 + j] = r[place_of(keys[j])] + static_cast<float>(place_of(keys[j]));
    }
  });
  add_scan(t, "sort", [](read x, write out) {
    auto keys = packed(x);
    std::sort(keys.begin(), keys.end());
    for (std::size_t j = 0; j < columns; ++j) out[j] = x[place_of(keys[j])] + static_cast<float>(place_of(keys[j]));
  });
  add_scan(t, "argsort", [](read x, write out) {
    auto keys = packed(x);
    std::sort(keys.begin(), keys.end());
    for (std::size_t j = 0; j < columns; ++j) out[j] = static_cast<float>(place_of(keys[j]));
  });

  add_scan(t, "cummax", [](read x, write out) {
    float best = x[0];
    std::size_t at = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      const bool more = x[j] >= best;
      best = more ? x[j] : best;
      at = more ? j : at;
      out[j] = best + static_cast<float>(at);
    }
  });
  add_scan(t, "cummin", [](read x, write out) {
    float best = x[0];
    std::size_t at = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      const bool more = x[j] <= best;
      best = more ? x[j] : best;
      at = more ? j : at;
      out[j] = best + static_cast<float>(at);
    }
  });
  add_scan(t, "logcumsumexp", [](read x, write out) {  // by the largest element so far
    float top = x[0], sum = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      if (x[j] > top) {
        sum *= std::exp(top - x[j]);
        top = x[j];
      }
      sum += std::exp(x[j] - top);
      out[j] = top + std::log(sum);
    }
  });

  for (const char* const name : {"searchsorted", "bucketize"})
    add_loop(t, name, [](read x, write out) {
      const float* const e = edges().data();
      for (std::size_t i = 0; i < elements; ++i) out[i] = static_cast<float>(edges_below(e, x[i]));
    });
  add_loop(t, "histogram", [](read x, write out) {
    int counts[64] = {};
    for (std::size_t i = 0; i < elements; ++i)
      if (x[i] >= -1 && x[i] <= 1) ++counts[std::min(63, static_cast<int>((x[i] + 1) * 32))];
    for (std::size_t j = 0; j < 64; ++j) out[j] = static_cast<float>(counts[j]);
  });
  add_loop(t, "bincount", [](read x, write out) {
    std::fill(out, out + 64, 0.0f);
    for (std::size_t i = 0; i < elements; ++i) out[places()[i]] += x[i];
  });
  add_slope(t, "bincount", [](read x, write out) {
    float sums[64] = {};
    for (std::size_t i = 0; i < elements; ++i) sums[places()[i]] += x[i];
    for (std::size_t i = 0; i < elements; ++i) out[i] = 2 * sums[places()[i]];
  });
}

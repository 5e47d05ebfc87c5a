// test/base/vec.static.cpp — a growing array in constant expressions: copies, growth, comparison.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/base/vec.hpp>

#include <utility>

using ebb::vec;

namespace {

constexpr bool is_counting(const vec<int>& v, int size) {
  for (int i = 0; i < v.size(); ++i)
    if (v[i] != i) return false;
  return v.size() == size;
}
constexpr vec<int> counting(int size) {
  vec<int> v;
  for (int i = 0; i < size; ++i)
    if (v.push(i) != i) return {};
  return v;
}

static_assert(vec<int>().empty() && vec<int>().size() == 0 && vec<int>(3, 7) == vec<int>{7, 7, 7});
static_assert(is_counting(counting(100), 100) && counting(100).capacity() >= 100);
static_assert(counting(3) == vec<int>{0, 1, 2} && !(counting(3) == vec<int>{0, 1}) && !(counting(3) == vec<int>{0, 1, 3}));

static_assert([] {
  vec<int> a = counting(5), b = a;
  b[0] = 9;
  b.back() = 8;
  a = std::move(b);  // swaps
  return a == vec<int>{9, 1, 2, 3, 8} && is_counting(b, 5) && a.pop() == 8 && a.size() == 4;
}());
static_assert([] {
  vec<int> a{1, 2}, b;
  b = a;
  vec<int>& same = b;
  b = same;
  b.append(a.data(), a.size());
  int* const room = b.extend(20);
  for (int i = 0; i < 20; ++i) room[i] = i;
  b.shrink(6);
  return b == vec<int>{1, 2, 1, 2, 0, 1} && a == vec<int>{1, 2};
}());
static_assert([] {
  vec<vec<int>> rows;
  for (int i = 0; i < 20; ++i) rows.push(counting(i));
  for (int i = 0; i < 20; ++i)
    if (!is_counting(rows[i], i)) return false;
  int sum = 0;
  for (const vec<int>& row : rows) sum += row.size();
  return sum == 190;
}());

}  // namespace

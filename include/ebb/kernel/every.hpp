// ebb/kernel/every.hpp — every second, third or fourth of adjacent elements in a register, and the other way.
// SPDX-License-Identifier: BSL-1.0
//
// [note: every third element]
// Adjacent elements are loaded into as many registers as the step is, and every Step-th one is chosen from these. If the step is 3, no two
// chosen elements are in the same lane of different registers: so the registers are blended, and one permutation puts the lanes in order.
// Every second one is a shuffle of two registers, every fourth one a shuffle of two such shuffles.
#pragma once

#include "batch.hpp"

namespace ebb::inline EBB_ABI::simd {

/// Lane i is number From(i) of the lanes of a, then b.
template <auto From, class T>
EBB_INLINE vector<T> shuffled(vector<T> a, vector<T> b) {
  return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    return __builtin_shufflevector(a, b, From(I)...);
  }(std::make_integer_sequence<int, count_of<T>>{});
}

/// Groups of Step elements, an odd number, in registers of Count lanes: member c of group i is element i * Step + c.
template <int Step, int Count>
struct groups {
  static constexpr int lane(int i, int c) { return (i * Step + c) % Count; }
  static constexpr int owner(int i, int c) { return (i * Step + c) / Count; }
  static constexpr int member(int owner, int lane) { return (owner * Count + lane) % Step; }
  /// The group whose member c is in that lane.
  static constexpr int in_lane(int lane, int c) {
    int i = 0;
    while ((i * Step + c) % Count != lane) ++i;
    return i;
  }
};

/// Every second lane of a and b, from number A of a and number B of b on: first within each 16 bytes, where it is one instruction.
template <int A, int B, class T>
EBB_INLINE vector<T> halves_of(vector<T> a, vector<T> b) {
  constexpr int n = count_of<T>, e = 16 / static_cast<int>(sizeof(T)), half = e / 2;
  const vector<T> x = shuffled<[](int i) { return i / e * e + i % half * 2 + (i % e < half ? A : n + B); }, T>(a, b);
  return shuffled<[](int i) { return i / half % (n / e) * e + i / half / (n / e) * half + i % half; }, T>(x, x);
}
/// Member C of each group of Step elements, in registers that are loaded one after the other. Early: the last one begins so many elements
/// before its place.
template <int Step, int C, int Early = 0, class T>
EBB_INLINE vector<T> chosen(const vector<T> (&x)[static_cast<std::size_t>(Step)]) {
  constexpr int n = count_of<T>;
  if constexpr (Step == 2) return halves_of<C, C + Early, T>(x[0], x[1]);
  else if constexpr (Step == 4) {
    static_assert(Early == 0);
    constexpr int odd = C % 2, last = C / 2;
    return halves_of<last, last, T>(halves_of<odd, odd, T>(x[0], x[1]), halves_of<odd, odd, T>(x[2], x[3]));
  } else {
    static_assert(Step == 3);
    using g = groups<Step, n>;
    const vector<T> end = Early == 0 ? x[2] : shuffled<[](int i) { return (i + Early) % n; }, T>(x[2], x[2]);
    const vector<T> two = shuffled<[](int lane) { return g::owner(g::in_lane(lane, C), C) == 1 ? n + lane : lane; }, T>(x[0], x[1]);
    const vector<T> all = shuffled<[](int lane) { return g::owner(g::in_lane(lane, C), C) == 2 ? n + lane : lane; }, T>(two, end);
    return shuffled<[](int i) { return g::lane(i, C); }, T>(all, all);
  }
}

/// Every second or third element from p on. Elements after the last one are not accessed.
template <int Step, class T>
EBB_INLINE vector<T> every(const T* p) {
  constexpr int n = count_of<T>, end = (Step - 1) * (n - 1);
  if constexpr (Step == 2) {
    const vector<T> x[] = {load(p), load(p + end)};
    return chosen<Step, 0, Step - 1, T>(x);
  } else {
    const vector<T> x[] = {load(p), load(p + n), load(p + end)};
    return chosen<Step, 0, Step - 1, T>(x);
  }
}

/// Register Owner of groups of three, whose members 0, 1 and 2 are in a, b and c, each in its lane.
template <int Owner, class T>
EBB_INLINE vector<T> blended(vector<T> a, vector<T> b, vector<T> c) {
  constexpr int n = count_of<T>;
  using g = groups<3, n>;
  const vector<T> two = shuffled<[](int lane) { return g::member(Owner, lane) == 1 ? n + lane : lane; }, T>(a, b);
  return shuffled<[](int lane) { return g::member(Owner, lane) == 2 ? n + lane : lane; }, T>(two, c);
}
/// The other way: register C has member C of each group; then they have the groups one after the other.
template <class T, std::size_t Step>
EBB_INLINE void mix(vector<T> (&x)[Step]) {
  constexpr int n = count_of<T>, step = static_cast<int>(Step);
  if constexpr (Step == 2) {
    const vector<T> a = x[0], b = x[1];
    x[0] = shuffled<[](int i) { return i % 2 * n + i / 2; }, T>(a, b);
    x[1] = shuffled<[](int i) { return i % 2 * n + (i + n) / 2; }, T>(a, b);
  } else if constexpr (Step == 4) {
    vector<T> even[] = {x[0], x[2]}, odd[] = {x[1], x[3]};
    mix<T>(even);
    mix<T>(odd);
    vector<T> first[] = {even[0], odd[0]}, last[] = {even[1], odd[1]};
    mix<T>(first);
    mix<T>(last);
    x[0] = first[0], x[1] = first[1], x[2] = last[0], x[3] = last[1];
  } else {
    static_assert(Step == 3);
    using g = groups<step, n>;
    const vector<T> a = shuffled<[](int lane) { return g::in_lane(lane, 0); }, T>(x[0], x[0]),
                    b = shuffled<[](int lane) { return g::in_lane(lane, 1); }, T>(x[1], x[1]),
                    c = shuffled<[](int lane) { return g::in_lane(lane, 2); }, T>(x[2], x[2]);
    x[0] = blended<0, T>(a, b, c);
    x[1] = blended<1, T>(a, b, c);
    x[2] = blended<2, T>(a, b, c);
  }
}

}  // namespace ebb::inline EBB_ABI::simd

// ebb/kernel/every.hpp — every second, third or fourth of adjacent elements in a register, and the other way.
// SPDX-License-Identifier: BSL-1.0
//
// [note: every third element]
// Adjacent elements are loaded into as many registers as the step is, and every Step-th one is chosen from these. If the step is 3, no two
// chosen elements are in the same lane of different registers: so the registers are blended, and one permutation puts the lanes in order.
// Every second one is a shuffle of two registers, every fourth one a shuffle of two such shuffles.
#pragma once

#include "../base/repeat.hpp"
#include "batch.hpp"

namespace ebb::inline EBB_ABI::simd {

/// Lane i is number From(i) of the lanes of a, then b. A register may be one of fewer bytes: 16, or 32.
template <auto From, class T, std::size_t Bytes = register_bytes>
EBB_INLINE vector<T, Bytes> shuffled(vector<T, Bytes> a, vector<T, Bytes> b) {
  return [&]<int... I>(std::integer_sequence<int, I...>) EBB_LAMBDA {
    return __builtin_shufflevector(a, b, From(I)...);
  }(std::make_integer_sequence<int, static_cast<int>(Bytes / sizeof(T))>{});
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

/// Every second lane of a and b, from number A of a and number B of b on: first within each 16 bytes, where it is one instruction, unless
/// all of it is one.
template <int A, int B, class T, std::size_t Bytes = register_bytes>
EBB_INLINE vector<T, Bytes> halves_of(vector<T, Bytes> a, vector<T, Bytes> b) {
  constexpr int n = static_cast<int>(Bytes / sizeof(T)), e = 16 / static_cast<int>(sizeof(T)), half = e / 2;
  if constexpr (target_has::lanes_of_two) return shuffled<[](int i) { return i < n / 2 ? 2 * i + A : 2 * i + B; }, T, Bytes>(a, b);
  const vector<T, Bytes> x = shuffled<[](int i) { return i / e * e + i % half * 2 + (i % e < half ? A : n + B); }, T, Bytes>(a, b);
  return shuffled<[](int i) { return i / half % (n / e) * e + i / half / (n / e) * half + i % half; }, T, Bytes>(x, x);
}
/// Member C of each group of Step elements, in registers that are loaded one after the other. Early: the last one begins so many elements
/// before its place.
template <int Step, int C, int Early = 0, class T, std::size_t Bytes = register_bytes>
EBB_INLINE vector<T, Bytes> chosen(const vector<T, Bytes> (&x)[static_cast<std::size_t>(Step)]) {
  using V = vector<T, Bytes>;
  constexpr int n = static_cast<int>(Bytes / sizeof(T));
  if constexpr (Step == 2) return halves_of<C, C + Early, T, Bytes>(x[0], x[1]);
  else if constexpr (Step == 4) {
    static_assert(Early == 0);
    constexpr int odd = C % 2, last = C / 2;
    return halves_of<last, last, T, Bytes>(halves_of<odd, odd, T, Bytes>(x[0], x[1]), halves_of<odd, odd, T, Bytes>(x[2], x[3]));
  } else {
    static_assert(Step == 3);
    using g = groups<Step, n>;
    const V end = Early == 0 ? x[2] : shuffled<[](int i) { return (i + Early) % n; }, T, Bytes>(x[2], x[2]);
    const V two = shuffled<[](int lane) { return g::owner(g::in_lane(lane, C), C) == 1 ? n + lane : lane; }, T, Bytes>(x[0], x[1]);
    const V all = shuffled<[](int lane) { return g::owner(g::in_lane(lane, C), C) == 2 ? n + lane : lane; }, T, Bytes>(two, end);
    return shuffled<[](int i) { return g::lane(i, C); }, T, Bytes>(all, all);
  }
}

/// Whether members of groups of Step elements are chosen within each 16 bytes: what is computed from them is put in order at the end.
template <int Step, class T>
inline constexpr bool is_chosen_apart = Step == 2 || (Step == 4 && sizeof(T) == 4);

/// Every second lane of a and b from number A on, within each 16 bytes.
template <int A, class T, std::size_t Bytes = register_bytes>
EBB_INLINE vector<T, Bytes> halves_apart(vector<T, Bytes> a, vector<T, Bytes> b) {
  constexpr int n = static_cast<int>(Bytes / sizeof(T)), e = 16 / static_cast<int>(sizeof(T)), half = e / 2;
  return shuffled<[](int i) { return i / e * e + i % half * 2 + A + (i % e < half ? 0 : n); }, T, Bytes>(a, b);
}
/// Member C of each group of Step elements, in an order of groups that is the same for all members. together<Step>(x) puts them in order.
template <int Step, int C, class T, std::size_t Bytes = register_bytes>
EBB_INLINE vector<T, Bytes> chosen_apart(const vector<T, Bytes> (&x)[static_cast<std::size_t>(Step)]) {
  if constexpr (!is_chosen_apart<Step, T>) return chosen<Step, C, 0, T, Bytes>(x);
  else if constexpr (Step == 2) return halves_apart<C, T, Bytes>(x[0], x[1]);
  else return halves_apart<C / 2, T, Bytes>(halves_apart<C % 2, T, Bytes>(x[0], x[1]), halves_apart<C % 2, T, Bytes>(x[2], x[3]));
}
template <int Step, class T, std::size_t Bytes = register_bytes>
EBB_INLINE vector<T, Bytes> together(vector<T, Bytes> x) {
  if constexpr (!is_chosen_apart<Step, T> || Bytes == 16) return x;
  else {
    constexpr int n = static_cast<int>(Bytes / sizeof(T)), e = 16 / static_cast<int>(sizeof(T)), own = e / Step;
    // Group i is in register i / (n / Step), there in 16 bytes number i % (n / Step) / own.
    return shuffled<[](int i) { return i % (n / Step) / own * e + i / (n / Step) * own + i % own; }, T, Bytes>(x, x);
  }
}

/// Every second, third or fourth element from p on. Elements after the last one are not accessed.
template <int Step, class T, std::size_t Bytes = register_bytes>
EBB_INLINE vector<T, Bytes> every(const T* p) {
  constexpr int n = static_cast<int>(Bytes / sizeof(T)), end = (Step - 1) * (n - 1);
  if constexpr (Step == 4 && n < 4) return vector<T, Bytes>{p[0], p[4]};
  else if constexpr (Step == 4) {
    const auto load_at = [p](int i) EBB_LAMBDA { return load_bytes<T, Bytes>(p + i); };
    const auto x = shuffled<[](int i) { return 4 * i % (2 * n); }, T, Bytes>(load_at(0), load_at(n));
    const auto y = shuffled<[](int i) { return (4 * i + (i < n / 4 ? 0 : 3)) % (2 * n); }, T, Bytes>(load_at(2 * n), load_at(end));
    return shuffled<[](int i) { return i < n / 2 ? i : i + n / 2; }, T, Bytes>(x, y);
  } else if constexpr (Step == 2) {
    const vector<T, Bytes> x[] = {load_bytes<T, Bytes>(p), load_bytes<T, Bytes>(p + end)};
    return chosen<Step, 0, Step - 1, T, Bytes>(x);
  } else {
    const vector<T, Bytes> x[] = {load_bytes<T, Bytes>(p), load_bytes<T, Bytes>(p + n), load_bytes<T, Bytes>(p + end)};
    return chosen<Step, 0, Step - 1, T, Bytes>(x);
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
/// The other way for pairs: a[0], b[0], a[1], b[1], ... in two registers, which may be ones of fewer bytes.
template <class T, std::size_t Bytes = register_bytes>
EBB_INLINE void mix_pairs(vector<T, Bytes>& x, vector<T, Bytes>& y) {
  constexpr int n = static_cast<int>(Bytes / sizeof(T));
  const vector<T, Bytes> a = x, b = y;
  x = shuffled<[](int i) { return i % 2 * n + i / 2; }, T, Bytes>(a, b);
  y = shuffled<[](int i) { return i % 2 * n + (i + n) / 2; }, T, Bytes>(a, b);
}
/// The same for groups of Step, a product of twos and threes: register C has member C of each group; then they have the groups one after
/// the other.
template <class T, std::size_t Step>
EBB_INLINE void mix(vector<T> (&x)[Step]) {
  constexpr int n = count_of<T>;
  if constexpr (Step == 2) mix_pairs<T>(x[0], x[1]);
  else if constexpr (Step != 3) {  // every second or third register first, then two or three of what they give
    constexpr std::size_t few = Step % 2 == 0 ? 2 : 3, rest = Step / few;
    vector<T> parted[few][rest];
    repeat<static_cast<int>(Step)>([&]<int C>() EBB_LAMBDA { parted[C % few][C / few] = x[C]; });
    repeat<static_cast<int>(few)>([&]<int C>() EBB_LAMBDA { mix<T>(parted[C]); });
    repeat<static_cast<int>(rest)>([&]<int I>() EBB_LAMBDA {
      vector<T> group[few];
      repeat<static_cast<int>(few)>([&]<int C>() EBB_LAMBDA { group[C] = parted[C][I]; });
      mix<T>(group);
      repeat<static_cast<int>(few)>([&]<int C>() EBB_LAMBDA { x[I * few + C] = group[C]; });
    });
  } else {
    using g = groups<3, n>;
    const vector<T> a = shuffled<[](int lane) { return g::in_lane(lane, 0); }, T>(x[0], x[0]),
                    b = shuffled<[](int lane) { return g::in_lane(lane, 1); }, T>(x[1], x[1]),
                    c = shuffled<[](int lane) { return g::in_lane(lane, 2); }, T>(x[2], x[2]);
    x[0] = blended<0, T>(a, b, c);
    x[1] = blended<1, T>(a, b, c);
    x[2] = blended<2, T>(a, b, c);
  }
}

}  // namespace ebb::inline EBB_ABI::simd

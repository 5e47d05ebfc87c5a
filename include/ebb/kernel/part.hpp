// ebb/kernel/part.hpp — the lanes of a step that have elements: all, the first ones, some in the middle.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../base/repeat.hpp"
#include "every.hpp"
#include "few.hpp"
#include "lanes.hpp"
#include "narrow.hpp"

#include <algorithm>
#include <cstddef>

namespace ebb::inline EBB_ABI::detail {

template <class T>
EBB_INLINE lanes<T> in_reverse(const lanes<T>& x) {
  if constexpr (lanes<T>::parts == 1) return {{simd::reversed<T>(x.part[0])}};
  else return {{simd::reversed<T>(x.part[1]), simd::reversed<T>(x.part[0])}};
}
/// Elements [first, left) of p in the lanes from number `from` on, zeros in the other lanes.
template <class T>
EBB_INLINE lanes<T> load_between(const T* p, std::ptrdiff_t first, std::ptrdiff_t left, std::size_t from) {
  const auto lane = static_cast<std::ptrdiff_t>(from), begin = lane + (first > 0 ? first : 0);
  if constexpr (full_width<T>) {
    lanes<T> r;
    repeat<lanes<T>::parts>([&]<int Part>() EBB_LAMBDA {
      constexpr std::ptrdiff_t before = Part * simd::count_of<T>;
      r.part[Part] = simd::load_between(p - lane + before, begin - before, lane + left - before);
    });
    return r;
  } else {
    T room[lane_count] = {};
    for (std::ptrdiff_t i = begin; i < lane_count && i < lane + left; ++i) room[i] = p[i - lane];
    return lanes<T>::load(room);
  }
}

/// Bits from number `from` on.
constexpr std::uint64_t run_of_bits(std::ptrdiff_t count, std::size_t from) { return ((std::uint64_t{1} << count) - 1) << from; }
/// The elements whose bits are set, zeros in the other lanes.
template <class T>
EBB_INLINE lanes<T> load_bits(const T* p, std::uint64_t bits) {
  lanes<T> r;
  repeat<lanes<T>::parts>([&]<int Part>() EBB_LAMBDA {
    constexpr int before = Part * simd::count_of<T>;
    r.part[Part] = simd::load_bits(p + before, bits >> before);
  });
  return r;
}
/// `count` elements from p on backwards, in the lanes from number `from` on, zeros in the other lanes.
template <class T>
EBB_INLINE lanes<T> load_backwards(const T* p, int count, std::size_t from = 0) {
  if constexpr (full_width<T>) {
    const std::size_t end = lane_count - from;
    return in_reverse(load_bits(p - (end - 1), run_of_bits(count, end - static_cast<std::size_t>(count))));
  } else {
    T room[lane_count] = {};
    for (int i = 0; i < count; ++i) room[from + static_cast<std::size_t>(i)] = *(p - i);
    return lanes<T>::load(room);
  }
}
/// The same, for all lanes.
template <class T>
EBB_INLINE lanes<T> load_backwards(const T* p) {
  if constexpr (!full_width<T>) return load_backwards(p, lane_count);
  else return in_reverse(lanes<T>::load(p - (lane_count - 1)));
}

/// `count` elements, the next one `step` elements on, in the lanes from number `from` on.
template <class T>
EBB_INLINE lanes<T> load_apart(const T* p, std::ptrdiff_t step, int count, std::size_t from = 0) {
  T room[lane_count] = {};
  for (int i = 0; i < count; ++i) room[from + static_cast<std::size_t>(i)] = p[i * step];
  return lanes<T>::load(room);
}
/// The same, for all lanes.
template <class T>
EBB_INLINE lanes<T> load_apart(const T* p, std::ptrdiff_t step) {
  if constexpr (!full_width<T>) return load_apart(p, step, lane_count);
  else {
    const auto part = [step](const T* q) EBB_LAMBDA {
      return [&]<std::ptrdiff_t... I>(std::integer_sequence<std::ptrdiff_t, I...>) EBB_LAMBDA { return simd::vector<T>{q[I * step]...}; }
      (std::make_integer_sequence<std::ptrdiff_t, simd::count_of<T>>{});
    };
    if constexpr (lanes<T>::parts == 1) return {{part(p)}};
    else return {{part(p), part(p + step * simd::count_of<T>)}};
  }
}
/// Every second, third or fourth element, for all lanes.
template <int Step, class T>
EBB_INLINE lanes<T> load_every(const T* p) {
  if constexpr (!full_width<T>) return load_apart(p, Step, lane_count);
  else if constexpr (lanes<T>::parts == 1) return {{simd::every<Step>(p)}};
  else return {{simd::every<Step>(p), simd::every<Step>(p + Step * simd::count_of<T>)}};
}
/// Every second, third or fourth element, `count` of them, in the lanes from number `from` on.
template <int Step, class T>
EBB_INLINE lanes<T> load_every(const T* p, int count, std::size_t from = 0) {
  constexpr std::ptrdiff_t n = full_width<T> ? simd::count_of<T> : 0;
  if constexpr (!full_width<T> || n < Step) return load_apart(p, Step, count, from);
  else {
    static_assert(Step * lane_count <= 64);
    const std::size_t first = from * Step;
    const std::uint64_t bits = run_of_bits((count - 1) * Step + 1, first);
    lanes<T> r;
    repeat<lanes<T>::parts>([&]<int Part>() EBB_LAMBDA {
      simd::vector<T> x[static_cast<std::size_t>(Step)];
      repeat<Step>([&]<int I>() EBB_LAMBDA {
        constexpr std::ptrdiff_t before = (Part * Step + I) * n;
        x[I] = simd::load_bits(p - first + before, bits >> before);
      });
      r.part[Part] = simd::chosen<Step, 0, 0, T>(x);
    });
    return r;
  }
}

/// f(register, number) for the registers that have the lanes of the arrays side by side: x[0][0], x[1][0], ..., then x[0][1], ...
template <class T, std::size_t Count>
EBB_INLINE void each_joined(const lanes<T> (&x)[Count], auto&& f) {
  repeat<lanes<T>::parts>([&]<int Part>() EBB_LAMBDA {
    simd::vector<T> mixed[Count];
    repeat<static_cast<int>(Count)>([&]<int C>() EBB_LAMBDA { mixed[C] = x[C].part[Part]; });
    simd::mix<T>(mixed);
    repeat<static_cast<int>(Count)>([&]<int C>() EBB_LAMBDA { f(mixed[C], static_cast<int>(Count) * Part + C); });
  });
}
template <class T, std::size_t Count>
EBB_INLINE void store_joined(const lanes<T> (&x)[Count], T* p) {
  each_joined(x, [p](simd::vector<T> v, int number) EBB_LAMBDA { simd::store(p + number * simd::count_of<T>, v); });
}
/// The same, for the first `count` lanes.
template <class T, std::size_t Count>
[[gnu::noinline]] void store_joined(const lanes<T> (&x)[Count], T* p, int count) {
  each_joined(x, [p, all = count * static_cast<int>(Count)](simd::vector<T> v, int number) EBB_LAMBDA {
    const int first = number * simd::count_of<T>;
    if (first + simd::count_of<T> <= all) simd::store(p + first, v);
    else if (first < all) simd::store_first(p + first, v, all - first);
  });
}
/// The same, for `count` lanes from number `from` on.
template <class T, std::size_t Count>
[[gnu::noinline]] void store_joined(const lanes<T> (&x)[Count], T* p, std::size_t from, int count) {
  T room[Count * lane_count];
  store_joined(x, room);
  for (std::size_t i = 0; i < Count * static_cast<std::size_t>(count); ++i) p[i] = room[Count * from + i];
}

struct whole_step {
  static constexpr bool whole() { return true; }
  static constexpr std::size_t lane() { return 0; }
  static EBB_INLINE lanes<bool> valid() { return lanes<bool>::all(true); }
  template <class T>
  EBB_INLINE lanes<T> load(const T* p) const { return lanes<T>::load(p); }
  template <class T>
  EBB_INLINE lanes<T> load_back(const T* p) const { return load_backwards(p); }
  template <int Step, class T>
  EBB_INLINE lanes<T> load_every(const T* p) const { return detail::load_every<Step>(p); }
  template <class T>
  EBB_INLINE lanes<T> load_apart(const T* p, std::ptrdiff_t step) const { return detail::load_apart(p, step); }
  template <class T>
  EBB_INLINE void store(const lanes<T>& x, T* p) const { x.store(p); }
  template <class T, std::size_t Count>
  EBB_INLINE void store_joined(const lanes<T> (&x)[Count], T* p) const { detail::store_joined(x, p); }
};

/// A whole step of which no load needs zeros: see [note: zeros around].
struct step_without_zeros : whole_step {};

/// A single element. It is loaded into all lanes: the parts of a wide value are then equal, and are computed once.
struct one_lane {
  static constexpr bool whole() { return false; }
  static constexpr std::size_t lane() { return 0; }
  static EBB_INLINE lanes<bool> valid() { return lanes<bool>::first(1); }
  template <class T>
  EBB_INLINE lanes<T> load(const T* p) const { return lanes<T>::all(*p); }
  template <class T>
  EBB_INLINE lanes<T> load_back(const T* p) const { return load(p); }
  template <int, class T>
  EBB_INLINE lanes<T> load_every(const T* p) const { return load(p); }
  template <class T>
  EBB_INLINE lanes<T> load_apart(const T* p, std::ptrdiff_t) const { return load(p); }
  template <class T>
  EBB_INLINE void store(const lanes<T>& x, T* p) const { *p = x[0]; }
  template <class T, std::size_t Count>
  EBB_INLINE void store_joined(const lanes<T> (&x)[Count], T* p) const {
    repeat<static_cast<int>(Count)>([&]<int C>() EBB_LAMBDA { p[C] = x[C][0]; });
  }
};

/// The first `count` lanes. Whole: whether these may be all lanes; then loads and stores branch, which costs less than masks. One: a single
/// lane branches, too. A step before this one may have stored a single element, and a load under a mask would wait for the cache.
template <bool Whole, bool One = false>
struct first_lanes {
  int count;

  EBB_INLINE bool whole() const { return Whole && count == lane_count; }
  static constexpr std::size_t lane() { return 0; }
  EBB_INLINE lanes<bool> valid() const { return lanes<bool>::first(count); }
  template <class T>
  EBB_INLINE lanes<T> load(const T* p) const {
    if constexpr (Whole)
      if (whole()) [[likely]] return lanes<T>::load(p);
    if constexpr (One)
      if (count == 1) return lanes<T>::all(*p);
    return lanes<T>::load(p, count);
  }
  template <class T>
  EBB_INLINE lanes<T> load_back(const T* p) const {
    if constexpr (Whole)
      if (whole()) [[likely]] return load_backwards(p);
    if constexpr (One)
      if (count == 1) return lanes<T>::all(*p);
    return load_backwards(p, count);
  }
  template <int Step, class T>
  EBB_INLINE lanes<T> load_every(const T* p) const {
    if constexpr (Whole)
      if (whole()) [[likely]] return detail::load_every<Step>(p);
    if constexpr (One)
      if (count == 1) return lanes<T>::all(*p);
    return detail::load_every<Step>(p, count);
  }
  template <class T>
  EBB_INLINE lanes<T> load_apart(const T* p, std::ptrdiff_t step) const {
    if constexpr (Whole)
      if (whole()) [[likely]] return detail::load_apart(p, step);
    if constexpr (One)
      if (count == 1) return lanes<T>::all(*p);
    return detail::load_apart(p, step, count);
  }
  template <class T>
  EBB_INLINE void store(const lanes<T>& x, T* p) const {
    if constexpr (Whole)
      if (whole()) [[likely]] return x.store(p);
    if constexpr (One)
      if (count == 1) {
        *p = x[0];
        return;
      }
    x.store(p, count);
  }
  template <class T, std::size_t Count>
  EBB_INLINE void store_joined(const lanes<T> (&x)[Count], T* p) const {
    if constexpr (Whole)
      if (whole()) [[likely]] return detail::store_joined(x, p);
    if constexpr (One)
      if (count == 1) return one_lane{}.store_joined(x, p);
    detail::store_joined(x, p, count);
  }
};

/// The first Count lanes. A value of two registers has zeros in one without elements.
template <int Count>
struct known_lanes {
  static_assert(Count < lane_count);
  static constexpr int count = Count;
  static constexpr bool whole() { return false; }
  static constexpr std::size_t lane() { return 0; }
  static EBB_INLINE lanes<bool> valid() { return lanes<bool>::first(Count); }
  template <class T>
  EBB_INLINE lanes<T> load(const T* p) const {
    if constexpr (!full_width<T>) return lanes<T>::load(p, Count);
    else {
      constexpr int in_part = simd::count_of<T>;
      lanes<T> r;
      repeat<lanes<T>::parts>([&]<int Part>() EBB_LAMBDA {
        if constexpr (constexpr int some = std::min(Count - Part * in_part, in_part); some > 0)
          r.part[Part] = simd::load_few<some>(p + Part * in_part);
        else r.part[Part] = simd::all(T{});
      });
      return r;
    }
  }
  template <class T>
  EBB_INLINE lanes<T> load_back(const T* p) const { return load_backwards(p, Count); }
  template <int Step, class T>
  EBB_INLINE lanes<T> load_every(const T* p) const { return detail::load_every<Step>(p, Count); }
  template <class T>
  EBB_INLINE lanes<T> load_apart(const T* p, std::ptrdiff_t step) const { return detail::load_apart(p, step, Count); }
  template <class T>
  EBB_INLINE void store(const lanes<T>& x, T* p) const {
    if constexpr (!full_width<T>) x.store(p, Count);
    else repeat<lanes<T>::parts>([&]<int Part>() EBB_LAMBDA {
      constexpr int before = Part * simd::count_of<T>, some = std::min(Count - before, simd::count_of<T>);
      if constexpr (some > 0) simd::store_few<some>(p + before, x.part[Part]);
    });
  }
  template <class T, std::size_t Joined>
  EBB_INLINE void store_joined(const lanes<T> (&x)[Joined], T* p) const { detail::store_joined(x, p, Count); }
};

/// `count` elements in the lanes from number `from` on. The other lanes hold unused values.
struct middle_lanes {
  std::size_t from;
  int count;

  EBB_INLINE bool whole() const { return count == lane_count; }
  EBB_INLINE std::size_t lane() const { return from; }
  EBB_INLINE lanes<bool> valid() const { return lanes<bool>::from_bits(((1u << count) - 1u) << from); }
  template <class T>
  EBB_INLINE lanes<T> load(const T* p) const {
    if (whole()) [[likely]] return lanes<T>::load(p);
    if constexpr (full_width<T>) return load_bits(p - from, run_of_bits(count, from));
    else return load_apart(p, 1, count, from);
  }
  template <class T>
  EBB_INLINE lanes<T> load_back(const T* p) const {
    if (whole()) [[likely]] return load_backwards(p);
    return load_backwards(p, count, from);
  }
  template <int Step, class T>
  EBB_INLINE lanes<T> load_every(const T* p) const {
    if (whole()) [[likely]] return detail::load_every<Step>(p);
    return detail::load_every<Step>(p, count, from);
  }
  template <class T>
  EBB_INLINE lanes<T> load_apart(const T* p, std::ptrdiff_t step) const {
    if (whole()) [[likely]] return detail::load_apart(p, step);
    return load_some(p, step);
  }
  template <class T>
  EBB_INLINE void store(const lanes<T>& x, T* p) const {
    if (whole()) [[likely]] return x.store(p);
    if constexpr (full_width<T>) {
      repeat<lanes<T>::parts>([&]<int Part>() EBB_LAMBDA {
        constexpr int before = Part * simd::count_of<T>;
        simd::store_bits(p - from + before, x.part[Part], run_of_bits(count, from) >> before);
      });
    } else shift_back(x, p);
  }
  template <class T, std::size_t Count>
  EBB_INLINE void store_joined(const lanes<T> (&x)[Count], T* p) const {
    if (whole()) [[likely]] return detail::store_joined(x, p);
    detail::store_joined(x, p, from, count);
  }

 private:
  template <class T>
  [[gnu::noinline]] lanes<T> load_some(const T* p, std::ptrdiff_t step) const { return detail::load_apart(p, step, count, from); }
  template <class T>
  [[gnu::noinline]] void shift_back(const lanes<T>& x, T* p) const {
    T room[2 * lane_count];
    x.store(room);
    x.store(room + lane_count);
    lanes<T>::load(room + from).store(p, count);
  }
};

/// The number of elements of a step.
EBB_INLINE int count_in_step(auto part) {
  if constexpr (requires { part.count; }) return part.count;
  else return part.whole() ? lane_count : 1;
}

}  // namespace ebb::inline EBB_ABI::detail

// ebb/nn/resample.hpp — the kernel of images of another size: rows are combined and widened.
// SPDX-License-Identifier: BSL-1.0
//
// [note: order of a resampling]
// One axis is resized after the other, the first one first. An element of the result is the sum of its taps, each an element of the array
// times a weight, from the lowest place to the highest. A gradient resizes the last axis first. There each tap has a sum of its own, from 0
// on, over the elements of the result in rising order. Then the sums are added: of two taps both, of four the third and the fourth, then
// the first, then the second. No product is fused with a sum.
//
// Method: the axes before the last one give a row, since their taps are rows, planes and so on. The last axis widens that row to one of the
// result by permutations of registers: tables have the places and weights of its elements. So scratch memory is a row, a plane and so on
// for each axis.
#pragma once

#include "../kernel/instructions.hpp"
#include "../tensor/strided.hpp"

#include <algorithm>
#include <cstring>

namespace ebb::inline EBB_ABI {

namespace functions {

enum class sampling { nearest, exact, linear, corners, cubic, cubic_corners };
constexpr bool takes_elements(sampling how) { return how == sampling::nearest || how == sampling::exact; }
constexpr bool keeps_corners(sampling how) { return how == sampling::corners || how == sampling::cubic_corners; }

}  // namespace functions

namespace kernel {

using functions::sampling;

/// The places of an axis' elements, one after the other, in an axis of `from` elements. Places are quotients of integers: exact.
class sampled_places {
 public:
  constexpr sampled_places(sampling how, std::int64_t from, std::int64_t to) : clamps_(how == sampling::linear) {
    const bool corners = functions::keeps_corners(how), nearest = how == sampling::nearest;
    parts_ = nearest ? to : !corners ? 2 * to : to > 1 ? to - 1 : 1;
    const std::int64_t start = nearest || corners ? 0 : functions::takes_elements(how) ? from : from - to;
    const std::int64_t step = nearest ? from : corners ? from - 1 : 2 * from;
    first_ = start < 0 ? -((parts_ - 1 - start) / parts_) : start / parts_;
    rest_ = start - first_ * parts_;
    whole_ = step / parts_, more_ = step % parts_;
  }
  /// The element before the place, or at it: -1 before the first one. The place is rest() / parts() further.
  constexpr std::int64_t first() const { return clamps_ && first_ < 0 ? 0 : first_; }
  constexpr std::int64_t rest() const { return clamps_ && first_ < 0 ? 0 : rest_; }
  constexpr std::int64_t parts() const { return parts_; }
  constexpr void next() { add(whole_, more_); }

  /// The distances of elements from the first one, as places.
  constexpr sampled_places steps() const {
    sampled_places r = *this;
    r.first_ = r.rest_ = 0;
    r.clamps_ = false;
    return r;
  }
  constexpr void next(const sampled_places& steps) { add(steps.first_, steps.rest_); }
  /// first() and rest() without the exception of linear interpolation before the first element.
  struct place {
    std::int64_t first, rest;
  };
  constexpr place start() const { return {first_, rest_}; }

 private:
  constexpr void add(std::int64_t whole, std::int64_t more) {
    const bool carries = rest_ >= parts_ - more;
    first_ += whole + carries;
    rest_ += more - (carries ? parts_ : 0);
  }

  std::int64_t parts_ = 1, first_ = 0, rest_ = 0, whole_ = 0, more_ = 0;
  bool clamps_;
};

/// The taps of a place: elements next to it, of which those beyond an edge are the one at the edge. One, two or four.
template <int Taps>
struct taps {
  static constexpr int before = Taps == 4 ? 1 : 0;
  /// In which order a gradient adds the sums of taps.
  static constexpr int order_of_sums[4] = {Taps == 4 ? 2 : 0, Taps == 4 ? 3 : 1, 0, 1};

  static constexpr std::int64_t place(std::int64_t first, int tap, std::int64_t from) {
    return std::clamp<std::int64_t>(first + tap - before, 0, from - 1);
  }
  /// The weights for a share between 0 and 1: numbers, or registers of them.
  template <class S, class V>
  static constexpr void weigh(V share, V* w) {
    if constexpr (Taps == 2) w[0] = S(1) - share, w[1] = share;
    if constexpr (Taps == 4) {
      // The kernel of Keys: sharp * t (1 - t)^2 for the element before the first, ((sharp + 2) t - (sharp + 3)) t^2 + 1 for the first,
      // and the same from the other side.
      constexpr S sharp = S(-0.75);
      const V rest = S(1) - share;
      w[0] = sharp * share * rest * rest;
      w[1] = (S(sharp + 2) * share - S(sharp + 3)) * share * share + S(1);
      w[2] = (S(sharp + 2) * rest - S(sharp + 3)) * rest * rest + S(1);
      w[3] = sharp * rest * share * share;
    }
  }
  template <class S>
  static constexpr void weigh(const sampled_places& at, S* w) {
    if constexpr (Taps > 1) weigh<S>(static_cast<S>(at.rest()) / static_cast<S>(at.parts()), w);
  }
};

/// The extents of an array and of a resized one. Axes before the resized ones are batches.
struct resampled {
  sampling how = sampling::nearest;
  int axes = 0;
  std::ptrdiff_t batch = 1;
  std::ptrdiff_t from[max_rank] = {}, to[max_rank] = {};

  constexpr resampled(const std::int64_t* attr, const extent_list& x, const extent_list& y)
      : how(static_cast<sampling>(attr[0])), axes(static_cast<int>(attr[1])) {
    const int lead = x.rank - axes;
    batch = static_cast<std::ptrdiff_t>(x.volume(0, lead));
    for (int i = 0; i < axes; ++i) {
      from[i] = static_cast<std::ptrdiff_t>(x.e[lead + i]);
      to[i] = static_cast<std::ptrdiff_t>(y.e[lead + i]);
    }
  }
  /// The number of elements of the axes [first, last).
  static constexpr std::ptrdiff_t volume(const std::ptrdiff_t* e, int first, int last) {
    std::ptrdiff_t n = 1;
    for (int i = first; i < last; ++i) n *= e[i];
    return n;
  }
  constexpr std::ptrdiff_t from_volume() const { return volume(from, 0, axes); }
  constexpr std::ptrdiff_t to_volume() const { return volume(to, 0, axes); }
};

/// Parts of scratch memory, each aligned to a register. Without memory it counts the bytes.
class parts_of_scratch {
 public:
  explicit parts_of_scratch(char* memory) : memory_(memory) {}
  template <class T>
  T* take(std::ptrdiff_t count) {
    T* const r = memory_ ? reinterpret_cast<T*>(memory_ + used_) : nullptr;
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return r;
  }
  std::size_t bytes() const { return used_; }

 private:
  char* memory_;
  std::size_t used_ = 0;
};

/// Resizes arrays of T. T is a real number, or, for one tap, an integer of the element's size: its bits are copied.
template <int Taps, class T>
class resampler {
  static constexpr bool is_short = sizeof(T) < 4;  // without registers
  using lane_type = std::conditional_t<is_short, std::int32_t, T>;
  using V = simd::vector<lane_type>;
  using I = simd::int_of<lane_type>;
  static constexpr int n = simd::count_of<lane_type>;
  template <int K>
  using tap = std::integral_constant<int, K>;

 public:
  resampler(const resampled& r, parts_of_scratch& scratch) : r_(r), from_(r.from[r.axes - 1]), to_(r.to[r.axes - 1]) {
    for (int i = 0; i + 1 < r.axes; ++i) {
      size_[i] = resampled::volume(r.from, i + 1, r.axes), out_size_[i] = resampled::volume(r.to, i + 1, r.axes);
      if constexpr (Taps > 1) combined_[i] = scratch.take<T>(size_[i]);
    }
    const std::ptrdiff_t blocks = (to_ + n - 1) / n;
    base_ = scratch.take<std::ptrdiff_t>(blocks);
    index_ = scratch.take<I>(blocks * Taps * n);
    if constexpr (Taps > 1) weight_ = scratch.take<T>(blocks * Taps * n);
  }
  void run(const T* x, T* out) {
    fill();
    const std::ptrdiff_t next = r_.from_volume(), out_next = r_.to_volume();
    for (std::ptrdiff_t b = 0; b < r_.batch; ++b, x += next, out += out_next) resize(0, x, out);
  }

 private:
  void fill() {
    sampled_places at(r_.how, from_, to_), step = at.steps();
    I further[n], rests[n];
    for (int i = 0; i < n; ++i, step.next()) {
      further[i] = static_cast<I>(step.first());
      rests[i] = static_cast<I>(step.rest());
    }
    const std::int64_t parts = at.parts();
    const bool is_narrow = parts < 1 << 29;  // sums of two rests are no larger than I
    for (std::ptrdiff_t j = 0, b = 0; j < to_; j += n, ++b, at.next(step)) {
      auto places = simd::load(further), rest = simd::load(rests);
      if (is_narrow) {
        rest = rest + static_cast<I>(at.start().rest);
        const auto carries = simd::less<I>(simd::all(static_cast<I>(parts - 1)), rest);
        places = simd::select<I>(carries, places + I(1), places);
        rest = simd::select<I>(carries, rest - static_cast<I>(parts), rest);
      } else {
        sampled_places one = at;
        for (int i = 0; i < n; ++i, one.next()) {
          places[i] = static_cast<I>(one.start().first - at.start().first);
          rest[i] = static_cast<I>(one.start().rest);
        }
      }
      fill(b, at.start().first, places, rest, parts);
    }
  }
  /// Register b of the tables: its lanes are so many places after the first one.
  EBB_INLINE void fill(std::ptrdiff_t b, std::int64_t first, simd::vector<I> further, [[maybe_unused]] simd::vector<I> rest,
                       [[maybe_unused]] std::int64_t parts) {
    const auto all = [](std::int64_t x) EBB_LAMBDA { return simd::all(static_cast<I>(std::clamp<std::int64_t>(x, -1 << 30, 1 << 30))); };
    const auto least = all(-first), last = all(from_ - 1 - first);
    if (r_.how == sampling::linear && first < 0) {
      const auto outside = simd::less<I>(further, least);
      further = simd::select<I>(outside, least, further);
      rest = simd::select<I>(outside, simd::vector<I>{}, rest);
    }
    // A register that begins there does not end after the row.
    base_[b] = std::min(static_cast<std::ptrdiff_t>(taps<Taps>::place(first, 0, from_)), std::max<std::ptrdiff_t>(from_ - n, 0));
    for (int k = 0; k < Taps; ++k) {
      auto i = further + static_cast<I>(k - taps<Taps>::before);
      i = simd::select<I>(simd::less<I>(i, least), least, i);
      i = simd::select<I>(simd::less<I>(last, i), last, i);
      simd::store(index_ + (b * Taps + k) * n, i + static_cast<I>(first - base_[b]));
    }
    fits_ = fits_ && index_[(b * Taps + Taps) * n - 1] < n;
    if constexpr (Taps > 1) {
      V w[Taps];
      taps<Taps>::template weigh<T>(__builtin_convertvector(rest, V) / static_cast<T>(parts), w);
      for (int k = 0; k < Taps; ++k) simd::store(weight_ + (b * Taps + k) * n, w[k]);
    }
  }
  void resize(int axis, const T* x, T* out) {
    if (axis == r_.axes - 1) return widen(x, out, 1);
    sampled_places at(r_.how, r_.from[axis], r_.to[axis]);
    const std::ptrdiff_t size = size_[axis], out_size = out_size_[axis], count = r_.to[axis];
    if constexpr (Taps == 1)
      if (count % r_.from[axis] == 0) {
        const std::ptrdiff_t times = count / r_.from[axis];
        for (std::ptrdiff_t i = 0; i < r_.from[axis]; ++i) repeat(axis, x + i * size, out + i * times * out_size, times);
        return;
      }
    for (std::ptrdiff_t i = 0; i < count;) {
      if constexpr (Taps == 1) {
        const std::int64_t place = at.first();
        std::ptrdiff_t times = 0;
        for (; i < count && at.first() == place; ++i, at.next()) ++times;
        repeat(axis, x + place * size, out, times);
        out += times * out_size;
      } else {
        const T* parts[Taps];
        T w[Taps];
        for (int k = 0; k < Taps; ++k) parts[k] = x + taps<Taps>::place(at.first(), k, r_.from[axis]) * size;
        taps<Taps>::weigh(at, w);
        combine(parts, w, combined_[axis], size);
        resize(axis + 1, combined_[axis], out);
        ++i, at.next(), out += out_size;
      }
    }
  }
  /// Writes the result of one element of an axis so many times.
  EBB_INLINE void repeat(int axis, const T* x, T* out, std::ptrdiff_t times) {
    if (axis == r_.axes - 2) return widen(x, out, times);
    const std::ptrdiff_t size = out_size_[axis];
    resize(axis + 1, x, out);
    for (std::ptrdiff_t k = 1; k < times; ++k) std::memcpy(out + k * size, out, static_cast<std::size_t>(size) * sizeof(T));
  }
  /// The sum of the products of registers w(tap) and x(tap).
  EBB_INLINE static V sum(auto w, auto x) {
    return [&]<int... K>(std::integer_sequence<int, K...>) EBB_LAMBDA {
      V r = w(tap<0>{}) * x(tap<0>{});
      ((r = r + w(tap<K + 1>{}) * x(tap<K + 1>{})), ...);
      return r;
    }(std::make_integer_sequence<int, Taps - 1>{});
  }
  static void combine(const T* const (&parts)[Taps], const T (&weights)[Taps], T* to, std::ptrdiff_t count) {
    [&]<int... K>(std::integer_sequence<int, K...>) EBB_LAMBDA {
      const V w[] = {simd::all(weights[K])...};
      const T* const from[] = {parts[K]...};
      const auto weight = [&](auto k) EBB_LAMBDA { return w[k]; };
      std::ptrdiff_t j = 0;
      for (; j + n <= count; j += n) simd::store(to + j, sum(weight, [&](auto k) EBB_LAMBDA { return simd::load(from[k] + j); }));
      if (const int rest = static_cast<int>(count - j); rest > 0)
        simd::store_first(to + j, sum(weight, [&](auto k) EBB_LAMBDA { return simd::load_first(from[k] + j, rest); }), rest);
    }(std::make_integer_sequence<int, Taps>{});
  }
  /// Writes a row of the result so many times.
  EBB_INLINE void widen(const T* row, T* out, std::ptrdiff_t times) const {
    if constexpr (is_short) {
      for (std::ptrdiff_t j = 0; j < to_; ++j) out[j] = row[base_[j / n] + index_[j]];
      for (std::ptrdiff_t k = 1; k < times; ++k) std::memcpy(out + k * to_, out, static_cast<std::size_t>(to_) * sizeof(T));
    } else if (!fits_) widen<reads::memory, 0>(row, out, times);
    else if (from_ < n) widen<reads::whole_row, 0>(row, out, times);
    else if (Taps > 1 || times == 1) widen<reads::one_register, 1>(row, out, 1);
    else if (times == 2) widen<reads::one_register, 2>(row, out, 2);
    else widen<reads::one_register, 0>(row, out, times);
  }
  /// A register of the result reads elements anywhere, those of one register, or those of a row that is shorter than that.
  enum class reads { memory, one_register, whole_row };
  template <reads What, int Times>  // 0: that is not known
  void widen(const T* row, T* out, std::ptrdiff_t times) const {
    if constexpr (Times > 0) times = Times;
    const std::ptrdiff_t to = to_, length = from_;
    const I* index = index_;
    const T* weight = weight_;
    for (std::ptrdiff_t j = 0, b = 0; j < to; j += n, ++b, index += Taps * n, weight += Taps > 1 ? Taps * n : 0) {
      const T* const from = row + base_[b];
      V all{};
      if constexpr (What == reads::one_register) all = simd::load(from);
      if constexpr (What == reads::whole_row) all = simd::load_first(row, static_cast<int>(length));
      const auto elements = [&](auto k) EBB_LAMBDA {
        if constexpr (What != reads::memory) return simd::permuted<T>(all, simd::load(index + k * n));
        else {
          T part[n];
          for (int i = 0; i < n; ++i) part[i] = from[index[k * n + i]];
          return simd::load(part);
        }
      };
      V y;
      if constexpr (Taps == 1) y = elements(tap<0>{});
      else y = sum([&](auto k) EBB_LAMBDA { return simd::load(weight + k * n); }, elements);
      T* at = out + j;
      if (j + n <= to)
        for (std::ptrdiff_t k = 0; k < times; ++k, at += to) simd::store(at, y);
      else
        for (std::ptrdiff_t k = 0; k < times; ++k, at += to) simd::store_first(at, y, static_cast<int>(to - j));
    }
  }

  const resampled& r_;
  std::ptrdiff_t from_, to_;
  std::ptrdiff_t size_[max_rank] = {}, out_size_[max_rank] = {};  // of what lies below an element of an axis
  T* combined_[max_rank] = {};
  // Of the last axis: the lowest place that a register of the result reads, how much further its lanes read, and their weights.
  std::ptrdiff_t* base_ = nullptr;
  I* index_ = nullptr;
  T* weight_ = nullptr;
  bool fits_ = true;
};

}  // namespace kernel
}  // namespace ebb::inline EBB_ABI

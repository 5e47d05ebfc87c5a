// ebb/nn/resample_back.hpp — the kernel of gradients of images of another size: rows are narrowed, then parts of axes are added.
// SPDX-License-Identifier: BSL-1.0
//
// Method: as many rows as a register has lanes are turned, so that the sums of the last axis have rows as lanes. The axes before it add
// whole rows, planes and so on. Scratch memory is an image of which some axes have been resized, for each axis.
#pragma once

#include "resample.hpp"

#include "../kernel/transpose.hpp"

namespace ebb::inline EBB_ABI::kernel {

/// The pull of resampler: the elements of a gradient of the result, times their weights, are added at the places of their taps.
template <int Taps, class S>
class resampler_back {
  using V = simd::vector<S>;
  static constexpr int n = simd::count_of<S>;
  /// The elements of an axis of the result that read a place through a tap: from start[tap][place] on, before start[tap][place + 1].
  struct table {
    std::ptrdiff_t from = 0, to = 0;
    std::ptrdiff_t* start[Taps] = {};
    S* weight[Taps] = {};
  };

 public:
  resampler_back(const resampled& r, parts_of_scratch& scratch) : r_(r) {
    for (int i = 0; i < r.axes; ++i) {
      axis_[i].from = r.from[i], axis_[i].to = r.to[i];
      for (int k = 0; k < Taps; ++k) {
        axis_[i].start[k] = scratch.take<std::ptrdiff_t>(r.from[i] + 1);
        if constexpr (Taps > 1) axis_[i].weight[k] = scratch.take<S>(r.to[i]);
      }
    }
    const table& last = axis_[r.axes - 1];
    turned_ = scratch.take<S>((last.to + n) * n);
    narrowed_ = scratch.take<S>((last.from + n) * n);
    for (int i = 1; i < r.axes; ++i)  // the axes before i are those of the result, the others those of the array
      halfway_[i] = scratch.take<S>(resampled::volume(r.to, 0, i) * resampled::volume(r.from, i, r.axes));
  }
  void run(const S* g, S* out) {
    for (int i = 0; i < r_.axes; ++i) fill(axis_[i], r_.how);
    const std::ptrdiff_t next = r_.to_volume(), out_next = r_.from_volume();
    if (r_.axes == 1) return narrow(g, out, r_.batch);
    for (std::ptrdiff_t b = 0; b < r_.batch; ++b, g += next, out += out_next) {
      narrow(g, halfway_[r_.axes - 1], resampled::volume(r_.to, 0, r_.axes - 1));
      for (int i = r_.axes - 2; i >= 0; --i) {
        const std::ptrdiff_t size = resampled::volume(r_.from, i + 1, r_.axes);
        S* const to = i > 0 ? halfway_[i] : out;
        for (std::ptrdiff_t k = 0; k < resampled::volume(r_.to, 0, i); ++k)
          add_parts(axis_[i], halfway_[i + 1] + k * axis_[i].to * size, to + k * axis_[i].from * size, size);
      }
    }
  }

 private:
  static void fill(table& t, sampling how) {
    for (int k = 0; k < Taps; ++k) std::fill_n(t.start[k], t.from + 1, 0);
    sampled_places at(how, t.from, t.to);
    for (std::ptrdiff_t i = 0; i < t.to; ++i, at.next()) {
      for (int k = 0; k < Taps; ++k) ++t.start[k][taps<Taps>::place(at.first(), k, t.from) + 1];
      S w[Taps];
      taps<Taps>::weigh(at, w);
      if constexpr (Taps > 1)
        for (int k = 0; k < Taps; ++k) t.weight[k][i] = w[k];
    }
    for (int k = 0; k < Taps; ++k)
      for (std::ptrdiff_t i = 0; i < t.from; ++i) t.start[k][i + 1] += t.start[k][i];
  }
  /// The sum of all that is added at a place: g(i) has some elements of number i of the result.
  EBB_INLINE static V sum_at(const table& t, std::ptrdiff_t place, auto g) {
    const auto of_tap = [&]<int K>(std::integral_constant<int, K>) EBB_LAMBDA {
      constexpr int k = taps<Taps>::order_of_sums[K];
      V sum = {};
      for (std::ptrdiff_t i = t.start[k][place], end = t.start[k][place + 1]; i < end; ++i) {
        if constexpr (Taps == 1) sum = sum + g(i);
        else sum = sum + g(i) * t.weight[k][i];
      }
      return sum;
    };
    return [&]<int... K>(std::integer_sequence<int, K...>) EBB_LAMBDA {
      V r = of_tap(std::integral_constant<int, 0>{});
      ((r = r + of_tap(std::integral_constant<int, K + 1>{})), ...);
      return r;
    }(std::make_integer_sequence<int, Taps - 1>{});
  }
  static void add_parts(const table& t, const S* g, S* out, std::ptrdiff_t size) {
    for (std::ptrdiff_t i = 0; i < t.from; ++i, out += size) {
      std::ptrdiff_t j = 0;
      for (; j + n <= size; j += n)
        simd::store(out + j, sum_at(t, i, [&](std::ptrdiff_t k) EBB_LAMBDA { return simd::load(g + k * size + j); }));
      if (const int rest = static_cast<int>(size - j); rest > 0)
        simd::store_first(
            out + j, sum_at(t, i, [&](std::ptrdiff_t k) EBB_LAMBDA { return simd::load_first(g + k * size + j, rest); }), rest);
    }
  }
  /// Rows of the last axis: as many as a register has lanes at a time.
  void narrow(const S* g, S* out, std::ptrdiff_t rows) const {
    const table& t = axis_[r_.axes - 1];
    for (std::ptrdiff_t i = 0; i < rows; i += n, g += n * t.to, out += n * t.from) {
      const int count = static_cast<int>(std::min<std::ptrdiff_t>(n, rows - i));
      turn(g, t.to, count, t.to, turned_);
      for (std::ptrdiff_t j = 0; j < t.from; ++j)
        simd::store(narrowed_ + j * n, sum_at(t, j, [&](std::ptrdiff_t k) EBB_LAMBDA { return simd::load(turned_ + k * n); }));
      for (std::ptrdiff_t j = 0; j < t.from; j += n) {
        V x[n];
        for (int k = 0; k < n; ++k) x[k] = simd::load(narrowed_ + (j + k) * n);
        simd::transpose<S>(x);
        for (int k = 0; k < count; ++k) {
          S* const to = out + k * t.from + j;
          if (j + n <= t.from) simd::store(to, x[k]);
          else simd::store_first(to, x[k], static_cast<int>(t.from - j));
        }
      }
    }
  }
  /// The columns of `count` rows as registers, zeros in the lanes of rows that are not there.
  static void turn(const S* g, std::ptrdiff_t next, int count, std::ptrdiff_t columns, S* to) {
    for (std::ptrdiff_t j = 0; j < columns; j += n) {
      V x[n];
      for (int k = 0; k < n; ++k) {
        const S* const from = g + k * next + j;
        x[k] = k >= count ? V{} : j + n <= columns ? simd::load(from) : simd::load_first(from, static_cast<int>(columns - j));
      }
      simd::transpose<S>(x);
      for (int k = 0; k < n; ++k) simd::store(to + (j + k) * n, x[k]);
    }
  }

  const resampled& r_;
  table axis_[max_rank];
  S *turned_ = nullptr, *narrowed_ = nullptr;
  S* halfway_[max_rank] = {};
};

}  // namespace ebb::inline EBB_ABI::kernel

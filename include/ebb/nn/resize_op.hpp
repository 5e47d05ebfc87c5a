// ebb/nn/resize_op.hpp — the op of images of another size, and its pull.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "resample_back.hpp"

#include "../op/axes.hpp"
#include "../op/whole.hpp"

namespace ebb::inline EBB_ABI::op {

/// attr 0: a sampling. attr 1: the number of axes, which are the last ones. The shapes of results are given, not inferred.
struct resampling : op_base {
  static constexpr kind what = kind::own;
  static constexpr int arity = 1;
  static constexpr bool heavy = true;
  static constexpr int show(const std::int64_t* attr, int, std::int64_t* numbers) {
    numbers[0] = attr[1];
    const auto how = static_cast<functions::sampling>(attr[0]);
    numbers[1] = functions::keeps_corners(how) || how == functions::sampling::exact;
    return 2;
  }

 protected:
  /// Runs a kernel of so many scratch bytes: twice made, since it counts them first.
  template <class Kernel, class T>
  static void run(const kernel::resampled& r, const void* x, void* out) {
    kernel::parts_of_scratch count(nullptr);
    Kernel(r, count);
    kernel::parts_of_scratch scratch(thread_scratch().take(count.bytes()));
    Kernel(r, scratch).run(static_cast<const T*>(x), static_cast<T*>(out));
  }
  /// The same for sums: narrow floats are widened before, and rounded once after.
  template <template <int, class> class Kernel, int Taps, class T>
  static void run_sums(const kernel::resampled& r, const whole_call& c) {
    using W = decltype(ebb::detail::widened(T()));
    if constexpr (std::is_same_v<W, T>) run<Kernel<Taps, T>, T>(r, c.in[0], c.out);
    else {
      const T* const x = static_cast<const T*>(c.in[0]);
      vec<W> from(static_cast<int>(c.shapes[0].volume()), W(0)), to(static_cast<int>(c.result.volume()), W(0));
      for (int i = 0; i < from.size(); ++i) from[i] = ebb::detail::widened(x[i]);
      run<Kernel<Taps, W>, W>(r, from.data(), to.data());
      for (int i = 0; i < to.size(); ++i) static_cast<T*>(c.out)[i] = ebb::detail::narrowed<T>(to[i]);
    }
  }
  /// The elements of a line along an axis: first, first + step and so on. It is line number `inner` of `outer`.
  struct line {
    std::ptrdiff_t first, outer, inner, step;
  };
  /// Calls f(line) for each line along an axis of an array with the extents e.
  static constexpr void each_line(const std::ptrdiff_t* e, int axes, std::ptrdiff_t batch, int axis, auto&& f) {
    const std::ptrdiff_t step = kernel::resampled::volume(e, axis + 1, axes), before = kernel::resampled::volume(e, 0, axis) * batch;
    for (std::ptrdiff_t i = 0; i < before; ++i)
      for (std::ptrdiff_t j = 0; j < step; ++j) f(line{i * e[axis] * step + j, i, j, step});
  }
};

template <int Taps>
struct resample_back;

/// x with other extents along the last axes.   Saves: nothing.   Error: see [note: order of a resampling].
template <int Taps>
struct resample : resampling {
  static constexpr std::string_view name = Taps == 1 ? "resample_nearest" : Taps == 2 ? "resample_linear" : "resample_cubic";
  static constexpr domain accepts = Taps == 1 ? domain::any : domain::real;

  template <class T>
  static void whole(const whole_call& c) {
    const kernel::resampled r(c.attr, c.shapes[0], c.result);
    if (c.result.volume() == 0) return;
    if constexpr (Taps > 1) resampling::run_sums<kernel::resampler, Taps, T>(r, c);
    else {
      using bits = std::conditional_t<sizeof(T) == 8, std::int64_t, std::conditional_t<sizeof(T) == 4, std::int32_t, T>>;
      run<kernel::resampler<Taps, bits>, bits>(r, c.in[0], c.out);
    }
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    using kernel::taps;
    const kernel::resampled r(c.attr, c.in[0], c.out);
    vec<S> x;
    for (std::size_t i = 0; i < c.in[0].volume(); ++i) x.push(static_cast<S>(in(0, i)));
    std::ptrdiff_t e[max_rank] = {};
    for (int i = 0; i < r.axes; ++i) e[i] = r.from[i];
    for (int axis = 0; axis < r.axes; ++axis) {
      e[axis] = r.to[axis];
      vec<S> y(static_cast<int>(r.batch * kernel::resampled::volume(e, 0, r.axes)), S(0));
      resampling::each_line(e, r.axes, r.batch, axis, [&](const resampling::line& of) {
        kernel::sampled_places at(r.how, r.from[axis], r.to[axis]);
        for (std::ptrdiff_t i = 0; i < r.to[axis]; ++i, at.next()) {
          const auto tap = [&](int k) {
            const auto place = static_cast<std::ptrdiff_t>(taps<Taps>::place(at.first(), k, r.from[axis]));
            return x[static_cast<int>((of.outer * r.from[axis] + place) * of.step + of.inner)];
          };
          S sum = tap(0);
          if constexpr (Taps > 1) {
            S w[Taps] = {};
            taps<Taps>::weigh(at, w);
            sum = w[0] * sum;
            for (int k = 1; k < Taps; ++k) sum = sum + w[k] * tap(k);
          }
          y[static_cast<int>(of.first + i * of.step)] = sum;
        }
      });
      x = y;
    }
    for (int i = 0; i < x.size(); ++i) put(static_cast<std::size_t>(i), x[i]);
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> x, operand<T> out);
};

/// The gradient of resample by x.   Saves: nothing.   Error: that of the sums.
template <int Taps>
struct resample_back : resampling {
  static constexpr std::string_view name = Taps == 1 ? "resample_nearest_back" : Taps == 2 ? "resample_linear_back" : "resample_cubic_back";
  static constexpr domain accepts = domain::real;

  template <class T>
  static void whole(const whole_call& c) {
    const kernel::resampled r(c.attr, c.result, c.shapes[0]);
    if (c.result.volume() == 0) return;
    resampling::run_sums<kernel::resampler_back, Taps, T>(r, c);
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    using kernel::taps;
    const kernel::resampled r(c.attr, c.out, c.in[0]);
    vec<S> x;
    for (std::size_t i = 0; i < c.in[0].volume(); ++i) x.push(static_cast<S>(in(0, i)));
    std::ptrdiff_t e[max_rank] = {};
    for (int i = 0; i < r.axes; ++i) e[i] = r.to[i];
    for (int axis = r.axes - 1; axis >= 0; --axis) {
      e[axis] = r.from[axis];
      vec<S> y(static_cast<int>(r.batch * kernel::resampled::volume(e, 0, r.axes)), S(0));
      resampling::each_line(e, r.axes, r.batch, axis, [&](const resampling::line& of) {
        vec<S> sums(static_cast<int>(Taps * r.from[axis]), S(0));
        kernel::sampled_places at(r.how, r.from[axis], r.to[axis]);
        for (std::ptrdiff_t i = 0; i < r.to[axis]; ++i, at.next()) {
          const S g = x[static_cast<int>((of.outer * r.to[axis] + i) * of.step + of.inner)];
          S w[Taps] = {};
          taps<Taps>::weigh(at, w);
          for (int k = 0; k < Taps; ++k) {
            S& sum = sums[static_cast<int>(taps<Taps>::place(at.first(), k, r.from[axis])) * Taps + k];
            sum = sum + (Taps > 1 ? g * w[k] : g);
          }
        }
        for (std::ptrdiff_t i = 0; i < r.from[axis]; ++i) {
          const S* const own = sums.data() + i * Taps;
          S sum = own[taps<Taps>::order_of_sums[0]];
          for (int k = 1; k < Taps; ++k) sum = sum + own[taps<Taps>::order_of_sums[k]];
          y[static_cast<int>(of.first + i * of.step)] = sum;
        }
      });
      x = y;
    }
    for (int i = 0; i < x.size(); ++i) put(static_cast<std::size_t>(i), x[i]);
  }
  template <class T>
  static constexpr auto pull(operand<T> g, operand<T> of, operand<T> out) {
    return grads(operand<T>{g.g, emit_as<resample<Taps>, T>(*g.g, of.shape_number(), {g.id}, {out.attribute(0), out.attribute(1)})});
  }
};

template <int Taps>
template <class T>
constexpr auto resample<Taps>::pull(operand<T> g, operand<T> x, operand<T> out) {
  using Wide = ebb::detail::computed_in<T>;
  const attributes attr{out.attribute(0), out.attribute(1)};
  const operand<Wide> wide = cast_to<Wide>(g);
  return grads(cast_to<T>(operand<Wide>{g.g, emit_as<resample_back<Taps>, Wide>(*g.g, x.shape_number(), {wide.id}, attr)}));
}

}  // namespace ebb::inline EBB_ABI::op

// ebb/nn/attention_op.hpp — the ops of attention by blocks, and their meaning.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "dropout.hpp"

#include "../op/whole.hpp"

#include <bit>

namespace ebb::inline EBB_ABI::detail {

/// The attributes and operands of attention.
/// attr 0: bit 0: causal; bits 1 and 2: the operand that a gradient is by, 3 for the mask; bit 3: there is a mask; bit 4: there is noise,
/// see [note: keys in traced functions]; bit 5: the gradients by q, k and v, side by side; from bit 8: how many more heads than one of q
/// share one of k and v. attr 1: the bits of the scale as a double; 0 means 1 / sqrt(depth). Operands: q, k, v, for gradients g, then the
/// mask and the noise, if they are there.
struct attention_attributes {
  bool causal = false, masked = false, drops = false;
  int by = 0, group = 1;
  std::int64_t scale = 0;
  bool together = false;

  constexpr attributes packed() const {
    return {causal + 2 * by + 8 * masked + 16 * drops + 32 * together + (std::int64_t{group - 1} << 8), scale};
  }
  static constexpr attention_attributes unpacked(std::int64_t a, std::int64_t b) {
    return {(a & 1) != 0, (a & 8) != 0, (a & 16) != 0, static_cast<int>(a >> 1 & 3), static_cast<int>(a >> 8) + 1, b, (a & 32) != 0};
  }
};

/// A call of attention: the extents of one array of the batch, and where the arrays are that belong to it.
struct attention_call : attention_attributes {
  kernel::attention_extents a;
  const extent_list* shapes = nullptr;
  int mask = -1, noise = -1;  // operands
  std::ptrdiff_t batch = 0, each_key = 1;

  constexpr attention_call(const extent_list* in, const std::int64_t* attr, bool back)
      : attention_attributes(unpacked(attr[0], attr[1])), shapes(in) {
    const auto last = [](const extent_list& x, int i) { return static_cast<std::ptrdiff_t>(x.e[x.rank - i]); };
    a = {last(in[0], 2), last(in[1], 2), last(in[0], 1), last(in[2], 1), causal, 1};
    a.scale = scale != 0 ? std::bit_cast<double>(scale) : 1 / lane::sqrt(static_cast<double>(a.depth));
    batch = static_cast<std::ptrdiff_t>(in[0].volume(0, in[0].rank - 2));
    int next = 3 + back;
    if (masked) {
      mask = next++;
      a.mask_row = last(in[mask], 2) == 1 ? 0 : last(in[mask], 1);
      a.mask_column = last(in[mask], 1) == 1 ? 0 : 1;
    }
    if (drops) {
      noise = next++;
      const auto keys = static_cast<std::ptrdiff_t>(in[noise].volume() / 5);
      each_key = keys > 0 ? std::max<std::ptrdiff_t>(batch / keys, 1) : 1;
    }
  }
  /// The number of the first element of the mask for an array of the batch: the mask has an extent of 1 where it is repeated.
  constexpr std::ptrdiff_t mask_at(std::ptrdiff_t b) const {
    const extent_list &q = shapes[0], &m = shapes[mask];
    auto stride = static_cast<std::ptrdiff_t>(m.volume(m.rank - 2, m.rank));
    std::ptrdiff_t at = 0;
    for (int i = m.rank - 3; i >= 0; --i) {
      const auto n = static_cast<std::ptrdiff_t>(q.e[i]);
      if (m.e[i] != 1) at += b % n * stride;
      stride *= static_cast<std::ptrdiff_t>(m.e[i]);
      b /= n;
    }
    return at;
  }
  constexpr std::uint64_t first_number(std::ptrdiff_t b) const { return static_cast<std::uint64_t>(b % each_key * a.rows * a.columns); }
  /// The columns of the result: the gradients by q, k and v are side by side.
  constexpr std::ptrdiff_t columns() const { return together ? 2 * a.depth + a.width : by == 2 ? a.width : a.depth; }
  /// The place where the gradient of an array of the batch is added, in elements: by operand `of`, which is `by` or one of all.
  constexpr std::ptrdiff_t result_at(std::ptrdiff_t b, int of) const {
    if (of == 3) return mask_at(b);
    return (of == 0 ? b * a.rows : b / group * a.columns) * columns() + (together ? of * a.depth : 0);
  }
  constexpr bool wants(int of) const { return together ? of < 3 : of == by; }

  /// Calls f(b, operands, changes) for each array of the batch; x has all operands.
  template <class S>
  constexpr void each(const S* const* x, auto&& f) const {
    for (std::ptrdiff_t b = 0; b < batch; ++b) {
      const std::ptrdiff_t of_k = b / group * a.columns;
      const S* const at[] = {x[0] + b * a.rows * a.depth, x[1] + of_k * a.depth, x[2] + of_k * a.width};
      kernel::attention_changes<S> changes;
      if (mask >= 0) changes.mask = x[mask] + mask_at(b);
      if (noise >= 0) {
        changes.drops = true;
        changes.dropped = dropping_from([&](std::size_t i) { return x[noise][b / each_key * 5 + static_cast<std::ptrdiff_t>(i)]; });
        changes.first = first_number(b);
      }
      f(b, at, changes);
    }
  }
};

/// Calls f(operands, result). Narrow floats are computed as float.
template <class T, class S = computed_in<T>>
void with_wide(const whole_call& c, auto&& f) {
  if constexpr (std::is_same_v<S, T>) {
    const S* in[6] = {};
    for (int j = 0; j < c.count; ++j) in[j] = static_cast<const T*>(c.in[j]);
    f(in, static_cast<T*>(c.out));
  } else {
    vec<S> wide[7];
    const S* in[6] = {};
    for (int j = 0; j < c.count; ++j) {
      wide[j] = vec<S>(static_cast<int>(c.shapes[j].volume()), S(0));
      for (int i = 0; i < wide[j].size(); ++i) wide[j][i] = static_cast<S>(static_cast<const T*>(c.in[j])[i]);
      in[j] = wide[j].data();
    }
    wide[6] = vec<S>(static_cast<int>(c.result.volume()), S(0));
    f(in, wide[6].data());
    for (int i = 0; i < wide[6].size(); ++i) static_cast<T*>(c.out)[i] = static_cast<T>(wide[6][i]);
  }
}
/// The operands of a reference as arrays.
template <class S>
constexpr void with_arrays(const move_call& c, int count, auto in, auto&& f) {
  vec<S> all[6];
  const S* at[6] = {};
  for (int j = 0; j < count; ++j) {
    for (std::size_t i = 0; i < c.in[j].volume(); ++i) all[j].push(in(j, i));
    at[j] = all[j].data();
  }
  f(at);
}

/// The reference's sum of x[p] y[p] for p < n, as a chain.
template <class S>
constexpr S chain_of_products(std::ptrdiff_t n, const S* x, const S* y) {
  S sum = 0;
  for (std::ptrdiff_t p = 0; p < n; ++p) sum = lane::fma(x[p], y[p], sum);
  return sum;
}

}  // namespace ebb::inline EBB_ABI::detail

namespace ebb::inline EBB_ABI::op {

struct attending : op_base {
  static constexpr kind what = kind::own;
  static constexpr int arity = -1;
  static constexpr domain accepts = domain::real;
  static constexpr bool heavy = true;
  static constexpr precision autocast = precision::low;
  static constexpr int show(const std::int64_t* attr, int, std::int64_t* numbers) {
    numbers[0] = attr[0] & 255;
    return numbers[0] != 0 ? 1 : 0;
  }

 protected:
  /// The score of row i and column j, with the mask.
  template <class S>
  static constexpr S score(const ebb::detail::attention_call& c, const S* const* at, const kernel::attention_changes<S>& changes,
                           std::ptrdiff_t i, std::ptrdiff_t j) {
    S x = ebb::detail::chain_of_products(c.a.depth, at[0] + i * c.a.depth, at[1] + j * c.a.depth);
    const S factor = changes.add_mask(c.a, i, j, 1, &x);
    return factor * x;
  }
};

/// [..., rows, width + 1]: softmax(scale q k^T + mask) v, and the logarithm of each row's sum of exponentials.
/// Saves: q, k, v, mask, out.
struct attend : attending {
  static constexpr std::string_view name = "attend";
  template <class T>
  static void whole(const whole_call& c) {
    const ebb::detail::attention_call call(c.shapes, c.attr, false);
    using S = ebb::detail::computed_in<T>;
    ebb::detail::with_wide<T>(c, [&](const S* const* in, S* out) {
      S* const scratch = reinterpret_cast<S*>(thread_scratch().take(static_cast<std::size_t>(call.a.scratch()) * sizeof(S)));
      call.each(in, [&](std::ptrdiff_t b, const S* const* at, const auto& changes) {
        kernel::attend(call.a, changes, at[0], at[1], at[2], out + b * call.a.rows * (call.a.width + 1), scratch);
      });
    });
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    const ebb::detail::attention_call call(c.in, c.attr, false);
    const kernel::attention_extents& a = call.a;
    ebb::detail::with_arrays<S>(c, 3 + call.masked + call.drops, in, [&](const S* const* x) {
      call.each(x, [&](std::ptrdiff_t b, const S* const* at, const auto& changes) {
        for (std::ptrdiff_t i = 0; i < a.rows; ++i) {
          const std::ptrdiff_t count = a.seen(i + 1), to = a.width + 1, row = (b * a.rows + i) * to;
          vec<S> sums(static_cast<int>(to), S(0));
          S top = -std::numeric_limits<S>::infinity();
          for (std::ptrdiff_t first = 0; first < count; first += a.block) {
            const std::ptrdiff_t end = std::min(first + a.block, count);
            vec<S> of_block;
            S most = top;
            for (std::ptrdiff_t j = first; j < end; ++j) {
              of_block.push(score(call, at, changes, i, j));
              most = of_block.back() > most ? of_block.back() : most;
            }
            const S base = kernel::subtracted(most);
            for (S& e : sums) e *= lane::exp(top - base);
            for (std::ptrdiff_t j = first; j < end; ++j) {
              S e = lane::exp(of_block[static_cast<int>(j - first)] - base);
              sums.back() += e;
              changes.drop(a, i, j, 1, &e);
              for (std::ptrdiff_t p = 0; p < a.width; ++p)
                sums[static_cast<int>(p)] = lane::fma(e, at[2][j * a.width + p], sums[static_cast<int>(p)]);
            }
            top = most;
          }
          const S sum = sums.back();
          for (int p = 0; p < a.width; ++p) put(static_cast<std::size_t>(row + p), sum == 0 ? S(0) : sums[p] / sum);
          put(static_cast<std::size_t>(row + a.width), sum == 0 ? -std::numeric_limits<S>::infinity() : top + lane::log(sum));
        }
      });
    });
  }
  template <class T>
  static constexpr vec<int> pull(operand<T> g, const vec<operand<T>>& x, operand<T> out);
};

/// The gradient by q, k, v or the mask, or by the first three, side by side along the last axis: see kernel::attend_back.
/// Saves: q, k, v, g, mask. Its pull is that of the composed form.
struct attend_back : attending {
  static constexpr std::string_view name = "attend_back";
  template <class T>
  static void whole(const whole_call& c) {
    const ebb::detail::attention_call call(c.shapes, c.attr, true);
    using S = ebb::detail::computed_in<T>;
    ebb::detail::with_wide<T>(c, [&](const S* const* in, S* out) {
      S* const scratch = reinterpret_cast<S*>(thread_scratch().take(static_cast<std::size_t>(call.a.scratch()) * sizeof(S)));
      const auto size = static_cast<std::ptrdiff_t>(c.result.volume());
      std::fill_n(out, size, S(0));
      call.each(in, [&](std::ptrdiff_t b, const S* const* at, const auto& changes) {
        const auto to = [&](int of) { return call.wants(of) ? out + call.result_at(b, of) : nullptr; };
        kernel::attend_back<S>(call.a, changes, at[0], at[1], at[2], in[3] + b * call.a.rows * (call.a.width + 2),
                               {to(0), to(1), to(2), to(3), call.columns()}, scratch);
      });
      if (!call.wants(0) && !call.wants(1)) return;
      const std::ptrdiff_t scaled = call.together ? 2 * call.a.depth : call.columns();
      for (std::ptrdiff_t row = 0; row < size; row += call.columns())
        for (std::ptrdiff_t i = 0; i < scaled; ++i) out[row + i] *= static_cast<S>(call.a.scale);
    });
  }
  template <class S>
  static constexpr void reference(const move_call& c, auto in, auto put) {
    const ebb::detail::attention_call call(c.in, c.attr, true);
    const kernel::attention_extents& a = call.a;
    const std::ptrdiff_t widths[] = {a.depth, a.depth, a.width, 0};
    vec<S> sums(static_cast<int>(c.out.volume()), S(0));
    ebb::detail::with_arrays<S>(c, 4 + call.masked + call.drops, in, [&](const S* const* x) {
      call.each(x, [&](std::ptrdiff_t b, const S* const* at, const auto& changes) {
        const auto add = [&](std::ptrdiff_t i, std::ptrdiff_t j, int of) {
          const S* const g = x[3] + (b * a.rows + i) * (a.width + 2);
          S e = lane::exp(score(call, at, changes, i, j) - kernel::subtracted(g[a.width]));
          S slope = ebb::detail::chain_of_products(a.width, g, at[2] + j * a.width);
          changes.drop(a, i, j, 1, of == 2 ? &e : &slope);
          const S factor = of == 2 ? e : e * (slope - g[a.width + 1]);
          S* const to = sums.data() + call.result_at(b, of);
          if (of == 3) to[i * a.mask_row + j * a.mask_column] += factor;
          const S* const other = of == 0 ? at[1] + j * a.depth : of == 1 ? at[0] + i * a.depth : g;
          for (std::ptrdiff_t p = 0; p < widths[of]; ++p) {
            S& sum = to[(of == 0 ? i : j) * call.columns() + p];
            sum = lane::fma(factor, other[p], sum);
          }
        };
        // In blocks, as the kernel goes: a mask with one number for all scores is a sum in this order.
        for (std::ptrdiff_t i = 0; i < a.rows; i += a.block)
          for (std::ptrdiff_t j = 0; j < a.columns; j += a.block)
            for (std::ptrdiff_t r = i; r < std::min(i + a.block, a.rows); ++r)
              for (std::ptrdiff_t s = j; s < std::min(j + a.block, a.seen(r + 1)); ++s)
                for (int of = 0; of < 4; ++of)
                  if (call.wants(of)) add(r, s, of);
      });
    });
    for (int i = 0; i < sums.size(); ++i) {
      const bool scaled = call.together ? i % call.columns() < 2 * a.depth : call.by < 2;
      put(static_cast<std::size_t>(i), scaled ? sums[i] * static_cast<S>(a.scale) : sums[i]);
    }
  }
  template <class T>
  static constexpr vec<int> pull(operand<T> u, const vec<operand<T>>& given, operand<T> out);
};

}  // namespace ebb::inline EBB_ABI::op

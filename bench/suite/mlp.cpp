// bench/suite/mlp.cpp — row e: a network 64 -> 128 tanh -> 10 with softmax cross-entropy on 32 examples, and its parameters' gradient.
// SPDX-License-Identifier: BSL-1.0
#include "data.hpp"
#include "rows.hpp"
#include "tile.hpp"

#include <ebb/ebb.hpp>

namespace suite {
namespace {

using ebb::fold_halves, ebb::into, ebb::lane_count, ebb::lanes;
namespace lane = ebb::lane;

constexpr int batch = 32, inputs = 64, hidden = 128, classes = 10;

constexpr auto gradient = ebb::value_and_grad<0, 1, 2, 3>([](auto w1, auto b1, auto w2, auto b2, auto x, auto label) {
  return ebb::cross_entropy(ebb::matmul(ebb::tanh(ebb::matmul(x, w1) + b1), w2) + b2, label);
});

/// Every product in register tiles. The ten columns of the second layer are padded to rows of 16 with 0, or with -inf in the logits, so
/// that softmax takes whole registers.
template <class T>
struct network {
  static constexpr int width = simd::count_of<T>, padded = 16;
  static constexpr bool many_registers = simd::register_bytes == 64;
  static constexpr int wide = many_registers ? 4 : 2;                       // registers of a tile of a wide matrix
  static constexpr int narrow = padded / width, tall = many_registers ? 8 : narrow > 2 ? 2 : 4;  // those of a narrow one, and its rows
  static_assert(padded % lane_count == 0 && hidden % (wide * width) == 0);

  alignas(64) T h[batch][hidden], dh[batch][hidden], w2[hidden][padded], w2_transposed[classes][hidden], b2[padded], dz[batch][padded];

  [[gnu::noinline]] T value_and_gradient(const T* x, const int* label, const T* w1, const T* b1, const T* w, const T* b, T* dw1, T* db1,
                                         T* dw2, T* db2) {
    const auto zero = [](int, int) EBB_LAMBDA { return simd::vector<T>{}; };
    pack(w, b);
    for (int i = 0; i < batch; i += 4)
      for (int k = 0; k < hidden; k += wide * width)
        tile<4, wide, T>(
            inputs, x + i * inputs, inputs, 1, w1 + k, hidden, [&](int, int c) EBB_LAMBDA { return simd::load(b1 + k + c * width); },
            [&](int r, int c, auto v) EBB_LAMBDA { simd::store(&h[i + r][k + c * width], v); });
    for (int i = 0; i < batch * hidden; i += lane_count) lane::tanh(lanes<T>::load(h[0] + i)).store(h[0] + i);
    for (int i = 0; i < batch; i += tall)
      tile<tall, narrow, T>(hidden, h[i], hidden, 1, w2[0], padded, [&](int, int c) EBB_LAMBDA { return simd::load(b2 + c * width); },
                            [&](int r, int c, auto v) EBB_LAMBDA { simd::store(&dz[i + r][c * width], v); });
    const T loss = softmax(label);
    sum_rows<classes>(dz[0], padded, db2);
    for (int k = 0; k < hidden; k += tall)
      tile<tall, narrow, T>(batch, h[0] + k, 1, hidden, dz[0], padded, zero, [&](int r, int c, auto v) EBB_LAMBDA {
        if (c * width < classes) simd::store_first(dw2 + (k + r) * classes + c * width, v, classes - c * width);
      });
    for (int i = 0; i < batch; i += 4)
      for (int k = 0; k < hidden; k += wide * width)
        tile<4, wide, T>(classes, dz[i], padded, 1, w2_transposed[0] + k, hidden, zero, [&](int r, int c, auto v) EBB_LAMBDA {
          const auto t = simd::load(&h[i + r][k + c * width]);
          simd::store(&dh[i + r][k + c * width], v * simd::fma(-t, t, simd::all(T(1))));
        });
    sum_rows<hidden>(dh[0], hidden, db1);
    for (int j = 0; j < inputs; j += 4)
      for (int k = 0; k < hidden; k += wide * width)
        tile<4, wide, T>(batch, x + j, 1, inputs, dh[0] + k, hidden, zero,
                         [&](int r, int c, auto v) EBB_LAMBDA { simd::store(dw1 + (j + r) * hidden + k + c * width, v); });
    return loss;
  }

 private:
  void pack(const T* w, const T* b) {
    for (int k = 0; k < hidden; ++k)
      for (int c = 0; c < classes; ++c) w2[k][c] = w2_transposed[c][k] = w[k * classes + c];
    for (int c = 0; c < padded; ++c) b2[c] = c < classes ? b[c] : -std::numeric_limits<T>::infinity();
  }
  /// Turns logits into their gradient.
  T softmax(const int* label) {
    using V = lanes<T>;
    constexpr int n = padded / lane_count;
    T loss = 0;
    alignas(64) T sum[batch];
    for (int i = 0; i < batch; ++i) {
      V e[n];
      for (int c = 0; c < n; ++c) e[c] = V::load(dz[i] + c * lane_count);
      V m = e[0];
      for (int c = 1; c < n; ++c) m = V::at_least(m, e[c]);
      const T greatest = fold_halves(m, [](V u, V v) EBB_LAMBDA { return V::at_least(u, v); });
      loss += greatest - dz[i][label[i]];
      for (int c = 0; c < n; ++c) e[c] = lane::exp(e[c] - V::all(greatest));
      V total = e[0];
      for (int c = 1; c < n; ++c) total = total + e[c];
      sum[i] = fold_halves(total, [](V u, V v) EBB_LAMBDA { return u + v; });
      const V share = V::all(1 / (batch * sum[i]));
      for (int c = 0; c < n; ++c) (e[c] * share).store(dz[i] + c * lane_count);
      dz[i][label[i]] -= T(1) / batch;
    }
    V logs = V::all(0);
    for (int i = 0; i < batch; i += lane_count) logs = logs + lane::log(V::load(sum + i));
    return (loss + fold_halves(logs, [](V u, V v) EBB_LAMBDA { return u + v; })) / batch;
  }
  template <int N>
  static void sum_rows(const T* from, int row, T* to) {
    for (int c = 0; c < N; c += width) {
      simd::vector<T> even{}, odd{};
      for (int i = 0; i < batch; i += 2) {
        even = even + simd::load(from + i * row + c);
        odd = odd + simd::load(from + (i + 1) * row + c);
      }
      simd::store_first(to + c, even + odd, N - c);
    }
  }
};

template <class T>
void row_of(session& s, row r) {
  if (!s.wanted(r.key, r.type, r.n)) return;
  generator for_x(48), for_parameters(49), for_label(50);
  ebb::tensor<T, batch, inputs> x;
  ebb::tensor<std::int32_t, batch> label;
  ebb::tensor<T, inputs, hidden> w1, dw1;
  ebb::tensor<T, hidden> b1, db1;
  ebb::tensor<T, hidden, classes> w2, dw2;
  ebb::tensor<T, classes> b2, db2;
  const auto fill = [&](auto& a) {
    for (T& v : a.mutable_span()) v = static_cast<T>(for_parameters.in(-0.15, 0.15));
  };
  for (T& v : x.mutable_span()) v = static_cast<T>(for_x.in(-1, 1));
  for (std::int32_t& v : label.mutable_span()) v = static_cast<std::int32_t>(10 * for_label.unit());
  fill(w1);
  fill(b1);
  fill(w2);
  fill(b2);
  T value = 0;
  static network<T> net;
  const auto by_ebb = [&] { gradient(into(value, dw1, db1, dw2, db2), w1, b1, w2, b2, x, label); };
  const auto by_hand = [&] {
    value = net.value_and_gradient(x.data(), label.data(), w1.data(), b1.data(), w2.data(), b2.data(), dw1.mutable_data(),
                                   db1.mutable_data(), dw2.mutable_data(), db2.mutable_data());
  };
  const auto by_plain = [&] {
    value = plain::mlp(x.data(), label.data(), w1.data(), b1.data(), w2.data(), b2.data(), dw1.mutable_data(), db1.mutable_data(),
                       dw2.mutable_data(), db2.mutable_data());
  };

  if (s.how != session::mode::count) {
    using exact = std::vector<long double>;
    const exact lx(x.begin(), x.end()), lw1(w1.begin(), w1.end()), lb1(b1.begin(), b1.end()), lw2(w2.begin(), w2.end()),
        lb2(b2.begin(), b2.end());
    exact want_w1(w1.size()), want_b1(b1.size()), want_w2(w2.size()), want_b2(b2.size());
    const long double want = plain::mlp<long double>(lx.data(), label.data(), lw1.data(), lb1.data(), lw2.data(), lb2.data(),
                                                     want_w1.data(), want_b1.data(), want_w2.data(), want_b2.data());
    const auto check = [&](const char* who) {
      s.check(r, who, "value", &value, &want, 1, 16);
      s.check(r, who, "gradient by w1", dw1.data(), want_w1.data(), w1.size(), 32);
      s.check(r, who, "gradient by b1", db1.data(), want_b1.data(), b1.size(), 32);
      s.check(r, who, "gradient by w2", dw2.data(), want_w2.data(), w2.size(), 32);
      s.check(r, who, "gradient by b2", db2.data(), want_b2.data(), b2.size(), 32);
    };
    by_ebb();
    check("ebb");
    by_hand();
    check("hand");
  }
  s.measure(r, by_ebb, by_hand, by_plain);
}

}  // namespace

void mlp(session& s) {
  row_of<double>(s, {"e", "double", batch, 243e3, 32.8e3, 1.2});
  row_of<float>(s, {"e", "float", batch, 231e3, 17e3, 1.15});
}

}  // namespace suite

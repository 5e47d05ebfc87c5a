// bench/ops/fourier.peer.cpp — Fourier transforms by plain loops: in place, in steps of two, with roots from a table.
// SPDX-License-Identifier: BSL-1.0
#include "loop.hpp"

#include <array>

namespace {

using ops::read, ops::write;

constexpr std::size_t side = 64, frequencies = side / 2 + 1;
constexpr int bits = 6;

struct roots {
  std::array<float, side> cosine, sine;
  roots() {
    for (std::size_t k = 0; k < side; ++k) {
      const double angle = 6.283185307179586 * static_cast<double>(k) / side;
      cosine[k] = static_cast<float>(std::cos(angle));
      sine[k] = static_cast<float>(std::sin(angle));
    }
  }
};
/// The transform of 64 complex numbers at a distance; `turn` is -1, or 1 for the inverse without its division.
void transform(float* re, float* im, std::size_t distance, float turn) {
  static const roots r;
  for (std::size_t i = 0; i < side; ++i) {
    std::size_t j = 0;
    for (int b = 0; b < bits; ++b) j |= (i >> b & 1) << (bits - 1 - b);
    if (i < j) std::swap(re[i * distance], re[j * distance]), std::swap(im[i * distance], im[j * distance]);
  }
  for (std::size_t half = 1; half < side; half *= 2)
    for (std::size_t start = 0; start < side; start += 2 * half)
      for (std::size_t k = 0; k < half; ++k) {
        const float c = r.cosine[k * (side / 2 / half)], s = turn * r.sine[k * (side / 2 / half)];
        float &a = re[(start + k) * distance], &b = im[(start + k) * distance], &u = re[(start + k + half) * distance],
              &v = im[(start + k + half) * distance];
        const float x = u * c - v * s, y = u * s + v * c;
        u = a - x, v = b - y, a += x, b += y;
      }
}

struct plane {
  float re[side * side], im[side * side];

  plane(read x, const float* y) {
    std::copy_n(x, side * side, re);
    if (y) std::copy_n(y, side * side, im);
    else std::fill_n(im, side * side, 0.0f);
  }
  /// All rows of frequencies 0 to 32; the others are conjugates, of the row `-i` if the axis before is transformed too.
  plane(read x, read y, bool both) {
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t k = 0; k < side; ++k) {
        const std::size_t from = (k < frequencies ? i : both ? (side - i) % side : i) * frequencies + (k < frequencies ? k : side - k);
        re[i * side + k] = x[from];
        im[i * side + k] = k < frequencies ? y[from] : -y[from];
      }
  }
  void rows(float turn) {
    for (std::size_t i = 0; i < side; ++i) transform(re + i * side, im + i * side, 1, turn);
  }
  void columns(float turn) {
    for (std::size_t j = 0; j < side; ++j) transform(re + j, im + j, side, turn);
  }
};

/// The first `count` sums of parts of each row, divided.
void sums(const plane& p, write out, std::size_t count, float divisor) {
  for (std::size_t i = 0; i < side; ++i)
    for (std::size_t k = 0; k < count; ++k) out[i * count + k] = (p.re[i * side + k] + p.im[i * side + k]) / divisor;
}

template <std::size_t Rows, std::size_t Columns, std::size_t Down, std::size_t Right>
void shift(read x, write out) {
  for (std::size_t i = 0; i < Rows; ++i) {
    const float* const row = x + i * Columns;
    float* const to = out + (i + Down) % Rows * Columns;
    std::copy_n(row + Columns - Right, Right, to);
    std::copy_n(row, Columns - Right, to + Right);
  }
}

}  // namespace

void ops::peers_of_fourier(table& t) {
  add_loop(t, "fft", [](read x, read y, write out) {
    plane p(x, y);
    p.rows(-1);
    sums(p, out, side, 1);
  });
  add_loop(t, "ifft", [](read x, read y, write out) {
    plane p(x, y);
    p.rows(1);
    sums(p, out, side, side);
  });
  add_loop(t, "fft2", [](read x, read y, write out) {
    plane p(x, y);
    p.rows(-1);
    p.columns(-1);
    sums(p, out, side, 1);
  });
  add_loop(t, "ifft2", [](read x, read y, write out) {
    plane p(x, y);
    p.rows(1);
    p.columns(1);
    sums(p, out, side, side * side);
  });
  add_loop(t, "rfft", [](read x, write out) {
    plane p(x, nullptr);
    p.rows(-1);
    sums(p, out, frequencies, 1);
  });
  add_loop(t, "rfft2", [](read x, write out) {
    plane p(x, nullptr);
    p.rows(-1);
    p.columns(-1);
    sums(p, out, frequencies, 1);
  });
  // The imaginary parts of frequencies 0 and 32 count as 0.
  add_loop(t, "irfft", [](read x, read y, write out) {
    plane p(x, y, false);
    for (std::size_t i = 0; i < side; ++i) p.im[i * side] = p.im[i * side + side / 2] = 0;
    p.rows(1);
    for (std::size_t i = 0; i < side * side; ++i) out[i] = p.re[i] / side;
  });
  add_loop(t, "irfft2", [](read x, read y, write out) {
    plane p(x, y, true);
    p.columns(1);
    for (std::size_t i = 0; i < side; ++i) p.im[i * side] = p.im[i * side + side / 2] = 0;
    p.rows(1);
    for (std::size_t i = 0; i < side * side; ++i) out[i] = p.re[i] / (side * side);
  });
  add_loop(t, "fftshift", [](read x, write out) { shift<64, 64, 32, 32>(x, out); });
  add_loop(t, "ifftshift", [](read x, write out) { shift<63, 65, 32, 33>(x, out); });
  add_loop(t, "fftfreq", [](read x, write out) {
    for (int i = 0; i < 4096; ++i) out[i] = static_cast<float>(i < 2048 ? i : i - 4096) / (4096 * x[0]);
  });
  add_loop(t, "rfftfreq", [](read x, write out) {
    for (int i = 0; i <= 2048; ++i) out[i] = static_cast<float>(i) / (4096 * x[0]);
  });
}

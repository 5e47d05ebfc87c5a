// bench/ops/sliding.peer.cpp — convolutions and their transposes by plain loops over planes with a margin of zeros.
// SPDX-License-Identifier: BSL-1.0
#include "loop.hpp"

namespace {

using ops::read, ops::write;

/// Extents of an image. An axis of one place has no margin and one tap, others have a margin of one place at each end.
struct image {
  std::size_t batch, channels, planes, rows, columns;
  constexpr std::size_t size() const { return planes * rows * columns; }
};
constexpr std::size_t margin(std::size_t extent) { return extent > 1; }
constexpr image with_margin(image a) {
  return {a.batch, a.channels, a.planes + 2 * margin(a.planes), a.rows + 2 * margin(a.rows), a.columns + 2 * margin(a.columns)};
}
/// The margin stays 0 from call to call.
template <image A>
const float* inside_margin(read x) {
  constexpr image B = with_margin(A);
  static float all[A.batch * A.channels * B.size()];
  for (std::size_t c = 0; c < A.batch * A.channels; ++c)
    for (std::size_t p = 0; p < A.planes; ++p)
      for (std::size_t i = 0; i < A.rows; ++i) {
        float* const to = all + c * B.size() + ((p + margin(A.planes)) * B.rows + i + margin(A.rows)) * B.columns + 1;
        for (std::size_t j = 0; j < A.columns; ++j) to[j] = x[((c * A.planes + p) * A.rows + i) * A.columns + j];
      }
  return all;
}

/// So many filters and places of a row are summed in registers.
constexpr std::size_t together = 4, places = 16;

/// Three taps along each axis of more than one place: w [filters, channels, taps...].
template <image A, std::size_t Filters>
void convolved(read x, read w, write out) {
  constexpr image B = with_margin(A);
  constexpr std::size_t of_planes = A.planes > 1 ? 3 : 1, of_rows = A.rows > 1 ? 3 : 1, taps = of_planes * of_rows * 3;
  const float* const all = inside_margin<A>(x);
  for (std::size_t n = 0; n < A.batch; ++n)
    for (std::size_t o = 0; o < Filters; o += together)
      for (std::size_t p = 0; p < A.planes; ++p)
        for (std::size_t i = 0; i < A.rows; ++i)
          for (std::size_t j = 0; j < A.columns; j += places) {
            float sum[together][places] = {};
            for (std::size_t c = 0; c < A.channels; ++c)
              for (std::size_t a = 0; a < of_planes; ++a)
                for (std::size_t b = 0; b < of_rows; ++b)
                  for (std::size_t d = 0; d < 3; ++d) {
                    const float* const from = all + (n * A.channels + c) * B.size() + ((p + a) * B.rows + i + b) * B.columns + j + d;
                    for (std::size_t k = 0; k < together; ++k) {
                      const float weight = w[((o + k) * A.channels + c) * taps + (a * of_rows + b) * 3 + d];
                      for (std::size_t l = 0; l < places; ++l) sum[k][l] += weight * from[l];
                    }
                  }
            for (std::size_t k = 0; k < together; ++k) {
              float* const to = out + (n * Filters + o + k) * A.size() + (p * A.rows + i) * A.columns + j;
              for (std::size_t l = 0; l < places; ++l) to[l] = sum[k][l];
            }
          }
}

/// Four taps, of which the places of the result take every other one: w [channels, filters, taps...], twice the places.
template <image A, std::size_t Filters>
void transposed(read x, read w, write out) {
  constexpr image B = with_margin(A);
  constexpr std::size_t of_planes = A.planes > 1 ? 4 : 1, of_rows = A.rows > 1 ? 4 : 1, taps = of_planes * of_rows * 4;
  constexpr std::size_t planes = A.planes > 1 ? 2 * A.planes : 1, rows = A.rows > 1 ? 2 * A.rows : 1, columns = 2 * A.columns;
  constexpr std::size_t width = A.columns < places ? A.columns : places;
  const float* const all = inside_margin<A>(x);
  // Place 2 i + r of an axis is the sum of taps 1 - r + 2 k and elements i + r - k, which are one further with the margin.
  const auto tap = [](std::size_t extent, std::size_t r, std::size_t k) { return extent > 1 ? 1 - r + 2 * k : 0; };
  const auto place = [](std::size_t extent, std::size_t i, std::size_t r, std::size_t k) { return extent > 1 ? i + r + 1 - k : 0; };
  for (std::size_t n = 0; n < A.batch; ++n)
    for (std::size_t o = 0; o < Filters; o += 2)
      for (std::size_t p = 0; p < planes; ++p)
        for (std::size_t i = 0; i < rows; ++i)
          for (std::size_t j = 0; j < A.columns; j += width) {
            float sum[2][2][width] = {};  // of filters and of places 2 j and 2 j + 1
            for (std::size_t c = 0; c < A.channels; ++c)
              for (std::size_t a = 0; a < (A.planes > 1 ? 2 : 1); ++a)
                for (std::size_t b = 0; b < (A.rows > 1 ? 2 : 1); ++b) {
                  const std::size_t row = place(A.planes, p / 2, p % 2, a) * B.rows + place(A.rows, i / 2, i % 2, b);
                  const std::size_t first = (tap(A.planes, p % 2, a) * of_rows + tap(A.rows, i % 2, b)) * 4;
                  const float* const from = all + (n * A.channels + c) * B.size() + row * B.columns + j + 1;
                  for (std::size_t k = 0; k < 2; ++k) {
                    const float* const weights = w + (c * Filters + o + k) * taps + first;
                    for (std::size_t l = 0; l < width; ++l) {
                      sum[k][0][l] += weights[1] * from[l] + weights[3] * (from - 1)[l];
                      sum[k][1][l] += weights[0] * (from + 1)[l] + weights[2] * from[l];
                    }
                  }
                }
            for (std::size_t k = 0; k < 2; ++k) {
              float* const to = out + (((n * Filters + o + k) * planes + p) * rows + i) * columns + 2 * j;
              for (std::size_t l = 0; l < width; ++l)
                for (std::size_t r = 0; r < 2; ++r) to[2 * l + r] = sum[k][r][l];
            }
          }
}

}  // namespace

void ops::peers_of_sliding(table& t) {
  add_loop(t, "conv1d", [](read x, read w, write out) { convolved<image{4, 16, 1, 1, 64}, 32>(x, w, out); });
  add_loop(t, "conv3d", [](read x, read w, write out) { convolved<image{1, 4, 8, 8, 16}, 8>(x, w, out); });
  add_loop(t, "conv_transpose1d", [](read x, read w, write out) { transposed<image{4, 16, 1, 1, 64}, 16>(x, w, out); });
  add_loop(t, "conv_transpose2d", [](read x, read w, write out) { transposed<image{1, 16, 1, 16, 16}, 8>(x, w, out); });
  add_loop(t, "conv_transpose3d", [](read x, read w, write out) { transposed<image{1, 8, 8, 8, 8}, 2>(x, w, out); });
}

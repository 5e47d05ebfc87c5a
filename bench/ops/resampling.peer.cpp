// bench/ops/resampling.peer.cpp — pools to a given size and images of another size by plain loops.
// SPDX-License-Identifier: BSL-1.0
#include "loop.hpp"

namespace {

using ops::read, ops::write;

/// f combines the elements of windows of 4 x Rows x 4 places, row by row at first: `planes` planes of Rows x Side places each.
template <std::size_t Planes, std::size_t Side, class F>
void pooled(read x, write out, F f, float scale) {
  for (std::size_t i = 0; i < 4096 / (Side * Side * Planes); ++i)
    for (std::size_t row = 0; row < Side; row += 4) {
      float columns[Side];
      for (std::size_t k = 0; k < 4 * Planes; ++k) {
        const float* const from = x + ((i * Planes + k / 4) * Side + row + k % 4) * Side;
        for (std::size_t j = 0; j < Side; ++j) columns[j] = k ? f(columns[j], from[j]) : from[j];
      }
      for (std::size_t j = 0; j < Side; j += 4)
        out[(i * Side + row) * Side / 16 + j / 4] = scale * f(f(columns[j], columns[j + 1]), f(columns[j + 2], columns[j + 3]));
    }
}

/// The sums of windows of 4 x 4 places of 32 x 32, whose elements are added one after the other: eight windows side by side.
void added_in_order(read x, write out) {
  for (std::size_t i = 0; i < 4 * 8; ++i) {
    float sums[8] = {};
    for (std::size_t k = 0; k < 4; ++k)
      for (std::size_t c = 0; c < 4; ++c)
        for (std::size_t j = 0; j < 8; ++j) sums[j] += x[(i * 4 + k) * 32 + j * 4 + c];
    for (std::size_t j = 0; j < 8; ++j) out[i * 8 + j] = sums[j] / 16;
  }
}

/// The element at place i of a line, or at the end that is next to it.
template <std::size_t N>
constexpr std::size_t within(std::ptrdiff_t i) {
  return static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(i, 0, N - 1));
}
/// Places 2 j and 2 j + 1 lie a quarter before and after element j. `Taps` weights of elements around them, mirrored for the other.
template <std::size_t Taps>
struct taps {
  float before[Taps];
  std::ptrdiff_t first;  // beside j
};
constexpr taps<2> linear{{0.25f, 0.75f}, -1};
/// Keys' weights with a = -0.75 at the distances 1.75, 0.75, 0.25 and 1.25.
constexpr taps<4> cubic{{-0.03515625f, 0.26171875f, 0.87890625f, -0.10546875f}, -2};

/// Rows first: `Taps` rows of 32 elements give a row, which is then widened to 64. Its ends are repeated beyond them.
template <std::size_t Taps>
void doubled(read x, write out, const taps<Taps>& w) {
  constexpr std::size_t rows = 16, columns = 32, margin = 2;
  for (std::size_t c = 0; c < 4; ++c)
    for (std::size_t i = 0; i < 2 * rows; ++i) {
      const auto middle = static_cast<std::ptrdiff_t>(i / 2);
      float row[columns + 2 * margin] = {};
      float* const inner = row + margin;
      for (std::size_t k = 0; k < Taps; ++k) {
        const auto away = w.first + static_cast<std::ptrdiff_t>(k);
        const float* const from = x + (c * rows + within<rows>(i % 2 ? middle - away : middle + away)) * columns;
        for (std::size_t j = 0; j < columns; ++j) inner[j] += w.before[k] * from[j];
      }
      for (std::size_t k = 0; k < margin; ++k) row[k] = inner[0], inner[columns + k] = inner[columns - 1];
      float* const to = out + (c * 2 * rows + i) * 2 * columns;
      float before[columns] = {}, behind[columns] = {};
      for (std::size_t k = 0; k < Taps; ++k) {
        const float* const left = inner + w.first + static_cast<std::ptrdiff_t>(k);
        const float* const right = inner - w.first - static_cast<std::ptrdiff_t>(k);
        for (std::size_t j = 0; j < columns; ++j) {
          before[j] += w.before[k] * left[j];
          behind[j] += w.before[k] * right[j];
        }
      }
      for (std::size_t j = 0; j < columns; ++j) {
        to[2 * j] = before[j];
        to[2 * j + 1] = behind[j];
      }
    }
}

}  // namespace

void ops::peers_of_resampling(table& t) {
  add_loop(t, "adaptive_avg_pool2d", [](read x, write out) { added_in_order(x, out); });
  add_loop(t, "adaptive_max_pool2d", [](read x, write out) { pooled<1, 32>(x, out, larger, 1); });
  add_loop(t, "adaptive_avg_pool3d", [](read x, write out) { pooled<4, 16>(x, out, plus, 1.0f / 64); });
  add_loop(t, "adaptive_max_pool3d", [](read x, write out) { pooled<4, 16>(x, out, larger, 1); });
  add_loop(t, "upsample_nearest_exact", [](read x, write out) {
    for (std::size_t i = 0; i < 4 * 32; ++i)
      for (std::size_t j = 0; j < 32; ++j) out[i * 64 + 2 * j] = out[i * 64 + 2 * j + 1] = x[i / 2 * 32 + j];
  });
  add_loop(t, "upsample_linear", [](read x, write out) { doubled(x, out, linear); });
  add_loop(t, "upsample_cubic", [](read x, write out) { doubled(x, out, cubic); });
}

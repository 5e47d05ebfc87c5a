// examples/convnet/picture.hpp — the taps of the first convolution and images that were misread, as an SVG picture.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../digits/digits.hpp"

#include <algorithm>
#include <cmath>
#include <string>

/// Squares in rows, white at 0; larger numbers are darker, negative ones red.
inline std::string drawn_squares(int x, int y, int size, int columns, int rows, const auto& value) {
  std::string s;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      const float v = std::clamp(value(i, j), -1.f, 1.f);
      const auto rest = std::to_string(static_cast<int>(std::lround(255 * (1 - std::abs(v)))));
      const std::string colour = v < 0 ? "255," + rest + ',' + rest : rest + ',' + rest + ',' + rest;
      s += "<rect x=\"" + std::to_string(x + j * size) + "\" y=\"" + std::to_string(y + i * size) + "\" width=\"" + std::to_string(size) +
           "\" height=\"" + std::to_string(size) + "\" fill=\"rgb(" + colour + ")\" stroke=\"#ddd\" stroke-width=\".5\"/>\n";
    }
  return s;
}
inline std::string drawn_label(int x, int y, const std::string& text) {
  return "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\">" + text + "</text>\n";
}

/// Eight kernels in a row, then up to eight images.
inline std::string picture(const ebb::tensor<float, 16, 1, 3, 3>& taps, const auto& predicted, const digits& held_out) {
  std::string s = drawn_label(20, 24, "the first convolution: black positive, red negative");
  float largest = 0;
  for (std::size_t i = 0; i < taps.size(); ++i) largest = std::max(largest, std::abs(taps.data()[i]));
  for (int k = 0; k < 16; ++k)
    s += drawn_squares(20 + k % 8 * 84, 36 + k / 8 * 68, 18, 3, 3, [&](int i, int j) { return taps(k, 0, i, j) / largest; });
  s += drawn_label(20, 192, "held-out images that are misread");
  int drawn = 0;
  for (std::size_t n = 0; n < predicted.size() && drawn < 8; ++n) {
    if (predicted(n) == held_out.labels(n)) continue;
    const int x = 20 + 84 * drawn++;
    s += drawn_squares(x, 204, 9, 8, 8, [&](int i, int j) { return held_out.images(n, 8 * i + j); });
    s += drawn_label(x, 294, std::to_string(held_out.labels(n)) + ", read " + std::to_string(predicted(n)));
  }
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 700 306\" font-family=\"sans-serif\" font-size=\"13\">\n"
         "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" + s + "</svg>\n";
}

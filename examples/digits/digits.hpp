// examples/digits/digits.hpp — images of handwritten digits and their labels.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/ebb.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

/// 8 x 8 pixels from 0 (white) to 1 (black), and the digits that they show.
struct digits {
  ebb::tensor<float, ebb::dyn, 64> images;
  ebb::tensor<int, ebb::dyn> labels;
};

/// Loads the lines [first, last) of a file with 64 pixels, a space and a label in each: see examples/data/digits/README.md.
inline digits load_digits(const std::string& path, std::size_t first, std::size_t last) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  if (lines.size() < last) {
    std::fprintf(stderr, "%s: %zu images were expected, there are %zu\n", path.c_str(), last, lines.size());
    std::exit(2);
  }

  const std::string levels = "0123456789abcdefg";
  const auto pixel = [&](std::size_t i, std::size_t j) { return static_cast<float>(levels.find(lines[first + i].at(j))) / 16; };
  const auto label = [&](std::size_t i) { return lines[first + i].at(65) - '0'; };
  return {ebb::tensor<float, ebb::dyn, 64>::generate(pixel, last - first), ebb::tensor<int, ebb::dyn>::generate(label, last - first)};
}

/// Copies of the images as other hands might have written them: shifted, sheared and scaled by random amounts, with noise. The last images
/// of the file differ from the first: without these copies the accuracy on them is about 0.92.
inline digits vary(const digits& given, std::size_t copies, ebb::random_key key, float deviation = 0.2f) {
  const auto [ways, noise] = key.split<2>();
  const std::size_t count = given.labels.size();
  const auto by = ebb::uniform<float, ebb::dyn, 6>(ways, copies * count, -0.2f, 0.2f);
  const auto grain = ebb::normal<float, ebb::dyn, 64>(noise, copies * count, 0.f, deviation);

  const auto pixel = [&](std::size_t i, int row, int column) {
    return row < 0 || row > 7 || column < 0 || column > 7 ? 0.f : given.images(i % count, 8 * row + column);
  };
  const auto varied = [&](std::size_t i, std::size_t j) {
    const float row = static_cast<float>(j / 8), column = static_cast<float>(j % 8);
    const float y = row + by(i, 0) * (row - 3.5f) + by(i, 1) * (column - 3.5f) + 3 * by(i, 2);
    const float x = column + by(i, 3) * (row - 3.5f) + by(i, 4) * (column - 3.5f) + 3 * by(i, 5);
    const int top = static_cast<int>(y + 8) - 8, left = static_cast<int>(x + 8) - 8;
    const float v = y - static_cast<float>(top), u = x - static_cast<float>(left);
    return (1 - v) * ((1 - u) * pixel(i, top, left) + u * pixel(i, top, left + 1)) +
           v * ((1 - u) * pixel(i, top + 1, left) + u * pixel(i, top + 1, left + 1)) + grain(i, j);
  };
  return {ebb::tensor<float, ebb::dyn, 64>::generate(varied, copies * count),
          ebb::tensor<int, ebb::dyn>::generate([&](std::size_t i) { return given.labels(i % count); }, copies * count)};
}

/// Draws an image as lines of text.
inline void draw(ebb::view<const float, 64> image) {
  for (int row = 0; row < 8; ++row) {
    std::printf("    ");
    for (int column = 0; column < 8; ++column) {
      const char shade = " .:-=+*#%@"[static_cast<int>(image(8 * row + column) * 9)];
      std::printf("%c%c", shade, shade);
    }
    std::printf("\n");
  }
}

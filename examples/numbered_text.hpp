// examples/numbered_text.hpp — a text as numbers of its letters, for the examples that learn to write.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/ebb.hpp>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

/// A text as numbers of its letters, and which letters these are. The last tenth is held out.
struct numbered_text {
  std::string alphabet;
  std::vector<int> numbers;

  /// Throws: error for a text that does not have so many different letters.
  numbered_text(const std::string& path, std::size_t different) {
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    alphabet = text;
    std::sort(alphabet.begin(), alphabet.end());
    alphabet.erase(std::unique(alphabet.begin(), alphabet.end()), alphabet.end());
    if (alphabet.size() != different) ebb::raise(path + ": another text was expected");
    for (const char c : text) numbers.push_back(static_cast<int>(alphabet.find(c)));
  }
  std::size_t held_out() const { return numbers.size() * 9 / 10; }
};

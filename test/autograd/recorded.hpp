// test/autograd/recorded.hpp — data/optimizers.txt: results of PyTorch's optimizers, clipping and schedules.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../catch.hpp"

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace recorded {

/// Lines of numbers, by their names.
using block = std::map<std::string, std::vector<double>>;

/// The case of this name and dtype.
inline const block& find(const std::string& name, const std::string& dtype) {
  static const auto cases = [] {
    std::map<std::string, block> all;
    block* open = nullptr;
    std::ifstream file(EBB_TEST_DATA "/optimizers.txt");
    for (std::string text; std::getline(file, text);) {
      std::istringstream words(text);
      std::string word, type;
      if (!(words >> word) || word == "#") continue;
      if (word == "case") {
        words >> word >> type;
        open = &all[word + " " + type];
        continue;
      }
      std::vector<double>& to = (*open)[word];
      words >> word;
      while (words >> word) to.push_back(std::strtod(word.c_str(), nullptr));
    }
    return all;
  }();
  REQUIRE(cases.count(name + " " + dtype) == 1);
  return cases.at(name + " " + dtype);
}

}  // namespace recorded

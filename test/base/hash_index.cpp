// test/base/hash_index.cpp — items are found as long as they are there, however many of them share a hash.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/base/hash_index.hpp>

#include <random>
#include <vector>

TEST_CASE("base/hash_index: what was added is found until it is erased") {
  for (unsigned hashes : {1u, 7u, 1000u}) {
    std::mt19937 random(hashes);
    ebb::hash_index index;
    std::vector<unsigned> key;
    std::vector<char> there;
    const auto hash_of = [&](int i) { return key[static_cast<std::size_t>(i)] % hashes * 2654435769u; };
    const auto find = [&](unsigned k) {
      return index.find(k % hashes * 2654435769u, [&](int i) { return key[static_cast<std::size_t>(i)] == k; });
    };
    for (int step = 0; step < 3000; ++step) {
      const unsigned k = static_cast<unsigned>(random() % 500);
      int expected = -1;
      for (std::size_t i = 0; i < key.size(); ++i)
        if (there[i] && key[i] == k) expected = static_cast<int>(i);
      REQUIRE(find(k) == expected);
      if (expected < 0) {
        key.push_back(k);
        there.push_back(1);
        index.add(hash_of(static_cast<int>(key.size()) - 1), static_cast<int>(key.size()) - 1, hash_of);
      } else if (random() % 3 == 0) {
        index.erase(hash_of(expected), expected);
        there[static_cast<std::size_t>(expected)] = 0;
      }
    }
  }
}

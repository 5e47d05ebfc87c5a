// test/approved.hpp — printed texts compared with approved copies that a person has read.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace test {

/// The approved text in test/data/approved/<name>.txt. A change of the printed text shows up as a difference of that file.
inline std::string approved(const std::string& name) {
  std::ifstream file(EBB_TEST_DATA "/approved/" + name + ".txt");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace test

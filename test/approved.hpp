// test/approved.hpp — texts that are meant to be read, compared with those somebody has read.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace test {

/// The text in test/data/approved/<name>.txt. A change of a print-out shows as a difference of that file.
inline std::string approved(const std::string& name) {
  std::ifstream file(EBB_TEST_DATA "/approved/" + name + ".txt");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace test

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

/// Empty if `text` is the approved text. Else the text is written to <name>.received.txt in the current directory, and the result describes
/// the first line that differs.
inline std::string difference_from_approved(const std::string& name, const std::string& text) {
  const std::string wanted = approved(name);
  if (text == wanted) return {};
  const std::string received = name + ".received.txt";
  std::ofstream(received) << text;
  std::istringstream here(text), there(wanted);
  std::string one, other;
  int line = 0;
  do {
    ++line;
    if (!std::getline(here, one)) one = "(no such line)";
    if (!std::getline(there, other)) other = "(no such line)";
  } while (one == other && (here || there));
  return "line " + std::to_string(line) + " of test/data/approved/" + name + ".txt differs:\n  approved: " + other +
         "\n  received: " + one + "\nIf the new text is right, copy " + received + " over it.";
}

}  // namespace test

// test/capture/shown.hpp — texts of captured graphs and their plans, kept for tests.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <initializer_list>
#include <string>

namespace test {

/// The last texts under `keep_shown`, a compiler that merges.
inline std::string shown_graph, shown_plan;
inline ebb::backend keep_shown(const ebb::captured_graph& g) {
  shown_graph = to_string(g);
  shown_plan = to_string(ebb::captured_plan(g));
  return ebb::backend::merge;
}

/// Whether s has these parts, one after the other.
inline bool in_order(const std::string& s, std::initializer_list<const char*> parts) {
  std::size_t at = 0;
  for (const char* part : parts) {
    at = s.find(part, at);
    if (at == std::string::npos) {
      UNSCOPED_INFO("\"" << s << "\" lacks \"" << part << "\" at its place");
      return false;
    }
    at += std::string(part).size();
  }
  return true;
}

/// Numbers from 0.5 to 1.5; another step, others.
template <class T>
ebb::tensor<T, ebb::dyn> sample(std::size_t n, std::size_t step) {
  return ebb::tensor<T, ebb::dyn>::generate([=](std::size_t i) { return T(0.5) + T(0.001) * static_cast<T>(i * step % 997); }, n);
}

}  // namespace test

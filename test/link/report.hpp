// test/link/report.hpp — the results that a translation unit reports to main.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <vector>

struct report {
  std::string abi;           // the inline namespace in use
  std::vector<float> exact;  // must be the same bits in every translation unit
};

int passes_alone();
std::string derivative_of_derivative(double& second);
report work_any();
report work_native();

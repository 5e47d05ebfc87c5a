// test/link/work.hpp — the work of each translation unit: the same functions of the library, compiled with the unit's own flags.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "report.hpp"

#include <ebb/ebb.hpp>

#include <cstddef>
#include <vector>

#define TEST_TEXT_(x) #x
#define TEST_TEXT(x) TEST_TEXT_(x)

namespace {  // an inline function of the test itself would be one function for both units

std::vector<float> input() {
  std::vector<float> x(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * 0.37f - 100.0f;
  return x;
}

report work() {
  report r{TEST_TEXT(EBB_ABI), {}};
  for (float x : input()) {
    r.exact.push_back(static_cast<float>(ebb::bfloat16(x)));
    r.exact.push_back(static_cast<float>(ebb::float16(x)));
  }
  // Compiled functions of the library: code written without fma has the same bits on all machines, sums included.
  const auto f = [](auto x) { return ebb::sum(x * x / (1 + ebb::abs(x)) + ebb::sqrt(ebb::square(x) + 1)); };
  const auto [value, gradient] = ebb::value_and_grad(f)(input());
  r.exact.push_back(value);
  r.exact.insert(r.exact.end(), gradient.data(), gradient.data() + gradient.size());
  const auto rows = ebb::reshape<ebb::dyn, 10>(ebb::max<1>(ebb::reshape<ebb::dyn, 5>(input())));
  const auto taken = ebb::take(ebb::transpose(rows), std::vector<int>{9, 0, 9});
  r.exact.insert(r.exact.end(), taken.data(), taken.data() + taken.size());
  return r;
}

}  // namespace

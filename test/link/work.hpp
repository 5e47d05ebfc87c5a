// test/link/work.hpp — what each translation unit does: the same functions of the library, compiled with flags of its own.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "report.hpp"

#include <ebb/num/bfloat16.hpp>
#include <ebb/num/float16.hpp>

#include <cstddef>
#include <vector>

#define TEST_TEXT_(x) #x
#define TEST_TEXT(x) TEST_TEXT_(x)

namespace {  // an inline function of the test itself would be one for both

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
  return r;
}

}  // namespace

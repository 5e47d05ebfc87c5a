// test/refusal.hpp — what a call throws, as text.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/base/error.hpp>

#include <string>

namespace test {

#if EBB_EXCEPTIONS
/// The message of the ebb::error that f throws; empty if it throws none.
std::string refusal(auto&& f) {
  try {
    f();
  } catch (const ebb::error& e) {
    return e.what();
  }
  return "";
}
#endif

}  // namespace test

// test/autograd/captured.cpp — the tests of this folder run twice: plain, and with every backward captured (autograd.all_captured).
// SPDX-License-Identifier: BSL-1.0
// covers: backward_engine.hpp
#include "../catch.hpp"

#include <ebb/ebb.hpp>

#include <cstdlib>

namespace {

const bool captures = [] {
  const bool on = std::getenv("EBB_TEST_CAPTURED") != nullptr;
  ebb::config().compiled_autograd = on;
  return on;
}();

}  // namespace

TEST_CASE("backwards are plain or captured as the environment says") {
  ebb::clear_counters();
  const ebb::variable x(2.0);
  constexpr auto square = ebb::compile([](auto v) { return v * v; });
  for (int step = 0; step < 2; ++step) ebb::grad(square(x), ebb::wrt(x));
  const auto c = ebb::counters().compiled_autograd;
  CHECK(c.captures + c.hits == (captures ? 2u : 0u));
  CHECK(c.hits >= (captures ? 1u : 0u));
}

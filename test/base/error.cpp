// test/base/error.cpp — raise throws the text, or gives it to the handler where exceptions are off.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/base/error.hpp>

#include <string>

TEST_CASE("an error holds its text, and raise gives it to the caller") {
  const ebb::error e("ebb::call: [2] and [3]");
  const std::exception& base = e;
  CHECK(std::string(base.what()) == "ebb::call: [2] and [3]");
  CHECK(test::raised([] { ebb::raise("ebb::f: no"); }) == "ebb::f: no");
}

TEST_CASE("a handler is set until another one is, and the one before is returned") {
  const ebb::error_handler mine = [](const char*) {}, before = ebb::set_error_handler(mine);
  CHECK(ebb::current_error_handler() == mine);
  CHECK(ebb::set_error_handler(before) == mine);
  CHECK(ebb::current_error_handler() == before);
}

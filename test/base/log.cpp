// test/base/log.cpp — the topics of EBB_LOGS, and the warning for words that are no topics.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/base/log.hpp>

namespace {

/// The words of the list that are no topics.
std::string unknown_in(std::string_view list) {
  std::string unknown;
  ebb::detail::topics_in(list, unknown);
  return unknown;
}
unsigned topics_in(std::string_view list) {
  std::string unknown;
  return ebb::detail::topics_in(list, unknown);
}

}  // namespace

TEST_CASE("EBB_LOGS is read as a list of topics") {
  CHECK(topics_in("") == 0);
  CHECK(topics_in("autocast") == 1);
  CHECK(topics_in("plan,unknown,autocast") == 5);
  CHECK(topics_in(" plan , autocast,") == 5);
  CHECK(topics_in("autocast2") == 0);
  CHECK(topics_in("passes,compiled_autograd_verbose,compiled_autograd,plan,aot,autocast") == 63);
}

TEST_CASE("a warning names the words that are no topics, and lists all topics") {
  CHECK(unknown_in("").empty());
  CHECK(unknown_in(" , plan,,autocast,").empty());
  CHECK(unknown_in("Plan") == "'Plan'");
  CHECK(unknown_in("autocast2, plan, +aot") == "'autocast2', '+aot'");
  CHECK(ebb::detail::warning_of(unknown_in("plans")) ==
        "warning: EBB_LOGS: 'plans': no such topic; there are autocast, aot, plan, compiled_autograd, compiled_autograd_verbose, "
        "passes\n");
}

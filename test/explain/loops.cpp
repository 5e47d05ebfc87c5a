// test/explain/loops.cpp — explanations of loops: the steps of their bodies, how often they run, advice in them.
// SPDX-License-Identifier: BSL-1.0
// covers: explanation.hpp
#include "../catch.hpp"

#include <ebb/explain.hpp>
#include <ebb/functional.hpp>

namespace {

using looped_vector = ebb::tensor<float, ebb::dyn>;
using looped_matrix = ebb::tensor<float, ebb::dyn, ebb::dyn>;
constexpr auto halved_until_small = [](auto x) {
  return ebb::while_loop([](auto c) { return ebb::sum(c) > 1; }, [](auto c) { return c * 0.5f; }, x);
};

}  // namespace

TEST_CASE("a loop is explained with the steps of its body; its number of steps may be an argument") {
  constexpr auto f = [](auto n, auto x) { return ebb::fori(n, [](auto, auto c) { return ebb::sin(c) * c; }, x); };
  CHECK(ebb::explain<int, looped_vector>(f).text() ==
        "2 steps, 17*n*m operations\n"
        "reads 4*n*m bytes, writes 4*n*m bytes; arguments have 4*n + 4 bytes, results 4*n bytes\n"
        "step 0: steps in sequence, m of them\n"
        "    step 0: a loop over [n]\n"
        "      fuses sin, mul\n"
        "      17 operations an element, exp and the like count as 16\n"
        "      lanes run along n elements\n"
        "      reads 4*n bytes: argument 0\n"
        "      writes 4*n bytes\n");
  const ebb::explanation e = ebb::explain(f, 10, looped_vector::ones(100));
  CHECK(e.work().operations == ebb::formula(10 * 17 * 100));
  REQUIRE(e.steps().size() == 2);
  CHECK(e.steps()[1].name == "step 0 in step 0");
  CHECK(e.steps()[1].depth == 1);
  CHECK(e.steps()[1].times == ebb::formula(10));
  CHECK(e.steps()[1].work.operations == ebb::formula(17 * 100));
  CHECK(e.text().find("most operations: step 0 in step 0, 100 %\n") != std::string::npos);
}

TEST_CASE("in the body of a loop an extent is named as in the text") {
  const auto e = ebb::explain<looped_vector, looped_matrix>([](auto c, auto rows) {
    return ebb::fori(3, [](auto, auto h, auto w) {
      const auto column = ebb::select<1, 0>(w);  // two loops read it
      return h * ebb::sum(column * h) + column;
    }, c, ebb::whole(rows));
  });
  CHECK(e.text().find("\n      advice: if rows have at most 32 elements, give the extent m a static extent: ") != std::string::npos);
}

TEST_CASE("steps whose number a condition decides are counted as one") {
  const ebb::explanation e = ebb::explain<looped_vector>(halved_until_small);
  CHECK(e.text().find("step 2: steps while a condition holds: they are counted as one\n") != std::string::npos);
  CHECK(e.text().find("  keeps bool for step 2: its steps read arrays\n") != std::string::npos);
  CHECK(e.work().operations.text() == "4*n + 2");
}

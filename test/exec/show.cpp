// test/exec/show.cpp — programs printed as text.
// SPDX-License-Identifier: BSL-1.0
#include "../catch.hpp"

#include <ebb/ebb.hpp>

namespace {

using X = ebb::tensor<float, ebb::dyn, 3>;
using W = ebb::tensor<float, 3>;
constexpr auto f = [](auto x, auto w) { return ebb::sum(ebb::tanh(x * w)); };

TEST_CASE("halves are printed from their types") {
  CHECK(ebb::to_string(ebb::forward_t<decltype(f), X, W>{}) ==
        "a = input 0 : f32[n, 3]\n"
        "b = input 1 : f32[3]\n"
        "c = broadcast b along 0 : f32[n, 3]\n"
        "d = mul a c : f32[n, 3]\n"
        "e = tanh d : f32[n, 3]\n"
        "f = sum e over 0 1 : f32\n"
        "return f e\n");
  const std::string backward = ebb::to_string(ebb::backward_t<decltype(f), ebb::off, X, W>{});
  INFO(backward);
  CHECK(backward.find(" = input 2 : f32[n, 3]\n") != std::string::npos);
  CHECK(backward.find("return ") != std::string::npos);
}

}  // namespace

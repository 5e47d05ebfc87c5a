// test/op/exponential.cpp — values and derivatives of exp, log and their relatives.
// SPDX-License-Identifier: BSL-1.0
#include "golden.hpp"

namespace {

const auto unary = [](const char* name, auto f, golden::bounds b = {}) { golden::check<golden::any_vector>("elementwise", name, f, b); };

// Derivatives written with the result (1 - out * out) lose digits where it is close to 1, as PyTorch's do: their bound is in units of 1.
TEST_CASE("exp, log and their relatives give PyTorch's recorded values") {
  unary("exp", [](auto x) { return ebb::exp(x); }, {.value = 1, .grad = 1, .second = 1});
  unary("expm1", [](auto x) { return ebb::expm1(x); }, {.value = 2, .grad = 2, .second = 2, .grad_floor = 1, .second_floor = 1});
  unary("log", [](auto x) { return ebb::log(x); }, {.value = 1, .grad = 0.5, .second = 2});
  unary("log1p", [](auto x) { return ebb::log1p(x); }, {.value = 2, .grad = 2, .second = 4});
  unary("tanh", [](auto x) { return ebb::tanh(x); }, {.value = 2, .grad_floor = 1, .second_floor = 1});
  unary("sigmoid", [](auto x) { return ebb::sigmoid(x); }, {.value = 2, .grad_floor = 1, .second_floor = 1});
  // PyTorch's softplus is x from 20 on, with the second derivative 0; ours is not.
  unary("softplus", [](auto x) { return ebb::softplus(x); }, {.value = 3, .second_floor = 1, .open_at = {38}});
  unary("logsigmoid", [](auto x) { return ebb::log_sigmoid(x); }, {.value = 3, .second_floor = 1, .sign_is_open = true});
}

}  // namespace

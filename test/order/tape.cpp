// test/order/tape.cpp — sorts and recurrences on the tape, plain and captured.
// SPDX-License-Identifier: BSL-1.0
// covers: sort.hpp op/recurrence.hpp
#include "../catch.hpp"

#include <ebb/ebb.hpp>
#include <ebb/order.hpp>

namespace {

/// The gradient of the sum of f's squares at x, with and without capture.
template <class F, class X>
X same_gradient_on_tape(F f, const X& x) {
  X r[2];
  for (const bool captured : {false, true}) {
    ebb::variable v(x);
    ebb::backward(ebb::sum(ebb::square(f(v))), {.compiled_autograd = captured});
    r[captured] = v.grad().value();
  }
  CHECK(ebb::same_bits(r[0], r[1]));
  return r[0];
}

TEST_CASE("gradients reach sorted elements and running results on the tape, plain and captured") {
  using row = ebb::tensor<double, 4>;
  const row x{0.5, -1, 3, 2};
  CHECK(ebb::all_equal(same_gradient_on_tape([](auto v) { return std::get<0>(ebb::topk<-1, 2>(v)); }, x), row{0, 0, 6, 4}));
  CHECK(ebb::all_equal(same_gradient_on_tape([](auto v) { return std::get<0>(ebb::cummax(v)); }, x), row{2, 0, 12, 0}));
  const ebb::variable narrow(ebb::tensor<float, 11>{320, 0, 640, 64, 192, 576, 128, 384, 512, 256, 448});
  CHECK(ebb::quantile(narrow, 0.3).item() == 192);  // 0.3 is not rounded to float
  CHECK(ebb::all_equal(same_gradient_on_tape([](auto v) { return ebb::cumprod(v); }, row{2, 0.5, 3, 1}), row{23, 76, 12, 18}));
}

}  // namespace

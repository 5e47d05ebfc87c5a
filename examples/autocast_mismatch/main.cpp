// examples/autocast_mismatch/main.cpp — a backward compiled for another autocast context is refused; one that assumes no context runs.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>
#include <cstdio>

using low = ebb::autocast<ebb::f16>;
using W = ebb::tensor<float, 4, 4>;

constexpr auto exact = ebb::no_autocast([](auto x, auto w) { return ebb::matmul(ebb::cast<float>(x), w); });
constexpr auto model = [](auto x, auto w) {
  const auto h = ebb::matmul(x, x);                                                 // in the context: float16
  return ebb::sum(16384 * exact(h, w));                                             // float in every context
};

using inside = decltype(ebb::under<low>(model));                                    // the model inside autocast is a type,
static_assert(ebb::policy_matters<inside, ebb::off, ebb::same_as_forward, W, W>);   // and its backward depends on the context

constexpr auto assumes = ebb::compile<ebb::ambient<ebb::off, low>>(model);          // assumes a backward in the region's context
constexpr auto region = ebb::patch<ebb::backward_pass_autocast<ebb::as_recorded>>(assumes);

void gradient_of(auto callable) try {
  const ebb::variable w(W::ones());
  ebb::variable<float> loss;
  {
    const ebb::autocast_scope<ebb::f16> scope;                                      // selects one of the declared programs
    loss = callable(W::ones(), w);
  }
  loss.backward();                                                                  // outside, as PyTorch's guide recommends
  std::printf("gradient %g\n", static_cast<double>(w.grad().value()(0, 0)));
} catch (const ebb::error& e) {
  std::printf("%s\n", e.what());
}

int main() {
  gradient_of(region);
  gradient_of(assumes);
}

// examples/parameters/main.cpp — a model whose parameters are a struct, fitted by its gradient.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/ebb.hpp>
#include <iostream>

template <template <class, std::size_t...> class Array>          // plane<ebb::tensor> holds arrays, a traced function gets plane<ebb::term>
struct plane {
  using vector = Array<float, 2>;
  using number = Array<float>;
  BOOST_HANA_DEFINE_STRUCT(plane, (vector, slope), (number, height));
};

constexpr auto loss = [](auto p, auto x, auto y) { return ebb::mse(ebb::matmul(x, p.slope) + p.height, y); };

int main() {
  const ebb::tensor<float, 4, 2> x{{0, 0}, {1, 0}, {0, 1}, {1, 1}};
  const ebb::tensor<float, 4> y{1, 3, 0, 2};
  plane<ebb::tensor> p, d;
  for (int step = 0; step < 100; ++step) {
    ebb::grad(loss)(ebb::into(d), p, x, y);                      // the gradient of a struct is that struct: here written into d
    ebb::each_leaf([](auto& v, const auto& g) { v -= 0.5f * g; }, p, d);
  }
  std::cout << p.slope << '\n' << p.height << '\n';
}

// bench/compile_time/programs/leaves.cpp — a function of LEAVES arrays in a tuple: its value and all its gradients, written to given
// memory.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>

#include <cmath>
#include <cstdio>
#include <tuple>
#include <utility>

#ifndef LEAVES
#define LEAVES 300
#endif

using row = ebb::tensor<float, 8>;
template <class I>
struct rows_of;
template <std::size_t... I>
struct rows_of<std::index_sequence<I...>> {
  template <std::size_t>
  using one = row;
  using type = std::tuple<one<I>...>;
};
using rows = rows_of<std::make_index_sequence<LEAVES>>::type;

constexpr auto loss = [](auto all, auto x) {
  auto h = x;
  ebb::each_leaf([&](auto w) { h = ebb::tanh(h * w + x); }, all);
  return ebb::sum(h);
};

int main() {
  rows p, g;
  row x;
  for (std::size_t i = 0; i < 8; ++i) x.at(i) = 0.5f;
  ebb::each_leaf([](auto& w) { w = row::full(0.3f); }, p);
  ebb::tensor<float> value;
  ebb::value_and_grad(loss)(ebb::into(value, g), p, x);
  std::printf("%d %d\n", LEAVES, std::get<LEAVES - 1>(g)(0) > 0 && std::get<0>(g)(0) >= 0 && value() > 0);
}
